"""One conversation's frames: made once, handed to everyone who follows it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, structs

from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.state import Conversation, status_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.joining import joined
from turnwire.core.message import known_meta
from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.codec import Encoded, encode
from turnwire.dialects.v2.partials import OpenBlock, Partials
from turnwire.dialects.v2.project import frame_of
from turnwire.errors import TurnwireError

__all__ = [
    "Channel",
    "FollowAgain",
    "Listener",
    "Sent",
    "SlowReader",
    "Spoken",
    "Subscriber",
    "Told",
]

_ENVELOPE = 400  # bytes around a piece of a text
LARGE = 256 * 1024  # bytes of a frame that is sent in pieces
_PIECE = 64 * 1024  # bytes of such a piece


class Holdable(Protocol):
    """What counts the clients for whom it waits."""

    holders: int


def in_pieces(raw: bytes, start: int = 0) -> Iterator[memoryview]:
    """Views of the bytes from `start` on, each small enough for a socket. Nothing is copied."""
    view = memoryview(raw)
    return (view[at : at + _PIECE] for at in range(start, len(raw), _PIECE))


class FollowAgain(TurnwireError):
    """Nothing more comes from here: another process has the conversation, the server stops, or the
    log was replaced. Whoever follows again from their place misses nothing.
    """

    code = "STORAGE_UNAVAILABLE"
    retryable = True


class SlowReader(FollowAgain):
    """A follower did not keep up and was cut off."""

    code = "RATE_LIMITED"


class Sent:
    """A frame, and its bytes once somebody needs them."""

    __slots__ = ("_encoded", "_size", "frame", "holders", "number")

    def __init__(self, frame: f.Frame) -> None:
        self.holders = 0  # clients for whom it waits: see `server.backlog`
        payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
        self.frame = frame
        # The entry in the log that it tells of, or tells again.
        self.number: int | None = getattr(payload, "message_sequence", None)
        self._encoded: Encoded | None = None
        self._size: int | None = None

    @property
    def encoded(self) -> Encoded:
        """Written once for everyone; only the sequence in between differs."""
        if self._encoded is None:
            self._encoded = encode(self.frame)
        return self._encoded

    def at(self, sequence: int) -> bytes:
        """The frame as one connection gets it, as its frame of this number."""
        if self._encoded is None:  # as above, without one more call for each client
            self._encoded = encode(self.frame)
        return self._encoded.at(sequence)

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be handed to a socket at once."""
        if self._encoded is None:  # as above
            self._encoded = encode(self.frame)
        return len(self._encoded.raw) > LARGE

    @property
    def shared(self) -> Sent | Holdable:
        """What clients for whom the same frame waits have in common."""
        return self

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """The same bytes as `at`, in pieces. All but the first are views of what everyone shares."""
        head, tail = self.encoded.head, self.encoded.raw
        start = len(head) + len(b"null")
        return [head + b"%d" % sequence, *in_pieces(tail, start)]

    @property
    def size(self) -> int:
        """About how many bytes it takes. A piece of a text is not worth being written for that.

        Unless its characters are of several bytes: then it is written, as it will be sent.
        """
        if self._size is None:
            text = getattr(self.frame.payload, "text", None)  # type: ignore[attr-defined]
            if self._encoded is None and isinstance(text, str) and text.isascii():
                self._size = len(text) + _ENVELOPE
            else:
                self._size = len(self.encoded.replayed())
        return self._size


class Spoken(Struct, frozen=True):
    """What one voice of the agent said, for those whose language is not v2: see `Listener`."""

    events: list[NormalizedStreamEvent]
    turn_id: int | None


Told: TypeAlias = f.Frame | Spoken


class Subscriber:
    """Somebody who follows a conversation: what is waiting for them, up to a limit.

    What comes together may go beyond it: who reads at once must get all of it, however large.
    """

    def __init__(self, wake: Callable[[], None], *, frames: int, size: int) -> None:
        # Why nothing more comes behind what waits.
        self.end: Callable[[], TurnwireError] | None = None
        self._waiting: deque[Sent] = deque()
        self._size = 0  # bytes that wait
        self._wake = wake
        self._most_frames = frames
        self._most_bytes = size

    def receive(self, together: list[Sent]) -> None:
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

    def take(self) -> Sent | None:
        """The next that waits."""
        if not self._waiting:
            return None
        sent = self._waiting.popleft()
        self._size -= sent.size
        return sent

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes; what waits may still be taken."""
        self.end = self.end or why
        self._wake()


class Listener(Subscriber):
    """Somebody who also hears the agent's own events, each among the frames that it has led to."""

    def hear(self, together: list[Sent | Spoken]) -> None:
        """Like `receive`. Whoever listens to this channel gets the same list."""
        raise NotImplementedError


