"""The server of the bus is killed and started again: clients of both nodes lose nothing, and live text comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.bus.servers import BusServer, NatsServer, ValkeyServer
from tests.server.helpers.servers import serving
from tests.server.helpers.v2_client import PATIENCE, Client
from turnwire.agents.demo import DemoAgent


async def has_turn(client: Client, number: int) -> None:
    """Waits until a client has seen the end of a turn, live or replayed."""
    async with asyncio.timeout(PATIENCE):
        while not any(turn.turn_id == number for turn in client.view().turns):
            await client.next()


@pytest.mark.parametrize("make", [NatsServer, ValkeyServer])
def test_the_server_of_the_bus_is_killed_and_started_again(
    tmp_path: Path, make: type[BusServer]
) -> None:
    async def scene(server: BusServer) -> None:
        agents = {"demo": DemoAgent(delay=0.002)}
        async with (
            serving(tmp_path, agents=agents, bus=server.url) as one,
            serving(tmp_path, agents=agents, bus=server.url) as two,
        ):
            name = await one.begin()
            async with one.client(name) as near, two.client(name) as far:
                clients = [near, far]
                turn = 0
                for event in ["before", "killed", "again"]:
                    if event == "killed":
                        await asyncio.to_thread(server.kill)
                    elif event == "again":
                        await asyncio.to_thread(server.start)
                    for client in clients:  # said on both nodes, whichever of them is the owner
                        turn += 1
                        await client.say("tool", f"m-{turn}")
                        answer = await client.answer(f"m-{turn}")
                        assert answer["type"] == "user.message.ack", answer
                        for each in clients:
                            await has_turn(each, turn)
                for client in clients:
                    async with asyncio.timeout(PATIENCE):
                        while client.cursor < max(each.cursor for each in clients):
                            await client.next()
                assert near.view().messages == far.view().messages
                said = [each.client_message_id for each in near.view().messages]
                assert [each for each in said if each] == [f"m-{n}" for n in range(1, turn + 1)]

    server = make()
    try:
        asyncio.run(scene(server))
    finally:
        server.stop()


def test_servers_with_different_buses_are_warned_and_a_password_is_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(server: BusServer) -> None:
        url = server.url.replace("://", "://me:secret@")
        async with serving(tmp_path) as one, serving(tmp_path, bus=url):
            nodes = await one.service.store.nodes()
            assert {node.versions["bus"] for node in nodes} == {
                "sockets",
                server.url.replace("://", "://me:***@"),
            }
            async with asyncio.timeout(PATIENCE):
                while "uses another bus (sockets)" not in caplog.text:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        assert "secret" not in caplog.text

    server = NatsServer()
    try:
        asyncio.run(scene(server))
    finally:
        server.stop()
