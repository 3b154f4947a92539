-- Clients that follow a conversation now, as reported by the server process of each client.
DROP TABLE connection_sessions;

CREATE TABLE connection_sessions (
    connection_id   TEXT NOT NULL PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    owner           TEXT NOT NULL,    -- the server process
    client_id       TEXT NOT NULL,
    user            TEXT,
    protocol        TEXT NOT NULL,
    opened_at       TEXT NOT NULL,
    seen_at         TEXT NOT NULL,    -- time of the process's last report
    last_sequence   INTEGER NOT NULL  -- the newest entry that was sent
) STRICT;

CREATE INDEX connection_sessions_of_conversation ON connection_sessions (conversation_id);