class Channel:
    """What the followers of one conversation are told."""

    def __init__(self, state: Conversation) -> None:
        self.state = state  # as it was last published
        self._partials = Partials(state.conversation_id)
        self._speaking: dict[str | None, ev.MessageStarted] = {}  # by voice: what it is saying
        # Questions that are still being written, by message and index: the beginning, the pieces.
        self._questions: dict[tuple[str, int], tuple[ev.ContentStarted, list[str]]] = {}
        self._subscribers: set[Subscriber] = set()
        self._told = asyncio.Event()  # all that was made into frames was told
        self._told.set()
        self._waiting = 0  # for that

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody comes as soon as all was told."""
        return bool(self._waiting)

    @property
    def is_followed(self) -> bool:
        """Whether anybody is there."""
        return bool(self._subscribers)

    def subscribe(self, subscriber: Subscriber) -> None:
        """From now on."""
        self._subscribers.add(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """No longer."""
        self._subscribers.discard(subscriber)

    # --- what happens -------------------------------------------------------------------------

    def stream(
        self, events: Iterable[NormalizedStreamEvent], state: Conversation, now: str
    ) -> list[Told]:
        """What only grows, as frames; pieces that are ready together are joined."""
        out: list[Told] = []
        for voice, group in groupby(joined(events), key=lambda event: event.parent_tool_use_id):
            some = list(group)
            turn, turn_id = state.turn, self._turn_of(state, voice)
            if turn is not None and turn_id == turn.turn_id:
                trace_id: str | None = turn.trace_id
            else:  # background work, whose turn is over
                trace_id = None if turn_id is None else state.traces.get(turn_id)
            out += self._partials.feed_all(some, turn_id, trace_id, now)
            self._follow(some)
            out.append(Spoken(some, turn_id))
        return out

    def _follow(self, events: list[NormalizedStreamEvent]) -> None:
        """Remembers what each voice is saying, and the questions that are still being written.

        The frames of v2 have no pieces of questions, so no `OpenBlock` remembers them.
        """
        for event in events:
            match event:
                case ev.MessageStarted():
                    self._speaking[event.parent_tool_use_id] = event
                case ev.ContentStarted(block=ToolUseBlock() as block):
                    if block.is_question:
                        self._questions[event.message_id, event.index] = (event, [])
                case ev.ContentDelta() if self._questions:
                    growing = self._questions.get((event.message_id, event.index))
                    if growing is not None:
                        growing[1].append(event.text)
                case ev.ContentCompleted():
                    self._questions.pop((event.message_id, event.index), None)
                case ev.MessageCompleted() | ev.MessageDiscarded():
                    self._end_message(event.parent_tool_use_id)
                case _:
                    pass

    def _end_message(self, voice: str | None) -> ev.MessageStarted | None:
        """Forgets what a voice was saying, and returns the beginning of it."""
        begun = self._speaking.pop(voice, None)
        if begun is not None:
            for place in [each for each in self._questions if each[0] == begun.message_id]:
                del self._questions[place]
        return begun

    def hush(self, state: Conversation, *, helpers: bool) -> list[Told]:
        """Nobody says more of what is half said: a listener is told so, when its words are kept.

        `helpers`: of sub-agents, too.
        """
        out: list[Told] = []
        for each in [*self._speaking] if helpers else [None]:
            begun = self._end_message(each)
            if begun is not None:
                who = (begun.provider, begun.session_id, each, begun.agent_id)
                end = ev.MessageDiscarded(*who, begun.message_id, 0, "turn_ended")
                out.append(Spoken([end], self._turn_of(state, each)))
        return out

    def _turn_of(self, state: Conversation, voice: str | None) -> int | None:
        turn_id = state.voices.get(voice) if voice is not None else None
        return state.turn.turn_id if turn_id is None and state.turn is not None else turn_id

    def step(
        self, before: Conversation, after: Conversation, writes: Iterable[e.Moment], now: str
    ) -> list[f.Frame]:
        """What happened in one step, in its order; then the state, title and totals that changed."""
        out: list[f.Frame] = []
        conversation_id = before.conversation_id
        told = status_of(before)
        for write in writes:
            match write:
                case e.AddEntry(sequence=sequence, entry=entry, trace_id=trace_id):
                    out.append(frame_of(entry, sequence, conversation_id, trace_id))
                    meta = known_meta(entry)
                    if meta.message_id is not None and meta.index is not None:
                        self._partials.closed(meta.message_id, meta.index)
                case e.BeginTurn(turn=turn):
                    item = turn.item if turn.origin != "resume" else None
                    waited = any(waiting.item == item for waiting in before.queue)
                    start = p.TurnStart(
                        turn.turn_id,
                        turn.origin,
                        item.queue_id if item and waited else None,
                        item.client_message_id if item else None,
                    )
                    ids = (conversation_id, turn.turn_id, None, now, turn.trace_id)
                    out.append(f.TurnStarted(*ids, start))
                case e.EndTurn(turn_id=turn_id, trace_id=trace_id, end=end):
                    ids = (conversation_id, turn_id, None, now, trace_id)
                    out.append(f.AssistantComplete(*ids, end))
                case e.Tell(status=told):
                    out.append(f.SessionState(conversation_id, None, None, now, None, told))
                case _:
                    pass
        return out + self.changed(before, after, told, now)

    def changed(
        self, before: Conversation, after: Conversation, told: Status, now: str
    ) -> list[f.Frame]:
        """The state, if it is not what was told, and the title and totals, if they are others."""
        out: list[f.Frame] = []
        status = status_of(after)
        ids = (after.conversation_id, None, None, now, None)
        if status != told:
            out.append(f.SessionState(*ids, status))
        title = after.title if after.title != before.title else None
        totals = after.totals if after.totals != before.totals else None
        if title is not None or totals is not None:
            news = f.ConversationUpdated(*ids, p.ConversationNews(title, totals))
            is_renamed = title is not None and before.title is not None
            out.insert(0 if is_renamed else len(out), news)  # a state only repeats the title
        return out

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes from here; whoever follows gets what waits for them, and then this."""
        for subscriber in self._subscribers:
            subscriber.finish(why)

    def drop(self) -> None:
        """What waits for those who follow is not to be told any more."""
        for subscriber in self._subscribers:
            subscriber.begin()

    def publish(self, state: Conversation, told: Iterable[Told]) -> None:
        """Tell everyone what has led to this state."""
        self.state = state
        if not self._subscribers:
            return
        everything = [each if type(each) is Spoken else Sent(each) for each in told]  # type: ignore[arg-type]  # just looked
        frames = [each for each in everything if type(each) is Sent]
        for subscriber in self._subscribers:
            if isinstance(subscriber, Listener):
                subscriber.hear(everything)
            elif frames:
                subscriber.receive(frames)

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

    def state_frame(self, now: str) -> f.Frame:
        """The whole small state."""
        state = self.state
        return f.SessionState(state.conversation_id, None, None, now, None, status_of(state))

    @property
    def partials(self) -> Partials:
        """The blocks that grow, for those who save them."""
        return self._partials

    def open_blocks(self) -> list[OpenBlock]:
        """The blocks that would be left half said if nothing more came."""
        return self._partials.open_blocks()

    def spoken_so_far(self) -> list[Spoken]:
        """The same for a listener: the beginning of each message that goes on, said again."""
        out: list[Spoken] = []
        blocks = self.open_blocks()
        for voice, begun in self._speaking.items():
            events: list[NormalizedStreamEvent] = [begun]
            who = (begun.provider, begun.session_id, voice, begun.agent_id)
            for each in blocks:
                if (each.parent_tool_use_id, each.message_id) == (voice, begun.message_id):
                    place = (*who, each.message_id, each.index)
                    block, kind, tool_use_id = _as_begun(each)
                    events.append(ev.ContentStarted(*place, block))
                    if kind is not None and each.text:
                        events.append(ev.ContentDelta(*place, kind, each.text, tool_use_id))
            for asked, pieces in self._questions.values():
                if asked.message_id == begun.message_id:
                    events.append(asked)
                    if pieces and isinstance(asked.block, ToolUseBlock):
                        place = (*who, asked.message_id, asked.index)
                        text, call = "".join(pieces), asked.block.id
                        events.append(ev.ContentDelta(*place, "tool_input", text, call))
            out.append(Spoken(events, self._turn_of(self.state, voice)))
        return out

    def snapshots(self, now: str) -> list[f.Frame]:
        """Each block that grows at this moment, as far as it has grown."""
        return list(self._partials.snapshots(now))


def _as_begun(block: OpenBlock) -> tuple[ContentBlock, ev.DeltaKind | None, str | None]:
    """A block before its first piece, and what grows in it."""
    match block.block:
        case TextBlock() as text:
            return structs.replace(text, text=""), "text", None
        case ThinkingBlock() as thinking:
            return structs.replace(thinking, thinking=""), "thinking", None
        case ToolUseBlock() as call:
            return call, "tool_input", call.id
        case other:
            return other, None, None


def numbered(frame: f.Frame, sequence: int) -> f.Frame:
    """A frame as one connection counts it."""
    return structs.replace(frame, sequence=sequence)
