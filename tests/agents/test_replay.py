"""The replay agent plays recordings of a real agent."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.agents.helpers.session_driver import Ear, talking
from tests.helpers.recorded_streams import FIXTURES, RECORDED, events_of, recorded
from turnwire.agents.recording import turns_of
from turnwire.agents.replay import ReplayAgent
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.conversation.state import Reply
from turnwire.ports import AgentGone, SessionStart

CLAUDE = FIXTURES / "claude"


def replay(name: str, speed: float = 0) -> ReplayAgent:
    """A recording without any waiting."""
    return ReplayAgent(CLAUDE / f"{name}.jsonl", speed)


async def play_all(ear: Ear, turns: int) -> None:
    """Sends prompts until the recording is over, and answers every request."""
    for _ in range(turns):
        await ear.say("Go on.")
        await _answer_all(ear)


async def _answer_all(ear: Ear) -> None:
    answered = 0
    ended = ear.order.turns_ended
    while ear.order.turns_ended == ended:
        asked = [e for e in ear.events if isinstance(e, ev.QuestionAsked | ev.PermissionRequested)]
        for request in asked[answered:]:
            reply = Reply(request.request_id, "permission", decision="allow")
            await ear.session.deliver([reply], resumed=False)
        answered = len(asked)
        seen = len(ear.events)
        await ear.until(lambda seen=seen: len(ear.events) > seen or ear.order.turns_ended > ended)  # type: ignore[misc]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_recording_is_played_as_it_was(path: Path) -> None:
    if not turns_of(path):
        pytest.skip("no turn was recorded")

    async def run() -> None:
        turns = [turn for turn in turns_of(path) if turn.prompted]
        expected = events_of(recorded(path.stem)) if path.stem != "raw_odd" else None
        async with talking(ReplayAgent(path, 0)) as ear:
            await play_all(ear, len(turns))
            if expected is not None:
                await ear.until(lambda: len(ear.events) >= len(expected))
                assert ear.events == expected

    asyncio.run(run())


def test_each_prompt_plays_the_next_turn() -> None:
    async def run() -> None:
        async with talking(replay("14_multi_turn")) as ear:
            await ear.say("one")
            await ear.turn_ends()
            first = len(ear.events)
            assert ear.order.turns_ended == 1
            await ear.say("two")
            await ear.turn_ends(2)
            assert len(ear.events) > first

    asyncio.run(run())


def test_a_prompt_after_the_last_turn_says_that_it_is_over() -> None:
    async def run() -> None:
        async with talking(replay("02_thinking")) as ear:
            await ear.say("one")
            await ear.turn_ends()
            await ear.say("two")
            end = await ear.turn_ends(2)
            assert isinstance(end, ev.TurnFailed)
            assert end.code == "recording_over"

    asyncio.run(run())


def test_a_turn_without_a_prompt_follows_by_itself() -> None:
    async def run() -> None:
        async with talking(replay("09c_subagent_background")) as ear:
            await ear.say("Go on.")
            asked = await ear.heard(ev.PermissionRequested)
            reply = Reply(asked.request_id, "permission", decision="allow")
            await ear.session.deliver([reply], resumed=False)
            await ear.turn_ends(2)
            assert [e.origin for e in ear.all(ev.TurnCompleted)] == [None, "task-notification"]

    asyncio.run(run())


def test_the_replay_waits_where_the_recording_has_asked() -> None:
    async def run() -> None:
        async with talking(replay("06_ask_user")) as ear:
            await ear.say("Go on.")
            asked = await ear.heard(ev.QuestionAsked)
            await ear.heard(ev.MessageCompleted)
            for _ in range(100):
                await asyncio.sleep(0)
            assert asked.tool_use_id not in ear.results
            await ear.answer("Blue")
            await ear.turn_ends()
            assert asked.tool_use_id in ear.results

    asyncio.run(run())


def test_a_question_is_answered_in_a_new_session() -> None:
    async def run() -> None:
        agent = replay("06_ask_user")
        async with talking(agent) as before:
            await before.say("Go on.")
            asked = await before.heard(ev.QuestionAsked)
            name = before.session.native_session_id
        async with talking(agent, name, known_calls=(asked.tool_use_id,)) as after:
            reply = Reply(asked.tool_use_id, "question", "Blue")
            await after.session.deliver([reply], resumed=True)
            await after.turn_ends()
            assert asked.tool_use_id in after.results
            assert "Blue it is." in after.text
            await after.say("more")
            assert isinstance(await after.turn_ends(2), ev.TurnFailed)

    asyncio.run(run())


def test_an_answer_to_an_unknown_request_ends_the_replay() -> None:
    async def run() -> None:
        async with talking(replay("01_text")) as ear:
            await ear.session.deliver([Reply("toolu_x", "question", "Blue")], resumed=True)
            assert isinstance(await ear.turn_ends(), ev.TurnFailed)

    asyncio.run(run())


def test_a_resumed_session_goes_on_with_the_next_turn() -> None:
    async def run() -> None:
        agent = replay("14_multi_turn")
        async with talking(agent) as ear:
            await ear.say("one")
            await ear.turn_ends()
            first, name = ear.text, ear.session.native_session_id
        async with talking(agent, name) as ear:
            await ear.say("two")
            await ear.turn_ends()
            assert ear.text != first

    asyncio.run(run())


def test_an_interrupt_leaves_out_the_rest_of_the_turn() -> None:
    async def run() -> None:
        async with talking(replay("01_text", speed=0.5)) as ear:
            await ear.say("Go on.")
            await ear.heard(ev.ContentDelta)
            await ear.session.interrupt()
            end = await ear.turn_ends()
            assert isinstance(end, ev.TurnCompleted)
            assert end.interrupted
            assert ear.all(ev.MessageDiscarded)[0].from_index == 0

    asyncio.run(run())


def test_an_interrupt_withdraws_the_open_request() -> None:
    async def run() -> None:
        async with talking(replay("07c_interrupt_permission")) as ear:
            await ear.say("Go on.")
            asked = await ear.heard(ev.PermissionRequested)
            await ear.session.interrupt()
            end = await ear.turn_ends()
            assert isinstance(end, ev.TurnCompleted)
            assert end.interrupted
            withdrawn = ear.all(ev.RequestWithdrawn)
            assert [each.request_id for each in withdrawn] == [asked.request_id]

    asyncio.run(run())


def test_the_replay_takes_the_recorded_time_divided_by_its_speed() -> None:
    async def seconds(speed: float, **how: float) -> float:
        async with talking(ReplayAgent(CLAUDE / "02_thinking.io.jsonl", speed, **how)) as ear:
            began = time.monotonic()
            await ear.say("Go on.")
            await ear.turn_ends()
            return time.monotonic() - began

    turn = turns_of(CLAUDE / "02_thinking.io.jsonl")[0]
    took = sum(beat.after for beat in turn.beats)
    assert took > 0.1
    assert asyncio.run(seconds(1)) >= took * 0.9
    assert asyncio.run(seconds(0)) < took
    # At a hundredth of the speed only `longest_pause` can make the replay this short.
    assert asyncio.run(seconds(0.01, longest_pause=0)) < took * 100


def test_both_kinds_of_recordings_give_the_same_events() -> None:
    bare, timed = (turns_of(CLAUDE / f"03_tools_allow{kind}.jsonl") for kind in ("", ".io"))

    def kinds(turns: list) -> list[type]:  # type: ignore[type-arg]
        return [type(event) for turn in turns for beat in turn.beats for event in beat.events]

    assert kinds(bare) == kinds(timed)


def test_unreadable_lines_are_ignored(tmp_path: Path) -> None:
    good = (CLAUDE / "01_text.jsonl").read_bytes()
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b'{"t": broken\n\nnot json\n' + good)
    assert len(turns_of(path)) == len(turns_of(CLAUDE / "01_text.jsonl"))


def test_the_sample_that_comes_along_is_played_without_a_name() -> None:
    async def run() -> None:
        agent = ReplayAgent(speed=0)
        assert agent.unavailable() is None
        async with talking(agent) as ear:
            await ear.say("Go on.")
            await _answer_all(ear)
            assert any(
                isinstance(block, TextBlock)
                for event in ear.all(ev.AssistantMessage)
                for block in event.content
            )

    asyncio.run(run())


def test_a_missing_recording_is_an_error(tmp_path: Path) -> None:
    agent = ReplayAgent(tmp_path / "nothing.jsonl")
    assert agent.unavailable() == "There is no recording nothing.jsonl. Name another one."
    with pytest.raises(AgentGone, match=r"nothing\.jsonl cannot be read"):
        asyncio.run(agent.open(SessionStart("c")))
