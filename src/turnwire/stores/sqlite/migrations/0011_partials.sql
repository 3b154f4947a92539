-- Text of blocks that are not finished, saved about once a second: what a person has read of them
-- outlives the server. Each row is what was new then. The commit that finishes or discards a block
-- deletes its rows; those that a crash left become an entry of the log at the next start.
CREATE TABLE partials (
    conversation_id    TEXT    NOT NULL REFERENCES conversations ON DELETE CASCADE,
    place              INTEGER NOT NULL, -- of the block: the order in which the blocks began
    start              INTEGER NOT NULL, -- characters of the block before this piece
    message_id         TEXT    NOT NULL,
    block_index        INTEGER NOT NULL,
    kind               TEXT    NOT NULL, -- text, thinking
    text               TEXT    NOT NULL,
    parent_tool_use_id TEXT,
    agent_id           TEXT,
    PRIMARY KEY (conversation_id, place, start)
) STRICT, WITHOUT ROWID;
