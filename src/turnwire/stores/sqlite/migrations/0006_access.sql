-- Who may come in. Only digests are kept: nobody can come in with what is in this file.
CREATE TABLE tokens (
    token_id   TEXT    NOT NULL PRIMARY KEY,
    digest     BLOB    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    kind       TEXT    NOT NULL, -- token: of a program; page: a browser's cookie
    user       TEXT,             -- NULL: the owner of the data
    created_at TEXT    NOT NULL,
    expires_at INTEGER,          -- milliseconds since 1970; NULL: never
    revoked_at TEXT
) STRICT;

-- Good once, and for a short time.
CREATE TABLE tickets (
    digest     BLOB    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL, -- link: becomes a cookie; socket: opens a WebSocket
    user       TEXT,
    token_id   TEXT    NOT NULL, -- what it was had with: it ends with that
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Whose a blob is, and who may see it besides: whoever may see this conversation.
ALTER TABLE blobs ADD COLUMN user TEXT;
ALTER TABLE blobs ADD COLUMN conversation_id TEXT;
