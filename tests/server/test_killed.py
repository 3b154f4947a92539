"""`turnwire serve` as people start it: killed, restarted, stopped, with many connections."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.server.helpers.servers import ROOT, Process, port_of, process
from tests.server.helpers.v2_client import PATIENCE, Client
from turnwire.server.tcp.listen import bind
from turnwire.settings import Settings

SAY = 15  # of twenty clients say something
PONG = "60"  # seconds: all clients are in this one process, which may be slow


async def begin(server: Process, delay: float = 0) -> str:
    async with server.http() as http:
        answer = await http.post("/api/conversations", json={"options": {"delay": delay}})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


async def come_again(client: Client) -> None:
    """Waits until a server runs again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await client.come()
                return
            except (OSError, InvalidHandshake, ConnectionClosed):
                await asyncio.to_thread(lambda: None)


async def until_all_is_said(client: Client) -> None:
    def now() -> Any:
        return next(each for each in reversed(client.frames) if each["type"] == "session.state")

    while now()["payload"]["state"] != "active" or len(client.view().turns) < SAY:
        await client.until("session.state")


def test_twenty_clients_go_on_after_a_kill_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    async def before(server: Process) -> list[Client]:
        name = await begin(server, 0.002)
        clients = [await server.client(name).come() for _ in range(20)]
        await clients[0].say("long", "m-0")
        await clients[0].answer("m-0")
        for number, client in enumerate(clients[1:SAY], 1):
            await client.say(f"hello {number}", f"m-{number}")
        for client in clients:
            await client.until("assistant.chunk")
        server.kill()
        for client in clients:
            await client.until_closed()
        return clients

    async def after(server: Process, clients: list[Client]) -> None:
        for client in clients:
            client.url = server.url.replace("http", "ws")
        await asyncio.gather(*(come_again(client) for client in clients))
        acknowledged = {
            line["server"]["payload"]["client_message_id"]
            for client in clients
            for line in client.lines
            if line.get("server", {}).get("type") == "user.message.ack"
        }
        for number, client in enumerate(clients[:SAY]):  # messages without an answer are sent again
            if f"m-{number}" not in acknowledged:
                text = f"hello {number}" if number else "long"
                await client.say(text, f"m-{number}")
                assert (await client.answer(f"m-{number}"))["type"] == "user.message.ack"
        await asyncio.gather(*(until_all_is_said(client) for client in clients))
        said = [
            each.client_message_id for each in clients[0].view().messages if each.role == "user"
        ]
        assert len(said) == len(set(said)), "nothing took effect twice"
        assert acknowledged <= set(said), "nothing that was acknowledged is lost"
        for client in clients:
            assert client.view().messages == clients[0].view().messages
            assert client.numbers() == list(range(1, client.cursor + 1))
            await client.leave()
            client.check()

    with process(tmp_path, TURNWIRE_PONG_SECONDS=PONG) as first:
        clients = asyncio.run(before(first))
        port = port_of(first)
    with process(tmp_path, port=port, TURNWIRE_PONG_SECONDS=PONG) as second:
        asyncio.run(after(second, clients))


def test_a_shutdown_ends_turns_truthfully_and_tells_clients_to_reconnect(tmp_path: Path) -> None:
    async def before(server: Process) -> Client:
        client = await server.client(await begin(server, 0.005)).come()
        await client.say("long", "m-1")
        await client.until("assistant.chunk")
        stopping = asyncio.create_task(asyncio.to_thread(server.stop))
        assert await client.until_closed() == 4000
        assert await stopping == 0
        assert client.view().turns[0].end.interrupted
        assert client.frames[-1]["type"] in ("session.state", "conversation.updated")
        return client

    async def after(server: Process, client: Client) -> None:
        client.url = server.url.replace("http", "ws")
        await client.come()
        assert client.frames[0]["type"] == "session.resumed"
        await client.say("hello", "m-2")
        await client.end_of(2)
        await client.leave()
        client.check()

    with process(tmp_path) as first:
        client = asyncio.run(before(first))
        assert not list(tmp_path.glob("server.*"))
    with process(tmp_path) as second:
        asyncio.run(after(second, client))


