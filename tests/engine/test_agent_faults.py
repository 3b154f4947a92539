"""What an agent's faults and sudden ends may not cost: a turn without an end, answers, its session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.core.conversation.helpers.driver import whose
from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core import events as ev
from turnwire.core.content import Content
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.engine.actor import open_agent
from turnwire.ports import AgentCapabilities, AgentSession, Commit, SessionStart
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock


class _Broken(ScriptedAgent):
    """Its first event in a turn cannot be handled."""

    async def open(self, start: SessionStart) -> AgentSession:
        session = _BrokenSession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        return session


class _BrokenSession(ScriptedSession):
    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        await super().prompt(content, turn_uuid=turn_uuid)
        strange: list[str] = [object()]  # type: ignore[list-item]
        self._say(ev.SessionInit(*whose(), tools=strange))


def test_a_turn_whose_first_event_cannot_be_handled_fails_once(tmp_path: Path) -> None:
    async def scene() -> None:
        agent = _Broken()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create(agent.name)
            async with Watcher(talk) as seen:
                await talk.send("Hello")
                end = await seen.until(f.AssistantComplete)
                assert end.payload.error is not None
                assert "could not be handled" in end.payload.error.message
                assert len(agent.sessions) == 1

    asyncio.run(scene())


class _Busy(ScriptedAgent):
    """Takes a choice only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = AgentCapabilities(commands=["session.set_model"], models=["other"])
        self.may_choose = asyncio.Event()

    async def open(self, start: SessionStart) -> AgentSession:
        session = _BusySession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        return session


class _BusySession(ScriptedSession):
    agent: _Busy

    def __init__(self, agent: ScriptedAgent, number: int) -> None:
        super().__init__(agent, number)
        self.choosing = asyncio.Event()
        self.delivered: list[str | None] = []

    async def choose(self, **_: object) -> None:
        self.choosing.set()
        await self.agent.may_choose.wait()

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        self.delivered += [reply.decision for reply in replies]
        await super().deliver(replies, resumed=resumed)


def test_a_decision_that_was_acknowledged_reaches_the_agent_after_a_stop(tmp_path: Path) -> None:
    async def scene() -> None:
        agent = _Busy()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create(agent.name)
            async with Watcher(talk) as seen:
                await talk.send("Hello")
                session = await agent.opened()
                assert isinstance(session, _BusySession)
                session.begins()
                session.wants()
                asked = await seen.until(f.AssistantPermissionRequest)
                await talk.set_model("other")
                await session.choosing.wait()
                await talk.decide(asked.payload.request_id, "allow")  # waits for the choice
                await talk.interrupt(1)
                await seen.state("interrupted")
                agent.may_choose.set()
                await talk.send("Go on")
                await agent.opened()
                assert session.delivered == ["allow"]

    asyncio.run(scene())


def test_a_stop_of_a_turn_that_the_agent_does_not_know_ends_the_turn_at_once(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        agent, clock = _Busy(), ManualClock()  # no time passes, so nothing is overdue
        async with engine_on(tmp_path / "turnwire.db", agent=agent, clock=clock) as engine:
            talk = await engine.create(agent.name)
            async with Watcher(talk) as seen:
                await talk.send("Hello")
                session = await agent.opened()
                assert isinstance(session, _BusySession)
                session.begins()
                session.ends()
                await seen.until(f.AssistantComplete)
                await talk.set_model("other")
                await session.choosing.wait()
                await talk.send("This waits for the choice.")
                await talk.interrupt(2)
                await seen.state("interrupted")
                agent.may_choose.set()
                await talk.send("The next one.")
                assert await agent.opened() is session, "the agent goes on"
                assert len(session.prompts) == 2
                session.begins()
                session.ends()
                await seen.until(f.AssistantComplete, lambda end: end.turn_id == 3)

    asyncio.run(scene())


class _Stuck(ScriptedAgent):
    """Its sessions never finish to close."""

    async def open(self, start: SessionStart) -> AgentSession:
        session = _StuckSession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        return session


class _StuckSession(ScriptedSession):
    async def close(self) -> list[EndedProcess]:
        await asyncio.Event().wait()
        return []


def test_a_session_that_does_not_close_does_not_hold_up_the_shutdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_agent, "_CLOSE_SECONDS", 0.05)

    async def scene() -> None:
        agent = _Stuck()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create(agent.name)
            await talk.send("Hello")
            session = await agent.opened()
            session.begins()
        assert engine.alive == {}

    asyncio.run(scene())


class _Held(SqliteStore):
    """Its commits wait while the gate is closed."""

    gate: asyncio.Event
    waits: asyncio.Event

    async def commit(self, commit: Commit) -> None:
        self.waits.set()
        await self.gate.wait()
        await super().commit(commit)


class _Nameless(ScriptedAgent):
    """Its session has a name only after a while."""

    async def open(self, start: SessionStart) -> AgentSession:
        self.starts.append(start)
        session = _NamelessSession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        return session


class _NamelessSession(ScriptedSession):
    name: str | None = None

    @property
    def native_session_id(self) -> str | None:
        return self.name


@pytest.mark.needs_sqlite(reason="has a store of its own")
def test_the_agents_session_is_kept_if_the_agent_ends_before_its_words_are_committed(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        agent = _Nameless()
        store = await _Held.open(tmp_path / "turnwire.db")
        assert isinstance(store, _Held)
        store.gate, store.waits = asyncio.Event(), asyncio.Event()
        store.gate.set()
        async with Engine(store, {agent.name: agent}) as engine:
            talk = await engine.create(agent.name)
            async with Watcher(talk) as seen:
                await talk.send("Hello")
                session = await agent.opened()
                assert isinstance(session, _NamelessSession)
                store.gate.clear()
                store.waits.clear()
                session.begins()
                await store.waits.wait()  # a commit without the name is under way
                session.name = "session-7"
                session.speaks("words", finishes=True)
                while session.has_unread:  # noqa: ASYNC110
                    await asyncio.sleep(0)
                session.dies()
                await session.closed.wait()
                store.gate.set()
                await seen.until(f.AssistantComplete)
                row = await store.conversation(talk.id)
                assert row is not None
                assert row.native_session_id == "session-7"
        await store.close()

    asyncio.run(scene())
