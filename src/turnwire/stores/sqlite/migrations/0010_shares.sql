-- Budget reserved for running turns. A row counts while its owner holds the conversation: its fence
-- is the newest, and its lease runs. So a crash leaves no budget reserved.
CREATE TABLE reservations (
    conversation_id TEXT    NOT NULL PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
    user            TEXT,             -- NULL: the owner of the data
    fence           INTEGER NOT NULL, -- of the claim that reserved it
    amount_usd      REAL    NOT NULL
) STRICT;

CREATE INDEX reservations_of_user ON reservations (user);

-- Stored bytes and conversations of each user: log, queue, options and blobs. Triggers update the
-- table for every writer, so that sums are never recomputed. The owner of the data has no row.
CREATE TABLE stored (
    user          TEXT    NOT NULL PRIMARY KEY,
    bytes         INTEGER NOT NULL,
    conversations INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO stored (user, bytes, conversations)
SELECT user, sum(bytes), sum(conversations)
FROM (
    SELECT user, length(CAST(state_json AS BLOB)) + length(CAST(options AS BLOB)) AS bytes, 1 AS conversations
    FROM conversations
    UNION ALL
    SELECT c.user, length(CAST(message_json AS BLOB)) + coalesce(length(CAST(metadata_json AS BLOB)), 0), 0
    FROM messages JOIN conversations AS c USING (conversation_id)
    UNION ALL
    SELECT user, length(data), 0 FROM blobs
)
WHERE user IS NOT NULL
GROUP BY user;

CREATE TRIGGER stored_with_conversation AFTER INSERT ON conversations WHEN NEW.user IS NOT NULL
BEGIN
    INSERT INTO stored (user, bytes, conversations)
    VALUES (NEW.user, length(CAST(NEW.state_json AS BLOB)) + length(CAST(NEW.options AS BLOB)), 1)
    ON CONFLICT (user) DO UPDATE SET bytes = bytes + excluded.bytes, conversations = conversations + 1;
END;

CREATE TRIGGER stored_with_state AFTER UPDATE OF state_json, options ON conversations
WHEN NEW.user IS NOT NULL
BEGIN
    UPDATE stored SET bytes = bytes + length(CAST(NEW.state_json AS BLOB)) + length(CAST(NEW.options AS BLOB))
        - length(CAST(OLD.state_json AS BLOB)) - length(CAST(OLD.options AS BLOB))
    WHERE user = NEW.user;
END;

-- Messages are deleted first, while the conversation's user is still known: a cascade runs too
-- late.
CREATE TRIGGER stored_without_conversation BEFORE DELETE ON conversations WHEN OLD.user IS NOT NULL
BEGIN
    DELETE FROM messages WHERE conversation_id = OLD.conversation_id;
    UPDATE stored SET conversations = conversations - 1,
        bytes = bytes - length(CAST(OLD.state_json AS BLOB)) - length(CAST(OLD.options AS BLOB))
    WHERE user = OLD.user;
END;

CREATE TRIGGER stored_with_message AFTER INSERT ON messages
BEGIN
    UPDATE stored
    SET bytes = bytes + length(CAST(NEW.message_json AS BLOB)) + coalesce(length(CAST(NEW.metadata_json AS BLOB)), 0)
    WHERE user = (SELECT user FROM conversations WHERE conversation_id = NEW.conversation_id);
END;

CREATE TRIGGER stored_with_other_message AFTER UPDATE OF message_json, metadata_json ON messages
BEGIN
    UPDATE stored
    SET bytes = bytes + length(CAST(NEW.message_json AS BLOB)) + coalesce(length(CAST(NEW.metadata_json AS BLOB)), 0)
        - length(CAST(OLD.message_json AS BLOB)) - coalesce(length(CAST(OLD.metadata_json AS BLOB)), 0)
    WHERE user = (SELECT user FROM conversations WHERE conversation_id = NEW.conversation_id);
END;

CREATE TRIGGER stored_without_message AFTER DELETE ON messages
BEGIN
    UPDATE stored
    SET bytes = bytes - length(CAST(OLD.message_json AS BLOB)) - coalesce(length(CAST(OLD.metadata_json AS BLOB)), 0)
    WHERE user = (SELECT user FROM conversations WHERE conversation_id = OLD.conversation_id);
END;

CREATE TRIGGER stored_with_blob AFTER INSERT ON blobs WHEN NEW.user IS NOT NULL
BEGIN
    INSERT INTO stored (user, bytes, conversations) VALUES (NEW.user, length(NEW.data), 0)
    ON CONFLICT (user) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER stored_without_blob AFTER DELETE ON blobs WHEN OLD.user IS NOT NULL
BEGIN
    UPDATE stored SET bytes = bytes - length(OLD.data) WHERE user = OLD.user;
END;

-- Each new ticket counts the token's open tickets, and deletes expired ones.
CREATE INDEX tickets_of_token ON tickets (token_id);
CREATE INDEX tickets_by_time ON tickets (expires_at);
