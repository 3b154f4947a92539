-- Nodes: the running processes that share this database. A conversation is held while its own lease
-- runs, or the lease of its owner's node. So one update renews all conversations of a process.
--
-- Servers without this table do not renew the lease of a node, and ignore it: stop them first.
CREATE TABLE nodes (
    owner       text COLLATE "C" NOT NULL PRIMARY KEY, -- of its conversations; another one after each start
    node        text   NOT NULL,           -- its readable name
    inbox       text   NOT NULL,           -- its address on the bus
    agents      text   NOT NULL,           -- JSON: the agents that it can run
    versions    text   NOT NULL,           -- JSON: of Turnwire and of the tables
    started_at  text COLLATE "C" NOT NULL,
    lease_until bigint NOT NULL,           -- milliseconds since 1970, by this server's clock
    renewals    bigint NOT NULL DEFAULT 0, -- of its lease
    load        text   NOT NULL            -- JSON: how many conversations and agents it runs
) WITH (fillfactor = 20); -- every renewal rewrites the row, and stays on its page

-- Conversations of an owner that has died are found by its name: their own leases are not renewed.
DROP INDEX conversations_owned;
CREATE INDEX conversations_of_owner ON conversations (owner, conversation_id) WHERE owner IS NOT NULL;

-- Deadlines are found by any node. A request may stay open after its deadline: then deadline_done
-- is the deadline that was handled, and the request is not found again.
ALTER TABLE requests ADD COLUMN deadline_done text COLLATE "C";
CREATE INDEX requests_by_deadline ON requests (deadline_at)
    WHERE outcome IS NULL AND deadline_at IS DISTINCT FROM deadline_done;
