"""Follows a conversation: replays the log after a place, once and in order, then goes live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from msgspec import Struct

from turnwire.core.opening import Opening, Start, start_of
from turnwire.core.times import iso
from turnwire.engine.fanout.channel import Channel, Follower, Subscriber
from turnwire.engine.fanout.replay import Replays
from turnwire.long_work import LongWork
from turnwire.ports import Clock, Projector

__all__ = ["Place", "Reader", "follow", "open_at"]


class Place(Struct, frozen=True):
    """Where a follower begins, as the URL of its connection says."""

    last_sequence: int = 0
    epoch: str | None = None
    tail: int | None = None


class Reader(Struct, frozen=True):
    """The protocol of a follower, and its opening message."""

    protocol: str
    make: Callable[[], Projector]
    opening: Callable[[Start, int, str], Opening]  # of the start, the head, the time
    # Reads the state, which only the other node knew. Returns False if this process knows it.
    refresh: Callable[[], Awaitable[bool]]


async def open_at(
    place: Place,
    channel: Channel,
    follower: Follower,
    replays: Replays,
    clock: Clock,
    reader: Reader,
) -> AsyncGenerator[Any, None]:
    """Yields the first messages of a connection. Later messages go to the follower.

    Subscribes, takes the head, replays the log up to it, then releases what was buffered meanwhile.
    The state and the snapshots are of one moment; later messages stay in the follower's buffer. The
    follower subscribes before it waits for that moment, so the conversation need not stop for it.
    The caller ends the subscription.
    """
    projector = channel.subscribe(follower, reader.protocol, reader.make)
    given = None
    while given is None and (channel.remote is not None or channel.is_stale):
        if channel.remote is not None:
            given = await channel.remote.present(reader.protocol, follower.begin)
        elif not await reader.refresh():
            break
    if given is None:
        await channel.until_told()
        follower.begin()
    now = iso(clock.now())
    state = channel.state if given is None else given.state
    head = state.head
    start = start_of(
        place.last_sequence, place.epoch, place.tail, head=head, epoch_now=replays.epoch
    )
    last = projector.present(channel.now(now)) if given is None else given.messages
    for message in projector.greet(reader.opening(start, head, now)):
        yield message
    work = LongWork()
    async with aclosing(replays.since(state, start.after, projector)) as missed:
        async for page in missed:
            for message in page:
                if work.is_due:  # the caller encodes and sends each message
                    await work.give_way()
                yield message
    for message in last:
        yield message


async def follow(
    place: Place,
    channel: Channel,
    replays: Replays,
    clock: Clock,
    reader: Reader,
    *,
    left: Callable[[], None],
    frames: int,
    size: int,
) -> AsyncGenerator[Any, None]:
    """Yields the first messages, then live messages."""
    news = asyncio.Event()
    subscriber = Subscriber(news.set, frames=frames, size=size)
    epoch = replays.epoch
    try:
        first = open_at(place, channel, subscriber, replays, clock, reader)
        async with aclosing(first):
            async for message in first:
                yield message
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
