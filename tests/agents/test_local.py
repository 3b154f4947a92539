"""Behaviour that all agents in this process share."""

from __future__ import annotations

import asyncio

import pytest

from tests.agents.helpers.misbehaving_agents import STARTED, StrangeAgent
from tests.agents.helpers.session_driver import talking
from turnwire.agents.local import LocalSession
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import AgentGone


def test_a_mistake_in_an_agent_ends_its_session_with_a_reason() -> None:
    async def run() -> None:
        async with talking(StrangeAgent([[]], "breaks")) as ear:
            await ear.say("Hello")
            await ear.ends()
            assert ear.gone is not None
            assert ear.gone.message == "The agent failed: ValueError: a mistake"
            with pytest.raises(AgentGone, match="a mistake"):
                await ear.say("Hello?")

    asyncio.run(run())


def test_events_that_are_sent_together_are_received_together() -> None:
    async def run() -> None:
        session = LocalSession()
        session._say(STARTED)
        session._say(STARTED, STARTED)
        batches = session.events()
        assert len(await anext(batches)) == 3
        await session.close()
        with pytest.raises(StopAsyncIteration):
            await anext(batches)

    asyncio.run(run())


def test_a_batch_that_the_engine_takes_is_not_yielded_and_a_refused_one_is() -> None:
    async def run() -> None:
        taken: list[int] = []
        takes = True

        def take(batch: list[NormalizedStreamEvent]) -> bool:
            if takes:
                taken.append(len(batch))
            return takes

        session = LocalSession()
        session.push_batches(take)
        session._hand_over([STARTED])
        takes = False
        session._hand_over([STARTED] * 2)
        takes = True
        session._hand_over([STARTED] * 3)  # after the unread one
        assert taken == [1]
        assert len(await anext(session.events())) == 5
        await session.close()
        session._hand_over([STARTED])
        assert taken == [1]

    asyncio.run(run())


def test_a_slow_reader_is_waited_for() -> None:
    async def run() -> None:
        session = LocalSession()
        session._say(*[STARTED] * 10)
        waiting = asyncio.create_task(session._let_read(5))
        await asyncio.sleep(0)
        assert not waiting.done()
        await anext(session.events())
        await waiting
        await session.close()

    asyncio.run(run())


def test_no_event_follows_the_end() -> None:
    async def run() -> None:
        session = LocalSession()
        await session.close()
        assert await session.close() == []
        session._say(STARTED)
        assert [batch async for batch in session.events()] == []

    asyncio.run(run())
