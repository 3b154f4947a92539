"""Handing over between agents: another one speaks from the next turn on, and knows the rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import structs

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import Watcher
from turnwire.agents.agent_turn import AgentTurn
from turnwire.agents.function import FunctionAgent, FunctionSession
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.core.message import known_meta
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.ports import Agent, SessionStart
from turnwire.stores.open_store import open_store
from turnwire.stores.sqlite.fsck import check


class Noted(FunctionAgent):
    """An agent that repeats its name, and notes what it is told and how it is opened."""

    def __init__(self, name: str) -> None:
        super().__init__(name, self._answer)
        self.capabilities = structs.replace(self.capabilities, takes_recap=True)
        self.heard: list[str] = []
        self.starts: list[SessionStart] = []
        self.closed = 0

    async def open(self, start: SessionStart) -> FunctionSession:
        self.starts.append(start)
        return await super().open(start)

    async def _answer(self, turn: AgentTurn) -> None:
        self.heard.append(turn.text)
        if turn.text.endswith("use a tool"):
            async with turn.tool("look", {"where": "the sky"}) as tool:
                tool.result = "it is blue"
        await turn.say(f"{self.name} heard {len(self.heard)}")


class Three:
    """Three agents and an engine on one store."""

    def __init__(self, engine: Engine, ann: Noted, bob: Noted) -> None:
        self.engine = engine
        self.ann = ann
        self.bob = bob
        self.scripted = engine.agents["scripted"]


@asynccontextmanager
async def agents_on(path: Path) -> AsyncIterator[Three]:
    store = await open_store(path)
    ann, bob = Noted("ann"), Noted("bob")
    try:
        agents: dict[str, Agent] = {"ann": ann, "bob": bob, "scripted": ScriptedAgent()}
        async with Engine(store, agents) as engine:
            yield Three(engine, ann, bob)
    finally:
        await store.close()


def speakers(talk: Talk, entries: list) -> list[str | None]:  # type: ignore[type-arg]
    return [known_meta(each.entry).provider for each in entries if each.entry.role == "assistant"]


async def entries_of(talk: Talk) -> list:  # type: ignore[type-arg]
    return await talk._engine.store.entries(talk.id)


def is_sound(path: Path) -> bool:
    return not check(path, now=time.time_ns() // 1_000_000).findings


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_the_next_agent_is_told_what_was_said_and_the_first_one_resumes_its_own_session(
    path: Path,
) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("ann", options={})
            await talk.ask("remember the word kestrel")
            assert (await talk.set_agent("bob")).ack.agent == "bob"
            await talk.ask("use a tool")
            told = here.bob.heard[-1]
            assert "> user: remember the word kestrel" in told
            assert "> ann: ann heard 1" in told
            assert told.endswith("use a tool")
            await talk.set_agent("ann")
            await talk.ask("what did bob do?")
            back = here.ann.heard[-1]
            assert "kestrel" not in back, "its own session knows that"
            assert '> bob: called look with {"where":"the sky"}' in back
            assert "> result: it is blue" in back
            assert [start.native_session_id for start in here.ann.starts] == [
                None,
                here.engine.alive[talk.id].row.native_session_id,
            ]
            await talk.ask("and now?")
            assert here.ann.heard[-1] == "and now?", "it is told once"
            found = await entries_of(talk)
            assert speakers(talk, found) == ["ann", "bob", "bob", "ann", "ann"]
            status = await talk.status()
            assert (status.agent, status.next_agent) == ("ann", None)
            assert (await here.engine.open(talk.id)).row.agent == "ann"
        assert is_sound(path)

    asyncio.run(scene())


def test_the_log_and_every_follower_say_who_speaks_from_now_on(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("ann")
            await talk.ask("hello")
            async with Watcher(talk) as one, Watcher(talk) as other:
                await talk.set_agent("bob", user="eve")
                for seen in (one, other):
                    news = await seen.until(
                        f.SessionSystemEvent, lambda frame: frame.payload.subtype == "agent"
                    )
                    assert news.payload.data == {"agent": "bob", "from": "ann"}
                    assert news.payload.text == "Agent: bob"
                    await seen.until(f.SessionState, lambda frame: frame.payload.agent == "bob")
            async with Watcher(talk) as late:
                assert late.of(f.SessionState)[-1].payload.agent == "bob"
                assert late.of(f.SessionConnected)[0].payload.capabilities.agent == "bob"

    asyncio.run(scene())


def test_during_a_turn_the_choice_waits_for_its_end_and_the_queue_goes_to_the_new_agent(
    path: Path,
) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("scripted")
            async with Watcher(talk) as seen:
                await talk.send("first")
                session = await here.scripted.opened()  # type: ignore[attr-defined]
                session.begins()
                await talk.send("second")
                await talk.set_agent("bob")
                status = await talk.status()
                assert (status.agent, status.next_agent) == (None, "bob")
                session.speaks("said by the first", finishes=True)
                session.ends()
                await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
            assert session.closed.is_set()
            assert "> demo: [1] said by the first" in here.bob.heard[0]
            assert here.bob.heard[0].endswith("second")

    asyncio.run(scene())


def test_the_agent_that_speaks_already_changes_nothing_and_takes_a_choice_back(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("scripted")
            await talk.set_agent("scripted")
            assert (await entries_of(talk)) == []
            async with Watcher(talk) as seen:
                await talk.send("first")
                session = await here.scripted.opened()  # type: ignore[attr-defined]
                session.begins()
                await talk.set_agent("bob")
                await talk.set_agent("scripted")
                assert (await talk.status()).next_agent is None
                session.ends()
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            assert (await talk.status()).agent is None
            assert not session.closed.is_set()

    asyncio.run(scene())


def test_an_unknown_or_missing_agent_is_refused_with_a_reason(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("ann")
            with pytest.raises(Refused) as unknown:
                await talk.set_agent("carl")
            assert unknown.value.code == "INVALID_PAYLOAD"
            assert "there is: ann, bob, scripted" in unknown.value.message
            here.bob.unavailable = lambda: "Install bob."  # type: ignore[method-assign]
            with pytest.raises(Refused) as missing:
                await talk.set_agent("bob")
            assert (missing.value.code, missing.value.message) == (
                "AGENT_UNAVAILABLE",
                "Install bob.",
            )
            await talk.ask("hello")
            assert here.ann.heard == ["hello"]

    asyncio.run(scene())


def test_an_agent_that_goes_missing_before_its_turn_leaves_the_conversation_to_the_other(
    path: Path,
) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("scripted")
            async with Watcher(talk) as seen:
                await talk.send("first")
                session = await here.scripted.opened()  # type: ignore[attr-defined]
                session.begins()
                await talk.set_agent("bob")
                here.bob.unavailable = lambda: "Install bob."  # type: ignore[method-assign]
                session.ends()
                news = await seen.until(
                    f.SessionSystemEvent, lambda frame: frame.payload.subtype == "agent_refused"
                )
                assert news.payload.text == "bob could not take over: Install bob."
                await seen.until(f.SessionState, lambda frame: frame.payload.next_agent is None)
            status = await talk.status()
            assert (status.agent, status.next_agent) == (None, None)

    asyncio.run(scene())


def test_an_open_question_belongs_to_the_agent_that_asked_it(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("scripted", rules=Options(on_disconnect="continue"))
            async with Watcher(talk) as seen:
                await talk.send("first")
                session = await here.scripted.opened()  # type: ignore[attr-defined]
                session.begins()
                session.asks()
                asked = await seen.until(f.AssistantRequestInput)
                await talk.set_agent("bob")
                await talk.answer(asked.payload.question_id, "yes")
                await seen.until(f.AssistantToolResult)
                session.ends()
                await seen.until(f.AssistantComplete)
                await seen.until(f.SessionState, lambda frame: frame.payload.agent == "bob")
                await talk.send("second")
                await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
            assert "> result: answer: yes" in here.bob.heard[0]

    asyncio.run(scene())


def test_options_and_settings_belong_to_the_agent_they_were_chosen_for(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("ann", options={"tone": "warm"}, cwd=str(path.parent))
            await talk.ask("hello")
            await talk.set_agent("bob")
            await talk.ask("hello")
            await talk.set_agent("ann")
            await talk.ask("hello")
            assert [start.options for start in here.ann.starts] == [{"tone": "warm"}] * 2
            assert [start.options for start in here.bob.starts] == [{}]
            assert here.bob.starts[0].cwd == str(path.parent)

    asyncio.run(scene())


def test_after_a_restart_the_chosen_agent_speaks_and_is_told(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("ann")
            await talk.ask("remember the word kestrel")
            await talk.set_agent("bob")
            async with Watcher(talk) as seen:
                if seen.of(f.SessionState)[-1].payload.agent != "bob":
                    await seen.until(f.SessionState, lambda frame: frame.payload.agent == "bob")
            name = talk.id
        async with agents_on(path) as here:
            talk = await here.engine.open(name)
            assert talk.row.agent == "bob"
            await talk.ask("what was it?")
            assert "kestrel" in here.bob.heard[0]
            assert here.ann.heard == []

    asyncio.run(scene())


def test_a_fork_goes_on_with_the_agent_that_spoke_there(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            talk = await here.engine.create("ann")
            await talk.ask("remember the word kestrel")
            first = (await here.engine.open(talk.id)).row.head
            await talk.set_agent("bob")
            await talk.ask("hello bob")
            early, late = await talk.fork(first), await talk.fork()
            assert (early.row.agent, late.row.agent) == ("ann", "bob")
            await early.ask("what was it?")
            assert "> user: remember the word kestrel" in here.ann.heard[-1]
            assert here.ann.starts[-1].native_session_id is None
            assert here.ann.starts[-1].fork is None
            await late.ask("and you?")
            assert "> user: hello bob" in here.bob.heard[-1]
            await late.ask("and now?")
            assert here.bob.heard[-1] == "and now?"

    asyncio.run(scene())


def test_sessions_of_all_agents_are_forgotten_with_the_conversation(path: Path) -> None:
    async def scene() -> None:
        async with agents_on(path) as here:
            forgotten: list[tuple[str, str | None]] = []
            for agent in (here.ann, here.bob):

                async def forget(_: str, session: str | None, name: str = agent.name) -> None:
                    forgotten.append((name, session))

                agent.forget = forget  # type: ignore[attr-defined]
            talk = await here.engine.create("ann")
            await talk.ask("hello")
            session = here.engine.alive[talk.id].row.native_session_id
            await talk.set_agent("bob")
            await talk.ask("hello")
            past = here.engine.alive[talk.id].state.handover
            assert past is not None
            session = past.past["ann"].session
            assert await here.engine.remove(talk.id) is None
            assert ("ann", session) in forgotten
            assert {name for name, _ in forgotten} == {"ann", "bob"}
            assert all(found is not None for _, found in forgotten)

    asyncio.run(scene())


async def test_a_user_does_not_leave_options_that_the_owner_has_set(tmp_path: Path) -> None:
    async with agents_on(tmp_path / "db") as three:
        ann, bob = three.ann, three.bob
        ann.capabilities = structs.replace(ann.capabilities, owner_options=["tools"])
        locked = await three.engine.create("ann", user="eve", options={"tools": ["look"]})
        with pytest.raises(Refused, match="only the owner may choose it here") as refused:
            await locked.set_agent("bob", user="eve")
        assert refused.value.code == "FORBIDDEN"
        await locked.set_agent("bob", user="owner")
        await locked.ask("hello", user="eve")
        assert bob.starts[-1].options == {}
        with pytest.raises(Refused, match="options of ann"):
            await locked.set_agent("scripted", user="eve")
        await locked.set_agent("ann", user="eve")
        await locked.ask("hello", user="eve")
        assert ann.starts[-1].options == {"tools": ["look"]}
        free = await three.engine.create("ann", user="eve", options={"colour": "red"})
        await free.set_agent("bob", user="eve")
        assert (await free.ask("hello", user="eve")).text == "bob heard 2"


def test_the_next_agent_calls_the_same_tools_of_the_front_end(path: Path) -> None:
    """The other options are the first agent's own."""

    async def scene() -> None:
        async with agents_on(path) as here:
            able = structs.replace(here.ann.capabilities, options=["client_tools", "size"])
            here.ann.capabilities = here.bob.capabilities = able
            given = {"client_tools": [{"name": "paint"}], "size": 3}
            talk = await here.engine.create("ann", options=given)
            await talk.ask("hello")
            await talk.set_agent("bob")
            await talk.ask("hello")
            assert here.ann.starts[-1].options == given
            assert here.bob.starts[-1].options == {"client_tools": given["client_tools"]}
            here.bob.capabilities = structs.replace(able, options=[])
            await talk.set_agent("ann")
            await talk.ask("hello")
            await talk.set_agent("bob")
            await talk.ask("hello")
            assert here.bob.starts[-1].options == {}

    asyncio.run(scene())
