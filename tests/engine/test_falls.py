"""Servers that stop or fall, clocks that jump, followers that are cut off, many at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.clients import Client
from tests.engine.promises import check_again, check_end, check_stopped
from tests.engine.scripted import ScriptedAgent
from tests.engine.watching import Watcher, engine_on, talk_with
from tests.engine.world import World
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import EngineSettings, Talk
from turnwire.ports import Owned
from turnwire.testing.clock import ManualClock


def test_a_clock_that_jumps_ahead_lets_deadlines_pass_and_nothing_else(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            rules = Options(question_seconds=60)
            talk = await engine.create("demo", options={"delay": 0}, rules=rules)
            async with Watcher(talk) as seen:
                await talk.send("question")
                await seen.until(f.AssistantRequestInput)
                await seen.state("waiting_input")
                clock.jump(3600)
                assert (await talk.status()).state == "waiting_input"
                clock.forward(0)
                assert (await seen.until(f.AssistantRequestResolved)).payload.outcome == "expired"
                await seen.state("error")
                await talk.send("hello")
                assert not (await seen.until(f.AssistantComplete, later)).payload.is_error

    def later(frame: f.AssistantComplete) -> bool:
        return frame.turn_id == 2

    asyncio.run(scene())


def test_a_clock_that_jumps_back_only_makes_deadlines_come_later(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            rules = Options(question_seconds=60)
            talk = await engine.create("demo", options={"delay": 0}, rules=rules)
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = await seen.until(f.AssistantRequestInput)
                await seen.state("waiting_input")
                clock.jump(-3600)
                clock.forward(70)
                await talk.answer(asked.payload.question_id, "Blue")
                assert not (await seen.until(f.AssistantComplete)).payload.is_error
                await seen.state("active")
                await talk.send("tool")
                await seen.until(f.AssistantComplete)
            numbers = [stored.sequence for stored in await engine.store.entries(talk.id)]
            assert numbers == list(range(1, len(numbers) + 1))

    asyncio.run(scene())


def test_a_clock_that_jumps_back_does_not_keep_a_stop_from_ending(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            options = {"delay": 0.001, "obey_interrupt": False}
            talk = await engine.create("demo", options=options)
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                await talk.interrupt(1)
                clock.jump(-3600)
                clock.forward(6)  # more than it is given to obey
                assert (await seen.until(f.ConversationInterrupted)).payload.forced
                await seen.state("interrupted")

    asyncio.run(scene())


def test_a_follower_that_was_cut_off_comes_again_and_misses_nothing(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            client = Client()
            async with Watcher(talk) as seen:
                engine._following.settings = EngineSettings(
                    buffer=4
                )  # of those who come from now on
                for prompt in ("think tool plan", "long", "subagent"):
                    if not client.is_there:
                        client.come(talk)
                    await talk.send(prompt)
                    await seen.until(f.AssistantComplete)
                head = (await seen.state("active")).payload
                while client.view().cursor < seen.view().cursor or client.view().status != head:
                    if client.is_there:
                        await client.more()
                    else:
                        client.come(talk)
                assert client.view().messages == seen.view().messages
                assert client.view().turns == seen.view().turns
            await client.leave()
            client.check()

    asyncio.run(scene())


def test_fifty_conversations_at_once_are_fifty_conversations(path: Path) -> None:
    async def one(talk: Talk, number: int) -> None:
        async with Watcher(talk) as seen:
            await talk.send(f"think tool {number}")
            await talk.send("question")
            asked = await seen.until(f.AssistantRequestInput)
            await talk.answer(asked.payload.question_id, f"answer {number}")
            await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
            await seen.state("active")
        view = seen.view()
        assert len(view.turns) == 2
        assert f"answer {number}" in str(view.messages)
        assert f"answer {number + 1}" not in str(view.messages)

    async def scene() -> None:
        async with engine_on(path) as engine:
            talks = [await talk_with(engine) for _ in range(50)]
            await asyncio.gather(*(one(talk, number) for number, talk in enumerate(talks)))

    asyncio.run(scene())


PROMPTS = ["long", "tool", "question", "permission", "background", "subagent long", "error"]


def test_a_stop_in_the_middle_of_everything_leaves_every_log_true(path: Path) -> None:
    async def scene() -> None:
        before = asyncio.all_tasks()
        talks = []
        async with engine_on(path) as engine:
            for number in range(21):
                talk = await engine.create("demo", options={"delay": 0.001})
                await talk.send(PROMPTS[number % len(PROMPTS)])
                await talk.send("hello", client_message_id="second")
                talks.append(talk.id)
            asks = [asyncio.create_task(refusable(engine.open, name)) for name in talks]
        assert await asyncio.gather(*asks)
        assert asyncio.all_tasks() == before
        async with engine_on(path) as engine:
            for name in talks:
                row = await engine.store.conversation(name)
                assert row is not None
                c = row.state
                assert c.turn is None or c.turn.phase == "suspended"
                assert c.state != "streaming"
                asked = {request.request_id for request in c.requests}
                assert c.tools.keys() <= asked
                again = await (await engine.open(name)).send("hello", client_message_id="second")
                assert again.duplicate

    async def refusable(opening: object, name: str) -> bool:
        try:
            talk = await opening(name)  # type: ignore[operator]
            await talk.send("one more")
        except (Refused, Owned):
            return True
        return True

    asyncio.run(scene())


def test_what_fell_once_may_fall_again_while_it_recovers(tmp_path: Path) -> None:
    async def scene() -> None:
        world = World(tmp_path / "log.db", Options(on_disconnect="continue"), survive=True)
        await world.begin()
        world.someone_speaks()
        await world.settle()
        [session] = world.agent.live
        session.begins()
        session.calls_a_tool()
        session.asks()
        await world.settle()
        world.someone_speaks()
        await world.settle()
        for _ in range(2):
            await world.server_falls()  # and again, before anything has settled
        await world.settle()
        status = await world.talk.status()
        assert (status.state, status.running, status.turn_id) == ("waiting_input", False, 1)
        await world.server_falls()
        await world.settle()
        await world.talk.answer(status.requests[0].request_id, "blue")
        await world.settle()
        [session] = world.agent.live
        session.ends()
        await world.settle()
        world.agent_works()
        world.agent_is_done()
        await world.settle()
        await world.stop()
        await check_stopped(world)
        await world.start_again()
        await check_again(world)
        await check_end(world)
        await world.stop()
        assert [len(session.prompts) for session in world.agent.sessions] == [1, 1]

    asyncio.run(scene())


def test_who_was_taken_over_notices_by_itself_and_ends_its_agent(path: Path) -> None:
    async def scene() -> None:
        clock, agent = ManualClock(), ScriptedAgent()
        async with engine_on(path, clock=clock, agent=agent) as engine:
            talk = await engine.create("demo")
            await talk.send("hello")
            session = await agent.opened()
            session.begins()
            late = ManualClock(clock.now() + 60_000)
            async with engine_on(path, clock=late, agent=DemoAgent()) as other:
                status = await (await other.open(talk.id)).wake()
                assert (status.state, status.running) == ("interrupted", False)
                clock.forward(4)  # it would renew its lease now
                await session.closed.wait()
            assert not agent.live

    asyncio.run(scene())


def test_a_server_that_is_back_before_the_lease_is_over_makes_the_log_true_when_it_is(
    path: Path,
) -> None:
    async def scene() -> None:
        fallen, agent = ManualClock(), ScriptedAgent()
        async with engine_on(path, clock=fallen, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as owner:
                await talk.send("hello")
                (await agent.opened()).begins()
                await owner.state("streaming")
            clock = ManualClock(fallen.now())
            async with (
                engine_on(path, clock=clock) as back,
                Watcher(await back.open(talk.id)) as seen,
            ):
                clock.forward(8)
                assert seen.of(f.SessionState)[-1].payload.running  # its owner may live
                clock.forward(4)  # it has not renewed its lease, so it does not
                assert (await seen.until(f.AssistantComplete)).payload.interrupted
                assert (await seen.state("interrupted")).payload.reason == "server_restart"

    asyncio.run(scene())


def test_a_conversation_that_another_process_owns_is_still_followed_after_a_refusal(
    path: Path,
) -> None:
    async def scene() -> None:
        clock, agent = ManualClock(), ScriptedAgent()
        async with engine_on(path, clock=clock, agent=agent) as engine:
            talk = await engine.create("demo")
            await talk.send("hello")
            session = await agent.opened()
            async with engine_on(path, clock=clock) as other:
                theirs = await other.open(talk.id)
                with pytest.raises(Owned):
                    await theirs.send("me too")
                async with Watcher(theirs) as seen:
                    session.begins()
                    session.speaks("Hello.", finishes=True)
                    session.ends()
                    async with Watcher(talk) as owner:
                        while not owner.view().turns:
                            await owner.until(f.AssistantComplete)
                    clock.forward(3)  # it looks at the log now and then
                    await seen.state("active")
                    assert seen.view().turns

    asyncio.run(scene())
