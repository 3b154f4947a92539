"""One conversation's channel: what happened is published in order, to all who follow it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol

from turnwire.core import happenings as h
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.state import Conversation, status_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.growing import Growing
from turnwire.core.status import Status
from turnwire.errors import TurnwireError
from turnwire.ports import Projected, Projector

__all__ = ["Channel", "FollowAgain", "Follower", "SlowReader", "Subscriber"]

_log = logging.getLogger("turnwire")


class FollowAgain(TurnwireError):
    """Nothing more comes from here: another process has the conversation, the server stops, or the
    log was replaced. Whoever follows again from their place misses nothing.
    """

    code = "STORAGE_UNAVAILABLE"
    retryable = True


class SlowReader(FollowAgain):
    """A follower did not keep up and was cut off."""

    code = "RATE_LIMITED"


class Follower(Protocol):
    """Follows a conversation in one protocol. None of its methods waits."""

    def receive(self, together: list[Any]) -> None:
        """Takes messages that were published together. All followers of a protocol get the same list."""

    def begin(self) -> None:
        """Drops what waits: it is in what is told first, or is not to be told any more."""

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes; what waits may still be told."""


class Subscriber:
    """A follower that keeps what waits for it, up to a limit.

    What comes together may go beyond it: who reads at once must get all of it, however large.
    """

    def __init__(self, wake: Callable[[], None], *, frames: int, size: int) -> None:
        # Why nothing more comes behind what waits.
        self.end: Callable[[], TurnwireError] | None = None
        self._waiting: deque[Any] = deque()
        self._size = 0  # bytes that wait
        self._wake = wake
        self._most_frames = frames
        self._most_bytes = size

    def receive(self, together: list[Any]) -> None:
        """Never waits. Cuts off who has not read what came before, and is beyond the limit."""
        if self.end is not None:
            return
        if self._size > self._most_bytes or len(self._waiting) > self._most_frames:
            self.begin()
            self.finish(partial(SlowReader, "You read too slowly; follow again from your place."))
        else:
            self._waiting += together
            self._size += sum(sent.size for sent in together)
            self._wake()

    def begin(self) -> None:
        """From this moment on: what came before is in the state."""
        self._waiting.clear()
        self._size = 0

    def take(self) -> Any:
        """The next that waits; None: nothing does."""
        if not self._waiting:
            return None
        sent = self._waiting.popleft()
        self._size -= sent.size
        return sent

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes; what waits may still be taken."""
        self.end = self.end or why
        self._wake()


class _Projection:
    """Those who follow in one protocol, and the projector that they share."""

    __slots__ = ("followers", "projector")

    def __init__(self, projector: Projector) -> None:
        self.projector = projector
        self.followers: set[Follower] = set()


class Channel:
    """What the followers of one conversation are told."""

    def __init__(self, state: Conversation) -> None:
        self.state = state  # as it was last published
        self.growing = Growing()
        self._seen = (state, status_of(state))
        self._projections: dict[str, _Projection] = {}  # by protocol, while a client follows in it
        self._told = asyncio.Event()  # all that happened was published
        self._told.set()
        self._waiting = 0  # for that

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody comes as soon as all was told."""
        return bool(self._waiting)

    @property
    def is_followed(self) -> bool:
        """Whether anybody is there."""
        return bool(self._projections)

    def subscribe(
        self, follower: Follower, protocol: str, make: Callable[[], Projector]
    ) -> Projector:
        """From now on. The first who follows in a protocol makes the projector for all of them."""
        projection = self._projections.get(protocol)
        if projection is None:
            projection = self._projections[protocol] = _Projection(make())
        projection.followers.add(follower)
        return projection.projector

    def unsubscribe(self, follower: Follower) -> None:
        """No longer. The projector goes with the last who follows in its protocol."""
        for protocol, projection in list(self._projections.items()):
            projection.followers.discard(follower)
            if not projection.followers:
                del self._projections[protocol]

    @property
    def _followers(self) -> list[Follower]:
        return [each for some in self._projections.values() for each in some.followers]

    # --- what happens -------------------------------------------------------------------------

    def stream(
        self, events: Iterable[NormalizedStreamEvent], state: Conversation, now: str
    ) -> list[h.Happening]:
        """What the agent says."""
        out: list[h.Happening] = []
        for voice, group in groupby(events, key=attrgetter("parent_tool_use_id")):
            some = list(group)
            turn, turn_id = state.turn, _turn_of(state, voice)
            if turn is not None and turn_id == turn.turn_id:
                trace_id: str | None = turn.trace_id
            else:  # background work, whose turn is over
                trace_id = None if turn_id is None else state.traces.get(turn_id)
            growth = self.growing.feed_all(some, turn_id, trace_id)
            out.append(h.AgentSpoke(now, turn_id, trace_id, some, growth))
        return out

    def hush(self, now: str, *, helpers: bool) -> list[h.Happening]:
        """Nothing more comes of what is half said, while its words are kept as entries.

        `helpers`: of what sub-agents say, too.
        """
        return [
            h.AgentSpoke(now, end.turn_id, end.trace_id, end.events, [])
            for end in self.growing.hush(helpers=helpers)
        ]

    def step(
        self, before: Conversation, after: Conversation, writes: Iterable[e.Moment], now: str
    ) -> list[h.Happening]:
        """What happened in one step, in its order; then the state, title and totals that changed."""
        out: list[h.Happening] = []
        told = self._status_of(before)
        for write in writes:
            match write:
                case e.AddEntry(sequence=sequence, entry=entry, trace_id=trace_id):
                    out.append(h.EntryAdded(sequence, entry, trace_id))
                    index = entry.meta.get("index")
                    if index is not None:  # else it is no block of a message
                        self.growing.closed(entry.meta["messageId"], index)
                case e.BeginTurn(turn=turn):
                    item = turn.item if turn.origin != "resume" else None
                    waited = any(waiting.item == item for waiting in before.queue)
                    out.append(
                        h.TurnBegan(
                            now,
                            turn.turn_id,
                            turn.trace_id,
                            turn.origin,
                            item.queue_id if item and waited else None,
                            item.client_message_id if item else None,
                        )
                    )
                case e.EndTurn(turn_id=turn_id, trace_id=trace_id, end=end):
                    out.append(h.TurnEnded(now, turn_id, trace_id, end))
                case e.Tell(status=told):
                    out.append(h.StateChanged(now, told))
                case _:
                    pass
        return out + self._changed(before, after, told, now)

    def _changed(
        self, before: Conversation, after: Conversation, told: Status, now: str
    ) -> list[h.Happening]:
        """The state, if it is not what was told, and the title and totals, if they are others."""
        out: list[h.Happening] = []
        status = self._status_of(after)
        if status != told:
            out.append(h.StateChanged(now, status))
        title = after.title if after.title != before.title else None
        totals = after.totals if after.totals != before.totals else None
        if title is not None or totals is not None:
            is_renamed = title is not None and before.title is not None
            place = 0 if is_renamed else len(out)  # a state only repeats the title
            out.insert(place, h.Changed(now, title, totals))
        return out

    def _status_of(self, state: Conversation) -> Status:
        """What front ends are told. A step begins where the one before it has ended."""
        if state is not self._seen[0]:
            self._seen = (state, status_of(state))
        return self._seen[1]

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes from here; whoever follows gets what waits for them, and then this."""
        for follower in self._followers:
            follower.finish(why)

    def drop(self) -> None:
        """What waits for those who follow is not to be told any more."""
        for follower in self._followers:
            follower.begin()

    def publish(self, state: Conversation, happened: Sequence[h.Happening]) -> None:
        """Tell everyone what has led to this state, in the words of each protocol."""
        self._tell(state, lambda projector: projector.project(happened))

    def catch_up(self, state: Conversation, missed: Sequence[h.Kept], now: str) -> None:
        """Replay to everyone what the log has up to this state, and tell the state, as to a client that connects.

        Tells nothing if no client would see a difference.
        """

        def messages(projector: Projector) -> list[Projected]:
            replayed = [message for kept in missed for message in projector.replay(kept, now)]
            return [*replayed, *projector.present(self.now(now))]

        if missed or status_of(state) != status_of(self.state):
            self._tell(state, messages)
        else:
            self.state = state

    def _tell(
        self, state: Conversation, project: Callable[[Projector], Sequence[Projected]]
    ) -> None:
        self.state = state
        for protocol, projection in self._projections.items():
            try:
                messages = project(projection.projector)
            except Exception:  # a defect of one protocol must not silence the others
                name = state.conversation_id
                _log.exception("conversation %s cannot be told in %s", name, protocol)
                for follower in projection.followers:
                    follower.finish(partial(FollowAgain, "It cannot be told; follow again."))
                continue
            if messages:
                together = list(messages)
                for follower in projection.followers:
                    follower.receive(together)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What grows has grown already, but is not to be seen before it is published in here."""
        self._told.clear()
        try:
            yield
        finally:
            self._told.set()

    def stop_waiting(self) -> None:
        """It takes longer. Whoever comes may see what grew before others do."""
        self._told.set()

    # --- for those who come -------------------------------------------------------------------

    async def until_told(self) -> None:
        """Wait for a moment at which nothing is on its way: then snapshots and news fit together."""
        self._waiting += 1
        try:
            while not self._told.is_set():
                await self._told.wait()
        finally:
            self._waiting -= 1

    def now(self, at: str) -> h.Now:
        """This moment, for a follower that begins here."""
        state = self.state
        return h.Now(at, state.head, status_of(state), self.growing)


def _turn_of(state: Conversation, voice: str | None) -> int | None:
    turn_id = state.voices.get(voice) if voice is not None else None
    return state.turn.turn_id if turn_id is None and state.turn is not None else turn_id
