"""Messages into a running turn of the real Claude: taken once, or left in the queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import (
    RULES,
    Stage,
    ask,
    bash,
    kill_claude,
    stage,
    stop,
)
from tests.agents.helpers.steering import (
    begin_command,
    begin_text,
    let_go,
    outlive_server,
    steer,
    words,
)
from turnwire.agents.claude.sessions.history import has_message
from turnwire.agents.claude.turn.steering import Steering
from turnwire.core import events as ev
from turnwire.core.content import TextContent
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.usage import ModelUsage, Usage
from turnwire.dialects.claude import messages
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import ModelApi, Say, Text

WHOSE = ("claude", "session", None, None)
WAITS = Say([bash("cat wait")])
CUT = Say([Text("Once upon a time", cuts=3, hold="cut")])


def count(request: Any, said: str) -> int:
    """Returns how often the model was sent these words."""
    return json.dumps(request.messages).count(said)


async def test_a_message_goes_into_the_running_turn_after_its_command(tmp_path: Path) -> None:
    async with stage(tmp_path, WAITS, "Done.") as it:
        await begin_command(it)
        await steer(it, "and in blue")
        [item] = (await it.talk.status()).queue
        assert item.steers == 1, "it waits in the queue until Claude has taken it"
        await let_go(it)
        await it.ends()
        assert words(it) == [("go", 1, False), ("and in blue", 1, True)]
        assert [count(each, "and in blue") for each in it.api.requests] == [0, 1]
        assert (await it.talk.status()).queue == []


async def test_a_message_into_a_text_is_answered_after_it_in_the_same_turn(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, CUT, "In blue, then.", "Bye.") as it:
        await begin_text(it)
        await steer(it, "no: in blue")
        it.api.release("cut")
        end = await it.ends()
        assert (end.is_error, end.stop_reason) == (False, "end_turn")
        assert words(it) == [("go", 1, False), ("no: in blue", 1, True)]
        assert it.text == ["Once upon a time", "In blue, then."]
        assert end.usage is not None
        assert (end.usage.input_tokens, end.usage.output_tokens) == (200, 40)
        alone = await it.says("bye")
        assert alone.cost_usd is not None
        assert end.cost_usd == 2 * alone.cost_usd, "the figures are those of both parts"
        assert [message.turn_id for message in it.seen.view().messages][-2:] == [2, 2]


async def test_several_messages_into_a_text_are_all_taken_into_the_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, CUT, "Blue.", "And large.") as it:
        await begin_text(it)
        await steer(it, "in blue")
        await steer(it, "and large")
        it.api.release("cut")
        await it.ends()
        assert words(it) == [("go", 1, False), ("in blue", 1, True), ("and large", 1, True)]
        assert [count(it.api.requests[-1], each) for each in ("in blue", "and large")] == [1, 1]


async def test_a_message_that_a_stopped_turn_did_not_take_waits_for_its_own(tmp_path: Path) -> None:
    async with stage(tmp_path, WAITS) as it:
        await begin_command(it)
        await steer(it, "never mind")
        it.api.say_next(it.answer_to("never mind", "Now."))
        await stop(it)
        [item] = (await it.talk.status()).queue
        assert item.steers is None
        await it.talk.change_queue("resume")
        await it.ends()
        assert words(it) == [("go", 1, False), ("never mind", 2, False)]
        assert it.text == ["Now."]
        assert count(it.api.requests[-1], "never mind") == 1


async def test_a_message_that_a_killed_claude_did_not_take_is_sent_again(tmp_path: Path) -> None:
    async with stage(tmp_path, WAITS, "Now.") as it:
        await begin_command(it)
        await steer(it, "and this")
        kill_claude()
        await it.ends()
        await it.talk.change_queue("resume")
        await it.ends()
        assert words(it) == [("go", 1, False), ("and this", 2, False)]
        assert count(it.api.requests[-1], "and this") == 1


async def test_a_message_that_a_question_precedes_waits_and_the_question_survives(
    tmp_path: Path,
) -> None:
    asks = Say([Text("I have a question.", cuts=3, hold="cut"), ask()])
    async with stage(tmp_path, asks, "Blue.", "And large.") as it:
        await begin_text(it)
        await steer(it, "and large")
        it.api.release("cut")
        asked = await it.asked()
        await it.sleeps()
        await it.talk.answer(asked.question_id, {"Which colour?": "Blue"})
        await it.ends()
        assert "Blue" in it.told["ask_1"], "it is the result of its call"
        await it.ends()
        assert words(it) == [("go", 1, False), ("and large", 2, False)]
        assert it.text == ["I have a question.", "Blue.", "And large."]
        assert count(it.api.requests[-1], "and large") == 1


async def test_a_message_at_a_question_waits_for_its_own_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([bash("cat wait"), ask()]), "Blue.", "And large.") as it:
        await begin_command(it)
        asked = await it.asked()
        await steer(it, "and large")
        [item] = (await it.talk.status()).queue
        assert item.steers is None
        await let_go(it)
        await it.sleeps()
        await it.talk.answer(asked.question_id, {"Which colour?": "Blue"})
        await it.ends()
        await it.ends()
        assert it.text == ["Blue.", "And large."]
        assert words(it) == [("go", 1, False), ("and large", 2, False)]


async def test_a_slash_command_has_its_own_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, CUT) as it:
        await begin_text(it)
        await steer(it, "/context")
        it.api.release("cut")
        await it.ends()
        await it.ends()
        assert words(it) == [("go", 1, False), ("/context", 2, False)]


async def test_a_message_that_only_claude_knows_when_the_server_dies_is_not_sent_twice(
    tmp_path: Path,
) -> None:
    never = Say([Text("Never seen.", cuts=3, hold="never")])
    async with ModelApi(WAITS, never, "Now.") as api:
        it = Stage(tmp_path, api, RULES)
        it.all_is_heard = False
        await outlive_server(it, "tests.agents.claude.helpers.steering_server", tmp_path)
        await it.talk.wake()
        end = await it.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
        assert not end.payload.is_error
        assert words(it) == [("go", 1, False), ("in blue", 2, False)]
        assert count(api.requests[-1], "in blue") == 1
        assert it.text[-1] == "Now."
        await it.stop()


@pytest.mark.parametrize("state", ["cancelled", "discarded", "refused", "completed"])
def test_a_turn_ends_if_claude_drops_the_message_that_it_was_to_go_on_with(state: str) -> None:
    steering = Steering(lambda agent_id: WHOSE)
    steering.add("line", "message", [TextContent("in blue")])
    end: list[NormalizedStreamEvent] = [
        ev.TurnCompleted(*WHOSE, "end_turn"),
        ev.ResultSummary(*WHOSE, "success", False),
    ]
    assert steering.follow([*end]) == []
    assert steering.hear(messages.CommandLifecycle("line", "queued")) == []
    assert steering.hear(messages.CommandLifecycle("another", state)) == []
    assert steering.hear(messages.CommandLifecycle("line", state)) == end
    begun: list[NormalizedStreamEvent] = [ev.TurnStarted(*WHOSE)]
    assert steering.follow(begun) == begun, "the next turn is another one"
    assert steering.follow([*end]) == end


def test_a_turn_that_was_stopped_or_defers_a_question_does_not_go_on() -> None:
    steering = Steering(lambda agent_id: WHOSE)
    steering.add("line", "message", [TextContent("in blue")])
    figures = ev.ResultSummary(*WHOSE, "success", False)
    for ended in (
        ev.TurnCompleted(*WHOSE, None, True),
        ev.TurnCompleted(*WHOSE, "tool_deferred", False, "ask_1"),
    ):
        assert steering.follow([ended, figures]) == [ended, figures]


def test_figures_that_one_part_lacks_are_those_of_the_other() -> None:
    steering = Steering(lambda agent_id: WHOSE)
    steering.add("line", "message", [TextContent("in blue")])
    models = {"a": ModelUsage(1, 2, cost_usd=0.5)}
    first = ev.ResultSummary(*WHOSE, "success", False, 5, num_turns=1, model_usage=models)
    steering.follow([ev.TurnFailed(*WHOSE, "api_error", "no luck"), first])
    steering.hear(messages.CommandLifecycle("line", "started"))
    models = {"a": ModelUsage(3, cost_usd=0.25), "b": ModelUsage(4)}
    usage = Usage(7, 8)
    second = ev.ResultSummary(
        *WHOSE, "success", False, 6, num_turns=2, cost_usd=0.75, usage=usage, model_usage=models
    )
    [_, whole] = steering.follow([ev.TurnCompleted(*WHOSE, "end_turn"), second])
    assert isinstance(whole, ev.ResultSummary)
    assert (whole.duration_ms, whole.num_turns, whole.cost_usd, whole.usage) == (11, 3, 0.75, usage)
    both = {"a": ModelUsage(4, 2, cost_usd=0.75), "b": ModelUsage(4)}
    assert whole.model_usage == both


def test_a_message_is_found_in_the_record_of_a_session(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "a"
    folder.mkdir(parents=True)
    records: list[Any] = [
        {"type": "user", "uuid": "own"},
        {"type": "attachment", "attachment": {"type": "queued_command", "source_uuid": "taken"}},
        {"type": "assistant", "parentUuid": "named"},
    ]
    lines = [json.dumps(each) for each in records]
    (folder / "s.jsonl").write_text("\n".join([*lines, '{"uuid": "broken"']))
    found = {name: has_message(tmp_path, "s", name) for name in ("own", "taken", "named", "broken")}
    assert found == {"own": True, "taken": True, "named": False, "broken": False}
    assert not has_message(tmp_path, "other", "own")
