-- Nodes: the running processes that share this file. A conversation is held while its own lease
-- runs, or the lease of its owner's node. So one update renews all conversations of a process.
CREATE TABLE nodes (
    owner       TEXT    NOT NULL PRIMARY KEY, -- of its conversations; another one after each start
    node        TEXT    NOT NULL,             -- its readable name
    inbox       TEXT    NOT NULL,             -- its address on the bus
    agents      TEXT    NOT NULL,             -- JSON: the agents that it can run
    versions    TEXT    NOT NULL,             -- JSON: of Turnwire and of the tables
    started_at  TEXT    NOT NULL,
    lease_until INTEGER NOT NULL,             -- milliseconds since 1970
    renewals    INTEGER NOT NULL DEFAULT 0,   -- of its lease
    load        TEXT    NOT NULL              -- JSON: how many conversations and agents it runs
) STRICT;

-- Conversations of an owner that has died are found by its name: their own leases are not renewed.
DROP INDEX conversations_owned;
CREATE INDEX conversations_of_owner ON conversations (owner, conversation_id) WHERE owner IS NOT NULL;

-- Deadlines are found by any node. A request may stay open after its deadline: then deadline_done
-- is the deadline that was handled, and the request is not found again.
ALTER TABLE requests ADD COLUMN deadline_done TEXT;
CREATE INDEX requests_by_deadline ON requests (deadline_at)
    WHERE outcome IS NULL AND deadline_at IS NOT deadline_done;
