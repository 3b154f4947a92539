"""kill -9 of the program and of the server, wherever they are: the log stays true, nothing is left."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agents.claude.server import until_abandoned
from tests.agents.claude.stage import (
    RULES,
    TALK,
    Stage,
    ask,
    bash,
    kill_claude,
    programs,
    stage,
    touch,
    until_it_runs,
)
from tests.agents.claude.wire import Moment
from tests.agents.processes import wait_until_gone
from tests.engine.watching import Watcher
from turnwire.agents.guard import descendants_of, running
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Say, Text, ToolUse
from turnwire.testing.model_api.server import Answer

ROOT = Path(__file__).parents[3]
TEXT = Say([Text("One, two, three.", [10], hold="")])
RUNS = Say([bash("sh -c 'sleep 600'")])
WAITS = Say([touch("a", "touch_1")])
QUESTION = Say([ask()])
INPUT = Say([ToolUse("mcp__turnwire__request_input", {"question": "Which?"}, id="ask_1")])


async def test_the_program_is_killed_in_a_text_in_a_tool_at_a_permission_and_between_turns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each time the next process goes on with the session, and is killed as well."""
    async with stage(tmp_path) as it:
        for where in ("text", "tool", "permission"):
            await killed_in_a_turn(it, where)
        kill_claude()  # and nobody has noticed it yet
        it.api.say_next("And here again.")
        end = await it.says("again")
        assert not end.is_error
        assert it.text[-1] == "And here again."
    # That a process of an earlier test has ended is of no interest to the loop of that test.
    told = [r for r in caplog.records if r.levelno >= logging.WARNING and "is closed" not in r.msg]
    assert [record.message for record in told] == [], (
        "it is told by the turn, and not on standard error"
    )


async def killed_in_a_turn(it: Stage, where: str) -> None:
    it.api.say_next({"text": TEXT, "tool": RUNS, "permission": WAITS}[where])
    await it.talk.send(f"go: {where}")
    if where == "text":
        await it.seen.until(f.AssistantChunk, lambda chunk: chunk.payload.text != "")
    else:
        asked = await it.wants()
        if where == "tool":
            await it.talk.decide(asked.request_id, "allow")
            await until_it_runs("sleep")
    before = list(programs())
    kill_claude()
    end = await it.ends()
    assert (end.is_error, end.interrupted) == (True, True)
    assert end.error is not None
    assert end.error.code == "agent_lost"
    assert "SIGKILL" in end.error.message
    assert not wait_until_gone(before), "nothing that it started is left"
    if where == "permission":
        gone = it.seen.of(f.AssistantRequestResolved)[-1].payload
        assert (gone.outcome, gone.by) == ("cancelled", "agent_lost")
    it.api.say_next(f"Here again after the {where}.")
    end = await it.says("again")
    assert not end.is_error, "the session is resumed, or begun anew"
    assert it.text[-1] == f"Here again after the {where}."


class Server:
    """The server in a process of its own, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid: int | None = None
        self.said: list[dict[str, Any]] = []  # what nobody has waited for yet

    async def begin(self) -> None:
        """A new one, when the leases of the one before are over."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.said.clear()
        self.pid = (await self.until("server", ""))["pid"]

    def tell(self, *what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(what) + b"\n")

    async def until(self, kind: str, talk: str = TALK, **wanted: Any) -> dict[str, Any]:
        """A frame of this kind in this conversation."""
        async with asyncio.timeout(180):
            while True:
                for said in self.said:
                    payload: dict[str, Any] = said["payload"]
                    fits = (said["talk"], said["frame"]) == (talk, kind)
                    if fits and wanted.items() <= payload.items():
                        self.said.remove(said)
                        return payload
                self.said.append(await self._hear())

    async def asks(self, moment: Moment) -> None:
        """Until a line with this word has gone between it and Claude, and the log has the question:
        before that there is none that anybody could answer.
        """
        direction, word = moment
        has_come = is_written = False
        async with asyncio.timeout(180):
            while not (has_come and is_written):
                said = await self._hear()
                is_written = is_written or said["frame"] == "assistant.request_input"
                has_come = has_come or (
                    said["frame"] == "wire" and word.decode() in said["payload"].get(direction, "")
                )

    async def _hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        assert line, "the server has ended"
        said: dict[str, Any] = msgspec.json.decode(line)
        return said

    async def kill(self) -> None:
        """Everything at once: the server; what it had started has to go by itself."""
        assert self.pid is not None
        below = [p.pid for p in descendants_of(self.pid, running())]
        os.kill(self.pid, signal.SIGKILL)
        left = await asyncio.to_thread(wait_until_gone, [self.pid, *below])
        assert not left, "no process is left"
        self.pid = None

    async def end(self) -> None:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def killed_server(
    place: Path,
    *replies: Any,
    hold: float = 0.0,
    lanes: Mapping[str, Sequence[Answer]] | None = None,
) -> AsyncIterator[tuple[Server, Stage]]:
    """A server that the test kills; then `start_again` looks at what it left."""
    async with ModelApi(*replies, lanes=lanes) as api:
        it = Stage(place, api, RULES, hold=hold)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.agents.claude.server", str(place), api.url, str(hold)),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )
        server = Server(process)
        try:
            await server.begin()
            yield server, it
        finally:
            await server.end()
        await it.stop()


