"""Following: the replay, then the state, then live events; each once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from msgspec import structs

from tests.stores.helpers.sql import rows_of
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.conversation.effects import AddEntry
from turnwire.core.conversation.state import Turn, status_of
from turnwire.core.error_codes import Refused
from turnwire.core.opening import Opening, Start
from turnwire.core.status import Capabilities, Limits
from turnwire.dialects.rpc.projector import Line, RpcProjector
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.sent import Sent
from turnwire.engine.fanout.channel import Channel, FollowAgain, SlowReader, Subscriber
from turnwire.engine.fanout.follow import Place, Reader, follow, open_at
from turnwire.engine.fanout.replay import Replays
from turnwire.long_work import SLICE
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock
from turnwire.testing.store_samples import TRACE, Writing, begin

AT = "2026-01-01T12:00:00.000Z"
START = Place()
WHO = ("demo", "s", None, None)


async def never_refreshed() -> bool:
    """No other node runs the conversation."""
    raise AssertionError


class Scene:
    """A conversation with three entries, and its channel."""

    def __init__(self, store: SqliteStore, talk: Writing, path: Path) -> None:
        self.store = store
        self.talk = talk
        self.path = path
        self.channel = Channel(talk.state)
        self.clock = ManualClock()
        self.replays = Replays(store, self.clock)
        self.left = 0

    def follow(
        self, place: Place = START, *, frames: int = 100, size: int = 100_000
    ) -> AsyncGenerator[Sent, None]:
        return follow(
            place,
            self.channel,
            self.replays,
            self.clock,
            Reader(
                "v2",
                lambda: V2Projector(self.channel.state.conversation_id),
                self.opening,
                never_refreshed,
            ),
            left=self.leave,
            frames=frames,
            size=size,
        )

    def opening(self, start: Start, head: int, now: str) -> Opening:
        offered, limits = Capabilities("demo", []), Limits(1, 1, 1)
        return Opening(now, "k", "client", self.store.epoch, start, head, offered, limits)

    def leave(self) -> None:
        assert not self.channel.is_followed, "who leaves is told of after it has gone"
        self.left += 1

    async def say(self, text: str) -> None:
        """Commits an entry, and publishes it as its owner does."""
        before = self.channel.state
        [add] = self.talk.entries(text)
        assert isinstance(add, AddEntry)
        await self.talk.commit(self.talk.prepare(add))
        happened = self.channel.step(before, self.talk.state, [add], AT)
        self.channel.publish(self.talk.state, happened)

    def grow(self, *events: ev.NormalizedStreamEvent) -> None:
        state = self.channel.state
        self.channel.publish(state, self.channel.stream(events, state, AT))


def with_talk(path: Path, test: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(path)
        try:
            talk = await begin(store)
            running = structs.replace(talk.state, turn=Turn(1, TRACE, "user", "running"))
            await talk.commit(talk.prepare(*talk.entries("one", "two", "three"), state=running))
            await test(Scene(store, talk, path))
        finally:
            await store.close()

    asyncio.run(run())


async def opening_of(frames: AsyncGenerator[Sent, None]) -> list[f.Frame]:
    """The first frames of a connection, up to the state."""
    out = [(await anext(frames)).frame]
    while not isinstance(out[-1], f.SessionState):
        out.append((await anext(frames)).frame)
    return out


async def soon(frames: AsyncGenerator[Sent, None]) -> Any:
    """Returns the next frame, which must come without any other event."""
    task = asyncio.ensure_future(anext(frames))
    await turns()
    if not task.done():
        task.cancel()
        raise AssertionError("nothing comes")
    return (await task).frame


async def turns(count: int = 10) -> None:
    """Let everything else run."""
    for _ in range(count):
        await asyncio.sleep(0)


def numbers_of(frames: list[f.Frame]) -> list[int | None]:
    return [each.payload.message_sequence for each in frames if isinstance(each, f.MessageReplay)]


def text(index: int = 0) -> ev.ContentStarted:
    return ev.ContentStarted(*WHO, "m", index, TextBlock("", "in_progress"))


def piece(words: str, index: int = 0) -> ev.ContentDelta:
    return ev.ContentDelta(*WHO, "m", index, "text", words)


# --- the first frames -----------------------------------------------------------------------------


def test_a_new_follower_gets_the_whole_log_and_then_the_state(path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with aclosing(scene.follow()) as frames:
            first = await opening_of(frames)
        connected, *missed, complete, state = first
        assert isinstance(connected, f.SessionConnected)
        assert (connected.payload.first, connected.payload.head) == (1, 3)
        assert numbers_of(missed) == [1, 2, 3]
        assert isinstance(complete, f.SessionReplayComplete)
        assert complete.payload.through == 3
        assert isinstance(state, f.SessionState)
        assert state.payload == status_of(scene.talk.state)

    with_talk(path, test)


def test_a_returning_follower_gets_the_entries_after_its_cursor(path: Path) -> None:
    async def test(scene: Scene) -> None:
        place = Place(2, scene.store.epoch)
        async with aclosing(scene.follow(place)) as frames:
            first = await opening_of(frames)
        resumed = first[0]
        assert isinstance(resumed, f.SessionResumed)
        assert (resumed.payload.first, resumed.payload.head) == (3, 3)
        assert numbers_of(first) == [3]

    with_talk(path, test)


def test_a_follower_may_ask_for_the_end_of_the_log_only(path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with aclosing(scene.follow(Place(tail=1))) as frames:
            assert numbers_of(await opening_of(frames)) == [3]

    with_talk(path, test)


def test_a_cursor_of_another_log_is_reset_and_the_log_is_sent_from_its_start(path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with aclosing(scene.follow(Place(2, "another"))) as frames:
            first = await opening_of(frames)
        assert [type(each) for each in first[:2]] == [f.SessionConnected, f.SessionReset]
        assert numbers_of(first) == [1, 2, 3]

    with_talk(path, test)


def test_a_cursor_is_immutable() -> None:
    with pytest.raises(AttributeError):
        Place().last_sequence = 3  # type: ignore[misc]


def test_a_growing_block_comes_as_a_snapshot_after_the_state_and_then_in_partials(
    path: Path,
) -> None:
    async def test(scene: Scene) -> None:
        scene.grow(text(), piece("one "))
        async with aclosing(scene.follow()) as frames:
            await opening_of(frames)
            snapshot = await soon(frames)
            assert (snapshot.payload.text, snapshot.payload.snapshot) == ("one ", True)
            scene.grow(piece("two"))
            assert (await soon(frames)).payload.text == "two"

    with_talk(path, test)


def test_each_protocol_sends_growing_blocks_in_its_own_messages(path: Path) -> None:
    async def test(scene: Scene) -> None:
        scene.grow(ev.MessageStarted(*WHO, "m"), text(), piece("one "))
        other, place = Subscriber(lambda: None, frames=9, size=9_000), Place(3, scene.store.epoch)
        reader = Reader(
            "rpc", lambda: RpcProjector("demo", "s", "x"), scene.opening, never_refreshed
        )
        opened: list[Line] = [
            each
            async for each in open_at(
                place, scene.channel, other, scene.replays, scene.clock, reader
            )
        ]
        assert [type(each.news).__name__ for each in opened if each.news] == [
            "Opening",
            "StateChanged",
        ]
        grows = [each for each in opened if each.kind == "grows"]
        assert [b"one " in each.written for each in grows] == [False, False, True]
        scene.grow(piece("two"))
        assert b"two" in other.take().written

    with_talk(path, test)


# --- the seam between the log and the news --------------------------------------------------------


def test_events_during_a_replay_come_after_it_and_once(path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with aclosing(scene.follow()) as frames:
            first = [(await anext(frames)).frame]
            await scene.say("four")
            first += await opening_of(frames)
            assert numbers_of(first) == [1, 2, 3]
            assert (await soon(frames)).payload.message_sequence == 4
            await scene.say("five")
            assert (await soon(frames)).payload.message_sequence == 5

    with_talk(path, test)


def test_a_follower_that_connects_during_a_commit_gets_the_entry_once(path: Path) -> None:
    """The entry is in the log, and is published before the follower is admitted."""

    async def test(scene: Scene) -> None:
        frames = scene.follow()
        with scene.channel.publishing():
            coming = asyncio.ensure_future(anext(frames))
            await turns()
            assert not coming.done()
            assert scene.channel.is_followed, "nothing stops for want of followers"
            await scene.say("four")
        first = [(await coming).frame, *await opening_of(frames)]
        assert numbers_of(first) == [1, 2, 3, 4]
        await scene.say("five")
        assert (await soon(frames)).payload.message_sequence == 5
        await frames.aclose()

    with_talk(path, test)


def test_a_long_replay_yields_to_other_tasks(path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with aclosing(scene.follow()) as frames:
            await anext(frames)
            await anext(frames)  # from here on nothing is read
            turned: list[int] = []
            for number in range(2):
                asyncio.get_running_loop().call_soon(turned.append, number)
                over = perf_counter() + 2 * SLICE
                while perf_counter() < over:  # the caller that takes a frame works on it
                    pass
                await anext(frames)
                assert turned == [*range(number + 1)]

    with_talk(path, test)


# --- news, and the end ----------------------------------------------------------------------------


def test_notices_come_in_order_and_at_once(path: Path) -> None:
    async def test(scene: Scene) -> None:
        async with aclosing(scene.follow()) as frames:
            await opening_of(frames)
            for number in (0, 2):
                coming = asyncio.ensure_future(anext(frames))
                await turns()
                assert not coming.done(), "until then it waits, and everything else can run"
                scene.grow(text(number), piece("one", number))
                scene.grow(text(number + 1), piece("two", number + 1))
                news = (await coming).frame
                assert isinstance(news, f.AssistantChunk)
                assert (news.payload.index, news.payload.text) == (number, "one")
                assert (await soon(frames)).payload.text == "two"
            assert scene.left == 0

    with_talk(path, test)


async def end_of(frames: AsyncGenerator[Sent, None]) -> BaseException | None:
    """Why nothing more comes; that must be known without anything else having to happen."""
    task = asyncio.ensure_future(anext(frames))
    await turns()
    assert task.done(), "it goes on"
    return task.exception()


def test_the_end_comes_after_waiting_frames_with_its_reason(path: Path) -> None:
    async def test(scene: Scene) -> None:
        frames = scene.follow()
        await opening_of(frames)
        scene.grow(text(), piece("last words"))
        scene.channel.finish(lambda: Refused("CONVERSATION_NOT_FOUND"))
        assert (await soon(frames)).payload.text == "last words"
        ended = await end_of(frames)
        assert isinstance(ended, Refused)
        assert ended.code == "CONVERSATION_NOT_FOUND"
        assert scene.left == 1
        assert not scene.channel.is_followed

    with_talk(path, test)


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_an_end_that_comes_with_another_log_in_its_place_says_follow_again(path: Path) -> None:
    """The conversation may exist in the other log as well."""

    async def test(scene: Scene) -> None:
        frames = scene.follow()
        await opening_of(frames)
        rows_of(scene.path, "UPDATE meta SET value = 'another' WHERE name = 'epoch'")
        await scene.store.conversation("c")
        assert scene.store.epoch == "another"
        scene.channel.finish(lambda: Refused("CONVERSATION_NOT_FOUND"))
        assert type(await end_of(frames)) is FollowAgain

    with_talk(path, test)


@pytest.mark.parametrize(("count", "size"), [(1, 10_000), (100, 700)], ids=["frames", "bytes"])
def test_a_slow_follower_is_disconnected_at_its_limits(path: Path, count: int, size: int) -> None:
    async def test(scene: Scene) -> None:
        frames = scene.follow(frames=count, size=size)
        await opening_of(frames)
        scene.grow(text(), piece("one"))
        scene.grow(piece("two"))
        scene.grow(piece("three"))
        assert type(await end_of(frames)) is SlowReader
        assert scene.left == 1

    with_talk(path, test)


def test_a_follower_that_leaves_is_reported_once(path: Path) -> None:
    async def test(scene: Scene) -> None:
        frames = scene.follow()
        await anext(frames)
        assert scene.channel.is_followed
        assert scene.left == 0
        await frames.aclose()
        assert not scene.channel.is_followed
        assert scene.left == 1

    with_talk(path, test)


def test_a_follower_that_leaves_before_its_admission_leaves_no_state(path: Path) -> None:
    async def test(scene: Scene) -> None:
        with scene.channel.publishing():
            coming = asyncio.ensure_future(anext(scene.follow()))
            await turns()
            coming.cancel()
            await turns()
        assert not scene.channel.is_followed
        assert not scene.channel.is_waited_for
        assert scene.left == 1

    with_talk(path, test)
