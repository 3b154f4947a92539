-- What a person decides about a conversation in the list: it stays at the top, and has labels.
ALTER TABLE conversations ADD COLUMN pinned boolean NOT NULL DEFAULT false;
ALTER TABLE conversations ADD COLUMN labels text NOT NULL DEFAULT '[]'; -- JSON: a list of words

CREATE INDEX conversations_pinned ON conversations (conversation_id) WHERE pinned;