def test_a_thousand_clients_come_back_at_once_after_a_kill(tmp_path: Path) -> None:
    """All clients lose their server, reconnect, and get the missed entries."""

    async def say(server: Process, name: str, first: int, last: int) -> int:
        async with server.client(name) as one:
            for number in range(first, last):
                await one.say("hello", f"m-{number}")
                await one.end_of(number)
            await one.state("active")
            return one.cursor

    async def storm(first: Process) -> None:
        name = await begin(first)
        seen = await say(first, name, 1, 5)
        address = f"{first.url.replace('http', 'ws')}/ws/conversations/{name}?protocol=v2"
        headers = {"Authorization": f"Bearer {first.token}"}

        async def come(query: str = "") -> tuple[ClientConnection, list[int], str]:
            """Returns a connection, the numbers of the replayed entries, and the epoch."""
            client = await connect(
                address + query, additional_headers=headers, proxy=None, open_timeout=PATIENCE
            )
            numbers, epoch = [], ""
            async for raw in client:
                frame = json.loads(raw)
                epoch = frame["payload"].get("epoch", epoch)
                number = frame["payload"].get("message_sequence")
                if frame["type"] == "message.replay" and number is not None:
                    numbers.append(number)
                if frame["type"] == "session.state":
                    break
            return client, numbers, epoch

        crowd = await asyncio.gather(*(come() for _ in range(1000)))
        [epoch] = {epoch for _, _, epoch in crowd}
        assert {tuple(numbers) for _, numbers, _ in crowd} == {tuple(range(1, seen + 1))}
        first.kill()
        await asyncio.gather(*(client.wait_closed() for client, _, _ in crowd))
        with process(tmp_path, port=port_of(first)) as second:
            head = await say(second, name, 5, 30)
            assert head - seen >= 50
            missed = f"&last_sequence={seen}&epoch={epoch}"
            back = await asyncio.gather(*(come(missed) for _ in crowd))
            assert {tuple(numbers) for _, numbers, _ in back} == {tuple(range(seen + 1, head + 1))}
            await asyncio.gather(*(client.close() for client, _, _ in back))

    with process(tmp_path, TURNWIRE_PONG_SECONDS=PONG) as server:
        asyncio.run(storm(server))


def script() -> str:
    """The one on the protocol's page."""
    page = (ROOT / "docs" / "reference" / "protocol" / "v2.md").read_text()
    [found] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_client_on_the_page_holds_a_conversation(tmp_path: Path) -> None:
    program = script()
    assert len(program.splitlines()) <= 40
    imported = re.findall(r"^(?:import|from) (.+)$", program, re.MULTILINE)
    assert {name for line in imported for name in line.split(", ")} - sys.stdlib_module_names == {
        "urllib.parse",
        "websockets",
    }
    with process(tmp_path, TURNWIRE_PONG_SECONDS=PONG) as server:
        name = asyncio.run(begin(server))
        url = server.url.replace("http", "ws")
        command = [sys.executable, "-c", program, url, server.token, name]
        run = subprocess.run(
            [*command, "hello", "a question", "think"], capture_output=True, timeout=180, check=True
        )
    said = run.stdout.decode()
    assert said.count("user.message ") == 3
    assert "assistant.request_input" in said
    assert "assistant.request_resolved" in said
    assert "assistant.chunk " in said
    assert not run.stderr


def test_the_client_on_the_page_survives_a_server_that_is_killed(tmp_path: Path) -> None:
    with process(tmp_path, TURNWIRE_PONG_SECONDS=PONG) as first:
        name = asyncio.run(begin(first, 0.003))
        url = first.url.replace("http", "ws")
        command = [sys.executable, "-c", script(), url, first.token, name, "long", "hello"]
        client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert client.stdout is not None
        client.stdout.readline()  # its own message
        client.stdout.readline()  # the agent's first sign
        first.kill()
    with client, process(tmp_path, port=port_of(first)):
        out, err = client.communicate(timeout=180)
    assert client.returncode == 0, err.decode()
    said = out.decode()
    assert said.count("user.message ") == 1  # and the first, which was read above
    assert "conversation.interrupted" in said


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with process(tmp_path / "one") as first:
        taken = port_of(first)
        with bind(Settings(port=taken), any_port=True) as other:
            assert other.getsockname()[1] != taken
        code = "from turnwire.cli.main import main; main()"
        words = ["serve", "--data-dir", str(tmp_path / "two"), "--port", str(taken)]
        run = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, timeout=180, check=False
        )
    assert run.returncode != 0
    assert f"cannot listen on 127.0.0.1:{taken}".encode() in run.stderr
    assert b"Try --port 0" in run.stderr
