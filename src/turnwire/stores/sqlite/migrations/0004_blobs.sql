-- Blobs that each conversation needs. A blob is deleted with the last conversation that needs it.
-- Queued messages need their blobs, as entries of the log do.
CREATE TABLE blob_uses (
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    blob_id         TEXT NOT NULL, -- the blob may be stored after the message that names it
    PRIMARY KEY (conversation_id, blob_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_uses_of_blob ON blob_uses (blob_id);

-- The SQL functions blob_ids and sha256 are defined in schema.py.
INSERT OR IGNORE INTO blob_uses (conversation_id, blob_id)
SELECT conversation_id, value FROM messages, json_each (blob_ids (message_json))
WHERE instr (message_json, '"blobId"');

-- The digest of the stored bytes, to detect damage on the disk.
ALTER TABLE blobs ADD COLUMN sha256 BLOB;

UPDATE blobs SET sha256 = sha256 (data);

-- Questions are indexed for search, too.
INSERT INTO search (rowid, words)
SELECT number, words
FROM (
    SELECT number, search_words (message_json) AS words
    FROM messages
    WHERE message_type = 'input_request'
)
WHERE words IS NOT NULL;
