-- Who was speaking: an entry that is made of a partial after a crash says it like any other.
ALTER TABLE partials ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE partials ADD COLUMN model TEXT;
