"""The agent runner: agents that close slowly or never answer leave nothing, and the next turn runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, UnsetType, structs

from tests.core.conversation.helpers.driver import whose
from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on
from turnwire.core import events as ev
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.ports import AgentSession, Reserved, SessionStart, StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock


class _Slow(ScriptedAgent):
    """A session that closes slowly and whose interrupt never returns."""

    def __init__(self, *, questions_survive: bool = True) -> None:
        super().__init__(questions_survive=questions_survive)
        self.may_close = asyncio.Event()
        self.interrupt_fails = False

    async def open(self, start: SessionStart) -> AgentSession:
        session = _SlowSession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        return session


class _SlowSession(ScriptedSession):
    agent: _Slow
    closes = 0  # how often it was closed

    async def interrupt(self) -> None:
        if self.agent.interrupt_fails:
            raise RuntimeError("It has no ears.")
        await asyncio.Event().wait()

    async def close(self) -> list[EndedProcess]:
        self.closes += 1
        self.closed.set()
        await self.agent.may_close.wait()
        return await super().close()


async def one_turn(talk: Talk, agent: ScriptedAgent, seen: Watcher) -> ScriptedSession:
    """Runs one turn; afterwards the agent is open and idle."""
    await talk.send("first", user="ann")
    session = await agent.opened()
    session.begins()
    session.ends()
    await seen.until(f.AssistantComplete)
    return session


def test_a_stop_while_an_idle_agent_closes_leaves_nothing_waiting(tmp_path: Path) -> None:
    async def scene() -> None:
        agent, clock = _Slow(), ManualClock()
        async with engine_on(tmp_path / "turnwire.db", agent=agent, clock=clock) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                session = await one_turn(talk, agent, seen)
                await seen.state("active")
                clock.forward(121)  # longer than an idle agent stays open
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
                assert isinstance(session, _SlowSession)
                assert session.closes == 1

    asyncio.run(scene())


def has_work(frame: f.SessionState) -> bool:
    """Returns whether background work is running."""
    return bool(frame.payload.background_tasks)


@pytest.mark.parametrize("begins", ["a turn", "background work"])
def test_a_turn_that_an_idle_agent_begins_while_it_is_closed_ends_with_the_agent(
    tmp_path: Path, begins: str
) -> None:
    async def scene() -> None:
        agent, clock = _Slow(), ManualClock()
        async with engine_on(tmp_path / "turnwire.db", agent=agent, clock=clock) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                session = await one_turn(talk, agent, seen)
                await seen.state("active")
                clock.forward(121)  # no turn needs it
                await session.closed.wait()
                if begins == "a turn":
                    session.begins()
                    await seen.state("streaming")
                else:
                    task = ev.Task("task-1")
                    news = ev.TaskChanged(*whose(), "news", task=task, in_background=True)
                    session._say(news)
                    await seen.until(f.SessionState, has_work)
                agent.may_close.set()
                if begins == "a turn":
                    end = await seen.until(f.AssistantComplete)
                    assert end.payload.error is not None
                    assert end.payload.error.message == "The agent was not needed and was closed."
                    await seen.state("interrupted")
                else:
                    await seen.until(f.SessionState, lambda frame: not has_work(frame))
                    assert (await talk.status()).state == "active"

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


@pytest.mark.parametrize("survive", [True, False], ids=["as_result", "in_words"])
def test_an_answer_during_the_close_of_an_agent_goes_to_the_next_agent(
    tmp_path: Path, survive: bool
) -> None:
    async def scene() -> None:
        agent, clock = _Slow(questions_survive=survive), ManualClock()
        async with engine_on(tmp_path / "turnwire.db", agent=agent, clock=clock) as engine:
            talk = await engine.create("demo", rules=Options(disconnect_grace=1))
            async with Watcher(talk) as seen:
                await talk.send("hello")
                session = await agent.opened()
                session.begins()
                session.asks()
                asked = await seen.until(f.AssistantRequestInput)
                await seen.state("waiting_input")
            clock.forward(2)  # no follower came back
            await session.closed.wait()
            async with Watcher(talk) as seen:
                await talk.answer(asked.payload.question_id, "blue")
                session.stops()
                agent.may_close.set()
                started = await seen.until(f.TurnStarted)
                assert (started.turn_id, started.payload.origin) == (1, "resume")
                async with asyncio.timeout(PATIENCE):
                    while not agent.sessions[-1].in_turn or agent.sessions[-1] is session:  # noqa: ASYNC110  # soon
                        await asyncio.sleep(0)
                second = agent.sessions[-1]
                second.speaks("Blue it is.", finishes=True)
                second.ends()
                assert not (await seen.until(f.AssistantComplete)).payload.interrupted
                results = [each.payload.content for each in seen.of(f.AssistantToolResult)]
                assert results == ["answer: blue" if survive else "blue"]

    asyncio.run(scene())


def test_a_message_during_the_close_of_an_agent_goes_to_the_next_agent(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        agent, clock = _Slow(), ManualClock()
        async with engine_on(tmp_path / "turnwire.db", agent=agent, clock=clock) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                session = await one_turn(talk, agent, seen)
                await seen.state("active")
                clock.forward(121)  # longer than an idle agent stays open
                await session.closed.wait()
                await talk.send("second")
                session.begins()  # a turn of its own
                session.speaks("One more thing.", finishes=True)
                session.ends()
                agent.may_close.set()
                second = await agent.opened()
                assert second is not session
                second.begins()
                second.speaks("Here I am.", finishes=True)
                second.ends()
                await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
                said = [each.payload.text for each in seen.of(f.AssistantChunk)]
                assert said[-1].endswith("Here I am.")

    asyncio.run(scene())


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """A part of the user's budget is reserved before a turn is handed over: that takes as long as a
    test wants.
    """
    asked, go_on = asyncio.Event(), asyncio.Event()
    real = SqliteStore.reserve

    async def reserve(self: SqliteStore, *given: Any, **more: Any) -> Reserved:
        asked.set()
        await go_on.wait()
        return await real(self, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "reserve", reserve)
        yield asked, go_on


LIMITED = EngineSettings(budget_usd_per_user=100.0, options=Options(interrupt_grace=5))


@pytest.mark.needs_sqlite(reason="has a store of its own")
@pytest.mark.parametrize("late", [False, True], ids=["before it is known", "after it is known"])
def test_a_message_that_is_about_to_be_handed_over_when_the_agent_dies_is_handed_over_once(
    tmp_path: Path, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(tmp_path / "turnwire.db", agent=agent, settings=LIMITED) as engine:
            talk = await engine.create("demo", user="ann")
            async with Watcher(talk) as seen:
                first = await one_turn(talk, agent, seen)
                with held(monkeypatch) as (asked, go_on):
                    await talk.send("second", user="ann")
                    await asked.wait()
                    first.dies()
                    await first.closed.wait()
                    if late:
                        lost = engine.alive[talk.id]._runner
                        async with asyncio.timeout(PATIENCE):
                            while lost._unknown_end:  # noqa: ASYNC110  # within a few rounds of the loop
                                await asyncio.sleep(0)
                    go_on.set()
                    second = await agent.opened()
                second.begins()
                second.speaks("Here I am.", finishes=True)
                second.ends()
                end = await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
                assert not end.payload.is_error
                await seen.state("active")
            assert [list(each.prompts.values()) for each in agent.sessions] == [[1], [1]]
            assert [each.turn_id for each in seen.of(f.AssistantComplete)] == [1, 2]

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="has a store of its own")
def test_a_message_that_is_about_to_be_handed_over_when_it_is_stopped_is_never_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(tmp_path / "turnwire.db", agent=agent, settings=LIMITED) as engine:
            talk = await engine.create("demo", user="ann")
            async with Watcher(talk) as seen:
                await one_turn(talk, agent, seen)
                with held(monkeypatch) as (asked, go_on):
                    await talk.send("second", user="ann")
                    await asked.wait()
                    await talk.interrupt(2)
                    go_on.set()
                    await seen.state("interrupted")
            assert [list(each.prompts.values()) for each in agent.sessions] == [[1]]

    asyncio.run(scene())


def test_events_of_an_agent_right_after_a_turn_are_no_answer_to_the_queue(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("first")
                session = await agent.opened()
                session.begins()
                await seen.state("streaming")
                await talk.send("second")
                session.ends()
                session.begins()  # a turn of its own, before it can know of the second message
                session.speaks("By the way.", finishes=True)
                session.ends()
                session._say(ev.AgentIdle(*whose(), "idle", ephemeral=True))
                session = await agent.opened()
                session.begins()
                session.speaks("Here I am.", finishes=True)
                session.ends()
                await seen.until(
                    f.AssistantChunk, lambda frame: frame.payload.text.endswith("Here I am.")
                )
                await seen.state("active")
            said = {each.payload.text: each.turn_id for each in seen.of(f.AssistantChunk)}
            assert said["[1] Here I am."] == 2

    asyncio.run(scene())


class _Thoughtful(ScriptedAgent):
    """Takes its time with a choice."""

    def __init__(self) -> None:
        super().__init__()
        able = {"commands": ["session.set_model"], "models": ["first", "second", "chosen"]}
        self.capabilities = structs.replace(self.capabilities, **able)
        self.may_choose = asyncio.Event()

    async def open(self, start: SessionStart) -> AgentSession:
        session = _ThoughtfulSession(self, len(self.sessions) + 1)
        self.sessions.append(session)
        self.starts.append(start)
        return session


class _ThoughtfulSession(ScriptedSession):
    agent: _Thoughtful

    def __init__(self, agent: ScriptedAgent, number: int) -> None:
        super().__init__(agent, number)
        self.choosing = asyncio.Event()
        self.models: list[str | None] = []

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        self.choosing.set()
        await self.agent.may_choose.wait()
        self.models.append(model)

    def says_its_model(self, model: str) -> None:
        self._say(ev.SessionInit(*whose(), model=model))


def is_init(frame: f.SessionSystemEvent) -> bool:
    return frame.payload.subtype == "init"


def test_a_choice_is_not_undone_by_what_the_agent_said_before_it_knew_the_choice(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        agent = _Thoughtful()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                session = await one_turn(talk, agent, seen)
                assert isinstance(session, _ThoughtfulSession)
                await talk.set_model("chosen")
                await session.choosing.wait()
                session.says_its_model("older")  # the agent has not taken the choice yet
                await seen.until(f.SessionSystemEvent, is_init)
                assert (await talk.status()).model == "chosen"
                agent.may_choose.set()
                session.begins()
                session.says_its_model("actual")  # what the agent calls it
                await seen.until(f.SessionSystemEvent, is_init)
                assert (await talk.status()).model == "actual"

    asyncio.run(scene())


def test_a_stop_does_not_drop_a_choice_that_waits(tmp_path: Path) -> None:
    async def scene() -> None:
        agent = _Thoughtful()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                session = await one_turn(talk, agent, seen)
                assert isinstance(session, _ThoughtfulSession)
                await talk.send("second")
                await agent.opened()
                session.begins()
                await seen.state("streaming")
                await talk.set_model("first")
                await session.choosing.wait()
                await talk.set_model("second")  # waits for the first
                await talk.interrupt(2)
                await seen.state("interrupted")
                agent.may_choose.set()
                await talk.send("third")
                await agent.opened()
                assert session.models == ["first", "second"]

    asyncio.run(scene())


class _Away(SqliteStore):
    """Cannot reserve money at first."""

    away = 2  # failures that are left

    async def reserve(self, *args: Any, **kwargs: Any) -> Reserved:
        if self.away:
            self.away -= 1
            raise StorageUnavailable("The disk is full.")
        return await super().reserve(*args, **kwargs)


@pytest.mark.needs_sqlite(reason="has a store of its own")
def test_a_turn_waits_for_a_store_that_is_away_and_the_agent_is_not_blamed(tmp_path: Path) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        settings = EngineSettings(budget_usd_per_user=1)
        store = await _Away.open(tmp_path / "turnwire.db")
        assert isinstance(store, _Away)
        async with Engine(store, {agent.name: agent}, settings=settings) as engine:
            talk = await engine.create(agent.name, user="ann")
            async with Watcher(talk) as seen:
                await one_turn(talk, agent, seen)
                [end] = seen.of(f.AssistantComplete)
                assert end.payload.error is None
                assert store.away == 0
        await store.close()

    asyncio.run(scene())
