-- What a server keeps beside the log.

-- Large content by reference.
CREATE TABLE blobs (
    blob_id    TEXT NOT NULL PRIMARY KEY,
    mime_type  TEXT NOT NULL,
    data       BLOB NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

-- Who was connected, from when to when.
CREATE TABLE connection_sessions (
    connection_id   TEXT NOT NULL PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    client_id       TEXT,
    user            TEXT,
    opened_at       TEXT NOT NULL,
    closed_at       TEXT
) STRICT;

CREATE INDEX connection_sessions_of_conversation ON connection_sessions (conversation_id);
