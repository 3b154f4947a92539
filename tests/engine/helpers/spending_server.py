"""A server in its own process whose agent costs half a dollar a turn: one message, then its end.

With `hang` after the path the turn begins and never ends: the process prints this and waits.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing

from tests.engine.helpers.scripted_agent import ScriptedAgent
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.stores.sqlite import SqliteStore

EACH = 0.5


async def conversation(engine: Engine) -> Talk:
    try:
        return await engine.open("talk")
    except Refused:
        rules = Options(on_disconnect="continue")
        return await engine.create("demo", conversation_id="talk", user="ann", rules=rules)


async def play(agent: ScriptedAgent) -> None:
    while True:
        session = await agent.opened()
        session.begins()
        session.ends()


async def hang(path: str) -> None:
    store = await SqliteStore.open(path)
    agent = ScriptedAgent()
    settings = EngineSettings(lease=1.0, budget_usd_per_user=1.0, budget_period="ever")
    async with Engine(store, {"demo": agent}, settings=settings) as engine:
        talk = await conversation(engine)
        async with aclosing(talk.follow(tail=0)) as frames:
            await talk.send("Hello", user="ann")
            session = await agent.opened()
            session.begins()
            session.speaks("a word", finishes=True)
            # A turn of which the log has nothing would be handed over again after the kill.
            async for frame in frames:
                if isinstance(frame, f.AssistantChunk) and not frame.payload.partial:
                    break
        print("in the midst of a turn", flush=True)
        await asyncio.Event().wait()


async def spend(path: str) -> None:
    store = await SqliteStore.open(path)
    agent = ScriptedAgent()
    agent.cost = EACH
    settings = EngineSettings(lease=1.0, budget_usd_per_user=1000.0, budget_period="ever")
    async with Engine(store, {"demo": agent}, settings=settings) as engine:
        talk = await conversation(engine)
        await talk.send("Hello", user="ann")
        playing = asyncio.create_task(play(agent))
        async with aclosing(talk.follow(tail=0)) as frames:
            async for frame in frames:
                match frame:
                    case f.SessionState(payload=now) if not (now.running or now.queue):
                        break
        playing.cancel()
    await store.close()


if __name__ == "__main__":
    asyncio.run((hang if sys.argv[2:] == ["hang"] else spend)(sys.argv[1]))
