"""Whatever happens to connections and to the server: nothing is lost, doubled or left in doubt."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tests.stores.postgres.faults import Load, Lost, Proxy, run_with_faults
from tests.stores.postgres.server import TestServer
from turnwire.crash_points import CrashPoint, on_reach
from turnwire.ports import NodeRow
from turnwire.stores.address import Address
from turnwire.stores.postgres import PostgresStore, migrate, reader
from turnwire.testing.store_samples import LEASE, NOW, at, begin

# `TURNWIRE_FAULTS=10` does everything ten times as often.
TIMES = int(os.environ.get("TURNWIRE_FAULTS", "1"))


@pytest.fixture(scope="module")
def own_server() -> Iterator[TestServer]:
    """A server that is killed and restarted, and used by no other test."""
    server = TestServer()
    asyncio.run(server.add_role())
    yield server
    server.stop()


@pytest.fixture
def own_database(own_server: TestServer) -> str:
    name = asyncio.run(own_server.create())
    address = own_server.store_address(name)
    asyncio.run(migrate(Address(address)))
    return address


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_connections_are_cut_in_the_middle_of_commits(lost: Lost, own_database: str) -> None:
    async with Proxy(own_database) as proxy:

        async def cut(load: Load) -> None:
            proxy.cut(lost)

        await run_with_faults(proxy.address, cut, times=40 * TIMES, check_address=own_database)
        assert proxy.cuts > 20 * TIMES


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection counts as lost sooner than usual."""
    for name, seconds in [("CONNECT", 0.5), ("ANSWER", 0.3), ("COMMAND", 0.5)]:
        monkeypatch.setattr(f"turnwire.stores.postgres.connection.{name}_SECONDS", seconds)
        monkeypatch.setattr(f"turnwire.stores.postgres.reader.{name}_SECONDS", seconds)


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize("lost", [["request"], ["answer"], ["request", "answer"]], ids=" ".join)
async def test_connections_fall_silent_in_the_middle_of_commits(
    lost: list[Lost], own_database: str
) -> None:
    async with Proxy(own_database) as proxy:

        async def fall_silent(load: Load) -> None:
            proxy.fall_silent(*lost)

        await run_with_faults(
            proxy.address, fall_silent, times=8 * TIMES, check_address=own_database
        )


@pytest.mark.usefixtures("short_waits")
async def test_a_network_that_swallows_everything_for_a_while_leaves_nothing_in_doubt(
    own_database: str,
) -> None:
    async with Proxy(own_database) as proxy:

        async def be_silent(load: Load) -> None:
            refused = load.refused
            proxy.fall_silent("request", "answer", also_new=True)
            await load.until(lambda: load.refused > refused)
            proxy.speak_again()

        load = await run_with_faults(
            proxy.address, be_silent, times=2 * TIMES, patience=0.5, check_address=own_database
        )
        assert load.refused


@pytest.mark.usefixtures("short_waits")
async def test_reads_and_leases_go_on_when_open_connections_fall_silent(own_database: str) -> None:
    async with (
        Proxy(own_database) as proxy,
        PostgresStore.open(proxy.address, uses_callers_time=True) as store,
    ):
        await begin(store)
        await store.join(NodeRow("one", "node", "inbox"), now=NOW, lease=LEASE)
        await asyncio.gather(*(store.conversations() for _ in range(8)))
        proxy.fall_silent("request")
        assert len(await store.conversations()) == 1
        assert await store.renew_node("one", now=NOW, lease=LEASE)
        await store.note("noted", at=at())


async def test_a_read_after_a_quiet_time_does_not_wait_long_for_a_silent_connection(
    own_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "COMMAND_SECONDS", 10_000.0)  # the test would not end
    monkeypatch.setattr(reader, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(reader, "_QUIET_SECONDS", 0.0)
    async with Proxy(own_database) as proxy, PostgresStore.open(proxy.address) as store:
        await asyncio.gather(*(store.conversations() for _ in range(8)))
        proxy.fall_silent("request")
        assert await store.conversations() == []


async def test_backends_are_killed_in_the_middle_of_commits(
    own_server: TestServer, own_database: str
) -> None:
    killed = 0

    async def kill(load: Load) -> None:
        nonlocal killed
        before = killed
        while killed == before:
            # The server recovers from the last one, or the backend has ended.
            with suppress(Exception):
                rows = await own_server.run(
                    "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'turnwire %'"
                    " AND query LIKE '%WITH asked%'"
                )
                own_server.signal_backend(random.choice(rows)["pid"])
                killed += 1

    await run_with_faults(own_database, kill, times=5 * TIMES)
    assert killed == 5 * TIMES


@pytest.mark.parametrize("how", ["fast", "immediate"])
async def test_the_server_is_restarted_under_load(
    how: str, own_server: TestServer, own_database: str
) -> None:
    async def restart(load: Load) -> None:
        await asyncio.to_thread(own_server.restart, how)  # type: ignore[arg-type]

    await run_with_faults(own_database, restart, times=3 * TIMES)


async def test_the_server_is_killed_under_load(own_server: TestServer, own_database: str) -> None:
    async def kill(load: Load) -> None:
        await asyncio.to_thread(own_server.kill)
        await asyncio.to_thread(own_server.start_again)

    await run_with_faults(own_database, kill, times=3 * TIMES)


async def test_a_transaction_that_a_crash_has_lost_is_written_again_and_not_taken_for_another(
    own_server: TestServer, own_database: str
) -> None:
    """The server gives the lost transaction's id to another one."""
    crashes = 0

    async def use_ids() -> None:
        for _ in range(20):
            await own_server.run("SELECT pg_current_xact_id()")

    def crash(point: CrashPoint) -> None:
        nonlocal crashes
        if point is CrashPoint.POSTGRES_COMMITS and not crashes:
            crashes += 1
            own_server.kill()
            own_server.start_again()
            with ThreadPoolExecutor() as pool:
                pool.submit(asyncio.run, use_ids()).result()

    async with PostgresStore.open(own_database, patience=30) as store:
        await store.note("before", at=at())
        on_reach(crash)
        try:
            await store.note("lost", at=at())
        finally:
            on_reach(None)
        assert [row.action for row in await store.audit()] == ["before", "lost"]
    assert crashes == 1


async def test_connections_are_ended_by_an_administrator(
    own_server: TestServer, own_database: str
) -> None:
    async def end(load: Load) -> None:
        await own_server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'turnwire'"
        )

    await run_with_faults(own_database, end, times=30 * TIMES)
