-- The log and its related tables. Times are ISO 8601 in UTC. Columns *_json are JSON text.

-- state_json is the whole state of the state machine, rewritten with every step. The queue is
-- stored only in it, so that it cannot contradict another copy.
CREATE TABLE conversations (
    conversation_id   TEXT    NOT NULL PRIMARY KEY,
    agent             TEXT    NOT NULL,
    user              TEXT,
    title             TEXT,
    cwd               TEXT,
    native_session_id TEXT,             -- the agent's own id of its session
    options           TEXT    NOT NULL, -- JSON, defined by the agent
    archived          INTEGER NOT NULL DEFAULT 0,
    parent_id         TEXT,             -- the conversation it was forked from
    created_at        TEXT    NOT NULL,
    updated_at        TEXT    NOT NULL,
    head              INTEGER NOT NULL, -- the newest sequence_num
    fence             INTEGER NOT NULL DEFAULT 0, -- of the newest claim; every commit checks it
    owner             TEXT,
    lease_until       INTEGER NOT NULL DEFAULT 0, -- milliseconds since 1970
    unsettled         INTEGER NOT NULL, -- a turn, a queue, a request or a tool call is open
    state_json        TEXT    NOT NULL
) STRICT;

CREATE INDEX conversations_by_time ON conversations (archived, updated_at);
CREATE INDEX conversations_unsettled ON conversations (conversation_id) WHERE unsettled;
CREATE INDEX conversations_owned ON conversations (lease_until) WHERE owner IS NOT NULL;

-- This table has a rowid (not WITHOUT ROWID), so that entries of all conversations are appended to
-- the same pages. Clustered by conversation, each entry would change a different page, which made
-- commits of many conversations three times as slow.
CREATE TABLE messages (
    number          INTEGER NOT NULL PRIMARY KEY, -- unique in the file; rowid of the search index
    conversation_id TEXT    NOT NULL REFERENCES conversations ON DELETE CASCADE,
    sequence_num    INTEGER NOT NULL,             -- in the conversation: 1, 2, 3, ...
    role            TEXT    NOT NULL,
    message_type    TEXT    NOT NULL,
    message_json    TEXT    NOT NULL,             -- the entry
    metadata_json   TEXT,                         -- thinking, raw_event
    uuid            TEXT,                         -- the agent's own id of the entry's frame
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
    ended_at                    TEXT,    -- NULL: the turn runs or waits
    end_json                    TEXT,
    after_sequence              INTEGER, -- the last sequence_num when the turn ended
    input_tokens                INTEGER,
    output_tokens               INTEGER,
    cache_creation_input_tokens INTEGER,
    cache_read_input_tokens     INTEGER,
    cost_usd                    REAL,
    duration_ms                 INTEGER,
    PRIMARY KEY (conversation_id, turn_id)
) STRICT;

CREATE INDEX turns_by_end ON turns (conversation_id, after_sequence) WHERE ended_at IS NOT NULL;

-- Questions and permissions. outcome is NULL while a request is open, and is set once.
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
    closed_at       TEXT,                      -- NULL: the item waits for a person
    FOREIGN KEY (conversation_id, request_id) REFERENCES requests ON DELETE CASCADE
) STRICT;

CREATE INDEX inbox_items_of_request ON inbox_items (conversation_id, request_id);
CREATE INDEX inbox_items_open ON inbox_items (created_at) WHERE closed_at IS NULL;

-- Receipts: the stored answer to a client's frame. A repeated frame gets the same answer.
CREATE TABLE receipts (
    conversation_id   TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    user              TEXT NOT NULL,
    client_message_id TEXT NOT NULL,
    body              BLOB NOT NULL, -- a digest of the frame
    ack_json          TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    PRIMARY KEY (conversation_id, user, client_message_id)
) STRICT, WITHOUT ROWID;

-- No reference to conversations: the audit trail outlives them.
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
