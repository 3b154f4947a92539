-- Partials: text of unfinished blocks, saved about once a second, so that text that a person has
-- read survives a crash. Each row has the text added since the previous one. The commit that
-- finishes or discards a block deletes its rows. Rows left by a crash become an entry of the log at
-- the next start.
CREATE TABLE partials (
    conversation_id    TEXT    NOT NULL REFERENCES conversations ON DELETE CASCADE,
    place              INTEGER NOT NULL, -- order of the block among the blocks of the conversation
    start              INTEGER NOT NULL, -- characters of the block before this piece
    message_id         TEXT    NOT NULL,
    block_index        INTEGER NOT NULL,
    kind               TEXT    NOT NULL, -- text, thinking
    text               TEXT    NOT NULL,
    parent_tool_use_id TEXT,
    agent_id           TEXT,
    PRIMARY KEY (conversation_id, place, start)
) STRICT, WITHOUT ROWID;
