"""The search index: written after the commit, by a connection of its own, and repaired at start.

A commit does not wait for the index. A search waits for the texts that this process has committed
before it. `search_progress` has the last entry of each conversation that is indexed, so what a
crash has left out is found when a store is opened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from turnwire.core.message_codec import decode_message
from turnwire.core.text import clean
from turnwire.ports import StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres.commit import Words
from turnwire.stores.postgres.connection import (
    DatabaseConnection,
    close_quietly,
    connect,
    storage_errors,
)
from turnwire.stores.postgres.text import readable, storable, stored_text
from turnwire.stores.postgres.tsvector import queries_of, vectors_of
from turnwire.stores.query import Query
from turnwire.stores.records import MOST_READ
from turnwire.stores.words import text_of

__all__ = ["Indexer", "Written", "find_words", "index_texts", "rows_of", "words_of"]

_log = logging.getLogger("turnwire")

_MOST_TEXTS = 256  # in one statement
_MOST_WAITING = 10_000  # texts in memory; more are read again from the log
_PAGE = 200  # entries that are read at once where the index is behind
_PAUSE = 1.0  # seconds after an error
# Seconds in which texts are gathered, so that commits go first, and many texts share a statement. A
# search does not wait for them.
_GATHER = 0.25

# The conversation cannot be deleted meanwhile, so no words of a deleted one are left. A new one with
# the same id has another number.
_INDEX = """
WITH held AS MATERIALIZED (
    SELECT conversation_id, number AS conversation FROM conversations
    WHERE conversation_id = ANY($1::text[]) ORDER BY conversation_id FOR KEY SHARE
), texts AS MATERIALIZED (
    SELECT m.number, x.* FROM unnest($4::text[], $5::bigint[], $6::bigint[], $7::text[],
        $8::bigint[], $9::text[])
        AS x(conversation_id, conversation, sequence_num, timestamp, part, words)
    JOIN held USING (conversation_id, conversation)
    JOIN messages m ON m.conversation_id = x.conversation_id AND m.sequence_num = x.sequence_num
), whole AS (
    INSERT INTO search (number, conversation_id, sequence_num, timestamp, words)
    SELECT number, conversation_id, sequence_num, timestamp, words::tsvector FROM texts
    WHERE part < 0 ON CONFLICT DO NOTHING
), long AS (
    INSERT INTO search_long (number, part, conversation_id, sequence_num, timestamp, words)
    SELECT number, part, conversation_id, sequence_num, timestamp, words::tsvector FROM texts
    WHERE part >= 0 ON CONFLICT DO NOTHING
)
INSERT INTO search_progress AS p (conversation_id, indexed)
SELECT conversation_id, max(x.indexed) FROM unnest($1::text[], $2::bigint[], $3::bigint[])
    AS x(conversation_id, conversation, indexed) JOIN held USING (conversation_id, conversation)
GROUP BY conversation_id ORDER BY conversation_id
ON CONFLICT (conversation_id) DO UPDATE SET indexed = greatest(p.indexed, excluded.indexed)
"""
_BEHIND = """
SELECT c.conversation_id FROM conversations c LEFT JOIN search_progress p USING (conversation_id)
WHERE c.head > coalesce(p.indexed, 0)
"""
_NEXT = """
SELECT sequence_num, message_json, c.number
FROM messages JOIN conversations c USING (conversation_id)
WHERE conversation_id = $1 AND sequence_num > coalesce(
    (SELECT indexed FROM search_progress WHERE conversation_id = $1), 0)