async def start_again(it: Stage) -> None:
    """When the leases of the killed one are over."""
    store = await SqliteStore.open(it.place / "turnwire.db")
    await until_abandoned(store)
    await store.close()
    await it.start_again()
    await it.talk.wake()


async def test_the_server_is_killed_with_five_conversations_and_each_goes_on(
    tmp_path: Path,
) -> None:
    scripts = {TALK: TEXT, "tool": RUNS, "permission": WAITS}
    questions = {"theirs": QUESTION, "ours": INPUT}
    # Of a request that the program still makes while it is ended, nobody hears.
    lanes: dict[str, list[Answer]]
    lanes = {f"go: {name}": [it, *["Here again."] * 2] for name, it in scripts.items()}
    lanes |= {f"go: {name}": [it, "Blue it is."] for name, it in questions.items()}
    async with killed_server(tmp_path, *["Begun anew."] * 3, lanes=lanes) as (server, it):
        for name in (*scripts, *questions):
            server.tell("send", name, f"go: {name}")
        await server.until("assistant.chunk", partial=True)
        await server.until("assistant.permission_request", "permission")
        asked = await server.until("assistant.permission_request", "tool")
        server.tell("allow", "tool", asked["request_id"])
        await until_it_runs("sleep")
        for name in questions:
            await server.until("assistant.request_input", name)
            await server.until("session.state", name, state="waiting_input", running=False)
        await server.kill()

        await start_again(it)
        for name in scripts:
            await goes_on(await it.engine.open(name))
        for name in questions:
            await is_answered(it, await it.engine.open(name))


async def goes_on(talk: Talk) -> None:
    await talk.wake()
    status = await talk.status()
    assert (status.state, status.requests, status.running) == ("interrupted", [], False)
    assert status.last_turn is not None
    assert status.last_turn.interrupted
    async with Watcher(talk) as seen:
        await talk.send("again")
        end = await seen.until(f.AssistantComplete)
        assert not end.payload.is_error
        assert said_in(seen)[-1] in ("Here again.", "Begun anew.")


async def is_answered(it: Stage, talk: Talk) -> None:
    """As that tool's result."""
    await talk.wake()
    status = await talk.status()
    assert (status.state, status.running) == ("waiting_input", False)
    async with Watcher(talk) as seen:
        answer = await talk.answer("ask_1", "Blue")
        assert answer.ack.delivered_as == "tool_result"
        end = await seen.until(f.AssistantComplete)
        assert not end.payload.is_error
        assert "Blue" in it.told["ask_1"]
        assert said_in(seen) == ["Blue it is."]


def said_in(seen: Watcher) -> list[str]:
    chunks = [frame.payload for frame in seen.of(f.AssistantChunk)]
    return [chunk.text for chunk in chunks if not chunk.partial and not chunk.snapshot]


async def test_the_server_is_killed_while_a_question_is_held_and_the_answer_goes_in_words(
    tmp_path: Path,
) -> None:
    async with killed_server(tmp_path, QUESTION, *["I see."] * 2, hold=60.0) as (server, it):
        server.tell("send", TALK, "ask me")
        await server.until("assistant.request_input")
        await server.kill()
        it.all_is_heard = False  # the program may still have made a request on its way out
        await start_again(it)
        answer = await it.talk.answer("ask_1", "Blue")
        assert answer.ack.delivered_as == "prompt"
        end = await it.ends()
        assert not end.is_error
        assert "My answer: Blue" in str(it.api.requests[-1].messages[-1])
        assert it.results["ask_1"].content == "Blue"
