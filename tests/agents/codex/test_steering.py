"""Messages into a running turn of the real Codex: taken once, or left in the queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import RULES, stop, until_it_runs
from tests.agents.codex.helpers.real_codex import (
    IS_INSTALLED,
    CodexStage,
    kill_codex,
    run,
    stage,
)
from tests.agents.helpers.steering import (
    begin_command,
    begin_text,
    let_go,
    outlive_server,
    steer,
    words,
)
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import ModelApi, Say, Text

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")


def said(request: Any) -> list[str]:
    """Returns the words of people that the model was sent."""
    users = [each for each in request.messages if each.get("role") == "user"]
    texts = [part["text"] for each in users for part in each["content"]]
    return [text for text in texts if not text.startswith("<")]


async def test_a_message_goes_into_the_running_turn_after_its_command(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([run("cat wait")]), "Done.") as it:
        await begin_command(it)
        await steer(it, "and in blue")
        await let_go(it)
        await it.ends()
        assert words(it) == [("go", 1, False), ("and in blue", 1, True)]
        assert said(it.api.requests[-1]) == ["go", "and in blue"]
        assert len(it.api.requests) == 2
        assert (await it.talk.status()).queue == []


async def test_a_message_into_a_text_cuts_it_and_is_answered_in_the_same_turn(
    tmp_path: Path,
) -> None:
    cut = Say([Text("Once upon a time", cuts=3, hold="cut")])
    async with stage(tmp_path, cut, "In blue, then.") as it:
        await begin_text(it)
        await steer(it, "no: in blue")
        await it.ends()
        it.api.release("cut")
        assert words(it) == [("go", 1, False), ("no: in blue", 1, True)]
        assert len(it.text) == 2  # what was written stays
        assert it.text[-1] == "In blue, then."


async def test_a_message_that_a_stopped_turn_did_not_take_waits_for_its_own(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([run("sleep 1000")]), "Now.") as it:
        await it.talk.send("go")
        await it.seen.until(f.AssistantToolCall)
        await until_it_runs("sleep")
        await steer(it, "never mind")
        await stop(it)
        (item,) = (await it.talk.status()).queue
        assert item.steers is None
        await it.talk.change_queue("resume")
        await it.ends()
        assert words(it) == [("go", 1, False), ("never mind", 2, False)]
        assert said(it.api.requests[-1]) == ["go", "never mind"]


async def test_a_message_that_a_killed_codex_did_not_take_is_sent_again(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([run("sleep 1000")]), "Now.") as it:
        await it.talk.send("go")
        await it.seen.until(f.AssistantToolCall)
        await until_it_runs("sleep")
        await steer(it, "and this")
        kill_codex()
        await it.ends()
        await it.talk.change_queue("resume")
        await it.ends()
        assert words(it) == [("go", 1, False), ("and this", 2, False)]
        assert said(it.api.requests[-1]).count("and this") == 1


async def test_a_message_that_only_codex_knows_when_the_server_dies_is_not_sent_twice(
    tmp_path: Path,
) -> None:
    async with ModelApi(Say([run("cat wait")]), "Never seen.", "Now.", aside=None) as api:
        it = CodexStage(tmp_path, api, RULES)
        await outlive_server(it, "tests.agents.codex.helpers.steering_server", tmp_path)
        end = await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
        assert not end.payload.is_error
        assert words(it) == [("go", 1, False), ("in blue", 2, False)]
        assert said(api.requests[-1]).count("in blue") == 1
        await it.stop()
