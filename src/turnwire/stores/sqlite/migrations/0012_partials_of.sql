-- The provider and model of a block, for the entry that is made from a partial after a crash.
ALTER TABLE partials ADD COLUMN provider TEXT NOT NULL DEFAULT '';
ALTER TABLE partials ADD COLUMN model TEXT;
