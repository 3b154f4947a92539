"""Many rows in one value: nothing is lost, and SQLite is entered once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.ports import NewConversation
from turnwire.stores.conversation_list import Wanted
from turnwire.stores.query import Query
from turnwire.stores.records import Kinds, text
from turnwire.stores.sqlite import SqliteStore, rows
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.sqlite.packed import fetch_packed, packed, unpacked

KINDS: Kinds = {"number": int, "words": text, "json": bytes}
NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]))


@given(
    st.lists(
        st.tuples(NUMBERS, TEXTS, TEXTS.map(lambda some: None if some is None else some.encode()))
    )
)
def test_rows_come_back_as_they_were(some: list[tuple[Any, ...]]) -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE things (number INTEGER, words TEXT, json TEXT)")
    db.executemany("INSERT INTO things VALUES (?, ?, CAST(? AS TEXT))", some)

    statement = packed(KINDS, "SELECT *, rowid AS place FROM things", "place")

    assert [tuple(row) for row in unpacked(fetch_packed(db, statement, ()), KINDS)] == some


def test_rows_come_in_the_order_that_was_asked_for() -> None:
    db = apsw.Connection(":memory:")
    some = "SELECT 2 AS number, 'b' AS words, 'x' AS json"
    some += " UNION ALL SELECT 3, 'c', '' UNION ALL SELECT 1, 'a;1,2', NULL"
    statement = packed(KINDS, some, "number")

    assert list(unpacked(fetch_packed(db, statement, ()), KINDS)) == [
        [1, "a;1,2", None],
        [2, "b", b"x"],
        [3, "c", b""],
    ]


def test_no_rows_are_no_rows() -> None:
    db = apsw.Connection(":memory:")
    statement = packed(KINDS, "SELECT 1 AS number, '' AS words, '' AS json WHERE false", "number")

    assert list(unpacked(fetch_packed(db, statement, ()), KINDS)) == []


async def _filled(path: Path) -> None:
    store = await SqliteStore.open(path)
    for number in range(3):
        await store.create(NewConversation(f"c{number}", "demo", "2026-01-01T12:00:00.000Z"))
    await store.close()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    path = tmp_path / "turnwire.db"
    asyncio.run(_filled(path))
    db = connect(str(path), busy_ms=1000)
    yield db
    db.close()


@pytest.fixture
def fetched(db: apsw.Connection) -> Iterator[list[Any]]:
    """Returns every row that SQLite has given to Python."""
    given: list[Any] = []

    def note(cursor: apsw.Cursor, row: apsw.SQLiteValues) -> apsw.SQLiteValues:
        given.append(row)
        return row

    db.row_trace = note
    yield given
    db.row_trace = None


@pytest.mark.parametrize(
    "find",
    [
        lambda db: rows.find_conversations(
            db, Wanted(None, False, False, None, None, None, 500, 0)
        ),
        lambda db: rows.find_entries(db, "c", 0, None, 500, False),
        lambda db: rows.find_entries(db, "c", 0, None, 500, True, 1000),
        lambda db: rows.find_turns(db, "c", 0, None),
        lambda db: rows.find_inbox(db, None, True),
        lambda db: rows.find_audit(db, None, 0, 500),
        lambda db: rows.find_words(db, Query("word"), None, None, 500),
    ],
)
def test_packed_rows_take_the_interpreter_lock_once(
    db: apsw.Connection, fetched: list[Any], find: Any
) -> None:
    find(db)

    assert len(fetched) == 1
