-- Tokens. Only digests are stored, so the file does not reveal a usable token.
CREATE TABLE tokens (
    token_id   TEXT    NOT NULL PRIMARY KEY,
    digest     BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    kind       TEXT    NOT NULL, -- token: for a program; page: a browser's cookie
    user       TEXT,             -- NULL: the owner of the data
    created_at TEXT    NOT NULL,
    expires_at INTEGER,          -- milliseconds since 1970; NULL: never
    revoked_at TEXT
) STRICT;

-- Tickets: usable once, for a short time.
CREATE TABLE tickets (
    digest     BLOB    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL, -- link: becomes a cookie; socket: opens a WebSocket
    user       TEXT,
    token_id   TEXT    NOT NULL, -- the token that issued it; revoking the token voids the ticket
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The user who owns a blob. All users who may see its conversation may see the blob, too.
ALTER TABLE blobs ADD COLUMN user TEXT;
ALTER TABLE blobs ADD COLUMN conversation_id TEXT;
