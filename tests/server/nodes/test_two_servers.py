"""Two servers on one data directory: each of them serves every conversation."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.bus.servers import NatsServer, ValkeyServer
from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.server.helpers.servers import Serving, free_port, process, serving
from tests.server.helpers.socket_reader import PATIENCE
from tests.server.helpers.v2_client import Client
from turnwire.agents.demo import DemoAgent
from turnwire.server.access.keys import owner_file


@pytest.fixture(params=["sockets", "nats", "valkey"])
def bus(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a bus; empty: the one that servers use by themselves."""
    if request.param == "sockets":
        yield ""
        return
    server = {"nats": NatsServer, "valkey": ValkeyServer}[request.param]()
    yield server.url
    server.stop()


@asynccontextmanager
async def two_servers(
    path: Path, bus: str = ""
) -> AsyncIterator[tuple[Serving, Serving, ScriptedAgent]]:
    """Two servers in this process; the agent is that of the first."""
    agent = ScriptedAgent()
    async with AsyncExitStack() as stack:
        one, two = [
            await stack.enter_async_context(
                serving(path, agents={"scripted": each, "demo": DemoAgent()}, bus=bus)
            )
            for each in (agent, ScriptedAgent())
        ]
        yield one, two, agent


def test_growing_text_reaches_v2_and_rpc_clients_of_the_other_server(
    tmp_path: Path, bus: str
) -> None:
    async def scene() -> None:
        async with two_servers(tmp_path, bus) as (one, two, agent):
            talk = await one.service.engine.create("scripted")
            async with one.client(talk.id) as near:
                await near.say("hello", "m1")
                await near.answer("m1")
                session = await agent.opened()
                session.begins()
                async with two.client(talk.id) as far, two.rpc() as front:
                    await front.join(talk.id, include_partial_messages=True)
                    session.speaks("Hel", finishes=False)
                    for client in (near, far):
                        said = await client.until("assistant.chunk")
                        assert said["payload"]["partial"] is True
                    await front.find(lambda frame: "Hel" in str(frame))
                    session.speaks("lo.", finishes=True)
                    session.ends()
                    for client in (near, far):
                        await client.end_of(1)
                        await client.state("active")
                    assert far.view() == near.view()
                    await front.find(lambda frame: "lo." in str(frame))

    asyncio.run(scene())


