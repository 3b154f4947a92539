"""PostgreSQL is away while `turnwire serve` runs: nothing is promised, and everything goes on by itself."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.watcher import Watcher
from tests.server.helpers.servers import Process, process
from tests.server.helpers.socket_reader import PATIENCE
from tests.stores.postgres.faults import Proxy, until_writable
from tests.stores.postgres.server import Server
from turnwire.agents.child import ChildAgent
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.stores.postgres import PostgresStore
from turnwire.testing.agent_listener import processes_below_us

# A server that waits for its database for a short time only.
FIRST = """
import functools
from turnwire.server import service
from turnwire.stores import open_store as opening
service.EngineSettings = functools.partial(service.EngineSettings, lease={lease}, recheck=0.1)
opening.open_store = functools.partial(opening.open_store, patience={patience})
"""
NOW = "extract(epoch FROM clock_timestamp()) * 1000"
HOUR = 3_600_000


@asynccontextmanager
async def served(
    path: Path, proxy: Proxy, lease: float, patience: float = 0.3
) -> AsyncIterator[Process]:
    """`turnwire serve` on the other side of a proxy."""
    with ExitStack() as stack:
        first = FIRST.format(lease=lease, patience=patience)
        serving = process(path, first=first, TURNWIRE_STORE=proxy.address)
        yield await asyncio.to_thread(stack.enter_context, serving)


async def is_ready(server: Process) -> bool:
    async with server.http() as http:
        answer = await http.get("/readyz")
    assert answer.status_code in (200, 503), answer.text
    return answer.status_code == 200


async def until(happened: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await happened():
            pass  # each look is a request


def is_python(pid: int) -> bool:
    """Returns whether a process is a guard or an agent, and not a backend of the database."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable))
    except OSError:  # it has ended
        return False


@pytest.mark.parametrize("outage", ["a second", "a minute", "an hour"])
async def test_a_server_refuses_inputs_while_its_database_is_away_and_then_goes_on(
    outage: str, tmp_path: Path, postgres: str, postgres_server: Server
) -> None:
    """An outage of a second is shorter than the lease. The lease of an hour ago has long expired."""

    async def is_over() -> bool:
        sql = f"SELECT bool_and(lease_until < {NOW}) FROM conversations"
        return bool((await postgres_server.run_in(postgres, sql))[0][0])

    async def is_not_ready() -> bool:
        return not await is_ready(server)

    lease = 60.0 if outage == "a second" else 2.0
    async with Proxy(postgres) as proxy, served(tmp_path, proxy, lease) as server:
        async with server.http() as http:
            made = await http.post("/api/conversations", json={"options": {"delay": 0.005}})
        async with server.client(made.json()["id"]) as client:
            await client.say("long", "m-1")
            await client.until("assistant.chunk")
            proxy.go_away()
            await until(is_not_ready)
            await client.say("refused", "m-2")
            refused = await client.answer("m-2")
            assert refused["payload"]["code"] == "STORAGE_UNAVAILABLE"
            if outage != "a second":
                await until(is_over)
            if outage == "an hour":
                await postgres_server.run_in(
                    postgres, f"UPDATE conversations SET lease_until = lease_until - {HOUR}"
                )
            proxy.come_back()
            end = await client.end_of(1)
            assert end["payload"]["interrupted"] is (outage != "a second")
            await until(lambda: is_ready(server))
            await client.say("hello", "m-3")
            assert (await client.answer("m-3"))["type"] == "user.message.ack"
            assert not (await client.end_of(2))["payload"]["is_error"]
            said = [each.client_message_id for each in client.view().messages]
            assert [name for name in said if name] == ["m-1", "m-3"]
            assert client.numbers() == list(range(1, client.cursor + 1))


async def test_a_server_whose_database_is_away_stops_without_waiting_for_each_write(
    tmp_path: Path, postgres: str
) -> None:
    patience = 5.0
    async with Proxy(postgres) as proxy, served(tmp_path, proxy, 60.0, patience) as server:
        async with server.http() as http:
            made = await http.post("/api/conversations", json={"options": {"delay": 0.005}})
        async with server.client(made.json()["id"]) as client:
            await client.say("long", "m-1")
            await client.until("assistant.chunk")
            proxy.go_away()
            await client.say("refused", "m-2")
            refused = await client.answer("m-2")
            assert refused["payload"]["code"] == "STORAGE_UNAVAILABLE"
        began = time.monotonic()
        server.popen.terminate()
        await asyncio.to_thread(server.popen.wait)
        assert time.monotonic() - began < 2 * patience, "three writes would wait for longer"


async def test_agents_end_before_the_lease_while_the_database_is_away(
    postgres: str, postgres_server: Server
) -> None:
    async def owns() -> bool:
        sql = f"SELECT bool_and(owner IS NOT NULL AND lease_until > {NOW}) FROM conversations"
        return bool((await postgres_server.run_in(postgres, sql))[0][0])

    agents = {"demo": ChildAgent("demo", delay=0.05)}
    async with (
        Proxy(postgres) as proxy,
        PostgresStore.open(proxy.address) as store,
        Engine(store, agents, settings=EngineSettings(lease=6.0, recheck=0.1)) as engine,
    ):
        talk = await engine.create("demo")
        before = processes_below_us()
        async with Watcher(talk) as seen:
            await talk.send("long")
            await seen.until(f.AssistantChunk)
            pids = [each.pid for each in processes_below_us() - before if is_python(each.pid)]
            assert pids
            proxy.go_away()
            assert await asyncio.to_thread(wait_until_gone, pids) == []
            assert await owns(), "no other server may take the conversation over yet"
            proxy.come_back()
            await seen.state("interrupted")
            await talk.send("hello")
            assert not (await seen.until(f.AssistantComplete)).payload.is_error


async def test_a_server_whose_conversation_was_taken_over_during_the_outage_writes_nothing(
    postgres: str, postgres_server: Server
) -> None:
    settings = EngineSettings(lease=2.0, recheck=0.1)
    async with (
        Proxy(postgres) as proxy,
        PostgresStore.open(proxy.address, patience=0.3) as cut_off,
        PostgresStore.open(postgres) as store,
        Engine(cut_off, {"demo": ChildAgent("demo", delay=0.05)}, settings=settings) as one,
    ):
        talk = await one.create("demo", conversation_id="c")
        async with Watcher(talk) as seen:
            await talk.send("long")
            await seen.until(f.AssistantChunk)
            proxy.go_away()
            async with Engine(
                store, {"demo": ChildAgent("demo", delay=0)}, settings=settings
            ) as two:
                other = await two.open("c")
                async with Watcher(other) as watched:
                    await watched.state("interrupted")
                    await other.send("hello")
                    await watched.until(f.AssistantComplete, lambda end: end.turn_id == 2)
                    before = await store.entries("c")
                    proxy.come_back()
                    await until_writable(cut_off)
                    with pytest.raises(FollowAgain, match="Another process"):
                        await seen.until(f.AssistantComplete)
                    assert await store.entries("c") == before
                    row = await store.conversation("c")
                    assert row is not None
                    assert row.owner == two.owner
