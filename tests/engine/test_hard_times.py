"""What an engine does when agents, clients, disks and clocks do not behave."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.scripted import ScriptedAgent
from tests.engine.watching import Watcher, engine_on, talk_with
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, SlowReader
from turnwire.engine.clock import SystemClock
from turnwire.engine.settings import EngineSettings
from turnwire.errors import TurnwireError
from turnwire.ports import Owned
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock


def test_a_question_that_nobody_answers_fails_its_turn_at_the_deadline(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            rules = Options(question_seconds=60)
            talk = await engine.create("demo", options={"delay": 0}, rules=rules)
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = await seen.until(f.AssistantRequestInput)
                assert asked.payload.deadline_at is not None
                await seen.state("waiting_input")
                clock.forward(61)
                resolved = await seen.until(f.AssistantRequestResolved)
                assert resolved.payload.outcome == "expired"
                complete = await seen.until(f.AssistantComplete)
                assert complete.payload.error is not None
                assert complete.payload.error.code == "INPUT_TIMEOUT"
                await seen.state("error")
                with pytest.raises(Refused) as refused:
                    await talk.answer(asked.payload.question_id, "Blue")
                assert refused.value.code == "INPUT_TIMEOUT"

    asyncio.run(scene())


def test_a_deadline_holds_over_a_restart(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            rules = Options(question_seconds=60)
            talk = await engine.create("demo", options={"delay": 0}, rules=rules)
            async with Watcher(talk) as seen:
                await talk.send("question")
                await seen.until(f.AssistantRequestInput)
                await seen.state("waiting_input")
        clock.forward(30)
        async with engine_on(path, clock=clock) as engine:
            talk = await engine.open(talk.id)
            async with Watcher(talk) as seen:
                clock.forward(31)
                resolved = await seen.until(f.AssistantRequestResolved)
                assert resolved.payload.outcome == "expired"
                await seen.state("error")

    asyncio.run(scene())


def test_an_agent_that_ignores_a_stop_is_ended_by_force(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            options = {"delay": 0.001, "obey_interrupt": False}
            talk = await engine.create("demo", options=options)
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                await talk.interrupt(1)
                clock.forward(10)
                receipt = await seen.until(f.ConversationInterrupted)
                assert receipt.payload.forced
                complete = await seen.until(f.AssistantComplete)
                assert complete.payload.interrupted
                await seen.state("interrupted")
                await talk.send("hello")
                await seen.until(f.AssistantComplete)

    asyncio.run(scene())


def test_nobody_left_stops_the_turn_after_the_grace(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            talk = await engine.create("demo", options={"delay": 0.005})
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
            await asyncio.sleep(0)
            live = engine.alive[talk.id]
            await live.settle()
            clock.forward(31)
            await live.settle()
            async with Watcher(talk) as seen:
                view = seen.view()
            ends = [turn.end for turn in view.turns]
            while not ends:
                async with Watcher(talk) as seen:
                    ends = [turn.end for turn in seen.view().turns]
            assert ends[0].interrupted

    asyncio.run(scene())


def test_who_comes_back_in_time_stops_nothing(path: Path) -> None:
    async def scene() -> None:
        clock, agent = ManualClock(), ScriptedAgent()
        async with engine_on(path, agent=agent, clock=clock) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk):
                await talk.send("hello")
                (await agent.opened()).begins()
            live = engine.alive[talk.id]
            await live.settle()
            clock.forward(29)
            async with Watcher(talk):
                clock.forward(60)
                await live.settle()
                assert (await talk.status()).running
                # They go, and the grace begins anew.
            await live.settle()
            clock.forward(29)
            await live.settle()
            assert (await talk.status()).running
            clock.forward(1)
            await live.settle()
            assert live.state.turn is None or live.state.turn.stopping

    asyncio.run(scene())


def test_who_comes_back_in_the_moment_in_which_the_grace_ends_stops_nothing(path: Path) -> None:
    async def scene() -> None:
        clock, agent = ManualClock(), ScriptedAgent()
        async with engine_on(path, agent=agent, clock=clock) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk):
                await talk.send("hello")
                (await agent.opened()).begins()
            live = engine.alive[talk.id]
            await live.settle()
            following = talk.follow()
            coming = asyncio.ensure_future(anext(following))
            clock.forward(31)  # the time is over, and they are on their way
            assert not coming.done()
            await coming
            await live.settle()
            assert live.state.turn is not None
            assert live.state.turn.stopping is None
            await following.aclose()

    asyncio.run(scene())


def test_who_waits_to_be_told_the_state_is_there_already(path: Path) -> None:
    async def scene() -> None:
        clock, agent = ManualClock(), ScriptedAgent()
        async with engine_on(path, agent=agent, clock=clock) as engine:
            talk = await engine.create("demo")
            first, second = talk.follow(), talk.follow()
            await anext(first)
            await talk.send("hello")
            session = await agent.opened()
            session.begins()
            session.speaks("some words", finishes=False)
            live = engine.alive[talk.id]
            async for frame in first:  # until the agent is heard
                if isinstance(frame, f.AssistantChunk):
                    break
            await live.settle()
            with live.channel.telling():
                coming = asyncio.ensure_future(anext(second))
                await asyncio.sleep(0)
                await first.aclose()
                await live.settle()
                clock.forward(31)
                await live.settle()
            assert isinstance(await coming, f.SessionConnected)
            assert live.state.turn is not None
            assert live.state.turn.stopping is None
            await second.aclose()

    asyncio.run(scene())


def test_a_late_decision_never_meets_what_another_process_asks_under_the_same_id(
    path: Path,
) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("one")
                first = await agent.opened()
                first.begins()
                first.wants()
                old = (await seen.until(f.AssistantPermissionRequest)).payload
                first.dies()
                await seen.until(f.AssistantComplete)
                await talk.send("two")
                second = await agent.opened()
                second.begins()
                second.wants()
                new = (await seen.until(f.AssistantPermissionRequest)).payload
                assert list(second.asked) == list(first.asked)  # to them it is the same id
                with pytest.raises(Refused) as refused:
                    await talk.decide(old.request_id, "allow")
                assert refused.value.code == "CONVERSATION_INTERRUPTED"
                await talk.decide(new.request_id, "allow")
                result = await seen.until(f.AssistantToolResult)
                assert result.payload.tool_use_id == new.tool_use_id

    asyncio.run(scene())


def test_an_answer_to_an_agent_that_dies_in_that_moment_reaches_the_next_one(path: Path) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                first = await agent.opened()
                first.begins()
                first.asks()
                asked = (await seen.until(f.AssistantRequestInput)).payload
                first.dies()  # nobody knows it yet
                await talk.answer(asked.question_id, "blue")
                went_on = await seen.until(f.TurnStarted, lambda frame: frame.turn_id == 1)
                assert went_on.payload.origin == "resume"
                result = (await seen.until(f.AssistantToolResult)).payload
                assert (result.tool_use_id, result.is_error) == (asked.question_id, False)
                assert "blue" in str(result.content)
                agent.live[0].ends()
                complete = (await seen.until(f.AssistantComplete)).payload
                assert not complete.is_error
                assert len(agent.sessions) == 2

    asyncio.run(scene())


def test_a_second_engine_cannot_write_while_the_first_one_lives(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("question")
                await seen.until(f.AssistantRequestInput)
                async with engine_on(path) as other:
                    theirs = await other.open(talk.id)
                    with pytest.raises(Owned):
                        await theirs.send("hello")

    asyncio.run(scene())


def test_an_owner_that_lost_its_lease_writes_nothing_more(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = await seen.until(f.AssistantRequestInput)
                await seen.state("waiting_input")
                late = ManualClock(clock.now() + 60_000)
                async with engine_on(path, clock=late) as other:
                    theirs = await other.open(talk.id)
                    await theirs.answer(asked.payload.question_id, "Blue")
                    with pytest.raises(Refused) as refused:
                        await talk.answer(asked.payload.question_id, "Red")
                    assert refused.value.code in ("STORAGE_UNAVAILABLE", "DUPLICATE_INPUT_RESPONSE")

    asyncio.run(scene())


def test_a_slow_reader_is_cut_off_and_can_come_again(path: Path) -> None:
    async def scene() -> None:
        settings = EngineSettings(buffer=4)
        async with engine_on(path, settings=settings) as engine:
            talk = await talk_with(engine)
            slow = talk.follow()
            for _ in range(3):
                await anext(slow)
            await talk.send("question")
            await engine.wake(talk.id)
            await talk.interrupt(1)  # and so there is more to tell than may wait
            await engine.wake(talk.id)
            with pytest.raises(SlowReader):
                async for _ in slow:
                    pass

    asyncio.run(scene())


def test_a_full_disk_refuses_clearly_and_loses_nothing(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path, max_bytes=400_000)
        async with Engine(store, {"demo": DemoAgent()}) as engine:
            talk = await talk_with(engine)

            async def fill() -> None:
                for number in range(200):
                    await talk.send("x" * 20_000 + str(number), client_message_id=str(number))

            with pytest.raises(TurnwireError) as refused:
                await fill()
            assert refused.value.code in ("STORAGE_UNAVAILABLE", "TURN_QUEUE_FULL")
            assert refused.value.retryable
        await store.close()
        # It could not even let go of the conversation, so its lease has to run out.
        later = ManualClock(SystemClock().now() + 60_000)
        async with engine_on(path, clock=later) as engine:
            talk = await engine.open(talk.id)
            again = await talk.send("x" * 20_000 + "0", client_message_id="0")
            assert again.duplicate

    asyncio.run(scene())
