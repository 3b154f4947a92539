"""Following a conversation: everything after a place in the log, once, in order, and then live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

from msgspec import Struct

from turnwire.core.conversation.state import Conversation
from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.opening import hello, replay_complete, replayed, start_of
from turnwire.dialects.v2.project import frame_of
from turnwire.engine.channel import Channel, Sent, Subscriber
from turnwire.errors import TurnwireError
from turnwire.ports import Clock, Store, StoredEntry, StoredTurn

__all__ = ["Place", "SlowReader", "follow", "open_at"]

_PAGE = 500  # entries read at once; a replay has no limit


class SlowReader(TurnwireError):
    """A follower did not keep up and was cut off. It can follow again from where it was."""

    code = "RATE_LIMITED"
    retryable = True


class Place(Struct, frozen=True, gc=False):
    """Where somebody wants to begin, as the address of a connection says it."""

    last_sequence: int = 0
    epoch: str | None = None
    tail: int | None = None


async def open_at(
    place: Place,
    channel: Channel,
    subscriber: Subscriber,
    store: Store,
    clock: Clock,
    info: Callable[[int, int], p.SessionInfo],
) -> AsyncGenerator[Sent, None]:
    """The first frames of a connection. The subscriber gets what follows them, from now on.

    The seam: subscribe, take the head, replay up to it, then let go what came meanwhile. The state
    and the snapshots are those of the moment of subscribing, because all that happened since waits
    behind them. Whoever calls this ends the subscription.
    """
    await channel.until_told()
    channel.subscribe(subscriber)
    now = iso(clock.now())
    state = channel.state
    name, head = state.conversation_id, state.head
    start = start_of(place.last_sequence, place.epoch, place.tail, head=head, epoch_now=store.epoch)
    last: list[f.Frame] = [
        replay_complete(name, head, now),
        channel.state_frame(now),
        *channel.snapshots(now),
    ]
    for frame in hello(name, start, info(start.after + 1, head), now):
        yield Sent(frame)
    async for frame in _missed(store, state, start.after, now):
        yield Sent(frame)
    for frame in last:
        yield Sent(frame)


async def follow(
    place: Place,
    channel: Channel,
    store: Store,
    clock: Clock,
    *,
    info: Callable[[int, int], p.SessionInfo],
    left: Callable[[], None],
    frames: int,
    size: int,
) -> AsyncGenerator[Sent, None]:
    """The first frames, and then everything that happens."""
    news = asyncio.Event()
    subscriber = Subscriber(news.set, frames=frames, size=size)
    try:
        async for sent in open_at(place, channel, subscriber, store, clock, info):
            yield sent
        while True:
            while (waiting := subscriber.take()) is not None:
                yield waiting
            if subscriber.overrun:
                raise SlowReader("This follower read too slowly; follow again from its place.")
            news.clear()
            await news.wait()
    finally:
        channel.unsubscribe(subscriber)
        left()


async def _missed(
    store: Store, state: Conversation, after: int, now: str
) -> AsyncGenerator[f.Frame, None]:
    """What was missed, page by page; the end of a turn stands behind the entry that it follows.

    A turn that had not ended then may have ended since, without another entry: that comes live.
    """
    conversation_id, head = state.conversation_id, state.head
    ends = iter(
        turn
        for turn in await store.turns(conversation_id, since=after)
        if turn.turn_id <= (state.last_turn_id or 0)
    )
    end = next(ends, None)

    def ended(turn: StoredTurn) -> f.Frame:
        ids = (conversation_id, turn.turn_id, None, turn.ended_at, turn.trace_id)
        return replayed(f.AssistantComplete(*ids, turn.end), now)

    def ends_before(number: int) -> Iterator[f.Frame]:
        nonlocal end
        while end is not None and end.end.after_sequence < number:
            yield ended(end)
            end = next(ends, None)

    while after < head:
        page: list[StoredEntry] = await store.entries(
            conversation_id, after=after, before=head + 1, limit=_PAGE
        )
        for stored in page:
            for frame in ends_before(stored.sequence):
                yield frame
            event = frame_of(stored.entry, stored.sequence, conversation_id, stored.trace_id)
            yield replayed(event, now)
        if not page:
            break
        after = page[-1].sequence
    for frame in ends_before(head + 1):
        yield frame
