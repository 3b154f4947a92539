-- What a person decides about a conversation in the list: it stays at the top, and has labels.
ALTER TABLE conversations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN labels TEXT NOT NULL DEFAULT '[]'; -- JSON: a list of words

CREATE INDEX conversations_pinned ON conversations (archived, updated_at) WHERE pinned;
