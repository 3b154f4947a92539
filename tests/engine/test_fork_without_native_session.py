"""Forks of agents that cannot fork their own session: they are told, or they read the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import structs

from tests.agents.helpers.function_agents import remembers
from tests.helpers.recorded_streams import FIXTURES
from turnwire.agents.agent_turn import AgentTurn
from turnwire.agents.child import ChildAgent
from turnwire.agents.function import FunctionAgent, FunctionSession
from turnwire.agents.process import plain_environment
from turnwire.agents.replay import ReplayAgent
from turnwire.core.error_codes import Refused
from turnwire.engine import Engine, Talk
from turnwire.ports import Agent, SessionStart
from turnwire.stores.open_store import open_store
from turnwire.stores.sqlite.fsck import check

ROOT = Path(__file__).parents[2]


class Told(FunctionAgent):
    """An agent with a session of its own, which cannot be forked: it is told what was said."""

    def __init__(self, name: str = "told") -> None:
        super().__init__(name, self._answer)
        self.capabilities = structs.replace(self.capabilities, takes_recap=True)
        self.heard: list[str] = []
        self.starts: list[SessionStart] = []

    async def open(self, start: SessionStart) -> FunctionSession:
        self.starts.append(start)
        return await super().open(start)

    async def _answer(self, turn: AgentTurn) -> None:
        self.heard.append(turn.text)
        await turn.say("Noted.")


def in_a_child() -> Agent:
    """The same function as `remembers`, in a process of its own."""
    env = {**plain_environment(), "PYTHONPATH": str(ROOT)}
    return ChildAgent("tests.agents.helpers.function_agents:remembers", env=env)


@asynccontextmanager
async def engine_with(path: Path, *agents: Agent) -> AsyncIterator[Engine]:
    store = await open_store(path)
    try:
        async with Engine(store, {agent.name: agent for agent in agents}) as engine:
            yield engine
    finally:
        await store.close()


async def says(talk: Talk, text: str) -> int:
    """Sends a message; returns the last entry of its turn."""
    await talk.ask(text)
    return (await talk._engine.open(talk.id)).row.head


def is_sound(path: Path) -> bool:
    return not check(path, now=time.time_ns() // 1_000_000).findings


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_the_agent_of_a_fork_is_told_what_was_said_before_it_and_nothing_later(path: Path) -> None:
    async def scene() -> None:
        agent = Told()
        async with engine_with(path, agent) as engine:
            talk = await engine.create("told")
            first = await says(talk, "the word is kestrel")
            await says(talk, "the word is heron")
            fork = await talk.fork(first)
            assert engine.capabilities("told").fork
            assert (fork.row.native_session_id, fork.row.native_from) == (None, None)
            await says(fork, "which word?")
            told = agent.heard[-1]
            assert "> user: the word is kestrel" in told
            assert "> told: Noted." in told
            assert "What told says there are your own words." in told
            assert "heron" not in told
            assert told.endswith("which word?")
            assert agent.starts[-1].native_session_id is None, "a session of its own"
            await says(fork, "and now?")
            assert agent.heard[-1] == "and now?", "it is told once"
            await says(talk, "go on")
            assert agent.heard[-1] == "go on", "the original has its own session"
        assert is_sound(path)

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_fork_of_a_fork_is_told_everything_before_it(path: Path) -> None:
    async def scene() -> None:
        agent = Told()
        async with engine_with(path, agent) as engine:
            talk = await engine.create("told")
            first = await says(talk, "one kestrel")
            await says(talk, "one heron")
            fork = await talk.fork(first)
            unheard = await fork.fork()  # of a fork that has said nothing yet
            second = await says(fork, "two wrens")
            await says(fork, "two rooks")
            again = await fork.fork(second)
            for each, known in ((unheard, ["kestrel"]), (again, ["kestrel", "wrens"])):
                await says(each, "which?")
                birds = ("kestrel", "heron", "wrens", "rooks")
                assert [bird for bird in birds if bird in agent.heard[-1]] == known
        assert is_sound(path)

    asyncio.run(scene())


def test_a_fork_is_told_after_a_restart(path: Path) -> None:
    async def scene() -> None:
        async with engine_with(path, Told()) as engine:
            talk = await engine.create("told")
            await says(talk, "the word is kestrel")
            fork = await talk.fork()
        agent = Told()
        async with engine_with(path, agent) as engine:
            await says(await engine.open(fork.id), "which word?")
            assert "> user: the word is kestrel" in agent.heard[-1]
        agent = Told()
        async with engine_with(path, agent) as engine:
            await says(await engine.open(fork.id), "and now?")
            assert agent.heard == ["and now?"], "its own session knows the rest"

    asyncio.run(scene())


def test_a_fork_before_the_first_message_is_told_nothing(path: Path) -> None:
    async def scene() -> None:
        agent = Told()
        async with engine_with(path, agent) as engine:
            talk = await engine.create("told")
            await says(talk, "hello")
            await says(await talk.fork(0), "good morning")
            assert agent.heard[-1] == "good morning"

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_fork_after_a_handover_knows_all_that_both_agents_said_before_it(path: Path) -> None:
    async def scene() -> None:
        ann, bob = Told("ann"), Told("bob")
        async with engine_with(path, ann, bob, remembers) as engine:
            talk = await engine.create("ann")
            early = await says(talk, "a kestrel")
            await talk.set_agent("bob")
            middle = await says(talk, "a heron")
            await talk.set_agent("remembers")
            late = await says(talk, "a wren")
            for place, name, known in (
                (early, "ann", ["kestrel"]),
                (middle, "bob", ["kestrel", "heron"]),
                (late, "remembers", ["kestrel", "heron", "wren"]),
            ):
                fork = await talk.fork(place)
                assert fork.row.agent == name
                reply = await fork.ask("which birds?")
                heard = {"ann": ann.heard, "bob": bob.heard, "remembers": [reply.text]}[name][-1]
                birds = ("kestrel", "heron", "wren")
                assert [bird for bird in birds if bird in heard] == known
        assert is_sound(path)

    asyncio.run(scene())


def test_a_fork_does_not_need_the_agent_that_took_over_later(path: Path) -> None:
    async def scene() -> None:
        async with engine_with(path, Told("ann"), Told("bob")) as engine:
            talk = await engine.create("ann")
            early = await says(talk, "a kestrel")
            await talk.set_agent("bob")
            await says(talk, "a heron")
        ann = Told("ann")
        async with engine_with(path, ann) as engine:
            talk = await engine.open(talk.id)
            await says(await talk.fork(early), "which?")
            assert "kestrel" in ann.heard[-1]
            with pytest.raises(Refused) as refused:
                await talk.fork()
            assert refused.value.code == "AGENT_UNAVAILABLE"

    asyncio.run(scene())


@pytest.mark.parametrize(
    "make", [lambda: remembers, in_a_child], ids=["in this process", "in a child process"]
)
def test_a_function_reads_what_was_said_before_its_turn_in_the_log(
    path: Path, make: Callable[[], Agent]
) -> None:
    async def scene() -> None:
        agent = make()
        async with engine_with(path, agent) as engine:
            talk = await engine.create(agent.name)
            assert (await talk.ask("a kestrel")).text == "now a kestrel"
            first = (await engine.open(talk.id)).row.head
            told = "user a kestrel; assistant now a kestrel"
            assert (await talk.ask("a heron")).text == f"{told}; now a heron"
            fork = await talk.fork(first)
        async with engine_with(path, make()) as engine:
            fork = await engine.open(fork.id)
            assert (await fork.ask("a wren")).text == f"{told}; now a wren"

    asyncio.run(scene())


def test_a_recording_goes_on_in_a_fork_where_it_was(path: Path) -> None:
    async def scene() -> None:
        async with engine_with(
            path, ReplayAgent(FIXTURES / "claude" / "14_multi_turn.jsonl", 0)
        ) as engine:
            talk = await engine.create("replay")
            first = await says(talk, "go")
            second = await talk.ask("on")
            fork = await talk.fork(first)
            assert second.text
            assert (await fork.ask("on")).text == second.text
            again = await fork.fork(first)
            assert (await again.ask("on")).text == second.text

    asyncio.run(scene())
