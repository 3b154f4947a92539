"""Writes one turn as the stream of another protocol, for one reader.

Each protocol has a subclass of `TurnWriter`. The base class finds the frames of the turn, and knows
what the reader has of them. The frames may come live, replayed, or both: a block that was streamed
is not sent again when its entry is replayed. A stream that continues an earlier one takes the
frames from the beginning of the turn, and sends only what later entries become.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, Status, TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.turn_streams.growing_blocks import GrowingBlocks
from turnwire.turn_streams.place import log_mark

__all__ = ["Handlers", "TurnWriter"]

Event = TypeVar("Event")  # of the protocol
Handlers: TypeAlias = Mapping[type, Callable[[Any, list[Event]], None]]


class TurnWriter(ABC, Generic[Event]):
    """The stream of one turn. A subclass appends the events of its protocol to `out`."""

    def __init__(self, reader: ReplyReader, *, after: int = 0) -> None:
        """`reader` finds the turn and its end.

        `after`: the client has the events of all entries up to this number.
        """
        reader.keeps_frames = False
        self.is_over = False
        self.after = after
        self.last = 0  # the number of the newest entry of the turn
        self.conversation_id = ""
        self.blocks = GrowingBlocks()
        self._reader = reader
        self._is_begun = False
        self._log = ""  # the mark of the log in ids of events
        self._handlers = self.handlers()

    @property
    def turn_id(self) -> int | None:
        """The turn; None while its message is queued."""
        return self._reader.turn_id

    def event_id(self, number: int) -> str:
        """Returns the id of the last event of an entry; see `place.py`."""
        return f"{number}{self._log}"

    # --- what a protocol defines ------------------------------------------------------------------

    @abstractmethod
    def handlers(self) -> Handlers[Event]:
        """Returns a method for each kind of frame that the protocol shows; it takes the payload."""

    @abstractmethod
    def begin(self, turn_id: int, out: list[Event]) -> None:
        """Begins the stream. Called once, before the first other event."""

    def status(self, status: Status, out: list[Event]) -> None:
        """Takes the state of the conversation, which may belong to another turn."""

    @abstractmethod
    def wait(self, turn_id: int, requests: list[OpenRequest], out: list[Event]) -> None:
        """Ends the stream, because the turn waits for a person."""

    @abstractmethod
    def end(self, turn_id: int, end: TurnEnd, out: list[Event]) -> None:
        """Ends the stream with the turn. `drop` was called for each block that still grew."""

    @abstractmethod
    def drop(self, block_id: str, out: list[Event]) -> None:
        """Ends a block that will never be finished, with `blocks.drop`."""

    @abstractmethod
    def error(self, refused: Refused) -> list[Event]:
        """Returns the events that end the stream early."""

    # --- what a connection calls ------------------------------------------------------------------

    def feed(self, frame: f.Frame | f.UnknownFrame) -> list[Event]:
        """Returns the events of a frame.

        Raises Refused if the message was removed from the queue, because its turn never starts.
        """
        if self.is_over or isinstance(frame, f.UnknownFrame):
            return []
        self.conversation_id = frame.conversation_id or self.conversation_id
        reply = self._reader.feed(frame)
        if isinstance(frame, f.SessionConnected | f.SessionResumed):
            self._log = log_mark(frame.payload.epoch, frame.conversation_id)
        if isinstance(frame, f.MessageReplay):
            inner = frame.payload.event
            if isinstance(inner, f.UnknownFrame):
                return []
            frame = inner
        turn_id = self._reader.turn_id
        out: list[Event] = []
        if isinstance(frame, f.SessionState):
            self._state(turn_id, frame.payload, out)
            return out
        if turn_id is None or frame.turn_id != turn_id:
            return []
        if reply is not None and reply.end is not None:
            self._end(turn_id, reply.end, out)
            return out
        payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
        handle = self._handlers.get(type(frame))
        if handle is not None:
            handle(payload, out)
        number: int | None = getattr(payload, "message_sequence", None)
        self.last = max(self.last, number or 0)
        if number is not None and number <= self.after:
            return []  # the client has them
        if not out and not isinstance(frame, f.TurnStarted):
            return []
        first: list[Event] = []
        self._begin(turn_id, first)
        return first + out

    def is_next_piece(self, frame: f.Frame | f.UnknownFrame) -> bool:
        """Notes a piece of a block that was begun. Returns False if `feed` has to take the frame.

        The bytes of such a piece are the same for every reader: see `StreamSent.delta`.
        """
        payload = getattr(frame, "payload", None)
        if not isinstance(payload, p.Chunk | p.Thinking | p.ToolCall) or self.is_over:
            return False
        return self.blocks.is_next_piece(payload)

    def refuse(self, refused: Refused) -> list[Event]:
        """Returns the events that end the stream early, with an error."""
        self.is_over = True
        return self.error(refused)

    # --- the turn ---------------------------------------------------------------------------------

    def _begin(self, turn_id: int, out: list[Event]) -> None:
        if not self._is_begun:
            self._is_begun = True
            self.begin(turn_id, out)

    def _state(self, turn_id: int | None, status: Status, out: list[Event]) -> None:
        if turn_id is not None and status.turn_id == turn_id:
            self._begin(turn_id, out)
        self.status(status, out)
        requests = [each for each in status.requests if each.turn_id == turn_id]
        if turn_id is not None and requests and not self.blocks.open:
            self.is_over = True
            self.wait(turn_id, requests, out)

    def _end(self, turn_id: int, end: TurnEnd, out: list[Event]) -> None:
        self.is_over = True
        self._begin(turn_id, out)
        for block_id in self.blocks.open:
            self.drop(block_id, out)
        self.end(turn_id, end, out)
