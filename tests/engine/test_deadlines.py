"""Deadlines: questions expire and stops are forced, also when the clock jumps or the server restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.helpers.scenes import ignored_stop, open_question
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.clock import ManualClock


async def test_a_question_without_an_answer_fails_its_turn_at_the_deadline(path: Path) -> None:
    clock = ManualClock()
    async with open_question(path, clock) as (talk, seen, asked):
        assert asked.deadline_at is not None
        clock.forward(61)
        resolved = await seen.until(f.AssistantRequestResolved)
        assert resolved.payload.outcome == "expired"
        complete = await seen.until(f.AssistantComplete)
        assert complete.payload.error is not None
        assert complete.payload.error.code == "INPUT_TIMEOUT"
        await seen.state("error")
        with pytest.raises(Refused) as refused:
            await talk.answer(asked.question_id, "Blue")
        assert refused.value.code == "INPUT_TIMEOUT"


async def test_a_deadline_holds_over_a_restart(path: Path) -> None:
    clock = ManualClock()
    async with open_question(path, clock) as (talk, _, _):
        pass
    clock.forward(30)
    async with engine_on(path, clock=clock) as engine, Watcher(await engine.open(talk.id)) as seen:
        clock.forward(31)
        resolved = await seen.until(f.AssistantRequestResolved)
        assert resolved.payload.outcome == "expired"
        await seen.state("error")


async def test_a_clock_that_jumps_ahead_expires_a_question_and_the_next_turn_runs(
    path: Path,
) -> None:
    clock = ManualClock()
    async with open_question(path, clock) as (talk, seen, _):
        clock.jump(3600)
        assert (await talk.status()).state == "waiting_input"
        clock.forward(0)
        assert (await seen.until(f.AssistantRequestResolved)).payload.outcome == "expired"
        await seen.state("error")
        await talk.send("hello")
        second = await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
        assert not second.payload.is_error


async def test_a_clock_that_jumps_back_only_makes_deadlines_later(path: Path) -> None:
    clock = ManualClock()
    async with open_question(path, clock) as (talk, seen, asked):
        clock.jump(-3600)
        clock.forward(70)
        await talk.answer(asked.question_id, "Blue")
        assert not (await seen.until(f.AssistantComplete)).payload.is_error
        await seen.state("active")
        await talk.send("tool")
        await seen.until(f.AssistantComplete)
    async with engine_on(path) as engine:
        numbers = [stored.sequence for stored in await engine.store.entries(talk.id)]
        assert numbers == list(range(1, len(numbers) + 1))


async def test_an_agent_that_ignores_a_stop_is_ended_by_force(path: Path) -> None:
    clock = ManualClock()
    async with ignored_stop(path, clock) as (talk, seen):
        clock.forward(10)
        receipt = await seen.until(f.ConversationInterrupted)
        assert receipt.payload.forced
        complete = await seen.until(f.AssistantComplete)
        assert complete.payload.interrupted
        await seen.state("interrupted")
        await talk.send("hello")
        await seen.until(f.AssistantComplete)


async def test_a_clock_that_jumps_back_does_not_delay_a_forced_stop(path: Path) -> None:
    clock = ManualClock()
    async with ignored_stop(path, clock) as (_, seen):
        clock.jump(-3600)
        clock.forward(6)  # longer than the agent has for stopping by itself
        assert (await seen.until(f.ConversationInterrupted)).payload.forced
        await seen.state("interrupted")
