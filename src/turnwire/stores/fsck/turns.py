"""Checks of turns: each one runs, waits, or has one end."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.entries import event_entry
from turnwire.core.status import TurnEnd, TurnError
from turnwire.stores.fsck.case import Entry, TurnRow
from turnwire.stores.fsck.mending import Mending, event_of, state_after
from turnwire.stores.fsck.numbers import MANY

__all__ = ["mend_turns", "place_ends"]


def mend_turns(m: Mending) -> None:
    """Finds the last entry of each turn, and ends each turn that lacks an end."""
    newest = max([0, *m.turns, *(entry.turn_id or 0 for entry in m.entries)])
    if not newest <= m.state.turns <= newest + MANY:
        if m.case.state is not None:
            m.say(
                "state_wrong", f"The log has turn {newest}, but the state counts {m.state.turns}."
            )
        m.remember(turns=newest)
    latest = {entry.turn_id: entry for entry in m.entries}  # the last entry of each turn
    by_number = {entry.sequence: entry for entry in m.entries}
    last: Entry | None = None
    for turn_id in range(1, m.state.turns + 1):
        last = _mend(m, turn_id, latest.get(turn_id) or last, by_number)
    if m.case.state is None:
        _remember_last(m)
    _mend_stops(m)


def _mend_stops(m: Mending) -> None:
    """Adds an `interrupted` entry for each interrupted turn that lacks one."""
    told = {entry.turn_id for entry in m.entries if event_of(entry)[0] == "interrupted"}
    for turn in list(m.turns.values()):
        if turn.end is None or not turn.end.interrupted or turn.turn_id in told:
            continue
        m.say(
            "stop_missing", "The turn was interrupted, but the log has no entry of it.", _at(turn)
        )
        message = event_entry(
            "interrupted",
            "Stopped: lost",
            run_id=m.run(turn.turn_id),
            timestamp=m.now,
            data={"reason": "lost", "acknowledged": False, "forced": False},
        )
        lost = [e for e in m.entries if e.is_lost and e.turn_id == turn.turn_id]
        if lost:
            m.replace(lost[-1], message)
            lost[-1].is_lost = False
        else:
            m.put_at_end(message, turn.turn_id)


def _mend(
    m: Mending, turn_id: int, latest: Entry | None, by_number: dict[int, Entry]
) -> Entry | None:
    """Mends one turn, and returns the entry after which the next one begins."""
    place = f"turn {turn_id}"
    turn = m.turns.get(turn_id)
    is_open = turn_id in m.open_turns
    if turn is None:
        turn = m.turns[turn_id] = TurnRow(turn_id, m.trace_of(turn_id), is_changed=True)
        if is_open:
            m.say("turn_wrong", "The turn runs or waits, but has no row.", place)
            turn.origin = m.state.turn.origin if m.state.turn else "user"
            turn.started_at = m.now
    if turn.ended_at is None:
        if not is_open:
            m.say("end_missing", "The turn neither runs nor waits, but has no end.", place)
            m.end_turn(turn, _lost_end(m, turn), latest)
        return turn.last or latest
    turn.last = by_number.get(turn.after or 0)
    after = turn.end.after_sequence if turn.end is not None else None
    if turn.end is None or after != turn.after or (turn.last is None and after != 0):
        m.say("turn_wrong", "The end of the turn is unreadable, or lies beyond the log.", place)
        m.set_aside(place, turn.unreadable)
        m.end_turn(turn, turn.end or _lost_end(m, turn), latest)
    if is_open:
        m.say("state_wrong", "The turn has ended, but the state has it open.", place)
        _forget(m, turn)
    return turn.last or latest


def _at(turn: TurnRow) -> str:
    return f"turn {turn.turn_id}"


def _lost_end(m: Mending, turn: TurnRow) -> TurnEnd:
    """Returns the end of a turn whose true end is lost.

    The log may still say that it was interrupted.
    """
    stopped = any(
        entry.turn_id == turn.turn_id and event_of(entry)[0] == "interrupted" for entry in m.entries
    )
    error = TurnError("end_lost", "How this turn ended was lost.")
    return TurnEnd(True, stopped, error=error, origin=turn.origin or "user")


def _forget(m: Mending, turn: TurnRow) -> None:
    """Removes an ended turn from the state."""
    state, end = m.state, turn.end
    assert end is not None
    m.remember(turn=None, replies=[], state=state_after(end))
    if turn.turn_id >= (state.last_turn_id or 0):
        m.remember(last_turn=end, last_turn_id=turn.turn_id)


def _remember_last(m: Mending) -> None:
    """Sets the last turn of a rebuilt state."""
    ended = [turn for turn in m.turns.values() if turn.end is not None]
    if ended:
        last = max(ended, key=lambda turn: turn.turn_id)
        assert last.end is not None
        m.remember(last_turn=last.end, last_turn_id=last.turn_id, state=state_after(last.end))
    m.remember(traces={turn.turn_id: m.trace_of(turn.turn_id) for turn in ended[-1:]})


def place_ends(m: Mending) -> None:
    """Updates the sequence number at which each turn ended, after entries have moved."""
    numbers = {id(entry): number for number, entry in enumerate(m.entries, 1)}
    for turn in m.turns.values():
        if turn.end is None or turn.ended_at is None:
            continue
        after = 0 if turn.last is None else numbers[id(turn.last)]
        if turn.end.after_sequence != after or turn.after != after:
            turn.end = structs.replace(turn.end, after_sequence=after)
            turn.after, turn.is_changed = after, True
        if turn.turn_id == m.state.last_turn_id and m.state.last_turn != turn.end:
            m.remember(last_turn=turn.end)
