-- The log and what belongs to it. Times are ISO 8601 in UTC, *_json columns are JSON text.

-- state_json is all that the state machine remembers, written whole with every step. The queue lives
-- there and nowhere else, so there is one truth about it.
CREATE TABLE conversations (
    conversation_id   TEXT    NOT NULL PRIMARY KEY,
    agent             TEXT    NOT NULL,
    user              TEXT,
    title             TEXT,
    cwd               TEXT,
    native_session_id TEXT,             -- the agent's own name of its session
    options           TEXT    NOT NULL, -- JSON: the agent's own
    archived          INTEGER NOT NULL DEFAULT 0,
    parent_id         TEXT,             -- the conversation that it was forked from
    created_at        TEXT    NOT NULL,
    updated_at        TEXT    NOT NULL,
    head              INTEGER NOT NULL, -- the newest sequence_num
    fence             INTEGER NOT NULL DEFAULT 0, -- of the newest claim; every commit names it
    owner             TEXT,
    lease_until       INTEGER NOT NULL DEFAULT 0, -- milliseconds since 1970
    unsettled         INTEGER NOT NULL, -- a turn, a queue, a request or a tool call is open
    state_json        TEXT    NOT NULL
) STRICT;

CREATE INDEX conversations_by_time ON conversations (archived, updated_at);
CREATE INDEX conversations_unsettled ON conversations (conversation_id) WHERE unsettled;
CREATE INDEX conversations_owned ON conversations (lease_until) WHERE owner IS NOT NULL;

-- A table with a number of its own, not WITHOUT ROWID: entries of all conversations are then written
-- side by side. Clustered by conversation, each of them would touch a page of its own, which made
-- commits of many conversations three times as slow.
CREATE TABLE messages (
    number          INTEGER NOT NULL PRIMARY KEY, -- in the file; the search index knows it
    conversation_id TEXT    NOT NULL REFERENCES conversations ON DELETE CASCADE,
    sequence_num    INTEGER NOT NULL,             -- in the conversation: 1, 2, 3, ...
    role            TEXT    NOT NULL,
    message_type    TEXT    NOT NULL,
    message_json    TEXT    NOT NULL,             -- the entry itself
    metadata_json   TEXT,                         -- thinking, raw_event
    uuid            TEXT,                         -- the agent's own id of the frame that said it
    turn_id         INTEGER,
    trace_id        TEXT,
    created_at      TEXT    NOT NULL,
    UNIQUE (conversation_id, sequence_num)
) STRICT;

CREATE TABLE turns (
    conversation_id             TEXT    NOT NULL REFERENCES conversations ON DELETE CASCADE,
    turn_id                     INTEGER NOT NULL,
    trace_id                    TEXT    NOT NULL,
    origin                      TEXT,
    queue_id                    TEXT,
    client_message_id           TEXT,
    started_at                  TEXT,
    ended_at                    TEXT,    -- NULL: it runs or waits
    end_json                    TEXT,
    after_sequence              INTEGER, -- the last sequence_num when it ended
    input_tokens                INTEGER,
    output_tokens               INTEGER,
    cache_creation_input_tokens INTEGER,
    cache_read_input_tokens     INTEGER,
    cost_usd                    REAL,
    duration_ms                 INTEGER,
    PRIMARY KEY (conversation_id, turn_id)
) STRICT;

CREATE INDEX turns_by_end ON turns (conversation_id, after_sequence) WHERE ended_at IS NOT NULL;

-- Questions and permissions. outcome is NULL while one is open, and is set once.
CREATE TABLE requests (
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    request_id      TEXT NOT NULL,
    kind            TEXT NOT NULL,
    request_json    TEXT NOT NULL,
    opened_at       TEXT NOT NULL,
    deadline_at     TEXT,
    outcome         TEXT,
    ended_at        TEXT,
    ended_by        TEXT,
    PRIMARY KEY (conversation_id, request_id)
) STRICT;

CREATE TABLE inbox_items (
    source_id       TEXT NOT NULL PRIMARY KEY, -- conversation:{id}:question:{question_id}
    inbox_item_id   TEXT NOT NULL,
    kind            TEXT NOT NULL,             -- await_user_input
    conversation_id TEXT NOT NULL,
    request_id      TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    closed_at       TEXT,                      -- NULL: somebody is waited for
    FOREIGN KEY (conversation_id, request_id) REFERENCES requests ON DELETE CASCADE
) STRICT;

CREATE INDEX inbox_items_of_request ON inbox_items (conversation_id, request_id);
CREATE INDEX inbox_items_open ON inbox_items (created_at) WHERE closed_at IS NULL;

-- That a client's frame was taken, and the answer that it got: a repeat gets the same.
CREATE TABLE receipts (
    conversation_id   TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    user              TEXT NOT NULL,
    client_message_id TEXT NOT NULL,
    body              BLOB NOT NULL, -- a digest of the frame
    ack_json          TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    PRIMARY KEY (conversation_id, user, client_message_id)
) STRICT, WITHOUT ROWID;

-- No reference to conversations: the trail outlives them.
CREATE TABLE audit (
    number          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at              TEXT    NOT NULL,
    action          TEXT    NOT NULL,
    conversation_id TEXT,
    by              TEXT,
    trace_id        TEXT,
    data_json       TEXT    NOT NULL
) STRICT;

CREATE INDEX audit_of_conversation ON audit (conversation_id, number);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit trail is append-only'); END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit trail is append-only'); END;