ORDER BY sequence_num LIMIT $2
"""


class Written:
    """The entries of a commit, up to the head."""

    __slots__ = ("conversation_id", "head", "number", "words")

    def __init__(
        self, conversation_id: str, number: int | None, head: int, words: list[Words]
    ) -> None:
        self.conversation_id = conversation_id
        self.number = number  # of the conversation; None: unknown, so its entries are read again
        self.head = head
        self.words = words


class Indexer:
    """Indexes texts in the order of their commits."""

    def __init__(
        self, address: Address, check: Callable[[DatabaseConnection], Awaitable[None]]
    ) -> None:
        """`check` raises StorageUnavailable if a new connection leads to another database."""
        self._address = address
        self._check = check
        self._replaced = 0  # how often the database was replaced by another one
        self._waiting: list[Written] = []
        self._behind: dict[str, None] = {}  # conversations whose entries are read again, in order
        self._wanted = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False
        self._urgent = asyncio.Event()  # a search waits
        self._connection: DatabaseConnection = None
        self._task = asyncio.get_running_loop().create_task(self._work())

    def add(self, written: Written) -> None:
        """Takes the entries of a commit."""
        is_known = written.number is not None and written.conversation_id not in self._behind
        if is_known and len(self._waiting) < _MOST_WAITING:
            self._waiting.append(written)
        else:
            self._behind[written.conversation_id] = None
        self._wake()

    def catch_up(self, conversation_ids: Sequence[str]) -> None:
        """Reads the entries of conversations that are not indexed, and indexes them."""
        self._behind.update(dict.fromkeys(conversation_ids))
        self._wake()

    def reconnect(self) -> None:
        """Reads all entries that wait again: the database was replaced by another one."""
        self._replaced += 1
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
        waiting, self._waiting = self._waiting, []
        self.catch_up([each.conversation_id for each in waiting])

    def _wake(self) -> None:
        self._idle.clear()
        self._wanted.set()

    async def repair(self, connection: DatabaseConnection) -> None:
        """Finds what is not indexed, after a crash."""
        rows = await connection.fetch(_BEHIND)
        if rows:
            self.catch_up([row[0] for row in rows])

    async def settled(self) -> None:
        """Waits until everything that was added is indexed, or indexing has failed."""
        if not self._idle.is_set():
            self._urgent.set()
            await self._idle.wait()

    async def close(self) -> None:
        """Indexes what is waiting; what fails is indexed at the next start."""
        self._is_closed = True
        self._urgent.set()
        self._wanted.set()
        await self._task
        await close_quietly(self._connection)

    async def _work(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), _GATHER)
            try:
                await self._index_all()
            except Exception as failure:
                self._idle.set()  # a search finds what is indexed
                await close_quietly(self._connection)
                self._connection = None
                if self._is_closed:
                    return
                if not isinstance(failure, StorageUnavailable):
                    _log.exception("Indexing for search has failed; it is tried again.")
                await asyncio.sleep(_PAUSE)
                self._wanted.set()
                continue
            self._idle.set()
            if self._is_closed:
                return
            self._urgent.clear()

    async def _index_all(self) -> None:
        while self._waiting or self._behind:
            if self._waiting:
                batch, self._waiting = self._waiting[:_MOST_TEXTS], self._waiting[_MOST_TEXTS:]
                try:
                    await self._index(batch)
                except BaseException:
                    self._behind.update(dict.fromkeys(each.conversation_id for each in batch))
                    raise
            else:
                name = next(iter(self._behind))
                if not await self._index_next(name):
                    self._behind.pop(name, None)

    async def _index_next(self, name: str) -> bool:
        """Indexes the next entries of a conversation. Returns whether there may be more."""
        connection = await self._connected()
        with storage_errors(self._address):
            rows = await connection.fetch(_NEXT, name, _PAGE)
        if not rows:
            return False
        words = words_of((sequence, text) for sequence, text, _ in rows)
        await self._index([Written(name, rows[-1][2], rows[-1][0], words)])
        return len(rows) == _PAGE

    async def _index(self, batch: Sequence[Written]) -> None:
        connection = await self._connected()
        with storage_errors(self._address):
            await index_texts(connection, batch)

    async def _connected(self) -> DatabaseConnection:
        if self._connection is None or self._connection.is_closed():
            replaced = self._replaced
            connection = await connect(
                self._address, {"jit": "off", "enable_seqscan": "off"}, name="turnwire search"
            )
            try:
                with storage_errors(self._address):
                    await self._check(connection)
                if replaced != self._replaced:  # the texts at hand may be of the old one
                    raise StorageUnavailable("The database was replaced by another one.")
            except BaseException:
                await close_quietly(connection)
                raise
            self._connection = connection
        return self._connection


async def index_texts(connection: DatabaseConnection, batch: Sequence[Written]) -> None:
    """Adds texts to the index, and notes for each conversation that it is indexed up to the head."""
    texts = await asyncio.to_thread(rows_of, batch)
    columns = [list(column) for column in zip(*texts, strict=True)] or [[] for _ in range(6)]
    await connection.execute(
        _INDEX,
        [each.conversation_id for each in batch],
        [each.number for each in batch],
        [each.head for each in batch],
        *columns,
    )


def words_of(rows: Iterable[tuple[int, str]]) -> list[Words]:
    """Returns the texts of stored entries that are indexed, from their numbers and their JSON."""
    words = []
    for sequence, message_json in rows:
        try:
            entry = decode_message(readable([message_json])[0])
        except Exception:  # a damaged entry: `turnwire fsck` finds it
            continue
        text = text_of(entry)
        if text:
            words.append(Words(sequence, entry.timestamp, clean(text)))
    return words


def rows_of(batch: Sequence[Written]) -> list[tuple[Any, ...]]:
    """Returns the rows of the index: conversation, its number, sequence, timestamp, part, words.

    A part of -1 is a whole text.
    """
    rows = []
    for written in batch:
        name = (written.conversation_id, written.number)
        for words in written.words:
            vectors = vectors_of(words.text)
            timestamp = storable(clean(words.timestamp))
            for part, vector in enumerate(vectors, -1 if len(vectors) == 1 else 0):
                rows.append((*name, words.sequence, timestamp, part, vector))
    return rows


# --- searches -------------------------------------------------------------------------------------

# An entry with several rows is found if each phrase is in one of them.
_FOUND = """
SELECT number, conversation_id, sequence_num, timestamp FROM search WHERE words @@ $1::tsquery
UNION ALL
SELECT number, conversation_id, sequence_num, min(timestamp) FROM search_long
WHERE words @@ $2::tsquery GROUP BY number, conversation_id, sequence_num
HAVING {each}
"""
_HITS = """
SELECT h.conversation_id, h.sequence_num, h.title,
    CASE WHEN up_to_here - size < $5 THEN m.message_json END, h.timestamp
