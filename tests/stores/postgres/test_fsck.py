"""What fsck does on a database only: locks, its own epoch, older tables, damaged files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from tests.stores.helpers.fsck_runs import harm, kinds, look, repair
from tests.stores.helpers.sample_logs import make_log
from tests.stores.helpers.sql import rows_of
from tests.stores.postgres.server import TestServer
from turnwire.ports import Fenced, StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres import PostgresStore, fsck, migrate
from turnwire.stores.postgres.fsck import check
from turnwire.stores.postgres.schema import newest
from turnwire.testing.store_samples import NOW, Writing, begin

HELD = "A live process uses it: stop that process first."


# --- the tables -----------------------------------------------------------------------------------


def test_a_database_without_tables_says_what_to_run(empty_database: str) -> None:
    for options in ({}, {"repair": True}):
        with pytest.raises(StorageUnavailable, match="Create them: turnwire db migrate"):
            look(empty_database, **options)


def test_older_tables_are_found_and_migrated_by_a_repair(empty_database: str) -> None:
    harm(
        empty_database,
        'CREATE TABLE meta (name text COLLATE "C" NOT NULL PRIMARY KEY, value text NOT NULL)',
        "INSERT INTO meta VALUES ('schema_pre', '0'), ('schema_post', '0'), ('epoch', 'e'),"
        " ('audit_base', '0')",
    )
    found = look(empty_database)
    assert kinds(found) == kinds(look(empty_database)) == {"schema_old"}
    assert f"has schema 0; this version of Turnwire has {newest().pre}" in found.findings[0].what
    assert not look(empty_database, repair=True).left
    assert not look(empty_database).findings


def test_newer_tables_are_refused(database: str) -> None:
    harm(database, "UPDATE meta SET value = '9' WHERE name = 'schema_post'")
    with pytest.raises(StorageUnavailable, match="Update Turnwire"):
        look(database)


# --- other processes ------------------------------------------------------------------------------


def test_a_second_repair_is_refused_and_says_what_to_do(database: str) -> None:
    async def scene() -> None:
        inside = asyncio.Event()

        async def first() -> None:
            def wait(done: int, total: int) -> None:
                inside.set()

            await check(database, repair=True, progress=wait)

        running = asyncio.create_task(first())
        await inside.wait()
        with pytest.raises(StorageUnavailable, match=r"Wait until it has ended, then run this"):
            await check(database, repair=True)
        assert not (await check(database)).findings, "a check may run meanwhile"
        await running

    asyncio.run(scene())


def test_a_check_writes_nothing(database: str) -> None:
    harm(database, "DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 4")
    rows = "SELECT xmin::text FROM conversations UNION ALL SELECT xmin::text FROM meta"
    before = rows_of(database, rows)
    look(database)
    assert rows_of(database, rows) == before


async def test_a_conversation_that_another_process_does_not_let_go_is_left(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fsck._SETTINGS, "lock_timeout", "50ms")
    other = await asyncpg.connect(database)
    try:
        await other.execute("UPDATE conversations SET head = 30 WHERE conversation_id = 'talk'")
        async with other.transaction():
            await other.execute("SELECT 1 FROM conversations FOR UPDATE")
            assert {each.left for each in (await check(database, repair=True)).left} == {HELD}
        assert not (await check(database, repair=True)).left
    finally:
        await other.close()


async def test_an_owner_whose_conversation_was_repaired_writes_nothing_more(postgres: str) -> None:
    async with PostgresStore.open(postgres) as store:
        talk = await begin(store)
        await talk.say("before")
        db = await asyncpg.connect(postgres)
        await db.execute("UPDATE conversations SET lease_until = 0, unsettled = NOT unsettled")
        await db.close()
        assert not (await check(postgres, repair=True)).left
        with pytest.raises(Fenced):
            await talk.say("too late")
    assert not (await check(postgres)).findings


async def test_commits_and_repairs_at_the_same_time_leave_a_sound_log(postgres: str) -> None:
    async with PostgresStore.open(postgres) as store:
        for number in range(8):
            talk = await begin(store, f"c{number}", user="ann")
            await talk.say("before")
            # Its owner is late.
            talk.claim = await store.claim(talk.id, talk.claim.owner, now=NOW, lease=0)

            async def speak(talk: Writing = talk) -> None:
                while True:
                    await talk.say("more")

            speaking = asyncio.create_task(speak())
            repaired = await check(postgres, repair=True)
            assert "stale_owner" in {each.kind for each in repaired.findings}
            assert not repaired.left
            with pytest.raises(Fenced):
                await speaking
            assert not (await check(postgres)).findings


async def test_a_running_store_notices_that_a_repair_has_changed_entries(database: str) -> None:
    async with PostgresStore.open(database) as store:
        before = store.epoch
        db = await asyncpg.connect(database)
        await db.execute("DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 4")
        await db.close()
        assert not (await check(database, repair=True)).left
        await store.conversation("large")
        assert store.epoch != before


async def test_an_entry_that_is_not_indexed_yet_is_no_damage(database: str) -> None:
    db = await asyncpg.connect(database)
    await db.execute("DELETE FROM search WHERE sequence_num > 3")
    await db.execute("UPDATE search_progress SET indexed = least(indexed, 3)")
    await db.execute("UPDATE conversations SET head = 30 WHERE conversation_id = 'talk'")
    await db.close()
    assert {each.kind for each in (await check(database)).findings} == {"head_wrong"}
    assert not (await check(database, repair=True)).left
    assert not (await check(database)).findings
    async with PostgresStore.open(database) as store:
        assert await store.search("demo")
    assert not (await check(database)).findings


def test_repaired_entries_are_found_by_a_search(database: str) -> None:
    harm(database, "DELETE FROM messages WHERE conversation_id = 'talk' AND sequence_num = 7")
    repair(database)

    async def found() -> list[int]:
        async with PostgresStore.open(database) as store:
            return [hit.sequence for hit in await store.search("result lost")]

    assert asyncio.run(found()) == [21]


def test_many_findings_of_one_conversation_fit_into_the_audit_trail(database: str) -> None:
    harm(
        database,
        "INSERT INTO receipts SELECT 'talk', 'ann', 'x-' || n, '', 'x', ''"
        " FROM generate_series(1, 5000) AS n",
    )
    assert len(repair(database).findings) == 5000
    told = rows_of(database, "SELECT data_json FROM audit WHERE action = 'repaired'")
    assert len(told) == 1001
    assert sum("4,000 more of this kind." in text for (text,) in told) == 1


# --- damaged files --------------------------------------------------------------------------------


@pytest.fixture
def own_server() -> Iterator[TestServer]:
    """A server whose files are damaged, and which no other test uses."""
    server = TestServer()
    asyncio.run(server.add_role())
    yield server
    server.stop()


def spoiled(server: TestServer, relation: str) -> str:
    """Returns the address of a database, of which a page of a table or an index is unreadable."""

    async def prepare() -> tuple[str, str]:
        name = await server.create()
        address = server.store_address(name)
        await migrate(Address(address))
        return name, address

    name, address = asyncio.run(prepare())
    make_log(address)
    [(file,)] = asyncio.run(server.run(f"SELECT pg_relation_filepath('{relation}')", name))
    # A planner that reads small tables whole would not notice a damaged index.
    asyncio.run(server.run(f"ALTER DATABASE {name} SET enable_seqscan = off"))
    asyncio.run(server.run("CHECKPOINT"))
    with (server.data / file).open("r+b") as pages:
        pages.seek(-4096, 2)
        pages.write(b"\xff" * 1024)
    server.restart("fast")
    return address


def test_a_damaged_index_is_built_again(own_server: TestServer) -> None:
    address = spoiled(own_server, "turns_pkey")
    found = look(address)
    assert kinds(found) == {"file_damaged"}
    assert "invalid page" in found.findings[0].what
    repair(address)


def test_a_damaged_table_cannot_be_repaired(own_server: TestServer) -> None:
    address = spoiled(own_server, "turns")
    assert kinds(look(address)) == {"file_damaged"}
    left = look(address, repair=True).left
    assert {each.left for each in left} == {"It cannot be repaired. Restore a backup."}
