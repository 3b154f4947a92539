"""Following a conversation that another process runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on
from tests.stores.helpers.sql import rows_of
from turnwire.agents.demo import DemoAgent
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.core.conversation.state import Conversation, status_of
from turnwire.core.happenings import StateChanged, TurnEnded
from turnwire.core.status import Status
from turnwire.dialects.rpc.projector import Line, RpcProjector
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.projector import V2Projector
from turnwire.engine import Engine
from turnwire.engine.fanout.channel import Channel, Subscriber
from turnwire.engine.fanout.remote_follow import catch_up
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

NOW = "2026-01-01T12:00:00.000Z"


class _Followed(Channel):
    """A channel that one client follows."""

    def __init__(self, state: Conversation) -> None:
        super().__init__(state)
        self._subscriber = Subscriber(lambda: None, frames=100, size=1 << 20)
        self.subscribe(self._subscriber, "v2", lambda: V2Projector(state.conversation_id))

    def told(self) -> list[f.Frame]:
        """The frames since the last time."""
        return [sent.frame for sent in iter(self._subscriber.take, None)]


def _replayed(frames: list[f.Frame], kind: type[f.Frame]) -> list[f.Frame]:
    """Returns the replayed frames of a kind."""
    replays = [frame.payload.event for frame in frames if isinstance(frame, f.MessageReplay)]
    return [event for event in replays if isinstance(event, kind)]


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "told nothing"])
def test_a_follower_sees_what_another_engine_writes(tmp_path: Path, is_told: bool) -> None:
    async def scene() -> None:
        clock = ManualClock()
        mine = await SqliteStore.open(tmp_path / "turnwire.db")
        theirs = await SqliteStore.open(tmp_path / "turnwire.db")
        agents = {"demo": DemoAgent()}
        network = LocalNetwork()
        buses = [LocalBus(network) if is_told else None for _ in range(2)]
        async with (
            Engine(mine, agents, bus=buses[0]) as engine,
            Engine(theirs, agents, bus=buses[1], clock=clock) as other,
        ):
            talk = await engine.create("demo", options={"delay": 0})
            async with Watcher(talk) as near, Watcher(await other.open(talk.id)) as far:
                await talk.send("tool")
                await near.until(f.AssistantComplete)
                await near.state("active")
                clock.forward(3)  # a bus that loses everything only makes it slower
                while far.view().cursor < near.view().cursor:
                    await far.until(f.SessionState)
                assert far.view().messages == near.view().messages
                assert far.view().turns == near.view().turns
        await mine.close()
        await theirs.close()

    asyncio.run(scene())


def test_a_turn_that_ends_while_the_log_is_read_has_one_end(tmp_path: Path) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create("demo")
            before = talk.row.state
            async with Watcher(talk) as seen:
                await talk.send("hello")
                session = await agent.opened()
                session.begins()
                session.speaks("Hello.", finishes=True)
                await seen.until(f.AssistantChunk, lambda frame: not frame.payload.partial)
                running = await engine.store.conversation(talk.id)
                session.ends()
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            over = await engine.store.conversation(talk.id)
            assert running is not None
            assert over is not None
            channel = _Followed(before)
            for row, ends in [(running, 0), (over, 1)]:
                await catch_up(channel, engine.store, row, NOW)
                assert len(_replayed(channel.told(), f.AssistantComplete)) == ends

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_entries_that_are_lost_are_not_looked_for_without_end(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db") as engine:
            talk = await engine.create("demo", options={"delay": 0})
            before = talk.row.state
            async with Watcher(talk) as seen:
                await talk.send("hello")
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            rows_of(tmp_path / "turnwire.db", "DELETE FROM messages WHERE sequence_num > 1")
            row = await engine.store.conversation(talk.id)
            assert row is not None
            assert row.head > 1
            channel = _Followed(before)
            async with asyncio.timeout(PATIENCE):
                await catch_up(channel, engine.store, row, NOW)
            told = channel.told()
            assert len(_replayed(told, f.UserMessage)) == 1
            assert len(_replayed(told, f.AssistantComplete)) == 1

    asyncio.run(scene())


def test_a_turn_of_which_the_log_has_nothing_yet_is_in_the_state(tmp_path: Path) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                session = await agent.opened()
                session.begins()
                session.ends()
                await seen.until(f.AssistantComplete)
                await seen.state("active")
                idle = await engine.store.conversation(talk.id)
                session.begins()  # one of its own
                await seen.until(f.TurnStarted, lambda frame: frame.turn_id == 2)
                await seen.state("streaming")
            row = await engine.store.conversation(talk.id)
            assert idle is not None
            assert row is not None
            assert row.head == idle.head
            channel = _Followed(idle.state)
            await catch_up(channel, engine.store, row, NOW)
            [complete, state] = channel.told()
            assert isinstance(complete, f.SessionReplayComplete)
            assert isinstance(state, f.SessionState)
            assert state.payload == status_of(row.state)
            assert (state.payload.running, state.payload.turn_id) == (True, 2)

    asyncio.run(scene())


def test_a_client_gets_no_state_without_a_visible_difference(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db") as engine:
            row = (await engine.create("demo")).row
            channel = _Followed(structs.replace(row.state, traces={1: "a trace"}))
            await catch_up(channel, engine.store, row, NOW)
            assert channel.state is row.state
            assert channel.told() == []

    asyncio.run(scene())


def test_rpc_clients_get_the_same_entries_ends_and_state(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db") as engine:
            talk = await engine.create("demo", options={"delay": 0})
            before = talk.row.state
            async with Watcher(talk) as seen:
                await talk.send("hello")
                await seen.until(f.AssistantComplete)
                await talk.send("question")
                await seen.state("waiting_input")
            row = await engine.store.conversation(talk.id)
            assert row is not None
            channel = Channel(before)
            subscriber = Subscriber(lambda: None, frames=100, size=1 << 20)
            channel.subscribe(subscriber, "rpc", lambda: RpcProjector("demo", None, "s"))
            await catch_up(channel, engine.store, row, NOW)
            lines: list[Line] = list(iter(subscriber.take, None))
            assert [line.number for line in lines if line.number] == [*range(1, row.head + 1)]
            [ended, changed] = [line.news for line in lines if line.news is not None]
            assert (type(ended), type(changed)) == (TurnEnded, StateChanged)
            assert changed == StateChanged(NOW, status_of(row.state))
            assert lines[-1].news is changed

    asyncio.run(scene())


@pytest.mark.parametrize("look", [1, 2, 100], ids=["often", "now and then", "once"])
@pytest.mark.parametrize("named", [True, False], ids=["with names", "without names"])
def test_frames_of_another_engines_conversation_keep_the_rules(
    tmp_path: Path, look: int, named: bool
) -> None:
    """A queue, a question, a permission, a stop, background work; seen in pieces of any size."""

    async def scene() -> None:
        clock, steps = ManualClock(), 0
        path = tmp_path / "turnwire.db"
        async with (
            engine_on(path, agent=DemoAgent(delay=0)) as engine,
            engine_on(path, agent=DemoAgent(delay=0), clock=clock) as other,
        ):
            talk = await engine.create("demo", options={"delay": 0})
            async with Watcher(talk) as near, Watcher(await other.open(talk.id)) as far:

                async def say(*texts: str) -> None:
                    for text in texts:
                        name = f"m-{text}" if named else None
                        await talk.send(text, client_message_id=name)

                async def far_has_all() -> None:
                    """Waits until the remote follower has the whole log and the newest state."""
                    async with asyncio.timeout(PATIENCE):
                        while True:
                            row = await other.store.conversation(talk.id)  # meanwhile it looks
                            assert row is not None
                            told = far.of(f.SessionState)[-1].payload
                            if far.view().cursor == row.head and told == status_of(row.state):
                                return
                            clock.forward(3)

                async def seen() -> None:
                    """The other engine may look now."""
                    nonlocal steps
                    steps += 1
                    if steps % look == 0:
                        await far_has_all()

                await say("question", "permission", "tool", "error", "think", "background")
                asked = await near.until(f.AssistantRequestInput)
                await near.state("waiting_input")
                await seen()
                await talk.answer(asked.payload.question_id, "Blue")
                wanted = await near.until(f.AssistantPermissionRequest)
                await near.state("waiting_input")
                await seen()
                await talk.decide(wanted.payload.request_id, "deny")
                await near.state("error")  # the queue is held
                await seen()
                await say("question again", "plan")
                again = await near.until(f.AssistantRequestInput)
                await near.state("waiting_input")
                await seen()
                await talk.interrupt(again.turn_id or 0)
                await near.state("interrupted")
                await seen()
                await talk.change_queue("resume")
                # The agent may take a turn of its own about its background work before the plan.
                await near.until(f.SessionState, lambda frame: _is_idle(frame.payload))
                await seen()
                await far_has_all()
                assert far.view().messages == near.view().messages
                assert far.view().turns == near.view().turns
                told = [frame.payload for frame in near.of(f.SessionState)]
                assert all(frame.payload in told for frame in far.of(f.SessionState))

    asyncio.run(scene())


def _is_idle(now: Status) -> bool:
    return now.state == "active" and not (now.queue or now.background_tasks)


def test_a_row_that_was_read_before_takes_no_follower_back(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "turnwire.db", agent=DemoAgent(delay=0)) as engine:
            talk = await engine.create("demo")
            await talk.ask("hello")
            early = await engine.store.conversation(talk.id)
            await talk.ask("hello")
            late = await engine.store.conversation(talk.id)
            assert early is not None
            assert late is not None
            channel = _Followed(late.state)
            assert not await catch_up(channel, engine.store, early, NOW)
            assert (channel.state, channel.told()) == (late.state, [])

            behind = _Followed(early.state)
            reading = asyncio.create_task(catch_up(behind, engine.store, late, NOW))
            await asyncio.sleep(0)
            behind.relay(late.state, {})  # the owner's node has told the followers meanwhile
            assert not await reading
            assert behind.told() == []

    asyncio.run(scene())
