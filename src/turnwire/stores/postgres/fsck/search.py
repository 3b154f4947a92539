"""Checks of the search index: each entry that is indexed has the rows of its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from turnwire.stores.fsck.finding import Finding
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.search import Written, index_texts, rows_of, words_of
from turnwire.stores.postgres.text import readable

__all__ = ["Key", "Page", "batches", "index_again", "move", "wrong_rows", "wrong_words"]

_AT_ONCE = 200  # entries
_TIMEOUT = 24 * 3600  # seconds

_ENTRIES = f"""
SELECT m.number, m.conversation_id, m.sequence_num, m.message_json, coalesce(p.indexed, 0)
FROM messages m LEFT JOIN search_progress p USING (conversation_id)
WHERE (m.conversation_id, m.sequence_num) > ($1, $2)
ORDER BY m.conversation_id, m.sequence_num LIMIT {_AT_ONCE}
"""
# Numbers of entries whose rows differ, and whether only their rows are missing.
_DIFFERENT = """
WITH should AS MATERIALIZED (
    SELECT number, conversation_id, sequence_num, timestamp, part, words::tsvector AS words
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[])
        AS x(number, conversation_id, sequence_num, timestamp, part, words)
), found AS MATERIALIZED (
    SELECT number, conversation_id, sequence_num, timestamp, -1::bigint AS part, words
    FROM search WHERE number = ANY($7::bigint[])
    UNION ALL
    SELECT number, conversation_id, sequence_num, timestamp, part, words
    FROM search_long WHERE number = ANY($7::bigint[])
)
SELECT number, bool_and(found.words IS NULL) FROM should FULL JOIN found USING (number, part)
WHERE found.words IS NULL OR should.words IS NULL OR found.words <> should.words
    OR found.conversation_id <> should.conversation_id
    OR found.sequence_num <> should.sequence_num OR found.timestamp <> should.timestamp
GROUP BY number
"""
_LEFT_OVER = """
SELECT DISTINCT s.number FROM (
    SELECT number FROM search UNION ALL SELECT number FROM search_long
) AS s WHERE NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.number = s.number) ORDER BY 1
"""
_BEYOND = """
SELECT conversation_id FROM search_progress AS p JOIN conversations AS c USING (conversation_id)
WHERE p.indexed > c.head AND NOT EXISTS (
    SELECT 1 FROM messages AS m
    WHERE m.conversation_id = p.conversation_id AND m.sequence_num >= p.indexed
) ORDER BY 1
"""
_ROWS = """
SELECT number, sequence_num, message_json FROM messages
WHERE conversation_id = $1 AND sequence_num = ANY($2::bigint[])
"""
_TURN_BACK = """
UPDATE search_progress AS p SET indexed = least(p.indexed, c.head) FROM conversations AS c
WHERE p.conversation_id = $1 AND c.conversation_id = $1
"""
_MOVE = """
UPDATE {table} AS s SET sequence_num = m.sequence_num FROM messages AS m
WHERE s.conversation_id = $1 AND m.conversation_id = $1 AND m.number = s.number
    AND m.sequence_num <> s.sequence_num
"""
_TABLES = ("search", "search_long")


class Page(Struct, frozen=True):
    """Where the next entries begin: after this one."""

    conversation_id: str = ""
    sequence: int = -(1 << 62)


class Key(Struct, frozen=True):
    """What is indexed again: an entry, a row of the index without one, or a conversation."""

    conversation_id: str | None = None  # as it is stored; None: the row is removed
    sequence: int | None = None  # None: only the progress of the conversation is corrected
    number: int = 0  # of the row to be removed


async def wrong_words(
    db: DatabaseConnection, page: Page
) -> tuple[list[tuple[Key, Finding]], Page | None]:
    """Returns the entries of one page that are not indexed correctly, and the next page.

    Entries that are not indexed yet are no damage.
    """
    entries = await db.fetch(_ENTRIES, page.conversation_id, page.sequence, timeout=_TIMEOUT)
    if not entries:
        return [], None
    should = []
    for number, name, sequence, text, _ in entries:
        batch = [Written(name, None, sequence, words_of([(sequence, text)]))]
        should += [(number, name, *rest) for _, _, *rest in rows_of(batch)]
    columns = [list(column) for column in zip(*should, strict=True)] or [[] for _ in range(6)]
    different = dict(await db.fetch(_DIFFERENT, *columns, [row[0] for row in entries]))
    found = []
    for number, name, sequence, _, indexed in entries:
        is_missing = different.get(number)
        if is_missing is not None and (not is_missing or sequence <= indexed):
            said = "Words of the entry are missing in the index."
            finding = Finding("search_wrong", said, readable([name])[0], f"entry {sequence}")
            found.append((Key(name, sequence), finding))
    last = entries[-1]
    return found, Page(last[1], last[2])


async def wrong_rows(db: DatabaseConnection) -> list[tuple[Key, Finding]]:
    """Returns rows of the index that no entry has, and progress beyond the end of a log."""
    said = "The index has words of a missing entry."
    found = [
        (Key(number=number), Finding("search_wrong", said, None, f"row {number}"))
        for (number,) in await db.fetch(_LEFT_OVER, timeout=_TIMEOUT)
    ]
    said = "The index says that it has more entries than the log."
    return found + [
        (Key(name), Finding("search_wrong", said, readable([name])[0], "index"))
        for (name,) in await db.fetch(_BEYOND, timeout=_TIMEOUT)
    ]


def batches(keys: Sequence[Key]) -> Iterator[list[Key]]:
    """Yields keys of one conversation each, a few at a time."""
    for _, group in groupby(keys, key=lambda key: key.conversation_id):
        some = list(group)
        yield from (some[place : place + _AT_ONCE] for place in range(0, len(some), _AT_ONCE))


async def index_again(db: DatabaseConnection, keys: Sequence[Key]) -> None:
    """Indexes entries of one conversation again, in the open transaction."""
    name = keys[0].conversation_id
    if name is None:
        await _remove(db, [key.number for key in keys])
        return
    # Locked, so that a running server does not index the same entries meanwhile.
    conversation = await db.fetchval(
        "SELECT number FROM conversations WHERE conversation_id = $1 FOR UPDATE", name
    )
    await db.execute(_TURN_BACK, name)
    entries = await db.fetch(_ROWS, name, [k.sequence for k in keys if k.sequence is not None])
    await _remove(db, [row[0] for row in entries])
    words = words_of((sequence, text) for _, sequence, text in entries)
    await index_texts(db, [Written(name, conversation, 0, words)])


async def _remove(db: DatabaseConnection, numbers: Sequence[int]) -> None:
    for table in _TABLES:
        await db.execute(f"DELETE FROM {table} WHERE number = ANY($1::bigint[])", numbers)


async def move(db: DatabaseConnection, name: str) -> None:
    """Corrects the sequence numbers of the index after entries of a conversation have moved."""
    for table in _TABLES:
        await db.execute(_MOVE.format(table=table), name)
