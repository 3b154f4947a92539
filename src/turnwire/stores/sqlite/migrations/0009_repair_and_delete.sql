-- What `fsck --repair` took out of its place: it could not be read, or was there twice. It goes with
-- its conversation.
CREATE TABLE set_aside (
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    place           TEXT NOT NULL, -- `entry 4`, `state`, `turn 2`, `queue item q`
    at              TEXT NOT NULL,
    content         TEXT NOT NULL  -- as the file had it
) STRICT;

CREATE INDEX set_aside_of_conversation ON set_aside (conversation_id);

-- The audit trail outlives its conversation, so it quotes nothing that was said in one. Earlier
-- versions wrote the new title with `renamed`.
DROP TRIGGER audit_is_not_changed;

UPDATE audit SET data_json = '{}' WHERE action = 'renamed';

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit trail is append-only'); END;

-- Whether the agent's session was begun for this conversation: then it is removed with it. Of earlier
-- conversations nobody knows: a session that a person began in a terminal stays theirs.
ALTER TABLE conversations ADD COLUMN owns_session INTEGER NOT NULL DEFAULT 0;
