"""A server that is killed during its work leaves a log that the next one can recover."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.agents.demo import DemoAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.core.message import Message, ToolCallPart, ToolResultPart, known_meta
from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.testing.clock import ManualClock

pytestmark = pytest.mark.needs_sqlite(reason="starts another process")

ROOT = Path(__file__).parent.parent.parent


class Server:
    """A real server, and the lines that it prints."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.acknowledged: dict[str, dict[str, Any]] = {}

    def send(self, text: str, name: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode([text, name]) + b"\n")
        self._process.stdin.flush()

    def until(self, frame: str | None = None, *, ack: str | None = None) -> None:
        """Read until it has said this."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if self._hear(line, frame, ack):
                return
        raise AssertionError("the server has ended")

    def _hear(self, line: bytes, frame: str | None, ack: str | None) -> bool:
        said = msgspec.json.decode(line)
        if "ack" in said:
            self.acknowledged[said["ack"]] = said
            return bool(said["ack"] == ack)
        return frame is not None and bool(said["frame"] == frame)

    def kill(self) -> None:
        """Kills the server with SIGKILL. Its processes have to end by themselves."""
        children = [p.pid for p in descendants_of(self._process.pid, running())]
        assert children, "the agent is a process of its own"
        self._process.kill()
        assert self._process.stdout is not None
        for line in self._process.stdout:  # the output before its death
            if line.endswith(b"\n"):
                self._hear(line, None, None)
        assert not wait_until_gone(children), "no process of the agent is left"


@contextmanager
def serving(path: Path) -> Iterator[Server]:
    """A server that is gone when the block is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.helpers.killable_server", str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield Server(process)
        finally:
            process.kill()


def later() -> ManualClock:
    """A clock that shows a time at which the lease of the killed one is over."""
    return ManualClock(round((time.time() + 60) * 1000))


async def found(engine: Engine) -> tuple[list[Message], Status]:
    """The log as the next server made it true."""
    status = await (await engine.open("talk")).wake()
    stored = await engine.store.entries("talk", limit=10_000)
    assert [each.sequence for each in stored] == list(range(1, len(stored) + 1))
    return [each.entry for each in stored], status


def said(entries: list[Message]) -> list[str | None]:
    """Returns the messages of people by their ids."""
    return [known_meta(entry).client_message_id for entry in entries if entry.role == "user"]


def open_calls(entries: list[Message]) -> set[str]:
    """Tool calls without their one result."""
    parts = [part for entry in entries for part in entry.parts]
    calls = [part.payload.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    results = [part.payload.tool_call_id for part in parts if isinstance(part, ToolResultPart)]
    assert len(calls) == len(set(calls))
    assert len(results) == len(set(results))
    assert set(results) <= set(calls)
    return set(calls) - set(results)


@pytest.mark.parametrize(
    ("prompt", "moment"), [("long", "assistant.chunk"), ("tool", "assistant.tool_progress")]
)
def test_a_server_killed_while_the_agent_works_leaves_an_interrupted_turn(
    path: Path, prompt: str, moment: str
) -> None:
    with serving(path) as server:
        server.send(prompt, "m-1")
        server.until(moment)
        server.kill()

    async def look() -> None:
        async with engine_on(path, clock=later(), agent=DemoAgent(delay=0)) as engine:
            entries, status = await found(engine)
            assert (status.state, status.running, status.reason) == (
                "interrupted",
                False,
                "server_restart",
            )
            assert said(entries) == ["m-1"]
            assert not open_calls(entries)
            [end] = await engine.store.turns("talk")
            assert end.end.interrupted
            talk = await engine.open("talk")
            assert (await talk.send(prompt, client_message_id="m-1")).duplicate
            async with Watcher(talk) as seen:
                await talk.send("hello", client_message_id="m-2")
                await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)

    asyncio.run(look())


def test_a_server_killed_with_a_queue_leaves_the_queue(path: Path) -> None:
    with serving(path) as server:
        for number, text in enumerate(["long", "two", "three"], 1):
            server.send(text, f"m-{number}")
        server.until(ack="m-3")
        server.until("assistant.chunk")
        server.kill()
        assert list(server.acknowledged) == ["m-1", "m-2", "m-3"]

    async def look() -> None:
        async with engine_on(path, clock=later(), agent=DemoAgent(delay=0)) as engine:
            talk = await engine.open("talk")
            async with Watcher(talk) as seen:
                await talk.wake()
                while len(seen.view().turns) < 3:
                    await seen.until(f.AssistantComplete)
                await seen.state("active")
            entries, status = await found(engine)
            assert said(entries) == ["m-1", "m-2", "m-3"], "each took effect once, in order"
            assert (status.queue, status.running) == ([], False)
            ends = [turn.end for turn in await engine.store.turns("talk")]
            assert [end.interrupted for end in ends] == [True, False, False]

    asyncio.run(look())


def test_a_server_killed_with_a_question_leaves_the_question_open(path: Path) -> None:
    with serving(path) as server:
        server.send("question", "m-1")
        server.until("assistant.request_input")
        server.kill()

    async def look() -> None:
        async with engine_on(path, clock=later(), agent=DemoAgent(delay=0)) as engine:
            entries, status = await found(engine)
            assert (status.state, status.running) == ("waiting_input", False)
            [request] = status.requests
            assert open_calls(entries) == {request.request_id}
            assert not await engine.store.turns("talk")
            assert [item.request for item in await engine.store.inbox()] == [request]
            talk = await engine.open("talk")
            async with Watcher(talk) as seen:
                await talk.answer(request.request_id, "Blue")
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            entries, _ = await found(engine)
            assert not open_calls(entries)
            assert said(entries) == ["m-1"]
            assert len(await engine.store.turns("talk")) == 1

    asyncio.run(look())


@pytest.mark.parametrize("after", [0, 1, 2, 5, 9])
def test_a_server_killed_at_any_moment_loses_no_accepted_message(path: Path, after: int) -> None:
    names = [f"m-{number}" for number in range(10)]
    with serving(path) as server:
        server.send("question", names[0])
        server.until("assistant.request_input")
        for name in names[1:]:
            server.send(f"hello {name}", name)
        if after:
            server.until(ack=names[after])
        server.kill()

    async def look() -> None:
        async with engine_on(path, clock=later(), agent=DemoAgent(delay=0)) as engine:
            entries, status = await found(engine)
            waiting = [item.client_message_id for item in status.queue]
            kept = [*said(entries), *waiting]
            assert kept == names[: len(kept)], "in order, and each once"
            assert set(server.acknowledged) <= set(kept), "an acknowledged message was lost"

    asyncio.run(look())
