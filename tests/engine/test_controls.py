"""Controls of an agent that dies, hangs or is stopped meanwhile: the caller gets an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import structs

from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on
from turnwire.core import controls as c
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Answer, Engine, Talk
from turnwire.ports import AgentSession, SessionStart
from turnwire.testing.clock import ManualClock

SLOW = c.McpReconnect("slow")


class _Asked(ScriptedAgent):
    def __init__(self) -> None:
        super().__init__()
        self.capabilities = structs.replace(
            self.capabilities,
            commands=["session.control", "user.rewind"],
            controls=["mcp_status", "mcp_reconnect"],
        )
        self.go_on = asyncio.Event()
        self.is_asked = asyncio.Event()

    async def open(self, start: SessionStart) -> AgentSession:
        session = await super().open(start)
        assert isinstance(session, ScriptedSession)
        session.control = self.control  # type: ignore[method-assign]
        return session

    async def control(self, control: c.Control) -> c.ControlResult:
        if isinstance(control, c.McpStatus):
            return c.McpServers([])
        self.is_asked.set()
        await self.go_on.wait()
        return c.Rewound(["a"]) if isinstance(control, c.RewindFiles) else c.Done()


@asynccontextmanager
async def asked(path: Path) -> AsyncIterator[tuple[Engine, Talk, _Asked, ManualClock]]:
    agent, clock = _Asked(), ManualClock()
    async with engine_on(path / "turnwire.db", agent=agent, clock=clock) as engine:
        yield engine, await engine.create("demo"), agent, clock


async def refusal(asking: asyncio.Task[Answer]) -> tuple[str, str]:
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Refused) as refused:
            await asking
    return refused.value.code, refused.value.message


def test_a_control_fails_if_the_agent_dies_meanwhile(tmp_path: Path) -> None:
    async def scene() -> None:
        async with asked(tmp_path) as (_, talk, agent, _):
            asking = asyncio.create_task(talk.control(SLOW))
            await agent.is_asked.wait()
            agent.live[-1]._die("It fell.")
            assert (await refusal(asking))[0] == "AGENT_UNAVAILABLE"
            result = (await talk.control(c.McpStatus())).ack.result
            assert result == c.McpServers([]), "another one is opened for it"
            assert (await talk.status()).state == "active"

    asyncio.run(scene())


def test_a_control_during_the_close_of_an_agent_goes_to_the_next_agent(tmp_path: Path) -> None:
    async def scene() -> None:
        async with asked(tmp_path) as (engine, talk, agent, _):
            await talk.control(c.McpStatus())
            [old], gone = agent.live, asyncio.Event()
            close = old.close

            async def slowly() -> list[EndedProcess]:
                await gone.wait()
                return await close()

            old.close = slowly  # type: ignore[method-assign]
            old._die("It fell.")
            asking = asyncio.create_task(talk.control(c.McpStatus()))
            runner = engine.alive[talk.id]._runner
            async with asyncio.timeout(PATIENCE):
                while not (runner._unknown_end and runner._commands):  # noqa: ASYNC110
                    await asyncio.sleep(0)
                gone.set()
                assert (await asking).ack.result == c.McpServers([])

    asyncio.run(scene())


def test_a_control_fails_if_no_agent_can_be_opened(tmp_path: Path) -> None:
    async def scene() -> None:
        async with asked(tmp_path) as (_, talk, agent, _):
            agent.refuses = True
            asking = asyncio.create_task(talk.control(c.McpStatus()))
            assert await refusal(asking) == ("AGENT_UNAVAILABLE", "It does not want to.")

    asyncio.run(scene())


def test_a_stop_cancels_waiting_controls(tmp_path: Path) -> None:
    async def scene() -> None:
        async with asked(tmp_path) as (_, talk, agent, _):
            agent.hangs = True  # so that the control waits for the message
            async with Watcher(talk) as seen:
                await talk.send("hello")
                asking = asyncio.create_task(talk.control(c.McpStatus()))
                await asyncio.sleep(0)  # it is asked before the stop is
                await talk.interrupt(1)
                assert (await refusal(asking))[0] == "AGENT_UNAVAILABLE"
                await seen.state("interrupted")

    asyncio.run(scene())


def test_a_control_fails_if_the_engine_stops_meanwhile(tmp_path: Path) -> None:
    async def scene() -> None:
        async with asked(tmp_path) as (engine, talk, agent, _):
            asking = asyncio.create_task(talk.control(SLOW))
            await agent.is_asked.wait()
            await engine.stop()
            code, _ = await refusal(asking)
            assert code in ("AGENT_UNAVAILABLE", "STORAGE_UNAVAILABLE")

    asyncio.run(scene())


def test_no_message_reaches_the_agent_while_it_restores_files(tmp_path: Path) -> None:
    async def scene() -> None:
        async with asked(tmp_path) as (_, talk, agent, _), Watcher(talk) as seen:
            await talk.send("first")
            session = await agent.opened()
            session.begins()
            session.ends()
            await seen.until(f.AssistantComplete)
            rewinding = asyncio.create_task(talk.rewind_files(1, user="ann"))
            await agent.is_asked.wait()
            await talk.send("second")
            assert session.waits is None, "the second message waits for the files"
            agent.go_on.set()
            assert (await rewinding).ack.files == ["a"]
            assert (await agent.opened()).waits is not None

    asyncio.run(scene())


def test_an_agent_that_was_opened_for_a_control_is_closed_when_idle(tmp_path: Path) -> None:
    async def scene() -> None:
        async with asked(tmp_path) as (_, talk, agent, clock):
            await talk.control(c.McpStatus())
            [session] = agent.sessions
            clock.forward(121)
            async with asyncio.timeout(PATIENCE):
                await session.closed.wait()

    asyncio.run(scene())
