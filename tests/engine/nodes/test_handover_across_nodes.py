"""Another agent is chosen on a node that does not run the conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.helpers.watcher import Watcher
from tests.engine.nodes.two_engines import two_engines
from turnwire.agents.demo import DemoAgent
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f


def test_the_owner_hands_over_and_both_nodes_know_who_speaks(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path, agent=lambda: DemoAgent(delay=0)) as two:
            talk = await two.a.create("scripted")
            far = await two.b.open(talk.id)
            async with Watcher(talk) as near, Watcher(far) as other:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                await far.set_agent("demo")
                session.ends()
                for seen in (near, other):
                    await seen.until(f.SessionState, lambda frame: frame.payload.agent == "demo")
                assert (await talk.agent(), await far.agent()) == ("demo", "demo")
                async with Watcher(await two.b.open(talk.id)) as late:
                    offered = late.of(f.SessionConnected)[0].payload.capabilities
                    assert offered.agent == "demo"
                reply = await far.ask("and you?")
                assert reply.text
            assert two.agent_b.sessions == []

    asyncio.run(scene())


def test_an_agent_that_the_owner_lacks_is_refused(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(talk):
                await talk.send("hello")
                await two.agent_a.opened()
                with pytest.raises(Refused) as refused:
                    await (await two.b.open(talk.id)).set_agent("demo")
                assert "There is no agent 'demo'; there is: scripted." in refused.value.message

    asyncio.run(scene())
