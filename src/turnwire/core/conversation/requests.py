"""Questions and permissions: they open, wait, and end exactly once."""

from __future__ import annotations

from typing import Any

from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import CancelTimer, EndRequest, OpenRequestRow, SetTimer
from turnwire.core.error_codes import ErrorCode, Refused
from turnwire.core.status import OpenRequest, Outcome, RequestKind
from turnwire.core.times import iso

__all__ = [
    "cancel_requests",
    "deadline_of",
    "end_request",
    "find_open",
    "open_request",
    "questions_of_turn",
]

_TOO_LATE: dict[Outcome, ErrorCode] = {
    "answered": "DUPLICATE_INPUT_RESPONSE",
    "expired": "INPUT_TIMEOUT",
    "cancelled": "CONVERSATION_INTERRUPTED",
}


def deadline_of(d: Draft, kind: RequestKind) -> str | None:
    """When a request that opens now would run out."""
    options = d.options
    seconds = options.question_seconds if kind == "question" else options.permission_seconds
    return None if seconds is None else iso(d.at + round(seconds * 1000))


def open_request(d: Draft, request: OpenRequest) -> None:
    """A person is needed. The log has told of it already."""
    d.requests.append(request)
    d.writes.append(OpenRequestRow(request))
    d.audit("asked", None, request_id=request.request_id, kind=request.kind)
    seconds = (
        d.options.question_seconds if request.kind == "question" else d.options.permission_seconds
    )
    if seconds is not None:
        d.timers.append(SetTimer(f"deadline:{request.request_id}", d.at + round(seconds * 1000)))
    d.move("request_opened")


def find_open(d: Draft, request_id: str, kind: RequestKind, ended: Outcome | None) -> OpenRequest:
    """The request that somebody answers, or the refusal that says why there is none."""
    for request in d.requests:
        if request.request_id == request_id and request.kind == kind:
            return request
    if ended is not None:
        raise Refused(_TOO_LATE[ended], request_id=request_id)
    raise Refused(
        "INVALID_QUESTION_ID" if d.requests else "NO_PENDING_INPUT", request_id=request_id
    )


def end_request(
    d: Draft, request: OpenRequest, outcome: Outcome, by: str | None, **particulars: Any
) -> None:
    """It is over: in the log, in the inbox, in the audit, and for the state."""
    d.requests.remove(request)
    d.asked = {theirs: ours for theirs, ours in d.asked.items() if ours != request.request_id}
    data = {"request_id": request.request_id, "outcome": outcome, "by": by}
    data |= {name: value for name, value in particulars.items() if value not in (None, [])}
    text = f"{request.kind.capitalize()} {outcome}"
    d.add_event(
        "request_resolved",
        text,
        request.turn_id or d.turns,
        data,
        parent_tool_use_id=request.parent_tool_use_id,
        agent_id=request.agent_id,
    )
    d.writes.append(EndRequest(request.request_id, outcome, by))
    d.audit(outcome, by, request_id=request.request_id, kind=request.kind)
    if request.deadline_at is not None:
        d.timers.append(CancelTimer(f"deadline:{request.request_id}"))
    if not d.requests:
        d.move("last_request_ended")


def cancel_requests(
    d: Draft, by: str, *, kind: RequestKind | None = None, turn_id: int | None = None
) -> None:
    """End those that nobody can answer any more, or should."""
    for request in list(d.requests):
        if kind in (None, request.kind) and turn_id in (None, request.turn_id):
            end_request(d, request, "cancelled", by)


def questions_of_turn(d: Draft, turn_id: int) -> list[OpenRequest]:
    """The open questions that a turn waits for."""
    return [r for r in d.requests if r.kind == "question" and r.turn_id == turn_id]
