-- Which conversation needs which blob, so that the last one to go takes it along. A message that
-- waits in a queue needs its blobs as well as one in the log.
CREATE TABLE blob_uses (
    conversation_id TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
    blob_id         TEXT NOT NULL, -- it may come later than the message that names it
    PRIMARY KEY (conversation_id, blob_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_uses_of_blob ON blob_uses (blob_id);

-- blob_ids and sha256 are ours.
INSERT OR IGNORE INTO blob_uses (conversation_id, blob_id)
SELECT conversation_id, value FROM messages, json_each (blob_ids (message_json))
WHERE instr (message_json, '"blobId"');

-- What the bytes were when they were kept: a disk may give back others.
ALTER TABLE blobs ADD COLUMN sha256 BLOB;

UPDATE blobs SET sha256 = sha256 (data);

-- Questions are found by their words, too.
INSERT INTO search (rowid, words)
SELECT number, words
FROM (
    SELECT number, search_words (message_json) AS words
    FROM messages
    WHERE message_type = 'input_request'
)
WHERE words IS NOT NULL;
