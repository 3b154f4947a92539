"""A file of any older version is migrated once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

import apsw
import pytest

from tests.stores.helpers.older_states import STATES_OF_OLDER
from tests.stores.helpers.sql import rows_of
from turnwire.core.message_codec import encode
from turnwire.ports import Activity, StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.sqlite.schema import MIGRATIONS, migrate
from turnwire.testing.store_samples import a_large_message, a_message, a_question, at, begin

NEWEST = MIGRATIONS[-1][0]


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [number for number, _ in MIGRATIONS] == list(range(1, NEWEST + 1))


def test_an_empty_file_gets_every_table(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch()
    asyncio.run(_opened(path))
    assert rows_of(path, "SELECT value FROM meta WHERE name = 'schema_version'") == [(NEWEST,)]
    tables = {name for (name,) in rows_of(path, "SELECT name FROM sqlite_schema")}
    assert tables >= {"meta", "conversations", "messages", "turns", "requests", "inbox_items"}
    assert tables >= {
        "audit",
        "receipts",
        "connection_sessions",
        "blobs",
        "search",
        "tokens",
        "tickets",
    }


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_an_older_file_keeps_its_content(tmp_path: Path, version: int) -> None:
    path = tmp_path / "log.db"
    old = connect(str(path), busy_ms=0, writes=True)
    migrate(old, to=version)
    old.execute(
        "INSERT INTO conversations (conversation_id, agent, options, created_at, updated_at, head,"
        """ unsettled, state_json) VALUES ('c', 'demo', '{}', ?1, ?1, 2, 0, '{"conversation_id":"c","head":2}')""",
        (at(),),
    )
    for number, text in enumerate(["明天的会议", "hello"], 1):
        old.execute(
            "INSERT INTO messages (number, conversation_id, sequence_num, role, message_type,"
            " message_json, created_at) VALUES (?1, 'c', ?1, 'assistant', 'text', ?2, ?3)",
            (number, encode(a_message(text)).decode(), at()),
        )
        if version >= 2:
            old.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (number, "会议"))
    old.close()
    (epoch,) = rows_of(path, "SELECT value FROM meta WHERE name = 'epoch'")[0]

    async def look() -> None:
        store = await SqliteStore.open(path)
        try:
            assert store.epoch == epoch
            assert [e.entry for e in await store.entries("c")][1] == a_message("hello")
            assert 1 in [hit.sequence for hit in await store.search("会议")]
            claim = await store.claim("c", "one", now=0, lease=1)
            assert claim.fence == 1
            await store.put_blob("b", b"", "text/plain", at=at())
        finally:
            await store.close()

    asyncio.run(look())
    assert rows_of(path, "SELECT value FROM meta WHERE name = 'schema_version'") == [(NEWEST,)]


def test_an_older_file_gets_the_references_of_its_blobs_and_requests(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    old = connect(str(path), busy_ms=0, writes=True)
    migrate(old, to=3)
    old.execute(
        "INSERT INTO conversations (conversation_id, agent, options, created_at, updated_at, head,"
        """ unsettled, state_json) VALUES ('c', 'demo', '{}', ?1, ?1, 2, 0, '{"conversation_id":"c","head":2}')""",
        (at(),),
    )
    said = [("text", a_large_message("b")), ("input_request", a_question("Which colour?", []))]
    for number, (kind, entry) in enumerate(said, 1):
        old.execute(
            "INSERT INTO messages (number, conversation_id, sequence_num, role, message_type,"
            " message_json, created_at) VALUES (?1, 'c', ?1, 'assistant', ?2, ?3, ?4)",
            (number, kind, encode(entry).decode(), at()),
        )
    old.execute("INSERT INTO blobs VALUES ('b', 'text/plain', x'62', ?)", (at(),))
    old.close()

    async def look() -> None:
        store = await SqliteStore.open(path)
        try:
            assert [hit.sequence for hit in await store.search("colour")] == [2]
            await store.delete("c")
            assert await store.get_blob("b") is None
        finally:
            await store.close()

    asyncio.run(look())


def test_conversations_of_an_older_file_are_in_lists_of_one_group(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    old = connect(str(path), busy_ms=0, writes=True)
    migrate(old, to=16)
    for name, (_, state) in STATES_OF_OLDER.items():
        old.execute(
            "INSERT INTO conversations (conversation_id, agent, options, created_at, updated_at,"
            " head, unsettled, state_json) VALUES (?, 'demo', '{}', '', '', 0, 0, ?)",
            (name, state),
        )
    old.close()

    async def look() -> None:
        async with SqliteStore.open(path) as store:
            found = {
                row.conversation_id: group
                for group in get_args(Activity)
                for row in await store.conversations(activity=group)
            }
            assert found == {name: group for name, (group, _) in STATES_OF_OLDER.items()}
            assert len(await store.conversations()) == len(STATES_OF_OLDER)

    asyncio.run(look())


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    asyncio.run(_opened(path))
    rows_of(path, "UPDATE meta SET value = ? WHERE name = 'schema_version'", NEWEST + 1)
    with pytest.raises(StorageUnavailable, match="newer Turnwire"):
        asyncio.run(_opened(path))


def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    async def run(path: Path) -> None:
        stores = await asyncio.gather(*(SqliteStore.open(path) for _ in range(6)))
        assert len({store.epoch for store in stores}) == 1
        for number, store in enumerate(stores):
            await begin(store, f"c{number}")
        assert len(await stores[0].conversations()) == 6
        for store in stores:
            await store.close()

    for number in range(20):  # they do not stand in each other's way every time
        asyncio.run(run(tmp_path / f"{number}.db"))


async def _opened(path: Path) -> None:
    store = await SqliteStore.open(path)
    await store.close()


def test_the_audit_trail_of_an_older_file_quotes_no_titles(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    old = connect(str(path), busy_ms=0, writes=True)
    migrate(old, to=8)
    for action, data in (("renamed", '{"title":"secret"}'), ("said", '{"queue_id":"q"}')):
        old.execute("INSERT INTO audit (at, action, data_json) VALUES ('', ?, ?)", (action, data))
    old.close()
    asyncio.run(_opened(path))
    kept = rows_of(path, "SELECT action, data_json FROM audit ORDER BY number")
    assert kept == [("renamed", "{}"), ("said", '{"queue_id":"q"}')]
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        rows_of(path, "UPDATE audit SET data_json = '{}'")
