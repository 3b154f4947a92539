"""What a channel publishes: what happened in a conversation, in order, in the words of no protocol."""

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


# --- what the log keeps ---------------------------------------------------------------------------


class EntryAdded(_Happening, frozen=True):
    """An entry of the log."""

    sequence: int
    entry: Message
    trace_id: str | None


class TurnEnded(_Happening, frozen=True):
    """A turn is over."""

    at: str  # ISO 8601, UTC; the same in all of these
    turn_id: int
    trace_id: str | None
    end: TurnEnd


Kept: TypeAlias = EntryAdded | TurnEnded


# --- what is only told ----------------------------------------------------------------------------


class TurnBegan(_Happening, frozen=True):
    """A turn begins, or goes on after its question was answered."""

    at: str
    turn_id: int
    trace_id: str | None
    origin: str  # a TurnOrigin
    queue_id: str | None = None  # the queued message that it takes up
    client_message_id: str | None = None  # what the sender of that message calls it


class StateChanged(_Happening, frozen=True):
    """The small state is another: the queue, the open requests, the turn, ..."""

    at: str
    status: Status


class Changed(_Happening, frozen=True):
    """The title or the totals are others. None: as before."""

    at: str
    title: str | None
    totals: Totals | None


class AgentSpoke(Struct, frozen=True):
    """Events of one voice of the agent, in order. Pieces that were ready together are joined.

    What they finish was published before, as entries. `growth` is what these events mean to the
    blocks that grow; a protocol may read either.
    """

    at: str
    turn_id: int | None
    trace_id: str | None
    events: list[NormalizedStreamEvent]
    growth: list[Growth]


Happening: TypeAlias = EntryAdded | TurnEnded | TurnBegan | StateChanged | Changed | AgentSpoke


class Now(Struct, frozen=True):
    """One moment of a conversation, for a follower that begins there."""

    at: str
    head: int  # the number of the newest entry
    status: Status
    growing: Growing
