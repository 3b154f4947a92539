-- Content that `fsck --repair` removed because it was unreadable or a duplicate. It is deleted with
-- its conversation.
CREATE TABLE set_aside (
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    place           TEXT NOT NULL, -- `entry 4`, `state`, `turn 2`, `queue item q`
    at              TEXT NOT NULL,
    content         TEXT NOT NULL  -- as the file had it
) STRICT;

CREATE INDEX set_aside_of_conversation ON set_aside (conversation_id);

-- The audit trail outlives its conversation, so it quotes no content. Earlier versions wrote the
-- new title with `renamed`.
DROP TRIGGER audit_is_not_changed;

UPDATE audit SET data_json = '{}' WHERE action = 'renamed';

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit trail is append-only'); END;

-- Whether the agent's session was started for this conversation; it is then deleted with it. The
-- origin of earlier sessions is unknown, so they stay: a person may have started them in a
-- terminal.
ALTER TABLE conversations ADD COLUMN owns_session INTEGER NOT NULL DEFAULT 0;
