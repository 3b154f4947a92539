"""Conversations with the real opencode: files, permissions, errors, kill -9 of both sides."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from tests.agents.acp.helpers.doomed_opencode import FORK
from tests.agents.acp.helpers.real_opencode import OpencodeStage, kill_opencode, stage
from tests.agents.claude.helpers.killable_server import until_abandoned
from tests.agents.claude.helpers.real_claude import TALK, stop, until_it_runs
from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.watcher import Watcher
from turnwire.agents.guard import descendants_of, running
from turnwire.dialects.v2 import frames as f
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import Fail, ModelApi, Request, Say, Text, ToolUse
from turnwire.testing.model_api.server import Answer

ROOT = Path(__file__).parents[3]
COLOURS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
QUESTION = {"question": "Which colour?", "header": "Colour", "options": COLOURS}
ASK = ToolUse("question", {"questions": [QUESTION]}, id="call_q")


def bash(command: str, call: str = "call_1") -> ToolUse:
    """A command, which needs a permission."""
    return ToolUse("bash", {"command": command, "description": "Do it"}, id=call)


async def test_a_file_is_written_and_a_permission_is_given_for_ever(
    program: Path, home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "work" / "hello.txt"
    write = ToolUse("write", {"filePath": str(path), "content": "hello\n"}, id="call_w")
    replies: list[Answer] = [
        Say([write]),
        Say([bash("touch a")]),
        "One.",
        Say([bash("touch a", "call_2")]),
        "Two.",
    ]
    async with stage(program, home, tmp_path, *replies) as it:
        await it.talk.send("go")
        wants = await it.wants()
        assert await asyncio.to_thread(path.read_text) == "hello\n"
        await it.talk.decide(wants.request_id, "allow", remember=wants.suggestions)
        await it.ends()
        end = await it.says("again")  # the same command: no question
        assert not end.is_error
        assert len(it.seen.of(f.AssistantPermissionRequest)) == 1
        assert [result.is_error for result in it.results.values()] == [False] * 3


async def test_a_write_that_needs_a_permission_is_asked_for_once(
    program: Path, home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "work" / "hello.txt"
    write = ToolUse("write", {"filePath": str(path), "content": "hello\n"}, id="call_w")
    asks = {"OPENCODE_PERMISSION": json.dumps({"edit": "ask"})}
    async with stage(program, home, tmp_path, Say([write]), "Done.", env=asks) as it:
        await it.talk.send("go")
        await it.talk.decide((await it.wants()).request_id, "allow")
        assert not (await it.ends()).is_error
        assert await asyncio.to_thread(path.read_text) == "hello\n"
        assert len(it.seen.of(f.AssistantPermissionRequest)) == 1
        assert [result.is_error for result in it.results.values()] == [False]


async def test_a_stop_ends_a_sleep_and_the_next_turn_works(
    program: Path, home: Path, tmp_path: Path
) -> None:
    async with stage(program, home, tmp_path, Say([bash("sleep 1000")]), "Hello again.") as it:
        await it.talk.send("go")
        await it.talk.decide((await it.wants()).request_id, "allow")
        pid = await until_it_runs("sleep")
        await stop(it)
        assert not wait_until_gone([pid])
        assert not (await it.says("hi")).is_error


async def test_an_error_of_the_model_is_repeated_by_opencode_and_shown_once(
    program: Path, home: Path, tmp_path: Path
) -> None:
    fails = Fail(500, "no luck", headers={"retry-after-ms": "10"})
    async with stage(program, home, tmp_path, fails, "Here I am.") as it:
        end = await it.says("go")
        assert not end.is_error
        assert it.text == ["Here I am."]
        assert len(it.api.requests) > 1


async def test_a_model_that_fails_every_time_is_the_end_of_the_turn(
    program: Path, home: Path, tmp_path: Path
) -> None:
    broken = True

    def reply(_: Request) -> Fail | str:
        return Fail(500, "no luck", headers={"retry-after-ms": "10"}) if broken else "Here I am."

    async with stage(program, home, tmp_path, *[reply] * 100) as it:
        end = await it.says("go")
        assert end.error is not None
        assert "no luck" in end.error.message
        assert 1 < len(it.api.requests) < 100  # opencode gave up by itself
        broken = False
        assert not (await it.says("again")).is_error
        assert it.text == ["Here I am."]


async def test_opencode_has_no_questions_over_this_protocol(
    program: Path, home: Path, tmp_path: Path
) -> None:
    async with stage(program, home, tmp_path, Say([ASK]), "I cannot ask.") as it:
        assert not (await it.says("go")).is_error
        assert "question" not in {
            tool["function"]["name"]
            for request in it.api.requests
            for tool in request.body.get("tools", ())
        }
        (result,) = it.results.values()
        assert "unavailable tool 'question'" in str(result.content)
        assert it.seen.of(f.AssistantRequestInput) == []


async def test_a_stop_ends_a_question_that_opencode_cannot_pass_on(
    program: Path, home: Path, tmp_path: Path
) -> None:
    asks = {"OPENCODE_ENABLE_QUESTION_TOOL": "1"}
    async with stage(program, home, tmp_path, Say([ASK]), "Hello.", env=asks) as it:
        await it.talk.send("go")
        await it.seen.until(f.AssistantToolCall)
        await stop(it)
        assert [result.is_error for result in it.results.values()] == [True]
        assert not (await it.says("hi")).is_error


async def test_a_wrong_key_is_the_end_of_the_turn(
    program: Path, home: Path, tmp_path: Path
) -> None:
    async with stage(program, home, tmp_path, Fail(401, "Incorrect API key")) as it:
        end = await it.says("go")
        assert end.error is not None
        assert "Incorrect API key" in end.error.message


async def test_opencode_is_killed_in_a_text_and_its_session_goes_on(
    program: Path, home: Path, tmp_path: Path
) -> None:
    cut = Say([Text("Once upon a time", cuts=2, hold="cut")])
    async with stage(program, home, tmp_path, "First.", cut, "Last.") as it:
        await it.says("one")
        await it.talk.send("two")
        await it.seen.until(
            f.AssistantChunk, lambda frame: frame.payload.partial and bool(frame.payload.text)
        )
        kill_opencode()
        assert (await it.ends()).is_error
        it.api.release("cut")
        assert not (await it.says("three")).is_error
        assert "First." in json.dumps(it.api.requests[-1].messages)


def known(request: Request, *words: str) -> list[str]:
    """Returns which of the words the model was told."""
    told = json.dumps(request.messages)
    return [word for word in words if word in told]


def last_turn(api: ModelApi) -> Request:
    """Returns the last request of a turn. Requests for a title have no tools."""
    return [request for request in api.requests if request.body.get("tools")][-1]


async def test_a_fork_knows_what_was_said_before_it_and_nothing_later(
    program: Path, home: Path, tmp_path: Path
) -> None:
    replies = ["Kestrel.", "Heron.", "In the fork.", "In the second fork.", "In the first."]
    async with stage(program, home, tmp_path, *replies) as it:
        first = (await it.says("remember kestrel")).after_sequence
        await it.says("remember heron")
        fork = await it.talk.fork(first)
        assert (await fork.ask("which word? wren")).text == "In the fork."
        birds = ("kestrel", "Kestrel.", "heron", "Heron.", "wren")
        assert known(last_turn(it.api), *birds) == ["kestrel", "Kestrel.", "wren"]
        again = await fork.fork()
        assert (await again.ask("and now? rook")).text == "In the second fork."
        told = known(last_turn(it.api), *birds, "In the fork.", "rook")
        assert told == ["kestrel", "Kestrel.", "wren", "In the fork.", "rook"]
        await it.says("go on")
        assert known(last_turn(it.api), *birds, "rook") == list(birds[:4])


async def test_opencode_is_killed_in_the_first_turn_of_a_fork_and_the_next_turn_knows_the_rest(
    program: Path, home: Path, tmp_path: Path
) -> None:
    cut = Say([Text("Once upon a time", cuts=2, hold="cut")])
    async with stage(program, home, tmp_path, "Kestrel.", "Heron.", cut, "Last.") as it:
        first = (await it.says("remember kestrel")).after_sequence
        await it.says("remember heron")
        fork = await it.talk.fork(first)
        async with Watcher(fork) as seen:
            seen.patience = 180.0
            await fork.send("which word?")
            await seen.until(
                f.AssistantChunk, lambda frame: frame.payload.partial and bool(frame.payload.text)
            )
            kill_opencode()
            assert (await seen.until(f.AssistantComplete)).payload.is_error
            it.api.release("cut")
        assert (await fork.ask("again: which word?")).text == "Last."
        assert known(last_turn(it.api), "remember kestrel", "heron") == ["remember kestrel"]


async def test_a_killed_server_leaves_no_process_and_the_session_goes_on(
    program: Path, home: Path, tmp_path: Path
) -> None:
    async with ModelApi("Apple.", "It was apple.", "In the fork, too.") as api:
        it = OpencodeStage(program, home, tmp_path, api)
        module = "tests.agents.acp.helpers.doomed_opencode"
        places = map(str, (program, home, tmp_path))
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *places, api.url),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert server.stdout is not None
        async with asyncio.timeout(200):
            while (await server.stdout.readline()).strip() != b"forked":
                pass
        below = [each.pid for each in descendants_of(server.pid, running())]
        assert below
        os.kill(server.pid, signal.SIGKILL)
        await server.wait()
        assert not await asyncio.to_thread(wait_until_gone, below), "no process is left"
        store = await SqliteStore.open(tmp_path / "turnwire.db")
        await until_abandoned(store, TALK)
        await store.close()
        await it.start_again()
        assert not (await it.says("which word?")).is_error
        assert known(last_turn(api), "remember the word apple") == ["remember the word apple"]
        fork = await it.engine.open(FORK)
        assert (await fork.ask("which word, in the fork?")).text == "In the fork, too."
        words = ("remember the word apple", "It was apple.", "which word, in the fork?")
        assert known(last_turn(api), *words) == [words[0], words[2]]
        await it.stop()
