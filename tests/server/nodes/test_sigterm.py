"""SIGTERM drains a server; Ctrl-C and a second signal end it at once."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.servers import Process, process
from tests.server.helpers.socket_reader import PATIENCE
from tests.server.helpers.v2_client import Client
from turnwire.stores.open_store import open_store

_LONG: dict[str, Any] = {"TURNWIRE_PROTOCOL_V2": "true", "TURNWIRE_DRAIN_GRACE": "600"}


async def ask_for_leave(server: Process) -> tuple[Client, str]:
    """Begins a turn that lasts until a person allows something. Returns the request as well."""
    client = await server.client(await server.begin()).come()
    await client.say("permission", "m-1")
    asked = await client.until("assistant.permission_request")
    return client, asked["payload"]["request_id"]


async def until_not_ready(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, trust_env=False) as http:
        while (await http.get("/readyz")).status_code != 503:
            pass
        assert (await http.get("/healthz")).status_code == 200, "it still serves"


async def error_of_first_turn(server: Process, conversation_id: str) -> str | None:
    store = await open_store(server.store)
    try:
        [turn] = await store.turns(conversation_id)
        return None if turn.end.error is None else turn.end.error.code
    finally:
        await store.close()


async def ended(server: Process) -> int:
    return await asyncio.to_thread(server.popen.wait, PATIENCE)


def test_after_sigterm_a_running_turn_may_end_and_its_client_stays(tmp_path: Path) -> None:
    async def scene(server: Process) -> None:
        client, request = await ask_for_leave(server)
        idle = await server.client(await server.begin()).come()
        server.popen.send_signal(signal.SIGTERM)
        await until_not_ready(server.url)
        assert await idle.until_closed() == 4000
        late = server.client(idle.conversation_id)
        await late.come(until_ready=False)
        assert await late.until_closed() == 4000, "no other server could help"
        await client.send("user.permission_response", request_id=request, decision="allow")
        await client.end_of(1)
        assert await client.until_closed() == 4000
        assert await ended(server) == 0
        assert await error_of_first_turn(server, client.conversation_id) is None

    with process(tmp_path, **_LONG) as server:
        asyncio.run(scene(server))


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_drain(tmp_path: Path, second: signal.Signals) -> None:
    async def scene(server: Process) -> None:
        client, _ = await ask_for_leave(server)
        server.popen.send_signal(signal.SIGTERM)
        await until_not_ready(server.url)
        server.popen.send_signal(second)
        assert await client.until_closed() == 4000
        assert await ended(server) == 0
        assert await error_of_first_turn(server, client.conversation_id) == "server_stopped"

    with process(tmp_path, **_LONG) as server:
        asyncio.run(scene(server))


def test_ctrl_c_waits_for_no_turn(tmp_path: Path) -> None:
    async def scene(server: Process) -> None:
        client, _ = await ask_for_leave(server)
        server.popen.send_signal(signal.SIGINT)
        assert await client.until_closed() == 4000
        assert await ended(server) == 0
        assert await error_of_first_turn(server, client.conversation_id) == "server_stopped"

    with process(tmp_path, **_LONG) as server:
        asyncio.run(scene(server))


def test_a_turn_that_outlasts_the_grace_is_ended_truthfully(tmp_path: Path) -> None:
    async def scene(server: Process) -> None:
        client, _ = await ask_for_leave(server)
        server.popen.send_signal(signal.SIGTERM)
        await client.end_of(1)
        assert await ended(server) == 0
        assert await error_of_first_turn(server, client.conversation_id) == "server_stopped"

    with process(tmp_path, **{**_LONG, "TURNWIRE_DRAIN_GRACE": "0.2"}) as server:
        asyncio.run(scene(server))


def test_while_a_server_drains_its_clients_are_served_with_the_help_of_the_other(
    tmp_path: Path,
) -> None:
    async def scene(one: Process, two: Process) -> None:
        running, request = await ask_for_leave(one)
        idle = await one.client(await one.begin()).come()
        await idle.say("hello", "m-1")
        await idle.end_of(1)
        one.popen.send_signal(signal.SIGTERM)
        await until_not_ready(one.url)
        assert await idle.until_closed() == 4000
        moved = await two.client(idle.conversation_id).come()
        late = await one.client(idle.conversation_id).come()  # the balancer does not know it yet
        await late.say("hello again", "m-2")
        for client in (late, moved):
            await client.end_of(2)
        follower = await two.client(running.conversation_id).come()
        await follower.send("user.permission_response", request_id=request, decision="allow")
        for client in (running, follower):
            await client.end_of(1)
        assert await ended(one) == 0
        assert await late.until_closed() == 4000
        await follower.say("hello", "m-3")
        await follower.end_of(2)
        await moved.say("and again", "m-4")
        await moved.end_of(3)
        for client in (moved, follower):
            await client.leave()

    bus = f"unix://{tmp_path}/bus"  # the same for both, whatever their store
    with (
        process(tmp_path, TURNWIRE_BUS=bus, **_LONG) as one,
        process(tmp_path, TURNWIRE_BUS=bus, **_LONG) as two,
    ):
        asyncio.run(scene(one, two))
