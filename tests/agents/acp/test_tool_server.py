"""The server of the front end's tools: real relays on real sockets, also from an isolated agent."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents.helpers.isolation_probe import UNPRIVILEGED, WAYS, isolation, place
from turnwire.agents.acp import relay_command, tool_server
from turnwire.agents.acp.tool_server import ToolRequest, ToolServer, server_name
from turnwire.agents.client_tools import ClientTool
from turnwire.agents.isolation import find_user
from turnwire.agents.process import GuardedProcess, plain_environment
from turnwire.errors import TurnwireError
from turnwire.ports import AgentGone, AgentUser

SECONDS = 60.0
TOOLS = [ClientTool("paint", "Paints.", {"properties": {"colour": {"type": "string"}}})]
kinds = pytest.mark.parametrize("is_abstract", [True, False])


class Stage:
    """A server, its calls, and relays of it."""

    def __init__(self, *, is_abstract: bool = True, user: AgentUser | None = None) -> None:
        self.called: asyncio.Queue[ToolRequest] = asyncio.Queue()
        self.cancelled: asyncio.Queue[ToolRequest] = asyncio.Queue()
        called, cancelled = self.called.put_nowait, self.cancelled.put_nowait
        self._relays: list[asyncio.subprocess.Process] = []
        self.server = ToolServer(TOOLS, called, cancelled, user=user, is_abstract=is_abstract)

    @property
    def command(self) -> list[str]:
        entry = self.server.entry("turnwire")
        return [entry["command"], *entry["args"]]

    @property
    def env(self) -> dict[str, str]:
        return {each["name"]: each["value"] for each in self.server.entry("turnwire")["env"]}

    async def relay(self, **env: str) -> asyncio.subprocess.Process:
        relay = await asyncio.create_subprocess_exec(
            *self.command,
            env={**plain_environment(), **self.env, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._relays.append(relay)
        return relay

    async def close(self) -> None:
        """Closes the server, which ends all relays."""
        await self.server.close()
        for relay in self._relays:
            await relay.communicate()


@asynccontextmanager
async def serving(**how: Any) -> AsyncIterator[Stage]:
    it = Stage(**how)
    await it.server.open()
    try:
        async with asyncio.timeout(SECONDS):
            yield it
    finally:
        await it.close()


async def asks(relay: asyncio.subprocess.Process, **message: Any) -> dict[str, Any]:
    """Sends a message, and returns the next one that comes."""
    assert relay.stdin is not None
    assert relay.stdout is not None
    relay.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    line = await relay.stdout.readline()
    said: dict[str, Any] = json.loads(line)
    assert said.pop("jsonrpc") == "2.0"
    return said


def calls(number: Any, tool: str = "paint", **more: Any) -> dict[str, Any]:
    given = {"name": tool, "arguments": {"colour": "blue"}, **more}
    return {"id": number, "method": "tools/call", "params": given}


@kinds
async def test_a_relay_speaks_the_protocol_and_a_call_waits_for_its_answer(
    is_abstract: bool,
) -> None:
    async with serving(is_abstract=is_abstract) as it:
        relay = await it.relay()
        params = {"protocolVersion": "2024-11-05"}
        about = (await asks(relay, id=1, method="initialize", params=params))["result"]
        assert about["protocolVersion"] == "2024-11-05"
        assert about["capabilities"] == {"tools": {}}
        assert await asks(relay, id="p", method="ping") == {"id": "p", "result": {}}
        listed = (await asks(relay, id=2, method="tools/list"))["result"]["tools"]
        assert [(each["name"], each["inputSchema"]["type"]) for each in listed] == [
            ("paint", "object")
        ]
        answer = asyncio.create_task(asks(relay, **calls(3)))
        request = await it.called.get()
        assert (request.tool, request.arguments) == ("paint", {"colour": "blue"})
        request.answer("Blue.", is_error=False)
        result = {"content": [{"type": "text", "text": "Blue."}], "isError": False}
        assert await answer == {"id": 3, "result": result}
        assert not request.is_open
        assert relay.stdin is not None
        relay.stdin.close()
        assert await relay.wait() == 0, "it ends with its agent"


async def test_a_message_that_is_no_call_of_a_tool_is_refused_or_ignored() -> None:
    async with serving() as it:
        relay = await it.relay()
        assert relay.stdin is not None
        relay.stdin.write(b'no json\n[1]\n{"method": 5}\n{"method": "notifications/other"}\n')
        relay.stdin.write(b'{"method": "notifications/cancelled", "params": {"requestId": []}}\n')
        assert (await asks(relay, id=1, method="resources/list"))["error"]["code"] == -32601
        assert (await asks(relay, **calls(2, "draw")))["error"]["code"] == -32602
        assert it.called.empty()


async def test_a_call_that_the_agent_cancels_is_no_longer_open() -> None:
    async with serving() as it:
        relay = await it.relay()
        assert relay.stdin is not None
        relay.stdin.write(json.dumps(calls(1)).encode() + b"\n")
        request = await it.called.get()
        cancel = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        relay.stdin.write(json.dumps(cancel).encode() + b"\n")
        assert await it.cancelled.get() is request
        assert not request.is_open
        request.answer("Too late.", is_error=False)
        assert await asks(relay, id=2, method="ping") == {"id": 2, "result": {}}


async def test_a_call_that_waits_long_shows_the_agent_that_it_still_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tool_server, "_ALIVE", 0.01)
    async with serving() as it:
        relay = await it.relay()
        assert relay.stdout is not None
        first = await asks(relay, **calls(1, _meta={"progressToken": "t"}))
        params = {"progressToken": "t", "progress": 1}
        assert first == {"method": "notifications/progress", "params": params}
        second = json.loads(await relay.stdout.readline())
        assert second["params"] == {**params, "progress": 2}
        (await it.called.get()).answer("Blue.", is_error=False)
        while json.loads(await relay.stdout.readline()).get("id") != 1:
            pass
        assert await asks(relay, id=2, method="ping") == {"id": 2, "result": {}}, "it is silent now"


@kinds
async def test_a_connection_without_the_key_is_closed(is_abstract: bool) -> None:
    async with serving(is_abstract=is_abstract) as it, serving() as other:
        relay = await it.relay(TURNWIRE_TOOLS_KEY=other.env["TURNWIRE_TOOLS_KEY"])
        assert relay.stdin is not None
        assert relay.stdout is not None
        relay.stdin.write(json.dumps(calls(1)).encode() + b"\n")
        assert await relay.stdout.read() == b""
        assert await relay.wait() == 1
        assert it.called.empty()
        right = await it.relay()
        assert await asks(right, id=1, method="ping") == {"id": 1, "result": {}}, "it still serves"


def mode_above(name: str) -> int | None:
    """Returns the mode of the directory of a socket, or None if it does not exist."""
    path = Path(name)
    return stat.S_IMODE(path.parent.stat().st_mode) if path.exists() else None


@kinds
async def test_nothing_is_left_of_a_server_that_is_closed(is_abstract: bool) -> None:
    async with serving(is_abstract=is_abstract) as it:
        relay = await it.relay()
        await asks(relay, id=1, method="ping")
        name = it.env["TURNWIRE_TOOLS_SOCKET"]
        assert name.startswith("@") == is_abstract
        assert mode_above(name) == (None if is_abstract else 0o700)
    assert await relay.wait() == 1
    assert mode_above(name) is None
    late = await it.relay()
    _, complaint = await late.communicate()
    assert "cannot be reached" in complaint.decode()


async def test_the_relay_removes_the_socket_of_a_server_that_was_killed() -> None:
    directory = Path(tempfile.mkdtemp(prefix="turnwire-test-", dir="/tmp"))
    path = directory / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        env = {"TURNWIRE_TOOLS_SOCKET": str(path), "TURNWIRE_TOOLS_KEY": "key"}
        command = [sys.executable, "-I", "-S", str(relay_command.RELAY)]
        relay = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, **env}, stdin=subprocess.PIPE
        )
        accepted, _ = await asyncio.to_thread(listening.accept)
        with accepted:
            assert await asyncio.to_thread(accepted.recv, 100) == b"key\n"
    assert await relay.wait() == 1
    assert mode_above(str(directory)) is None


@pytest.mark.parametrize("by", WAYS)
@kinds
async def test_an_isolated_agent_reaches_the_tools_of_its_own_session(
    by: str, is_abstract: bool
) -> None:
    with place() as there:
        way = isolation(by, there.data)
        if way is None:
            return
        try:
            relay_command.relay_command(way.user)
        except AgentGone as refused:
            assert "may not read" in refused.message  # noqa: PT017  # as this machine is set up
            return
        async with serving(is_abstract=is_abstract, user=way.user) as it:
            process = await GuardedProcess.start(
                it.command,
                cwd=str(there.work),
                env={**plain_environment(way), **it.env},
                isolation=way,
                keep=[relay_command.RELAY],
            )
            process.write(b'{"id": 1, "method": "ping"}\n')
            try:
                assert json.loads(await process.read())["result"] == {}, process.last_words
            finally:
                await process.end()


def test_a_user_who_may_not_read_the_relay_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        user = find_user(UNPRIVILEGED)
    except TurnwireError:
        return  # this machine has no such user
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    relay = closed / "relay.py"
    relay.write_text("")
    monkeypatch.setattr(relay_command, "RELAY", relay)
    with pytest.raises(AgentGone, match=f"the user {UNPRIVILEGED} may not read"):
        relay_command.relay_command(user)


def test_the_server_has_a_name_of_its_own() -> None:
    assert server_name([]) == "turnwire"
    assert server_name(["turnwire", "turnwire2", None]) == "turnwire3"
