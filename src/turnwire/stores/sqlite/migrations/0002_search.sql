-- The search index of the log. The text stays in messages; the index keeps only words. The SQL
-- function search_words is defined in schema.py; it splits text without spaces into words.
CREATE VIRTUAL TABLE search USING fts5 (
    words,
    content = '',
    contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2'
);

-- Fewer, larger merges, because merges run during commits.
INSERT INTO search (search, rank) VALUES ('automerge', 16);

INSERT INTO search (rowid, words)
SELECT number, words
FROM (
    SELECT number, search_words (message_json) AS words
    FROM messages
    WHERE message_type IN ('text', 'tool_result')
)
WHERE words IS NOT NULL;
