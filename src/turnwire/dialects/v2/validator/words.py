"""Checks enumerations: a client accepts any value, but a server must write a known one."""

from __future__ import annotations

from typing import Any, get_args

from turnwire.core.events import UserOrigin
from turnwire.core.status import Outcome, RequestKind, RunState, Status, TurnEnd, TurnOrigin
from turnwire.dialects.v2 import payloads as p

__all__ = ["word_fault"]

_LISTS: dict[type, dict[str, Any]] = {
    Status: {"state": RunState},
    TurnEnd: {"origin": TurnOrigin},
    p.Accepted: {"outcome": p.StopOutcome},
    p.Interrupted: {"queue": p.QueueFate},
    p.RequestResolved: {"outcome": Outcome, "decision": p.Decision},
    p.Reset: {"reason": p.ResetReason},
    p.TurnStart: {"origin": TurnOrigin},
    p.UserWords: {"origin": UserOrigin},
}


def word_fault(payload: Any) -> str | None:
    """Returns the first field with an unknown value, and the value; None if all are known."""
    for name, words in _LISTS.get(type(payload), {}).items():
        value = getattr(payload, name)
        if value is not None and value not in get_args(words):
            return f"{name} is {value!r}"
    if isinstance(payload, Status):
        for request in payload.requests:
            if request.kind not in get_args(RequestKind):
                return f"kind is {request.kind!r}"
        return word_fault(payload.last_turn)
    return None
