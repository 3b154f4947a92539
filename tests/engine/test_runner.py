"""An agent that is slow to go, or never answers: nothing of it is left, and the next turn runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.scripted import ScriptedAgent, ScriptedSession
from tests.engine.watching import PATIENCE, Watcher, engine_on
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.engine import EngineSettings
from turnwire.ports import AgentSession, SessionStart
from turnwire.testing.clock import ManualClock


class _Slow(ScriptedAgent):
    """Takes its time to close, and does not come back from being told to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.may_close = asyncio.Event()
        self.interrupt_fails = False

    async def open(self, start: SessionStart) -> AgentSession:
        session = _SlowSession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        return session


class _SlowSession(ScriptedSession):
    agent: _Slow

    async def interrupt(self) -> None:
        if self.agent.interrupt_fails:
            raise RuntimeError("It has no ears.")
        await asyncio.Event().wait()

    async def close(self) -> list[EndedProcess]:
        self.closed.set()
        await self.agent.may_close.wait()
        return await super().close()


def test_a_stop_while_an_idle_agent_closes_leaves_nothing_waiting(tmp_path: Path) -> None:
    async def scene() -> None:
        agent, clock = _Slow(), ManualClock()
        async with engine_on(tmp_path / "turnwire.db", agent=agent, clock=clock) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("first")
                session = await agent.opened()
                session.begins()
                session.ends()
                await seen.until(f.AssistantComplete)
                await seen.state("active")
                clock.forward(121)  # nobody needs it any more
                await session.closed.wait()
                await talk.send("second")
                await talk.interrupt(2)
                agent.may_close.set()
                await seen.state("interrupted")
                await talk.send("third")
                third = await agent.opened()
                assert third is not session
                third.begins()
                third.ends()
                await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 3)
                await seen.state("active")

    asyncio.run(scene())


@pytest.mark.parametrize("fails", [False, True], ids=["never returns", "breaks"])
def test_an_agent_that_does_not_take_a_stop_is_ended_and_forgotten(
    tmp_path: Path, fails: bool
) -> None:
    async def scene() -> None:
        agent, clock = _Slow(), ManualClock()
        agent.may_close.set()
        agent.interrupt_fails = fails
        settings = EngineSettings(options=Options(interrupt_grace=5))
        async with engine_on(
            tmp_path / "turnwire.db", agent=agent, clock=clock, settings=settings
        ) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                (await agent.opened()).begins()
                await seen.state("streaming")
                await talk.interrupt(1)
                clock.forward(6)
                receipt = (await seen.until(f.ConversationInterrupted)).payload
                assert receipt.forced
                await seen.state("interrupted")
            clock.forward(31)
            async with asyncio.timeout(PATIENCE):
                while engine.alive:  # noqa: ASYNC110  # it goes within a few rounds of the loop
                    await asyncio.sleep(0)

    asyncio.run(scene())
