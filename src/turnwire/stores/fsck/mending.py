"""A conversation during a check: the findings, and the conversation as a repair would write it.

Checking and repairing are the same work. Each check reports its findings and mends the conversation
in memory. A repair then writes the result.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from msgspec import structs

from turnwire.core.conversation.state import Conversation
from turnwire.core.entries import event_entry
from turnwire.core.message import BlobRef, Message, run_id
from turnwire.core.partials import BlockName
from turnwire.core.status import TurnEnd
from turnwire.stores.fsck.case import Case, Entry, TurnRow
from turnwire.stores.fsck.finding import Finding

__all__ = ["Mending", "event_of", "parent_of", "state_after"]

NO_TRACE = "0" * 31 + "1"  # trace id of a turn whose trace is lost


class Mending:
    """The findings of one conversation, and its mended entries, turns and state."""

    def __init__(self, case: Case, now: str, bad_blobs: Container[str] = ()) -> None:
        self.case = case
        self.now = now
        self._bad_blobs = bad_blobs
        self.findings: list[Finding] = []
        self.entries = case.entries
        self.turns = case.turns
        self.state = case.state or Conversation(case.conversation_id)
        self.dropped_receipts: list[tuple[str, str]] = []
        self.blob_uses = case.blob_uses
        self.aside: list[tuple[str, str]] = []
        self.dropped_partials: list[BlockName] = []

    def say(self, kind: str, what: str, place: str | None = None) -> None:
        """Reports a finding."""
        self.findings.append(Finding(kind, what, self.case.conversation_id, place))

    def set_aside(self, place: str, content: str | None) -> None:
        """Keeps content that a repair removes, exactly as the database had it."""
        if content is not None:
            self.aside.append((place, content))

    def remember(self, **changes: Any) -> None:
        """Changes fields of the conversation's state."""
        self.state = structs.replace(self.state, **changes)

    def find_blob(self, blob_id: str) -> BlobRef | None:
        """Returns the blob's own type and size; None if the blob is missing, damaged or empty."""
        found = self.case.blobs.get(blob_id)
        return (
            found if found is not None and found.size and blob_id not in self._bad_blobs else None
        )

    # --- turns ----------------------------------------------------------------------------------

    @property
    def open_turns(self) -> set[int]:
        """The turn that runs or waits according to the state."""
        return {self.state.turn.turn_id} if self.state.turn else set()

    def has_ended(self, turn_id: int | None) -> bool:
        """Returns whether a turn has ended."""
        turn = None if turn_id is None else self.turns.get(turn_id)
        return turn is not None and turn.ended_at is not None

    def trace_of(self, turn_id: int | None) -> str | None:
        """Returns the trace id of a turn, from its row, its entries or the state."""
        if turn_id is None:
            return None
        turn = self.turns.get(turn_id)
        if turn is not None and turn.trace_id:
            return turn.trace_id
        of_turn = (e.trace_id for e in self.entries if e.turn_id == turn_id and e.trace_id)
        return next(of_turn, None) or self.state.traces.get(turn_id) or NO_TRACE

    def end_turn(self, turn: TurnRow, end: TurnEnd, last: Entry | None) -> None:
        """Ends a turn after this entry."""
        turn.end, turn.last, turn.ended_at, turn.is_changed = end, last, self.now, True
        if turn.turn_id >= (self.state.last_turn_id or 0):
            self.remember(last_turn=end, last_turn_id=turn.turn_id)
            if self.state.turn is None:
                self.remember(state=state_after(end))

    # --- entries --------------------------------------------------------------------------------

    def run(self, turn_id: int | None) -> str:
        """Returns the run id of a turn."""
        name = self.case.conversation_id
        return f"{name}:" if turn_id is None else run_id(name, turn_id)

    def note(self, subtype: str, text: str, turn_id: int | None, **data: Any) -> Message:
        """Returns an entry that describes the damage."""
        told = {"subtype": subtype, **data}
        return event_entry("system", text, run_id=self.run(turn_id), timestamp=self.now, data=told)

    def put_before(self, place: Entry, message: Message, turn_id: int | None) -> Entry:
        """Inserts a new entry before another."""
        new = Entry(message, turn_id, self.trace_of(turn_id), is_new=True, is_changed=True)
        self.entries.insert(self.entries.index(place), new)
        return new

    def put_at_end(self, message: Message, turn_id: int | None) -> Entry:
        """Adds an entry at the end of its turn if that has ended, else at the end of the log."""
        new = Entry(message, turn_id, self.trace_of(turn_id), is_new=True, is_changed=True)
        turn = self.turns.get(turn_id) if turn_id is not None else None
        if turn is None or not self.has_ended(turn_id):
            self.entries.append(new)
            return new
        # A restored entry of the turn may stand in place of a lost one, behind the end of the turn.
        own = (n for n, e in enumerate(self.entries) if e is turn.last or e.turn_id == turn_id)
        place = max(own, default=-1) + 1
        self.entries.insert(place, new)
        # Later turns do not end before the new entry. Earlier turns stay.
        before = {id(entry) for entry in self.entries[:place]}
        for other in self.turns.values():
            ends_before = other.last is None or id(other.last) in before
            if other.turn_id > turn.turn_id and self.has_ended(other.turn_id) and ends_before:
                other.last, other.is_changed = new, True
        turn.last, turn.is_changed = new, True
        return new

    def replace(self, entry: Entry, message: Message) -> None:
        """Replaces the message of an entry."""
        entry.message, entry.is_changed = message, True


def state_after(end: TurnEnd) -> str:
    """Returns the state of a conversation whose last turn ended this way."""
    return "interrupted" if end.interrupted else "error" if end.is_error else "active"


def event_of(entry: Entry) -> tuple[str, dict[str, Any]]:
    """Returns the name and data of an entry's event; both are empty if the entry has none."""
    meta = entry.message.meta if entry.message is not None else {}
    name, data = meta.get("messageType"), meta.get("data")
    return name if isinstance(name, str) else "", data if isinstance(data, dict) else {}


def parent_of(entry: Entry) -> str | None:
    """Returns the id of the call whose sub-agent wrote the entry; None for the agent itself."""
    parent = entry.message.meta.get("parentToolUseId") if entry.message is not None else None
    return parent if isinstance(parent, str) else None