def test_a_question_is_answered_and_a_turn_is_stopped_from_the_other_server(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with two_servers(tmp_path) as (one, two, agent):
            talk = await one.service.engine.create("scripted")
            async with one.client(talk.id) as near, two.client(talk.id) as far:
                await near.say("hello", "m1")
                session = await agent.opened()
                session.begins()
                session.asks()
                asked = await far.state("waiting_input")
                question = asked["payload"]["requests"][0]["request_id"]
                await far.send("user.input_response", "a1", question_id=question, answer="tea")
                answer = await far.answer("a1")
                assert answer["type"] == "user.input_response.ack"
                resolved = await far.until("assistant.request_resolved")
                assert resolved["sequence"] > answer["sequence"]
                await far.send("user.interrupt", "s1", turn_id=1)
                assert (await far.answer("s1"))["type"] == "user.interrupt.ack"
                for client in (near, far):
                    await client.end_of(1)

    asyncio.run(scene())


def test_an_archived_deleted_or_revoked_thing_closes_connections_on_the_other_server(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with two_servers(tmp_path) as (one, two, _):
            first, second, third = [await one.begin(), await one.begin(), await one.begin("ann")]
            token = await one.token_of("ann")
            holder = await one.service.keys.holder(token, "token")
            assert holder is not None
            token_id = holder.token_id
            archived, deleted, revoked = (
                two.client(first),
                two.client(second),
                two.client(third, token),
            )
            for client in (archived, deleted, revoked):
                await client.come()
            async with one.http() as http:
                await http.patch(f"/api/conversations/{first}", json={"archived": True})
                await http.delete(f"/api/conversations/{second}")
            await one.app.revoke(token_id)
            for client, code in [(archived, 4504), (deleted, 4504), (revoked, 4502)]:
                await client.until_closed()
                assert client.code == code

    asyncio.run(scene())


def test_archiving_on_one_server_ends_the_agent_on_the_other(tmp_path: Path) -> None:
    async def scene() -> None:
        async with two_servers(tmp_path) as (one, two, agent):
            talk = await one.service.engine.create("scripted")
            near = await one.client(talk.id).come()
            await near.say("hello", "m1")
            session = await agent.opened()
            session.begins()
            await near.state("streaming")
            async with two.http() as http:
                path = f"/api/conversations/{talk.id}"
                answer = await http.patch(path, json={"archived": True})
                assert answer.json()["status"]["state"] == "interrupted"
            assert not session.is_alive
            await near.until_closed()

    asyncio.run(scene())


def test_a_change_on_one_server_is_told_to_the_lists_of_the_other(tmp_path: Path) -> None:
    async def scene() -> None:
        async with two_servers(tmp_path) as (one, two, _):
            name = await one.begin()
            async with two.http() as http, http.stream("GET", "/api/changes") as changes:
                lines = changes.aiter_lines()
                while "null" not in await anext(lines):
                    pass
                await (await one.service.engine.open(name)).rename("Tea")
                async with asyncio.timeout(PATIENCE):
                    while name not in await anext(lines):
                        pass

    asyncio.run(scene())


def test_a_killed_server_leaves_its_conversations_to_the_other(tmp_path: Path) -> None:
    bus = f"unix://{tmp_path}/bus"  # the same for both, whatever their store

    async def scene() -> None:
        with process(tmp_path, TURNWIRE_PROTOCOL_V2="true", TURNWIRE_BUS=bus) as dying:
            async with serving(tmp_path, bus=bus) as other:
                async with dying.http() as http:  # its turns last for many seconds
                    new = await http.post("/api/conversations", json={"options": {"delay": 1}})
                    name = str(new.json()["id"])
                near = await dying.client(name).come()
                far = await other.client(name).come()
                await near.say("hello", "m1")
                # A turn that the agent has not begun is handed over again: here it has begun.
                await far.until("assistant.chunk")
                dying.kill()
                await near.until_closed()
                assert (
                    await far.until_closed() == 4000
                )  # in mid-sentence; it may come again at once
                await far.come()
                said = await other.client(name).come()
                await said.say("hello", "m2")
                answer = await said.answer("m2")
                assert answer["type"] == "user.message.ack", answer
                await said.until("turn.started", lambda frame: frame["turn_id"] == 2)
                await said.leave()
                async with asyncio.timeout(PATIENCE):
                    while far.cursor < said.cursor:  # live or replayed
                        await far.next()
                await far.leave()
                far.check()

    asyncio.run(scene())


def test_workers_of_uvicorn_serve_the_same_conversations(tmp_path: Path) -> None:
    (tmp_path / "my_app.py").write_text(
        "from turnwire import Settings, create_app\n"
        "app = create_app(Settings(data_dir='data', protocol_v2=True, agents=['demo']))\n"
    )
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "my_app:app", "--workers", "3", "--port", f"{port}"]

    async def scene() -> None:
        url = f"http://127.0.0.1:{port}"
        token = await _token_of(tmp_path / "data", url)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE) as http:
            new = await http.post("/api/conversations", json={"options": {"delay": 0}})
        clients = [Client(url, new.json()["id"], token) for _ in range(9)]
        for client in clients:  # each of them is accepted by any of the workers
            await client.come()
        for number, client in enumerate(clients[:3], 1):
            await client.say("hello", f"m{number}")
            assert (await client.answer(f"m{number}"))["type"] == "user.message.ack"
            async with asyncio.timeout(PATIENCE):
                while not any(turn.turn_id == number for turn in client.view().turns):
                    await client.next()
        for client in clients:
            async with asyncio.timeout(PATIENCE):
                while client.cursor < clients[2].cursor:
                    await client.next()
        views = [client.view() for client in clients]
        assert all(view.messages == views[0].messages for view in views)
        for client in clients:
            await client.leave()
            client.check()

    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as server:
        try:
            asyncio.run(scene())
        finally:
            server.terminate()


async def _token_of(data: Path, url: str) -> str:
    """Waits until a server answers. Returns the owner's token."""
    async with asyncio.timeout(PATIENCE), httpx.AsyncClient() as http:
        while True:
            with suppress(httpx.TransportError, FileNotFoundError):
                if (await http.get(f"{url}/readyz")).status_code == 200:
                    return owner_file(data).read_text().strip()
            await asyncio.sleep(0.05)
