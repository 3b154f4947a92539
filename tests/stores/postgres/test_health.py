"""The doctor sees the limits and the load of a database as a plain role, and says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from msgspec import structs

from tests.stores.postgres.server import ROLE, TestServer
from turnwire.ports import StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres import migrate
from turnwire.stores.postgres.health import findings
from turnwire.stores.postgres.status import DatabaseStatus, read_status

SECRET = "s3cr3t-of-ann"


@pytest.fixture(scope="module")
def own_server() -> Iterator[TestServer]:
    """A server whose role and settings are changed, and which no other test uses."""
    server = TestServer()
    asyncio.run(server.add_role())
    yield server
    server.stop()


@pytest.fixture
def address(own_server: TestServer) -> Address:
    found = Address(own_server.store_address(asyncio.run(own_server.create())))
    asyncio.run(migrate(found))
    return found


@asynccontextmanager
async def altered(server: TestServer, change: str, back: str) -> AsyncIterator[None]:
    """Changes the role for as long as the block runs."""
    await server.run(f"ALTER ROLE {ROLE} {change}")
    try:
        yield
    finally:
        await server.run(f"ALTER ROLE {ROLE} {back}")


def problems(status: DatabaseStatus, *, is_synchronous: bool = False) -> list[str]:
    """Returns what has to be mended."""
    found = findings(status, is_synchronous=is_synchronous)
    return [words for level, words in found if level == "bad"]


def notes(status: DatabaseStatus) -> list[str]:
    return [words for level, words in findings(status, is_synchronous=False) if level == "note"]


async def test_a_database_that_is_in_order_has_no_problem(address: Address) -> None:
    status = await read_status(address)
    assert problems(status) == []
    said = " ".join(words for _, words in findings(status, is_synchronous=False))
    for fact in (
        f"PostgreSQL {status.server} (15 and newer are supported)",
        "schema 7.0",
        "of 197 connections are in use, 0 by Turnwire. A server uses up to 11",
        "a statement ends after 60s",
        "synchronous_commit is on, 0 standbys",
        "no statement takes longer than a second",
        "its clock differs by 0.",
    ):
        assert fact in said


async def test_connections_of_other_roles_count(own_server: TestServer, address: Address) -> None:
    before = (await read_status(address)).connections
    others = [await asyncpg.connect(own_server.admin) for _ in range(3)]
    while (status := await read_status(address)).connections < before + 3:
        pass
    for each in others:
        await each.close()
    assert status.own_connections == 0
    full = structs.replace(status, max_connections=status.connections + 9)
    assert "Raise max_connections" in problems(full)[0]
    assert problems(structs.replace(full, own_connections=9)) == [], "the server runs already"


async def test_limits_of_the_role_and_of_its_database_are_seen(
    own_server: TestServer, address: Address
) -> None:
    async with altered(own_server, "CONNECTION LIMIT 5", "CONNECTION LIMIT -1"):
        [said] = problems(await read_status(address))
    assert said == (
        f"the role {ROLE} may have only 5 connections: ALTER ROLE {ROLE} CONNECTION LIMIT -1"
    )
    status = structs.replace(await read_status(address), database_limit=3)
    assert "the database takes only 3 connections" in problems(status)[0]


async def test_time_limits_that_hurt_are_seen(own_server: TestServer, address: Address) -> None:
    set_idle = "SET idle_session_timeout = '5min'"
    async with altered(own_server, set_idle, "RESET idle_session_timeout"):
        status = await read_status(address)
    assert any("idle for 5min" in said for said in notes(status))
    pooled = structs.replace(status, statement_timeout="0")
    assert "a pooler drops the settings of connections" in problems(pooled)[0]
    for same in ("60s", "60000ms", "1min"):
        assert problems(structs.replace(status, statement_timeout=same)) == []


async def test_commits_that_are_not_durable_are_seen(
    own_server: TestServer, address: Address
) -> None:
    set_off = "SET synchronous_commit = off"
    async with altered(own_server, set_off, "RESET synchronous_commit"):
        [said] = problems(await read_status(address))
    assert f"ALTER ROLE {ROLE} SET synchronous_commit = on" in said
    status = await read_status(address)
    [said] = problems(status, is_synchronous=True)
    assert "the server waits for no standby" in said
    waits = structs.replace(status, synchronous_standbys="one", standbys=1)
    assert problems(waits, is_synchronous=True) == []
    standby = structs.replace(status, is_standby=True)
    assert "the server is a standby" in problems(standby)[0]


async def test_slow_statements_of_turnwire_are_shown_and_those_of_others_are_not(
    address: Address,
) -> None:
    async def sleep(name: str, words: str) -> Any:
        connection = await asyncpg.connect(address.url, server_settings={"application_name": name})
        try:
            await connection.execute(f"SELECT pg_sleep(600) /* {words} */")
        except asyncpg.QueryCanceledError:
            pass
        finally:
            await connection.close()

    slow = asyncio.create_task(sleep("turnwire 1", "ours"))
    other = asyncio.create_task(sleep("psql", SECRET))
    try:
        while not (status := await read_status(address)).slow:
            pass
    finally:
        ends = await asyncpg.connect(address.url)
        while not (slow.done() and other.done()):
            await ends.execute(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE 'SELECT pg_sleep%'"
            )
        await ends.close()
    assert any("turnwire 1: SELECT pg_sleep(600) /* ours */" in said for said in notes(status))
    assert SECRET not in str(status)


async def test_recorded_statements_are_shown_where_the_server_has_them(
    own_server: TestServer, address: Address
) -> None:
    # The test server lacks the extension: a table has the columns that are read.
    await own_server.run_in(
        address.url,
        "CREATE TABLE pg_stat_statements AS SELECT r.oid AS userid, d.oid AS dbid,"
        " 2500.0::float8 AS mean_exec_time, 7::bigint AS calls, q AS query"
        " FROM pg_roles r, pg_database d, unnest(ARRAY['SELECT slow', 'ALTER ROLE x PASSWORD y']) q"
        f" WHERE r.rolname = '{ROLE}' AND d.datname = current_database()",
    )
    assert not (await read_status(address)).has_statistics, "the role may not read it"
    await own_server.run_in(address.url, f"GRANT SELECT ON pg_stat_statements TO {ROLE}")
    status = await read_status(address)
    assert status.has_statistics
    assert "slow: 2.5 s, on average, 7 calls: SELECT slow" in notes(status)
    assert len(status.slow) == 1


async def test_a_clock_that_differs_is_noted(address: Address) -> None:
    status = await read_status(address)
    assert abs(status.clock_ms) < 60_000
    assert any(
        "7,200 s ahead of this machine's" in said
        for said in notes(structs.replace(status, clock_ms=7_200_000))
    )


async def test_too_many_connections_of_a_role_or_a_database_say_which_limit_to_raise(
    own_server: TestServer, address: Address
) -> None:
    async with altered(own_server, "CONNECTION LIMIT 0", "CONNECTION LIMIT -1"):
        with pytest.raises(StorageUnavailable, match=f'ALTER ROLE "{ROLE}" CONNECTION LIMIT -1'):
            await read_status(address)
    name = urlsplit(address.url).path.removeprefix("/")
    await own_server.run(f"ALTER DATABASE {name} CONNECTION LIMIT 0")
    with pytest.raises(StorageUnavailable, match=f'ALTER DATABASE "{name}" CONNECTION LIMIT -1'):
        await read_status(address)
