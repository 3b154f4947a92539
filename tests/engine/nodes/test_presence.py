"""A follower on another node counts: a turn goes on for it, and stops when it has left."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.engine.helpers.watcher import PATIENCE, Watcher
from tests.engine.nodes.two_engines import two_engines
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f


def test_a_turn_goes_on_while_it_is_followed_only_on_the_other_node(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            rules = Options(on_disconnect="converge", disconnect_grace=0.05, interrupt_grace=0.1)
            talk = await two.a.create("scripted", rules=rules)
            there = await two.b.open(talk.id)
            async with Watcher(talk) as near, Watcher(there) as far:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                session.speaks("Hel", finishes=False)
                await near.until(f.AssistantChunk)
                await far.until(f.AssistantChunk)
                await near.__aexit__()  # the last one on the owner's node
                for _ in range(20):  # a moment that is longer than the grace
                    await asyncio.sleep(0.02)
                assert session.is_alive
                session.speaks("lo.", finishes=True)
                said = await far.until(f.AssistantChunk)
                assert said.payload.text.endswith("lo.")
            async with asyncio.timeout(PATIENCE):  # it stops when the other follower has left, too
                while two.a.running_turn(talk.id) is not None:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            async with Watcher(talk) as back:
                [turn] = back.view().turns
                assert turn.end.interrupted

    asyncio.run(scene())
