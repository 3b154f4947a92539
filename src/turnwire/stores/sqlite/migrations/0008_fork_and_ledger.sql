-- The last entry that a fork shares with its parent (parent_id).
ALTER TABLE conversations ADD COLUMN forked_at INTEGER;

-- JSON: the agent session that a fork starts from, until it has its own.
ALTER TABLE conversations ADD COLUMN native_from TEXT;

-- Costs of agents, by user. No reference to conversations: costs stay when conversations are
-- deleted.
CREATE TABLE ledger (
    number          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at              TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    user            TEXT,             -- NULL: the owner of the data
    turn_id         INTEGER,
    cost_usd        REAL    NOT NULL
) STRICT;

CREATE INDEX ledger_of_user ON ledger (user, at);

INSERT INTO ledger (at, conversation_id, user, turn_id, cost_usd)
SELECT t.ended_at, conversation_id, c.user, t.turn_id, t.cost_usd
FROM turns AS t JOIN conversations AS c USING (conversation_id)
WHERE t.cost_usd > 0 AND t.ended_at IS NOT NULL
ORDER BY t.ended_at;

CREATE TRIGGER ledger_is_not_changed BEFORE UPDATE ON ledger
BEGIN SELECT RAISE (ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER ledger_is_not_deleted BEFORE DELETE ON ledger
BEGIN SELECT RAISE (ABORT, 'the ledger is append-only'); END;
