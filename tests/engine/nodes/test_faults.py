"""A bus that loses, doubles and reorders only delays: the log is the truth."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from pathlib import Path
from random import Random

import pytest

from tests.core.conversation.helpers.driver import whose
from tests.engine.helpers.watcher import PATIENCE, Watcher, broken_rules
from tests.engine.nodes.two_engines import two_engines
from turnwire.agents.demo import DemoAgent
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.bus.sealed import SealedBus
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine import Engine, Talk
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.engine.nodes import messages as m
from turnwire.engine.settings import EngineSettings
from turnwire.ports import Commit
from turnwire.testing import FaultyBus

SETTINGS = EngineSettings(recheck=0.5)
TURNS = 6


class _Screen:
    """Follows a conversation for ever, and again from its cursor when it is told to."""

    def __init__(self, talk: Talk) -> None:
        self.reducer = ViewReducer()
        self._talk = talk
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            frames: list[f.Frame] = []
            place = {"last_sequence": self.reducer.cursor, "epoch": self.reducer.epoch}
            with suppress(FollowAgain):
                async with aclosing(self._talk.follow(**place)) as following:  # type: ignore[arg-type]
                    async for frame in following:
                        frames.append(frame)
                        self.reducer.apply(frame)  # type: ignore[arg-type]
                        self._news.set()
            assert not broken_rules(frames)

    async def has(self, cursor: int) -> None:
        """Waits until an entry has arrived, and nothing runs any more."""
        async with asyncio.timeout(PATIENCE):
            while self.reducer.cursor < cursor or self._is_running():
                assert not self._task.done(), self._task.result()
                self._news.clear()
                await self._news.wait()

    def _is_running(self) -> bool:
        status = self.reducer.view().status
        return status is None or status.state == "streaming"

    def close(self) -> None:
        self._task.cancel()


@pytest.mark.parametrize("seed", range(4))
def test_with_a_faulty_bus_nothing_is_lost_and_nothing_is_doubled(path: Path, seed: int) -> None:
    async def scene() -> None:
        network, random = LocalNetwork(), Random(seed)
        faulty = [FaultyBus(LocalBus(network), seed * 2 + each) for each in range(2)]
        buses = [SealedBus(bus, b"a secret of both nodes") for bus in faulty]
        async with two_engines(
            path, buses=(buses[0], buses[1]), settings=SETTINGS, agent=DemoAgent
        ) as two:
            engines: list[Engine] = [two.a, two.b]
            talk = await two.a.create("demo", options={"delay": 0})
            talks = [await engine.open(talk.id) for engine in engines]
            screens = [_Screen(each) for each in talks for _ in range(2)]
            for turn in range(TURNS):
                where = random.randrange(2)
                reply = await talks[where].ask("tool", client_message_id=f"m{turn}")
                assert reply.end is not None
                if turn == TURNS // 2:  # the owner stops, and the other node goes on
                    await engines[where].end(talk.id)
            row = await two.a.store.conversation(talk.id)
            assert row is not None
            for screen in screens:
                await screen.has(row.head)
            views = [screen.reducer.view() for screen in screens]
            assert all(view.messages == views[0].messages for view in views)
            assert len({turn.turn_id for turn in views[0].turns}) == TURNS
            assert sum(sum(bus.faults.values()) for bus in faulty) > 0
            for screen in screens:
                screen.close()

    asyncio.run(scene())


def test_while_the_bus_is_gone_followers_read_the_log_and_commands_wait_or_fail_clearly(
    path: Path,
) -> None:
    async def scene() -> None:
        network = LocalNetwork()
        near, far = (FaultyBus(LocalBus(network), 0, lose=0, double=0, reorder=0) for _ in range(2))
        async with two_engines(path, buses=(near, far), settings=SETTINGS, agent=DemoAgent) as two:
            talk = await two.a.create("demo", options={"delay": 0})
            screen = _Screen(await two.b.open(talk.id))
            await talk.ask("hello")
            far.cut_off()
            await talk.ask("tool")
            row = await two.a.store.conversation(talk.id)
            assert row is not None
            await screen.has(row.head)
            far.come_back()
            reply = await (await two.b.open(talk.id)).ask("hello", client_message_id="m3")
            assert reply.end is not None
            screen.close()

    asyncio.run(scene())


class _LosesTheFirst(LocalBus):
    """Loses the first message of one kind."""

    def __init__(self, network: LocalNetwork, kind: type) -> None:
        super().__init__(network)
        self.kind: type | None = kind

    def send(self, inbox: str, data: bytes) -> None:
        if self.kind is not None and isinstance(m.decode(data), self.kind):
            self.kind = None
            return
        super().send(inbox, data)


def test_a_client_whose_question_for_the_state_is_lost_gets_the_state_all_the_same(
    path: Path,
) -> None:
    async def scene() -> None:
        network = LocalNetwork()
        near, far = LocalBus(network), _LosesTheFirst(network, m.Present)
        async with two_engines(path, buses=(near, far)) as two, asyncio.timeout(PATIENCE):
            talk = await two.a.create("scripted")
            await talk.send("hello")
            session = await two.agent_a.opened()
            session.begins()
            there = await two.b.open(talk.id)
            # The second one finds the conversation attached, and has to ask for its state.
            async with Watcher(there) as first, Watcher(there) as second:
                session.speaks("Hello.", finishes=True)
                session.ends()
                for each in (first, second):
                    await each.until(f.AssistantComplete)
            assert far.kind is None, "a message was lost"

    asyncio.run(scene())


def test_a_command_that_fails_by_a_defect_of_the_owner_is_refused_and_does_not_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with two_engines(path) as two, asyncio.timeout(PATIENCE):
            talk = await two.a.create("scripted")
            await talk.send("hello")
            await two.agent_a.opened()
            there = await two.b.open(talk.id)

            def fails(_: object) -> None:
                raise RuntimeError("a defect")

            actor = two.a.alive[talk.id]
            monkeypatch.setattr(actor, "post", fails)
            with pytest.raises(Refused) as refused:
                await there.send("and now?")
            assert refused.value.code == "INTERNAL_ERROR"
            monkeypatch.undo()

    asyncio.run(scene())


def _message(name: str, text: str) -> list[ev.NormalizedStreamEvent]:
    """Returns the events of a message with one block."""
    return [
        ev.MessageStarted(*whose(), name, "scripted"),
        ev.ContentStarted(*whose(), name, 0, TextBlock("", "in_progress")),
        ev.ContentCompleted(*whose(), name, 0, TextBlock(text, "completed")),
        ev.MessageCompleted(*whose(), name),
    ]


def test_a_client_keeps_no_text_of_an_owner_that_dies_before_the_end_of_the_text_is_committed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        network = LocalNetwork()
        near, far = (FaultyBus(LocalBus(network), 0, lose=0, double=0, reorder=0) for _ in range(2))
        async with two_engines(path, buses=(near, far)) as two, asyncio.timeout(PATIENCE):
            talk = await two.a.create("scripted")
            await talk.send("hello")
            (await two.agent_a.opened()).begins()
            watcher = await Watcher(await two.b.open(talk.id)).__aenter__()
            await two.a.alive[talk.id].settle()
            allowed, waiting, commit = asyncio.Semaphore(0), asyncio.Event(), two.a.store.commit

            async def commit_later(what: Commit) -> None:
                waiting.set()
                await allowed.acquire()
                await commit(what)

            monkeypatch.setattr(two.a.store, "commit", commit_later)
            owner, piece = two.a.alive[talk.id], ev.ContentDelta(*whose(), "m2", 0, "text", "Two.")
            owner.post([*_message("m1", "One."), *_message("m2", "Two.")[:2], piece])
            await waiting.wait()
            # It waits for that commit, so it is read before the other node is sent the piece.
            owner.post(_message("m2", "Two.")[2:])
            allowed.release()
            try:
                await watcher.until(f.AssistantChunk, lambda frame: frame.payload.partial)
                near.cut_off()
                with pytest.raises(FollowAgain):
                    await watcher.until(f.SessionState, lambda _: False)
            finally:
                monkeypatch.undo()
                allowed.release()

    asyncio.run(scene())
