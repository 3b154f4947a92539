-- Tables of the server: blobs and connections.

-- Large content, stored by reference.
CREATE TABLE blobs (
    blob_id    TEXT NOT NULL PRIMARY KEY,
    mime_type  TEXT NOT NULL,
    data       BLOB NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

-- Clients that were connected, with the times of connecting and disconnecting.
CREATE TABLE connection_sessions (
    connection_id   TEXT NOT NULL PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    client_id       TEXT,
    user            TEXT,
    opened_at       TEXT NOT NULL,
    closed_at       TEXT
) STRICT;

CREATE INDEX connection_sessions_of_conversation ON connection_sessions (conversation_id);
