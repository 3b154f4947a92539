"""kill -9 of Codex and of the server: turns end truthfully, threads go on, answers arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import RULES, until_it_runs
from tests.agents.codex.helpers.real_codex import (
    IS_INSTALLED,
    CodexStage,
    ask,
    kill_codex,
    run,
    server_dies_at_a_question,
    stage,
)
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import ModelApi, Say, Text

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")


def words(request: Any) -> str:
    """Returns everything that the model was sent."""
    return str(request.messages)


async def test_codex_is_killed_in_a_text_and_the_thread_goes_on(tmp_path: Path) -> None:
    cut = Say([Text("Once upon a time", cuts=2, hold="cut")])
    async with stage(tmp_path, "First.", cut, "Last.") as it:
        await it.says("one")
        await it.talk.send("two")
        await it.seen.until(
            f.AssistantChunk, lambda frame: frame.payload.partial and bool(frame.payload.text)
        )
        kill_codex()
        end = await it.ends()
        assert end.is_error
        it.api.release("cut")
        await it.says("three")
        assert it.text[-1] == "Last."
        assert "First." in words(it.api.requests[-1])


async def test_codex_is_killed_in_a_command_which_dies_with_it(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([run("sleep 1000")]), "Hello.") as it:
        await it.talk.send("go")
        await it.seen.until(f.AssistantToolCall)
        await until_it_runs("sleep")
        kill_codex()
        await it.ends()
        assert it.results["call_1"].is_error
        await it.says("hi")
        assert it.text == ["Hello."]


async def test_an_answer_to_a_question_of_a_killed_server_arrives_as_a_prompt_that_quotes_it(
    tmp_path: Path,
) -> None:
    async with ModelApi(Say([ask()]), "Blue it is.", aside=None) as api:
        it = CodexStage(tmp_path, api, RULES)
        await server_dies_at_a_question(tmp_path, api.url)
        await it.start_again()
        ack = (await it.talk.answer("call_1", {"Which colour?": "Blue"})).ack
        assert ack.delivered_as == "prompt"
        end = await it.ends()
        assert not end.is_error
        assert it.text == ["Blue it is."]
        told = words(api.requests[-1])
        assert "> Which colour?" in told
        assert "Blue" in told
        resolved = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
        assert [(each.outcome, each.delivered_as) for each in resolved] == [("answered", "prompt")]
        await it.stop()
