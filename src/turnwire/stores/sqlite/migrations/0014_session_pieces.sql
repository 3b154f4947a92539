-- Pieces of an agent's own record of its session, so that another node can continue the session.
-- Only the agent knows their content. They are written with the step that they belong to.
CREATE TABLE session_pieces (
    number          INTEGER NOT NULL PRIMARY KEY, -- order of all pieces
    conversation_id TEXT    NOT NULL REFERENCES conversations ON DELETE CASCADE,
    session_id      TEXT    NOT NULL,             -- the agent's own id of the session
    name            TEXT    NOT NULL,             -- what it is a part of, chosen by the agent
    data            BLOB    NOT NULL
) STRICT;

CREATE INDEX session_pieces_of_conversation ON session_pieces (conversation_id, number);

-- The only node that can run the agent of a conversation. NULL: every node.
ALTER TABLE conversations ADD COLUMN node TEXT;

CREATE TRIGGER stored_with_piece AFTER INSERT ON session_pieces
BEGIN
    UPDATE stored SET bytes = bytes + length(NEW.data)
    WHERE user = (SELECT user FROM conversations WHERE conversation_id = NEW.conversation_id);
END;

CREATE TRIGGER stored_without_piece AFTER DELETE ON session_pieces
BEGIN
    UPDATE stored SET bytes = bytes - length(OLD.data)
    WHERE user = (SELECT user FROM conversations WHERE conversation_id = OLD.conversation_id);
END;

-- Messages and pieces are deleted first, while the conversation's user is still known: a cascade
-- runs too late.
DROP TRIGGER stored_without_conversation;
CREATE TRIGGER stored_without_conversation BEFORE DELETE ON conversations WHEN OLD.user IS NOT NULL
BEGIN
    DELETE FROM messages WHERE conversation_id = OLD.conversation_id;
    DELETE FROM session_pieces WHERE conversation_id = OLD.conversation_id;
    UPDATE stored SET conversations = conversations - 1,
        bytes = bytes - length(CAST(OLD.state_json AS BLOB)) - length(CAST(OLD.options AS BLOB))
    WHERE user = OLD.user;
END;
