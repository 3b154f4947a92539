"""Load: many conversations at once, followers that read too slowly, and a full disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.helpers.reconnecting_client import Client
from tests.engine.helpers.watcher import Watcher, engine_on, talk_with
from turnwire.agents.demo import DemoAgent
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, SlowReader, Talk
from turnwire.engine.clock import SystemClock
from turnwire.errors import TurnwireError
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock


async def test_fifty_conversations_run_at_once_and_do_not_mix(path: Path) -> None:
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

    async with engine_on(path) as engine:
        talks = [await talk_with(engine) for _ in range(50)]
        await asyncio.gather(*(one(talk, number) for number, talk in enumerate(talks)))


async def test_a_slow_follower_is_disconnected(path: Path) -> None:
    async with engine_on(path, settings=EngineSettings(buffer=4)) as engine:
        talk = await talk_with(engine)
        slow = talk.follow()
        for _ in range(3):
            await anext(slow)
        await talk.send("question")
        await engine.wake(talk.id)
        await talk.interrupt(1)  # now more frames wait than the buffer holds
        await engine.wake(talk.id)
        with pytest.raises(SlowReader):
            async for _ in slow:
                pass


async def test_a_disconnected_follower_connects_again_and_misses_nothing(path: Path) -> None:
    async with engine_on(path) as engine:
        talk = await talk_with(engine)
        client = Client()
        async with Watcher(talk) as seen:
            engine._following.settings = EngineSettings(buffer=4)  # for later followers
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


async def test_a_full_disk_refuses_messages_with_an_error_and_loses_none(path: Path) -> None:
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
    # The engine could not even release its claim: the lease has to expire.
    later = ManualClock(SystemClock().now() + 60_000)
    async with engine_on(path, clock=later) as engine:
        again = await (await engine.open(talk.id)).send("x" * 20_000 + "0", client_message_id="0")
        assert again.duplicate
