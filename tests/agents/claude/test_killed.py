"""kill -9 of the program and of the server at many points: the log stays true, and no process is left."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.agents.claude.helpers.killed_server import killed_server, start_again
from tests.agents.claude.helpers.real_claude import (
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
from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.watcher import Watcher
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.testing.model_api import Say, Text, ToolUse
from turnwire.testing.model_api.server import Answer

TEXT = Say([Text("One, two, three.", [10], hold="")])
RUNS = Say([bash("sh -c 'sleep 600'")])
WAITS = Say([touch("a", "touch_1")])
QUESTION = Say([ask()])
INPUT = Say([ToolUse("mcp__turnwire__request_input", {"question": "Which?"}, id="ask_1")])


async def test_the_program_is_killed_in_a_text_in_a_tool_at_a_permission_and_between_turns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next process continues the session each time, and is killed as well."""
    async with stage(tmp_path) as it:
        for where in ("text", "tool", "permission"):
            await killed_in_a_turn(it, where)
        kill_claude()  # the engine has not noticed it yet
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


async def test_the_server_is_killed_with_five_conversations_and_each_goes_on(
    tmp_path: Path,
) -> None:
    scripts = {TALK: TEXT, "tool": RUNS, "permission": WAITS}
    questions = {"theirs": QUESTION, "ours": INPUT}
    # A request that the program makes while it is being ended reaches no client.
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
    """Answers the question, and checks that the answer is the tool's result."""
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


async def test_an_answer_is_sent_as_text_after_the_server_was_killed_with_a_held_question(
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
