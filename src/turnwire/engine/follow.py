"""Following a conversation: everything after a place in the log, once, in order, and then live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec import Struct

from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.opening import hello, replay_complete, start_of
from turnwire.engine.channel import Channel, Listener, Sent, Spoken, Subscriber
from turnwire.engine.replays import Replays
from turnwire.long_work import LongWork
from turnwire.ports import Clock

__all__ = ["Place", "follow", "open_at"]


class Place(Struct, frozen=True):
    """Where somebody wants to begin, as the address of a connection says it."""

    last_sequence: int = 0
    epoch: str | None = None
    tail: int | None = None


async def open_at(
    place: Place,
    channel: Channel,
    subscriber: Subscriber,
    replays: Replays,
    clock: Clock,
    info: Callable[[int, int], p.SessionInfo],
) -> AsyncGenerator[Sent | Spoken, None]:
    """The first frames of a connection. The subscriber gets what follows them, from now on.

    The seam: subscribe, take the head, replay up to it, then let go what came meanwhile. The state
    and the snapshots are those of one moment, and all that happens from then on waits behind them.
    Whoever waits for that moment is there already, so that nothing stops for them. Whoever calls
    this ends the subscription.
    """
    channel.subscribe(subscriber)
    await channel.until_told()
    subscriber.begin()
    now = iso(clock.now())
    state = channel.state
    name, head = state.conversation_id, state.head
    start = start_of(
        place.last_sequence, place.epoch, place.tail, head=head, epoch_now=replays.epoch
    )
    last: list[f.Frame] = [
        replay_complete(name, head, now),
        channel.state_frame(now),
    ]
    spoken: list[Spoken] = []
    if isinstance(subscriber, Listener):
        spoken = channel.spoken_so_far()
    else:
        last += channel.snapshots(now)
    for frame in hello(name, start, info(start.after + 1, head), now):
        yield Sent(frame)
    work = LongWork()
    async with aclosing(replays.since(state, start.after)) as missed:
        async for page in missed:
            for sent in page:
                if work.is_due:  # the caller that takes a frame writes it and sends it
                    await work.give_way()
                yield sent
    for frame in last:
        yield Sent(frame)
    for each in spoken:
        yield each


async def follow(
    place: Place,
    channel: Channel,
    replays: Replays,
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
    epoch = replays.epoch
    try:
        async for sent in open_at(place, channel, subscriber, replays, clock, info):
            if isinstance(sent, Sent):  # as nobody listens here
                yield sent
        while True:
            while (waiting := subscriber.take()) is not None:
                yield waiting
            if subscriber.end is not None:
                replays.check_epoch(epoch)
                raise subscriber.end()
            news.clear()
            await news.wait()
    finally:
        channel.unsubscribe(subscriber)
        left()
