"""Questions and permissions: each request opens, waits, and ends exactly once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import (
    CancelTimer,
    Deliver,
    EndRequest,
    OpenRequestRow,
    SetTimer,
)
from turnwire.core.conversation.state import Reply
from turnwire.core.conversation.tools import is_background
from turnwire.core.error_codes import ErrorCode, Refused
from turnwire.core.status import OpenRequest, Outcome, RequestKind
from turnwire.core.times import iso, ms_of

__all__ = [
    "cancel_requests",
    "deadline_of",
    "end_request",
    "find_open",
    "is_waited_for",
    "of_turn",
    "open_request",
    "questions_of_turn",
    "refuse",
]

_TOO_LATE: dict[Outcome, ErrorCode] = {
    "answered": "DUPLICATE_INPUT_RESPONSE",
    "expired": "INPUT_TIMEOUT",
    "cancelled": "CONVERSATION_INTERRUPTED",
}
_DECIDED = {"allow": "allowed", "deny": "denied"}


def deadline_of(d: Draft, kind: RequestKind) -> str | None:
    """Returns the deadline of a request that opens now. Returns None if such requests have none."""
    options = d.options
    seconds = options.question_seconds if kind == "question" else options.permission_seconds
    return None if seconds is None else iso(d.at + round(seconds * 1000))


def open_request(d: Draft, request: OpenRequest) -> None:
    """Opens a request that waits for a person.

    The caller has added its entry to the log already.
    """
    d.requests.append(request)
    d.opened = True
    d.writes.append(OpenRequestRow(request))
    d.audit("asked", None, request_id=request.request_id, kind=request.kind)
    if request.deadline_at is not None:
        due = ms_of(request.deadline_at)
        d.timers.append(SetTimer(f"deadline:{request.request_id}", due))
    d.move("request_opened")
    turn = d.turn
    if turn is not None and turn.stopping is not None and of_turn(d, request):
        # A turn that is being stopped asks no person anything more.
        end_request(d, request, "cancelled", turn.stopping.by or "interrupt")
        refuse(d, request.request_id, request.kind, "The turn is being stopped.")


def find_open(d: Draft, request_id: str, kind: RequestKind, ended: Outcome | None) -> OpenRequest:
    """Returns the open request that a person answers.

    Raises Refused, with the reason, if none is open.
    """
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
    """Ends a request in the log, the inbox, the audit trail and the state."""
    if d.opened:
        d.tell()  # publish a request that was opened in this same step
    d.requests.remove(request)
    d.asked = {theirs: ours for theirs, ours in d.asked.items() if ours != request.request_id}
    data = {"request_id": request.request_id, "outcome": outcome, "by": by}
    data |= {name: value for name, value in particulars.items() if value not in (None, [])}
    d.add_event(
        "request_resolved",
        f"{request.kind.capitalize()} {outcome}",
        request.turn_id,
        data,
        parent_tool_use_id=request.parent_tool_use_id,
        agent_id=request.agent_id,
    )
    d.writes.append(EndRequest(request.request_id, outcome, by))
    action = _DECIDED.get(particulars.get("decision", "")) if outcome == "answered" else None
    d.audit(action or outcome, by, request_id=request.request_id, kind=request.kind)
    d.overdue = [other for other in d.overdue if other != request.request_id]
    if request.deadline_at is not None:
        d.timers.append(CancelTimer(f"deadline:{request.request_id}"))
    if not d.requests:
        reason = d.reason
        d.move("last_request_ended")
        if d.turn is not None:
            if by == "agent":  # withdrawing a request counts as activity of the agent
                d.move("agent_spoke")
        elif d.last_turn is not None:
            d.rest(d.last_turn, reason)


def cancel_requests(d: Draft, by: str, which: Callable[[OpenRequest], bool]) -> None:
    """Cancels the open requests that `which` selects."""
    for request in [request for request in d.requests if which(request)]:
        end_request(d, request, "cancelled", by)


def refuse(d: Draft, request_id: str, kind: str, why: str) -> None:
    """Tells a waiting agent that its request will not be answered."""
    d.commands.append(
        Deliver(d.turn, [Reply(request_id, kind, decision="deny", reason=why)], False)
    )


def is_waited_for(d: Draft, request: OpenRequest) -> bool:
    """Returns whether the turn waits for the request.

    A turn that is still starting has asked nothing.
    """
    turn = d.turn
    return turn is not None and turn.phase != "starting" and turn.turn_id == request.turn_id


def of_turn(d: Draft, request: OpenRequest) -> bool:
    """Returns whether a request ends with the turn.

    Requests of background work outlive the turn.
    """
    tool = d.tools.get(request.tool_use_id)
    background = tool.background if tool else is_background(d, request.parent_tool_use_id)
    # Every foreground call gets its result when the turn ends; a later decision has no effect.
    ends_with_its_call = tool is not None and request.kind == "permission"
    return not background and (ends_with_its_call or is_waited_for(d, request))


def questions_of_turn(d: Draft) -> list[OpenRequest]:
    """Returns the open questions that the turn waits for."""
    return [r for r in d.requests if r.kind == "question" and is_waited_for(d, r)]
