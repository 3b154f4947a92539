"""The channel of one conversation: publishes what happened, in order, to all followers."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Protocol

from msgspec import Struct

from turnwire.core import happenings as h
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.state import Conversation, status_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.growing import Growing
from turnwire.core.status import Status
from turnwire.errors import TurnwireError
from turnwire.ports import Projected, Projector

__all__ = [
    "Channel",
    "FollowAgain",
    "Follower",
    "Presentation",
    "Remote",
    "SlowReader",
    "Subscriber",
]

_log = logging.getLogger("turnwire")


class FollowAgain(TurnwireError):
    """The channel has ended: another process owns the conversation, the server stops, or the log
    was replaced. A follower that follows again from its cursor misses nothing.
    """

    code = "STORAGE_UNAVAILABLE"
    retryable = True


class SlowReader(FollowAgain):
    """A follower read too slowly and was disconnected."""

    code = "RATE_LIMITED"


class Follower(Protocol):
    """Follows a conversation in one protocol. None of its methods blocks."""

    def receive(self, together: list[Any]) -> None:
        """Takes messages that were published together. Followers of a protocol share this list."""

    def begin(self) -> None:
        """Drops the buffered messages: the first messages contain them, or they are void."""

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Ends the subscription. Buffered messages may still be sent."""