FROM (
    SELECT *, sum(size) OVER (ORDER BY number DESC) AS up_to_here FROM (
        SELECT f.*, c.title, octet_length(m.message_json) AS size
        FROM ({found}) AS f JOIN conversations c USING (conversation_id)
        JOIN messages m ON m.conversation_id = f.conversation_id
            AND m.sequence_num = f.sequence_num
        WHERE ($3::text IS NULL OR c."user" = $3)
            AND ($6::text IS NULL OR f.conversation_id = $6)
        ORDER BY f.number DESC LIMIT $4
    ) AS newest
) AS h JOIN messages m ON m.conversation_id = h.conversation_id
    AND m.sequence_num = h.sequence_num
ORDER BY h.number DESC
"""


async def find_words(
    connection: DatabaseConnection,
    query: Query,
    user: str | None,
    conversation_id: str | None,
    limit: int,
) -> list[Any]:
    """Returns rows of entries that contain all words, the newest first."""
    asked = queries_of(query)
    if asked is None:
        return []
    each = " AND ".join(f"bool_or(words @@ ${7 + n}::tsquery)" for n in range(len(asked)))
    rows = await connection.fetch(
        _HITS.format(found=_FOUND.format(each=each)),
        " & ".join(f"({phrase})" for phrase in asked),
        " | ".join(f"({phrase})" for phrase in asked),
        stored_text(user),
        limit,
        MOST_READ,
        stored_text(conversation_id),
        *asked,
    )
    return list(rows)
