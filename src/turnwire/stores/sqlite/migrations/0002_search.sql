-- What was said, word by word. The text itself stays in messages: the index keeps none of it.
-- search_words is ours; it makes words of text that has no spaces between them.
CREATE VIRTUAL TABLE search USING fts5 (
    words,
    content = '',
    contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2'
);

-- Fewer, larger merges: they are a part of commits.
INSERT INTO search (search, rank) VALUES ('automerge', 16);

INSERT INTO search (rowid, words)
SELECT number, words
FROM (
    SELECT number, search_words (message_json) AS words
    FROM messages
    WHERE message_type IN ('text', 'tool_result')
)
WHERE words IS NOT NULL;
