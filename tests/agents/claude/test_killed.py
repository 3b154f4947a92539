"""kill -9 of the program and of the server, wherever they are: the log stays true, nothing is left."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

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
from turnwire.agents.guard import descendants_of, running
from turnwire.dialects.v2 import frames as f
from turnwire.engine.clock import SystemClock
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Say, Text, ToolUse

ROOT = Path(__file__).parents[3]
TEXT = Say([Text("One, two, three.", [10], hold="")])
RUNS = Say([bash("sh -c 'sleep 600'")])
WAITS = Say([touch("a")])
QUESTION = Say([ask()])
INPUT = Say([ToolUse("mcp__turnwire__request_input", {"question": "Which?"}, id="ask_1")])


@pytest.mark.parametrize(
    ("script", "where"),
    [(TEXT, "text"), (RUNS, "tool"), (WAITS, "permission")],
    ids=["text", "tool", "permission"],
)
async def test_the_program_is_killed(tmp_path: Path, script: Say, where: str) -> None:
    async with stage(tmp_path, script, "Here again.") as it:
        await it.talk.send("go")
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
            [gone] = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
            assert (gone.outcome, gone.by) == ("cancelled", "agent_lost")
        end = await it.says("again")
        assert not end.is_error, "the session is resumed, or begun anew"
        assert it.text[-1] == "Here again."


class Server:
    """The server in a process of its own, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def tell(self, *what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(what) + b"\n")

    async def until(self, kind: str, **wanted: Any) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(180):
            while line := await self.process.stdout.readline():
                said = msgspec.json.decode(line)
                payload: dict[str, Any] = said["payload"]
                if said["frame"] == kind and wanted.items() <= payload.items():
                    return payload
        raise AssertionError("the server has ended")

    async def asks(self, moment: Moment) -> None:
        """Until a line with this word has gone between it and Claude, and the log has the question:
        before that there is none that anybody could answer.
        """
        assert self.process.stdout is not None
        direction, word = moment
        has_come = is_written = False
        async with asyncio.timeout(180):
            while not (has_come and is_written):
                said = msgspec.json.decode(await self.process.stdout.readline())
                is_written = is_written or said["frame"] == "assistant.request_input"
                has_come = has_come or (
                    said["frame"] == "wire" and word.decode() in said["payload"].get(direction, "")
                )

    async def kill(self) -> None:
        """Everything at once: the server; what it had started has to go by itself."""
        children = [p.pid for p in descendants_of(self.process.pid, running())]
        self.process.kill()
        await self.process.wait()
        assert not await asyncio.to_thread(wait_until_gone, children), "no process is left"


@asynccontextmanager
async def killed_server(
    place: Path, *replies: Any, hold: float = 0.0
) -> AsyncIterator[tuple[Server, Stage]]:
    """A server that the test kills; then `start_again` looks at what it left."""
    async with ModelApi(*replies) as api:
        it = Stage(place, api, RULES, hold=hold)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.agents.claude.server", str(place), api.url, str(hold)),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )
        try:
            yield Server(process), it
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        await it.stop()


async def start_again(it: Stage) -> None:
    """When the lease of the killed one is over."""
    store = await SqliteStore.open(it.place / "turnwire.db")
    async with asyncio.timeout(180):
        while TALK not in await store.abandoned(now=SystemClock().now()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # nobody tells that a lease is over
    await store.close()
    await it.start_again()
    await it.talk.wake()


@pytest.mark.parametrize("where", ["text", "tool", "permission"])
async def test_the_server_is_killed(tmp_path: Path, where: str) -> None:
    script = {"text": TEXT, "tool": RUNS, "permission": WAITS}[where]
    # Of a request that the program still makes while it is ended, nobody hears.
    again = ["Here again."] * 2
    async with killed_server(tmp_path, script, *again) as (server, it):
        server.tell("send", "go")
        if where == "text":
            await server.until("assistant.chunk", partial=True)
        else:
            asked = await server.until("assistant.permission_request")
            if where == "tool":
                server.tell("allow", asked["request_id"])
                await until_it_runs("sleep")
        await server.kill()
        await start_again(it)
        status = await it.talk.status()
        assert (status.state, status.requests, status.running) == ("interrupted", [], False)
        assert status.last_turn is not None
        assert status.last_turn.interrupted
        end = await it.says("again")
        assert not end.is_error
        assert it.text[-1] == "Here again."


@pytest.mark.parametrize("script", [QUESTION, INPUT], ids=["AskUserQuestion", "request_input"])
async def test_the_server_is_killed_at_a_question_and_the_answer_is_that_tools_result(
    tmp_path: Path, script: Say
) -> None:
    async with killed_server(tmp_path, script, "Blue it is.") as (server, it):
        server.tell("send", "ask me")
        await server.until("assistant.request_input")
        await server.until("session.state", state="waiting_input", running=False)
        await server.kill()
        await start_again(it)
        status = await it.talk.status()
        assert (status.state, status.running) == ("waiting_input", False)
        answer = await it.talk.answer("ask_1", "Blue")
        assert answer.ack.delivered_as == "tool_result"
        end = await it.ends()
        assert not end.is_error
        assert "Blue" in it.told["ask_1"]
        assert it.text == ["Blue it is."]


async def test_the_server_is_killed_while_a_question_is_held_and_the_answer_goes_in_words(
    tmp_path: Path,
) -> None:
    async with killed_server(tmp_path, QUESTION, *["I see."] * 2, hold=60.0) as (server, it):
        server.tell("send", "ask me")
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
