"""Checks of sequence numbers: no gaps, every entry is readable, and the head is the last one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnwire.core.conversation.state import Conversation
from turnwire.core.message import to_json
from turnwire.stores.fsck.case import Entry
from turnwire.stores.fsck.mending import Mending

__all__ = ["MANY", "mend_numbers"]

MANY = 100_000  # a head that lies further beyond the last entry is itself wrong


def mend_numbers(m: Mending) -> None:
    """Replaces unreadable entries by notes, fills gaps, and corrects the head."""
    if m.case.state is None:
        m.say("state_unreadable", "The state of the conversation cannot be read.")
        m.set_aside("state", m.case.unreadable)
        m.state = Conversation(m.case.conversation_id, head=m.case.head, title=m.case.title)
    for entry in m.entries:
        told = entry.message.meta.get("turnId") if entry.message is not None else entry.turn_id
        if entry.message is None:
            m.say("entry_unreadable", "The entry cannot be read.", f"entry {entry.sequence}")
            m.set_aside(f"entry {entry.sequence}", entry.unreadable)
            _lose(m, entry, entry.sequence, entry.sequence)
        elif told != entry.turn_id:
            m.say(
                "entry_unreadable",
                f"The entry belongs to turn {told}, its row to turn {entry.turn_id}.",
                f"entry {entry.sequence}",
            )
            whole = to_json(entry.message)
            note = m.note(
                "entry_misplaced", "An entry of another turn.", entry.turn_id, entry=whole
            )
            m.replace(entry, note)
    if m.case.is_other_fork:
        m.say("fork_wrong", "The fork does not begin with the log of its parent.")
    last = m.entries[-1].sequence if m.entries else 0
    heads = {"the conversation": m.case.head, "its state": m.state.head}
    for who, head in heads.items():
        if head < last or head > last + MANY:
            m.say("head_wrong", f"The log ends at {last}, but {who} says {head}.")
    if m.case.head != m.state.head and m.case.state is not None:
        said = (
            f"The conversation says that the log ends at {m.case.head}, its state {m.state.head}."
        )
        m.say("head_wrong", said)
    _fill(m, max([last, *(head for head in heads.values() if head <= last + MANY)]))


def _fill(m: Mending, head: int) -> None:
    by_number = {entry.sequence: entry for entry in m.entries}
    missing = [number for number in range(1, head + 1) if number not in by_number]
    for first, last in _runs(missing):
        many = first != last
        where = f"entries {first} to {last}" if many else f"entry {first}"
        m.say("gap", f"{where.capitalize()} {'are' if many else 'is'} missing.", where)
        before, after = by_number.get(first - 1), by_number.get(last + 1)
        turn_id = _turn_between(m, before, after, last)
        for number in range(first, last + 1):
            lost = Entry(None, turn_id, m.trace_of(turn_id), number, is_new=True)
            _lose(m, lost, first, last)
            by_number[number] = lost
    m.entries[:] = [by_number[number] for number in sorted(by_number)]


def _lose(m: Mending, entry: Entry, first: int, last: int) -> None:
    where = f"Entries {first} to {last} were" if first != last else f"Entry {first} was"
    text = f"{where} lost."
    m.replace(entry, m.note("entries_lost", text, entry.turn_id, first=first, last=last))
    entry.is_lost = True


def _turn_between(m: Mending, before: Entry | None, after: Entry | None, number: int) -> int | None:
    """Returns the turn that lost entries belonged to; None if that is not certain."""
    turn_id = before.turn_id if before else None
    if turn_id is None:
        return None
    if after is not None and after.turn_id == turn_id:
        return turn_id
    turn = m.turns.get(turn_id)
    reaches = turn is not None and turn.after is not None and turn.after >= number
    return turn_id if reaches or turn_id in m.open_turns else None


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yields runs of consecutive numbers as (first, last)."""
    first = last = None
    for number in numbers:
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = number
    if first is not None and last is not None:
        yield first, last
