"""Tables are made once, by a plain role; a server says what to run if they do not fit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

import pytest

from tests.stores.helpers.older_states import STATES_OF_OLDER
from tests.stores.postgres.server import Server
from turnwire.ports import Activity, NodeRow, StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres import PostgresStore, migrate
from turnwire.stores.postgres.connection import connect
from turnwire.stores.postgres.schema import FOLDER, Schema, migrations, newest, read_schema


def sets(folder: Path, **files: str) -> Path:
    """Makes a folder of migrations: our own, and further ones."""
    for which in ("pre", "post"):
        (folder / which).mkdir()
        for number, script in migrations(which):
            (folder / which / f"{number:04}_own.sql").write_text(script)
    for name, script in files.items():
        (folder / name.replace("_", "/")).with_suffix(".sql").write_text(script)
    return folder


async def test_several_processes_migrate_at_once_and_each_file_is_applied_once(
    empty_database: str,
) -> None:
    applied = await asyncio.gather(*(migrate(Address(empty_database)) for _ in range(4)))
    assert sorted(applied) == [[], [], [], [f"pre/{number:04}" for number, _ in migrations("pre")]]
    async with PostgresStore.open(empty_database) as store:
        assert len(store.epoch) == 16


async def test_a_plain_role_is_enough(empty_database: str, postgres_server: Server) -> None:
    await migrate(Address(empty_database))
    rows = await postgres_server.run_in(
        empty_database,
        "SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = 'turnwire'",
    )
    assert [tuple(row) for row in rows] in ([(False, False, False)], [])
    assert (
        await postgres_server.run_in(
            empty_database, "SELECT 1 FROM pg_extension WHERE extname <> 'plpgsql'"
        )
        == []
    )


async def test_an_empty_database_says_what_to_run(empty_database: str) -> None:
    with pytest.raises(StorageUnavailable, match="Create them: turnwire db migrate"):
        await PostgresStore.open(empty_database, patience=0)


async def test_an_older_schema_says_what_to_run(postgres: str, postgres_server: Server) -> None:
    await postgres_server.run_in(postgres, "UPDATE meta SET value = '0' WHERE name = 'schema_pre'")
    with pytest.raises(StorageUnavailable, match="Update it: turnwire db migrate"):
        await PostgresStore.open(postgres, patience=0)


async def test_a_newer_schema_is_used_until_its_post_set_is_applied(
    postgres: str, tmp_path: Path
) -> None:
    more = sets(
        tmp_path,
        pre_9999="ALTER TABLE conversations ADD COLUMN added text",
        post_9999="ALTER TABLE conversations DROP COLUMN added",
    )
    assert newest(more) == Schema(9999, 9999)
    assert await migrate(Address(postgres), folder=more) == ["pre/9999"]
    async with PostgresStore.open(postgres) as store:
        await store.check_writable()
    own = [f"post/{number:04}" for number, _ in migrations("post")]
    assert await migrate(Address(postgres), "post", folder=more) == [*own, "post/9999"]
    with pytest.raises(StorageUnavailable, match="changed by a newer Turnwire"):
        await PostgresStore.open(postgres, patience=0)


async def test_nothing_is_removed_while_a_server_runs_that_needs_it(
    postgres: str, tmp_path: Path
) -> None:
    more = sets(tmp_path, post_9999="SELECT 1")
    async with PostgresStore.open(postgres) as store:
        await store.join(NodeRow("owner", "one", "inbox"), now=0, lease=3_600_000)
        with pytest.raises(StorageUnavailable, match=r"still use the database: one\. Stop"):
            await migrate(Address(postgres), "post", folder=more)
        await store.leave("owner")
    assert (await migrate(Address(postgres), "post", folder=more))[-1] == "post/9999"


async def test_a_migration_that_fails_changes_nothing(postgres: str, tmp_path: Path) -> None:
    broken = sets(tmp_path, pre_9999="CREATE TABLE half (a int); SELECT no_such_function()")
    with pytest.raises(StorageUnavailable):
        await migrate(Address(postgres), folder=broken)
    connection = await connect(Address(postgres), {})
    try:
        assert await read_schema(connection) == Schema(newest(FOLDER).pre)
        assert await connection.fetchval("SELECT to_regclass('half')") is None
    finally:
        await connection.close()


async def test_a_migration_does_not_wait_for_a_table_that_is_in_use(
    postgres: str, tmp_path: Path
) -> None:
    """Every query of the servers would wait behind it."""
    more = sets(tmp_path, pre_9999="SET LOCAL lock_timeout = '50ms'; ALTER TABLE turns ADD x int")
    connection = await connect(Address(postgres), {})
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE turns")
            with pytest.raises(StorageUnavailable, match="lock timeout"):
                await migrate(Address(postgres), folder=more)
    finally:
        await connection.close()


async def test_older_conversations_are_in_lists_of_one_group(
    empty_database: str, postgres_server: Server, tmp_path: Path
) -> None:
    """Also those that an older server changes while newer ones run."""
    older = sets(tmp_path)
    for which in ("pre", "post"):
        for number, _ in migrations(which):
            if (which, number) not in [("pre", each) for each in range(1, 6)]:
                (older / which / f"{number:04}_own.sql").unlink()
    await migrate(Address(empty_database), folder=older)
    add = (
        "INSERT INTO conversations (conversation_id, agent, options, created_at, updated_at, head,"
        " unsettled, state_json) VALUES ('{}', 'demo', '{{}}', '', '', 0, false, '{}')"
    )

    async def write(before: str) -> None:
        for name, (_, state) in STATES_OF_OLDER.items():
            await postgres_server.run_in(empty_database, add.format(f"{before}-{name}", state))

    async def listed() -> dict[str, Activity]:
        async with PostgresStore.open(empty_database) as store:
            return {
                row.conversation_id: group
                for group in get_args(Activity)
                for row in await store.conversations(activity=group)
            }

    await write("before")
    await migrate(Address(empty_database))
    found = {f"before-{name}": group for name, (group, _) in STATES_OF_OLDER.items()}
    assert await listed() == found
    await write("meanwhile")
    await migrate(Address(empty_database), "post")
    found |= {f"meanwhile-{name}": group for name, (group, _) in STATES_OF_OLDER.items()}
    assert await listed() == found


async def test_a_database_of_another_program_is_left_alone(
    empty_database: str, postgres_server: Server
) -> None:
    await postgres_server.run_in(empty_database, "CREATE TABLE meta (a int)")
    with pytest.raises(StorageUnavailable, match="of another program"):
        await migrate(Address(empty_database))
