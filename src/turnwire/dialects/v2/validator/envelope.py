"""Checks the seven fields of the envelope, and parses timestamps."""

from __future__ import annotations

import re
from typing import Any, TypeAlias, TypeGuard

__all__ = ["Time", "counts", "envelope_fault", "time_of"]

Time: TypeAlias = tuple[int, ...]  # from the year to nanoseconds: later times compare greater

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
_TRACE = re.compile(r"[0-9a-f]{32}")
_FIELDS = ("type", "conversation_id", "turn_id", "sequence", "timestamp", "trace_id", "payload")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def envelope_fault(value: Any, *, replayed: bool) -> str | None:
    """Returns what is wrong with the envelope of a frame; None if it is valid."""
    if not isinstance(value, dict):
        return "not an object"
    missing = [name for name in _FIELDS if name not in value]
    if missing:
        return f"missing {', '.join(missing)}"
    turn_id, sequence, trace_id = value["turn_id"], value["sequence"], value["trace_id"]
    wrong = {
        "type": not isinstance(value["type"], str),
        "conversation_id": not isinstance(value["conversation_id"], str),
        "turn_id": turn_id is not None and not counts(turn_id),
        "sequence": sequence is not None if replayed else not counts(sequence),
        "timestamp": time_of(value["timestamp"]) is None,
        "trace_id": trace_id is not None and not _is_trace(trace_id),
        "payload": not isinstance(value["payload"], dict),
    }
    return next(
        (f"{name} is {value[name]!r}" for name, is_wrong in wrong.items() if is_wrong), None
    )


def counts(value: Any) -> TypeGuard[int]:
    """Returns whether this is an integer from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_trace(value: Any) -> bool:
    return isinstance(value, str) and _TRACE.fullmatch(value) is not None


def time_of(value: Any) -> Time | None:
    """Parses a timestamp of the protocol. Returns None if it is invalid."""
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59:
        return None
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS[month - 1] + (is_leap and month == 2):
        return None
    return year, month, day, hour, minute, second, int((found[7] or "").ljust(9, "0"))
