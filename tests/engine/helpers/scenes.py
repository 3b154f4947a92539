"""Scenes that several tests of the engine begin with: an open question, an ignored stop, a running turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.conversation.effects import BeginTurn
from turnwire.core.conversation.state import Options, Turn
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.payloads import RequestInput
from turnwire.engine import Engine, Talk
from turnwire.ports import Store
from turnwire.testing.clock import ManualClock
from turnwire.testing.store_samples import TRACE, begin

__all__ = ["OpenQuestion", "RunningTurn", "ignored_stop", "leave", "open_question", "running_turn"]


class OpenQuestion(NamedTuple):
    """A conversation with the demo agent whose turn waits for an answer."""

    talk: Talk
    seen: Watcher
    asked: RequestInput


class RunningTurn(NamedTuple):
    """A conversation with a scripted agent whose first turn runs."""

    engine: Engine
    clock: ManualClock
    agent: ScriptedAgent
    talk: Talk
    session: ScriptedSession


@asynccontextmanager
async def open_question(
    path: Path, clock: ManualClock, *, seconds: float | None = 60
) -> AsyncIterator[OpenQuestion]:
    """Runs an engine until its agent asks. The question expires after `seconds`, or never."""
    async with engine_on(path, clock=clock) as engine:
        rules = Options(question_seconds=seconds)
        talk = await engine.create("demo", options={"delay": 0}, rules=rules)
        async with Watcher(talk) as seen:
            await talk.send("question")
            asked = await seen.until(f.AssistantRequestInput)
            await seen.state("waiting_input")
            yield OpenQuestion(talk, seen, asked.payload)


@asynccontextmanager
async def ignored_stop(path: Path, clock: ManualClock) -> AsyncIterator[tuple[Talk, Watcher]]:
    """Runs an engine until a stop is sent in the middle of an answer, and the agent ignores it."""
    async with engine_on(path, clock=clock) as engine:
        options = {"delay": 0.001, "obey_interrupt": False}
        talk = await engine.create("demo", options=options)
        async with Watcher(talk) as seen:
            await talk.send("long")
            await seen.until(f.AssistantChunk)
            await talk.interrupt(1)
            yield talk, seen


@asynccontextmanager
async def running_turn(path: Path) -> AsyncIterator[RunningTurn]:
    """Runs an engine until the agent has begun its turn; no client follows any more."""
    clock, agent = ManualClock(), ScriptedAgent()
    async with engine_on(path, clock=clock, agent=agent) as engine:
        talk = await engine.create("demo")
        async with Watcher(talk) as seen:
            await talk.send("hello")
            session = await agent.opened()
            session.begins()
            await seen.state("streaming")
        yield RunningTurn(engine, clock, agent, talk, session)


async def leave(store: Store, name: str = "talk") -> None:
    """Writes the log of an engine that was killed during a turn. Its lease is still valid."""
    talk = await begin(store, name, owner="killed")
    turn = Turn(1, TRACE, "agent", "running")
    state = structs.replace(talk.state, turn=turn, turns=1, traces={1: TRACE}, state="streaming")
    await talk.commit(talk.prepare(BeginTurn(turn), *talk.entries("half an"), state=state))
