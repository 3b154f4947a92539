"""Following a conversation: everything after a place in the log, once, in order, and then live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

from turnwire.core.conversation.state import Conversation
from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.project import frame_of
from turnwire.engine.channel import Channel, FollowAgain, Sent, Subscriber
from turnwire.ports import Clock, Store, StoredEntry, StoredTurn

__all__ = ["Place", "follow"]

_PAGE = 500  # entries read at once; a replay has no limit


class Place:
    """Where somebody wants to begin, as the address of a connection says it."""

    def __init__(
        self, last_sequence: int | None = None, epoch: str | None = None, tail: int | None = None
    ) -> None:
        self.last_sequence = last_sequence or 0
        self.epoch = epoch
        self.tail = tail

    def begin(self, head: int, epoch: str) -> tuple[int, p.ResetReason | None]:
        """After which number the replay begins, and why the copy is void, if it is."""
        after = self.last_sequence
        start = max(head - self.tail, 0) if self.tail is not None else 0
        if self.epoch is not None and self.epoch != epoch:
            return start, "epoch"
        if not after:
            return start, None
        if after > head:
            return start, "beyond_head"
        if after < start:
            return start, "tail"
        return after, None


async def follow(
    channel: Channel,
    store: Store,
    clock: Clock,
    place: Place,
    *,
    info: Callable[[int, int], p.SessionInfo],
    left: Callable[[], None],
    frames: int,
    size: int,
) -> AsyncGenerator[Sent, None]:
    """The seam: subscribe, take the head, replay up to it, then let go what came meanwhile.

    The state and the snapshots are those of one moment, and all that happens from then on waits
    behind them. Whoever waits for that moment is there already, so that nothing stops for them.
    """
    news = asyncio.Event()
    subscriber = Subscriber(news.set, frames=frames, size=size)
    channel.subscribe(subscriber)
    try:
        await channel.until_told()
        subscriber.begin()
        now = iso(clock.now())
        state, epoch = channel.state, store.epoch
        head = state.head
        after, reset = place.begin(head, store.epoch)
        resumed = bool(place.last_sequence) and reset is None
        opening: list[f.Frame] = [channel.state_frame(now), *channel.snapshots(now)]
        outside = (state.conversation_id, None, None, now, None)
        kind = f.SessionResumed if resumed else f.SessionConnected
        yield Sent(kind(*outside, info(after + 1, head)))
        if reset is not None:
            yield Sent(f.SessionReset(*outside, p.Reset(reset, store.epoch, after + 1)))
        async for frame in _missed(store, state, after, now):
            yield Sent(frame)
        yield Sent(f.SessionReplayComplete(*outside, p.ReplayComplete(head)))
        for frame in opening:
            yield Sent(frame)
        while True:
            while (sent := subscriber.take()) is not None:
                yield sent
            if subscriber.end is not None:
                _check_epoch(store, epoch)
                raise subscriber.end()
            news.clear()
            await news.wait()
    finally:
        channel.unsubscribe(subscriber)
        left()


def _check_epoch(store: Store, epoch: str) -> None:
    """What was told is of one log. Another one in its place is told from its start."""
    if store.epoch != epoch:
        raise FollowAgain("The log was replaced by another; follow again.")


async def _missed(
    store: Store, state: Conversation, after: int, now: str
) -> AsyncGenerator[f.Frame, None]:
    """What was missed, page by page; the end of a turn stands behind the entry that it follows.

    A turn that had not ended then may have ended since, without another entry: that comes live.
    """
    conversation_id, head, epoch = state.conversation_id, state.head, store.epoch
    ends = iter(
        turn
        for turn in await store.turns(conversation_id, since=after)
        if turn.turn_id <= (state.last_turn_id or 0)
    )
    end = next(ends, None)

    def replay(number: int | None, event: f.Frame) -> f.Frame:
        ids = (conversation_id, event.turn_id, None, now, event.trace_id)
        return f.MessageReplay(*ids, f.Replay(number, event))  # type: ignore[arg-type]

    def ended(turn: StoredTurn) -> f.Frame:
        ids = (conversation_id, turn.turn_id, None, turn.ended_at, turn.trace_id)
        return replay(None, f.AssistantComplete(*ids, turn.end))

    def ends_before(number: int) -> Iterator[f.Frame]:
        nonlocal end
        while end is not None and end.end.after_sequence < number:
            yield ended(end)
            end = next(ends, None)

    while after < head:
        page: list[StoredEntry] = await store.entries(
            conversation_id, after=after, before=head + 1, limit=_PAGE
        )
        _check_epoch(store, epoch)
        for stored in page:
            for frame in ends_before(stored.sequence):
                yield frame
            event = frame_of(stored.entry, stored.sequence, conversation_id, stored.trace_id)
            yield replay(stored.sequence, event)
        if not page:
            break
        after = page[-1].sequence
    for frame in ends_before(head + 1):
        yield frame
