"""Checks of the search index: it must match the words of the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from turnwire.stores.fsck.finding import Finding
from turnwire.stores.sqlite.schema import add_functions

__all__ = ["index_again", "index_all", "snapshot", "wrong_words"]

_AT_ONCE = 1000
_INDEXED = "message_type IN ('text', 'tool_result', 'input_request')"
_TABLE = (
    "CREATE VIRTUAL TABLE search USING fts5 (words, content = '', contentless_delete = 1,"
    " tokenize = 'unicode61 remove_diacritics 2')"
)


def wrong_words(db: apsw.Connection) -> Iterator[tuple[int, Finding]]:
    """Yields the rows whose words are not indexed correctly, by their number in the file.

    The index keeps no text, so only the number of words in each row can be compared.
    """
    add_functions(db)
    fresh = apsw.Connection(":memory:")
    fresh.execute(_TABLE)
    last = 0
    while True:
        with snapshot(db):
            page: list[Any] = db.execute(
                "SELECT number, conversation_id, sequence_num,"
                f" CASE WHEN {_INDEXED} AND json_valid(message_json)"
                " THEN search_words(message_json) END,"
                " (SELECT sz FROM search_docsize WHERE id = number)"
                f" FROM messages WHERE number > ? ORDER BY number LIMIT {_AT_ONCE}",
                (last,),
            ).fetchall()
        if not page:
            break
        last = page[-1][0]
        words = [(number, said) for number, _, _, said, _ in page if said is not None]
        fresh.executemany("INSERT INTO search (rowid, words) VALUES (?, ?)", words)
        should: dict[int, bytes] = dict(_rows(fresh, "SELECT id, sz FROM search_docsize"))
        fresh.execute("INSERT INTO search (search) VALUES ('delete-all')")
        for number, conversation_id, sequence, _, size in page:
            if should.get(number) != size:
                what = "Words of the entry are missing in the index."
                yield number, _finding(what, conversation_id, sequence)
    fresh.close()
    left = "SELECT id FROM search_docsize WHERE id NOT IN (SELECT number FROM messages)"
    for (number,) in _rows(db, left):
        yield (
            number,
            Finding(
                "search_wrong", "The index has words of a missing entry.", None, f"row {number}"
            ),
        )


def _rows(db: apsw.Connection, statement: str) -> list[Any]:
    return list(db.execute(statement))


def _finding(what: str, conversation_id: str, sequence: int) -> Finding:
    return Finding("search_wrong", what, conversation_id, f"entry {sequence}")


def index_again(db: apsw.Connection, number: int) -> None:
    """Indexes one row again."""
    add_functions(db)
    db.execute("DELETE FROM search WHERE rowid = ?", (number,))
    db.execute(
        "INSERT INTO search (rowid, words) SELECT number, search_words(message_json)"
        f" FROM messages WHERE number = ? AND {_INDEXED}"
        " AND search_words(message_json) IS NOT NULL",
        (number,),
    )


def index_all(db: apsw.Connection) -> None:
    """Rebuilds the whole index."""
    add_functions(db)
    db.execute("INSERT INTO search (search) VALUES ('delete-all')")
    db.execute(
        "INSERT INTO search (rowid, words) SELECT number, search_words(message_json)"
        f" FROM messages WHERE {_INDEXED} AND json_valid(message_json)"
        " AND search_words(message_json) IS NOT NULL"
    )


@contextmanager
def snapshot(db: apsw.Connection) -> Iterator[None]:
    """Returns a context in which all reads see the same state of the file."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:  # a disk error ends the transaction
            db.execute("ROLLBACK")