class Subscriber:
    """A follower with a bounded buffer.

    Messages that are published together may exceed the limit: a follower that reads at once must
    get all of them, of any size.
    """

    def __init__(self, wake: Callable[[], None], *, frames: int, size: int) -> None:
        # Returns the error that is raised after the buffered messages.
        self.end: Callable[[], TurnwireError] | None = None
        self._waiting: deque[Any] = deque()
        self._size = 0  # bytes in the buffer
        self._wake = wake
        self._most_frames = frames
        self._most_bytes = size

    def receive(self, together: list[Any]) -> None:
        """Buffers messages. Ends with SlowReader if the buffer is already over its limit."""
        if self.end is not None:
            return
        if self._size > self._most_bytes or len(self._waiting) > self._most_frames:
            self.begin()
            self.finish(partial(SlowReader, "You read too slowly; follow again from your cursor."))
        else:
            self._waiting += together
            self._size += sum(sent.size for sent in together)
            self._wake()

    def begin(self) -> None:
        """Drops the buffered messages, which the snapshot contains."""
        self._waiting.clear()
        self._size = 0

    def take(self) -> Any:
        """Returns the next buffered message. Returns None if the buffer is empty."""
        if not self._waiting:
            return None
        sent = self._waiting.popleft()
        self._size -= sent.size
        return sent

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Ends the subscription. Buffered messages may still be taken."""
        self.end = self.end or why
        self._wake()


class Presentation(Struct, frozen=True):
    """The current state of a conversation, in the messages of one protocol."""

    state: Conversation  # its head and its last turn are those of the messages
    messages: Sequence[Any]


class Remote(Protocol):
    """The node that runs a conversation which this node follows."""

    async def present(self, protocol: str, begin: Callable[[], None]) -> Presentation | None:
        """Returns the current state, for a new follower. Calls `begin` at that very moment.

        Returns None if the node does not answer.
        """


class _Projection:
    """The followers of one protocol, and the projector that they share."""

    __slots__ = ("followers", "projector")

    def __init__(self, projector: Projector) -> None:
        self.projector = projector
        self.followers: set[Follower] = set()


class Channel:
    """Publishes the events, entries and states of one conversation to its followers."""

    def __init__(self, state: Conversation) -> None:
        self.state = state  # as last published
        self.growing = Growing()
        self.remote: Remote | None = None  # set while another node sends what happens
        self.is_stale = False  # followers may have seen another status than that of `state`
        self._has_shown_growth = False  # at the last publish, a block or message was unfinished
        self._seen = (state, status_of(state))
        self._projections: dict[str, _Projection] = {}  # by protocol, while it has followers
        self._published = asyncio.Event()  # set while nothing waits to be published
        self._published.set()
        self._waiting = 0  # followers that wait for `_told`

    @property
    def is_waited_for(self) -> bool:
        """Whether a new follower waits until everything is published."""
        return bool(self._waiting)

    @property
    def is_followed(self) -> bool:
        """Whether the channel has followers."""
        return bool(self._projections)

    @property
    def is_growing(self) -> bool:
        """Whether followers may have seen a message or a block that is unfinished for them.

        `growing` may be further: the end of a block is fed to it before it is committed.
        """
        return self._has_shown_growth or self.growing.is_growing

    @property
    def protocols(self) -> set[str]:
        """The protocols that have followers."""
        return set(self._projections)

    def subscribe(
        self, follower: Follower, protocol: str, make: Callable[[], Projector]
    ) -> Projector:
        """Adds a follower. The first follower of a protocol creates the shared projector."""
        projection = self._projections.get(protocol)
        if projection is None:
            projection = self._projections[protocol] = _Projection(make())
        projection.followers.add(follower)
        return projection.projector

    def unsubscribe(self, follower: Follower) -> None:
        """Removes a follower. The projector is dropped with the last follower of its protocol."""
        for protocol, projection in list(self._projections.items()):
            projection.followers.discard(follower)
            if not projection.followers:
                del self._projections[protocol]

    @property
    def _followers(self) -> list[Follower]:
        return [each for some in self._projections.values() for each in some.followers]

    # --- what happened ------------------------------------------------------------------------

    def stream(
        self, events: Iterable[NormalizedStreamEvent], state: Conversation, now: str
    ) -> list[h.Happening]:
        """Returns the agent's events as happenings, with the partials that have grown."""
        out: list[h.Happening] = []
        for voice, group in groupby(events, key=attrgetter("parent_tool_use_id")):
            some = list(group)
            turn, turn_id = state.turn, _turn_of(state, voice)
            if turn is not None and turn_id == turn.turn_id:
                trace_id: str | None = turn.trace_id
            else:  # background work of an ended turn
                trace_id = None if turn_id is None else state.traces.get(turn_id)
            growth = self.growing.feed_all(some, turn_id, trace_id)
            out.append(h.AgentSpoke(now, turn_id, trace_id, some, growth))
        return out

    def hush(self, now: str, *, helpers: bool) -> list[h.Happening]:
        """Ends the open blocks; their text is kept as entries.

        `helpers`: also the blocks of sub-agents.
        """
        return [
            h.AgentSpoke(now, end.turn_id, end.trace_id, end.events, [])
            for end in self.growing.hush(helpers=helpers)
        ]

    def step(
        self, before: Conversation, after: Conversation, writes: Iterable[e.Moment], now: str
    ) -> list[h.Happening]:
        """Returns what happened in one step, in order, then changes of status, title and totals."""
        out: list[h.Happening] = []
        told = self._status_of(before)
        for write in writes:
            match write:
                case e.AddEntry(sequence=sequence, entry=entry, trace_id=trace_id):
                    out.append(h.EntryAdded(sequence, entry, trace_id))
                    index = entry.meta.get("index")
                    if index is not None:  # else the entry is not a block of a message
                        self.growing.closed(entry.meta["messageId"], index)
                case e.BeginTurn(turn=turn):
                    item = turn.item if turn.origin != "resume" else None
                    waited = item is not None and any(  # by its id: the step may have changed it
                        waiting.item.queue_id == item.queue_id for waiting in before.queue
                    )
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
        """Returns the status if it differs from `told`, and the changed title and totals."""
        out: list[h.Happening] = []
        status = self._status_of(after)
        if status != told:
            out.append(h.StateChanged(now, status))
        title = after.title if after.title != before.title else None
        totals = after.totals if after.totals != before.totals else None
        if title is not None or totals is not None:
            is_renamed = title is not None and before.title is not None
            place = 0 if is_renamed else len(out)  # before the status, which repeats the title
            out.insert(place, h.Changed(now, title, totals))
        return out

    def _status_of(self, state: Conversation) -> Status:
        """Returns the status of a state. Caches one: a step begins where the last one ended."""
        if state is not self._seen[0]:
            self._seen = (state, status_of(state))
        return self._seen[1]

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Ends all subscriptions. Followers get their buffered messages, then this error."""
        for follower in self._followers:
            follower.finish(why)

    def drop(self) -> None:
        """Drops the buffered messages of all followers."""
        for follower in self._followers:
            follower.begin()

    def publish(self, state: Conversation, happened: Sequence[h.Happening]) -> None:
        """Publishes what has led to this state, in each protocol."""
        self._has_shown_growth = self.growing.is_growing
        self._tell(state, lambda _, projector: projector.project(happened))

    def catch_up(
        self,
        state: Conversation,
        missed: Sequence[h.Kept],
        now: str,
        presented: Mapping[str, Sequence[Projected]] | None = None,
    ) -> None:
        """Replays missed entries to all followers, then sends the state, as to a new client.

        `presented`: the state in the messages of each protocol, if another node has sent it. Sends
        nothing if no client would see a difference.
        """

        def messages(protocol: str, projector: Projector) -> list[Projected]:
            replayed = [message for kept in missed for message in projector.replay(kept, now)]
            if presented is None:
                return [*replayed, *projector.present(self.now(now))]
            return [*replayed, *presented.get(protocol, ())]

        is_news = missed or self.is_stale or presented is not None
        if is_news or status_of(state) != status_of(self.state):
            self.is_stale = False
            self._tell(state, messages)
        else:
            self.state = state

    def relay(self, state: Conversation, messages: Mapping[str, Sequence[Projected]]) -> None:
        """Hands on what another node has published, in the messages of each protocol."""
        self._tell(state, lambda protocol, projector: messages.get(protocol, ()))

    def _tell(
        self, state: Conversation, project: Callable[[str, Projector], Sequence[Projected]]
    ) -> None:
        self.state = state
        for protocol, projection in self._projections.items():
            try:
                messages = project(protocol, projection.projector)
            except Exception:  # a defect of one protocol must not affect the others
                name = state.conversation_id
                _log.exception("conversation %s cannot be published in %s", name, protocol)
                for follower in projection.followers:
                    follower.finish(
                        partial(
                            FollowAgain,
                            "The conversation cannot be published; follow again.",
                        )
                    )
                continue
            if messages:
                together = list(messages)
                for follower in projection.followers:
                    follower.receive(together)

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Makes new followers wait until the `with` body has published.

        The partials have grown already, but must not be seen before that.
        """
        self._published.clear()
        try:
            yield
        finally:
            self._published.set()

    def stop_waiting(self) -> None:
        """Admits new followers during retries. They may see partials earlier than others."""
        self._published.set()

    # --- new followers ------------------------------------------------------------------------

    async def until_told(self) -> None:
        """Waits until everything is published, so that no message is missing after the snapshot."""
        self._waiting += 1
        try:
            while not self._published.is_set():
                await self._published.wait()
        finally:
            self._waiting -= 1

    def now(self, at: str) -> h.Now:
        """Returns a snapshot of this moment, for a new follower."""
        state = self.state
        return h.Now(at, state.head, status_of(state), self.growing)


def _turn_of(state: Conversation, voice: str | None) -> int | None:
    turn_id = state.voices.get(voice) if voice is not None else None
    return state.turn.turn_id if turn_id is None and state.turn is not None else turn_id
