"""kill -9 of a server at a question of an ACP agent: the answer reaches the resumed session."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.agents.acp.helpers.scripted_stage import ScriptedStage
from tests.agents.claude.helpers.killable_server import until_abandoned
from tests.agents.claude.helpers.real_claude import TALK
from tests.agents.helpers.processes import wait_until_gone
from turnwire.agents.guard import descendants_of, running
from turnwire.dialects.v2 import frames as f
from turnwire.stores.sqlite import SqliteStore

ROOT = Path(__file__).parents[3]


async def server_dies_at_a_question(
    place: Path, words: str = "question", options: dict[str, Any] | None = None
) -> None:
    """Runs a server until its agent asks, and kills it."""
    module = "tests.agents.acp.helpers.doomed_scripted"
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, str(place), words, json.dumps(options or {})),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    async with asyncio.timeout(180):
        while (line := (await server.stdout.readline()).strip()) != b"assistant.request_input":
            assert line, "the server ended before its agent asked"
    below = [each.pid for each in descendants_of(server.pid, running())]
    assert below
    os.kill(server.pid, signal.SIGKILL)
    await server.wait()
    assert not await asyncio.to_thread(wait_until_gone, below), "no process is left"
    store = await SqliteStore.open(place / "turnwire.db")
    await until_abandoned(store, TALK)
    await store.close()


async def test_an_answer_to_a_question_of_a_killed_server_arrives_as_a_prompt_that_quotes_it(
    tmp_path: Path,
) -> None:
    it = ScriptedStage(tmp_path)
    await server_dies_at_a_question(tmp_path)
    await it.start_again()
    [request] = (await it.talk.status()).requests
    ack = (await it.talk.answer(request.request_id, "large", user="ann")).ack
    assert ack.delivered_as == "prompt"
    assert not (await it.ends()).is_error
    said = json.loads((it.work / "sessions.json").read_text())
    assert list(said) == ["session-1"], "the session was resumed"
    assert said["session-1"] == [
        "question",
        "You had asked me something before you were interrupted.\n> Soup?\nMy answer: large",
    ]
    resolved = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
    assert [(each.outcome, each.delivered_as, each.by) for each in resolved] == [
        ("answered", "prompt", "ann")
    ]
    [result] = it.results.values()
    assert "large" in str(result.content)
    await it.stop()  # the log says the same, and fsck finds nothing


async def test_a_question_of_a_killed_server_that_is_not_answered_ends_with_a_stop(
    tmp_path: Path,
) -> None:
    it = ScriptedStage(tmp_path)
    await server_dies_at_a_question(tmp_path)
    await it.start_again()
    turn_id = (await it.talk.status()).turn_id
    assert turn_id is not None
    await it.talk.interrupt(turn_id)
    assert (await it.ends()).interrupted
    assert not (await it.says("hello")).is_error
    said = json.loads((it.work / "sessions.json").read_text())
    assert said == {"session-1": ["question", "hello"]}
    await it.stop()


async def test_a_result_for_a_tool_of_the_front_end_of_a_killed_server_arrives_as_a_prompt(
    tmp_path: Path,
) -> None:
    it = ScriptedStage(tmp_path)
    options = {"client_tools": [{"name": "paint"}]}
    await server_dies_at_a_question(tmp_path, "brush", options)
    await it.start_again()
    [request] = (await it.talk.status()).requests
    assert request.request_id == "brush-a"
    ack = (await it.talk.answer("brush-a", "It is blue now.", user="ann")).ack
    assert ack.delivered_as == "prompt"
    assert not (await it.ends()).is_error
    said = json.loads((it.work / "sessions.json").read_text())
    assert said["session-1"][1:] == [
        "You had asked me something before you were interrupted.\n"
        "> Run paint in the front end, and answer with its result.\nMy answer: It is blue now."
    ]
    assert list(it.results) == ["brush-a"]
    assert "It is blue now." in str(it.results["brush-a"].content)
    await it.stop()
