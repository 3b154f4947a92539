"""The happenings that a channel publishes, in order and independent of any protocol."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.growing import Growing, Growth
from turnwire.core.message import Message
from turnwire.core.status import Status, Totals, TurnEnd

__all__ = [
    "AgentSpoke",
    "Changed",
    "EntryAdded",
    "Happening",
    "Kept",
    "Now",
    "StateChanged",
    "TurnBegan",
    "TurnEnded",
]


class _Happening(Struct, frozen=True, gc=False):
    pass


# --- stored in the log ----------------------------------------------------------------------------


class EntryAdded(_Happening, frozen=True):
    """An entry was added to the log."""

    sequence: int
    entry: Message
    trace_id: str | None


class TurnEnded(_Happening, frozen=True):
    """A turn has ended."""

    at: str  # ISO 8601, UTC; the same in all happenings
    turn_id: int
    trace_id: str | None
    end: TurnEnd


Kept: TypeAlias = EntryAdded | TurnEnded


# --- only published -------------------------------------------------------------------------------


class TurnBegan(_Happening, frozen=True):
    """A turn begins, or resumes after its question was answered."""

    at: str
    turn_id: int
    trace_id: str | None
    origin: str  # a TurnOrigin
    queue_id: str | None = None  # the queued message that it starts with
    client_message_id: str | None = None  # the sender's own id of that message


class StateChanged(_Happening, frozen=True):
    """The status has changed: the queue, the open requests, the turn, ..."""

    at: str
    status: Status


class Changed(_Happening, frozen=True):
    """The title or the totals have changed. None means unchanged."""

    at: str
    title: str | None
    totals: Totals | None


class AgentSpoke(Struct, frozen=True):
    """Events of the agent or of one sub-agent, in order, with adjacent pieces joined.

    The blocks that these events finish were published before, as entries. `growth` is the effect of
    the events on unfinished blocks; a protocol may read either.
    """

    at: str
    turn_id: int | None
    trace_id: str | None
    events: list[NormalizedStreamEvent]
    growth: list[Growth]


Happening: TypeAlias = EntryAdded | TurnEnded | TurnBegan | StateChanged | Changed | AgentSpoke


class Now(Struct, frozen=True):
    """A snapshot of a conversation, for a follower that starts at this moment."""

    at: str
    head: int  # the number of the newest entry
    status: Status
    growing: Growing
