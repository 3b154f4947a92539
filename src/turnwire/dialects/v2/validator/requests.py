"""Checks requests: each opens once and ends once, as it was answered."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.conversation.rules import all_for_session
from turnwire.core.error_codes import ErrorCode
from turnwire.core.status import OpenRequest, RequestKind
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.validator.connection import Say
from turnwire.dialects.v2.validator.envelope import time_of

__all__ = ["Answer", "Asked", "RequestCheck"]

_TOO_LATE: dict[str, ErrorCode] = {
    "answered": "DUPLICATE_INPUT_RESPONSE",
    "expired": "INPUT_TIMEOUT",
    "cancelled": "CONVERSATION_INTERRUPTED",
}
_WAYS = {"question": ("tool_result", "prompt", None), "permission": ("decision", "prompt", None)}


class Asked(Struct, frozen=True, gc=False):
    """An open request."""

    kind: RequestKind
    turn_id: int | None
    tool_use_id: str
    message_sequence: int
    deadline_at: str | None
    required: bool
    is_own: bool  # from the agent itself, not from a sub-agent


class Answer(Struct, frozen=True, gc=False):
    """An acknowledged answer of this client."""

    said: c.QuestionAnswer | c.PermissionChoice
    delivered_as: str | None


class RequestCheck:
    """Checks the requests of one log."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.whole = True  # the log is known from its start
        self.open: dict[str, Asked] = {}
        self._ended: dict[str, str] = {}  # request id -> outcome
        self._answers: dict[str, Answer] = {}

    # --- in the log ---------------------------------------------------------------------------

    def asked(self, frame: f.AssistantRequestInput | f.AssistantPermissionRequest) -> None:
        """Opens a question or a permission request, live or replayed."""
        said = frame.payload
        is_question = isinstance(said, p.RequestInput)
        request_id = said.question_id if isinstance(said, p.RequestInput) else said.request_id
        if request_id in self.open or request_id in self._ended:
            self._say("request_twice", request_id)
        if said.deadline_at is not None and time_of(said.deadline_at) is None:
            self._say("bad_payload", f"deadline_at of {request_id} is {said.deadline_at!r}")
        self.open[request_id] = Asked(
            "question" if is_question else "permission",
            frame.turn_id,
            said.question_id if isinstance(said, p.RequestInput) else said.tool_use_id,
            said.message_sequence,
            said.deadline_at,
            said.required if isinstance(said, p.RequestInput) else True,
            said.parent_tool_use_id is None,
        )

    def resolved(self, frame: f.AssistantRequestResolved) -> None:
        """Checks the end of a request, live or replayed."""
        end = frame.payload
        request = self.open.pop(end.request_id, None)
        answer = self._answers.pop(end.request_id, None)
        if request is None:
            if self.whole or end.request_id in self._ended:
                self._say("resolved_not_open", end.request_id)
        elif fault := _fault(request, end, frame.timestamp) or _other(end, answer):
            self._say("wrong_resolution", f"{end.request_id}: {fault}")
        self._ended[end.request_id] = end.outcome

    def waits(self, tool_use_id: str) -> bool:
        """Returns whether an open request belongs to this tool call."""
        return any(request.tool_use_id == tool_use_id for request in self.open.values())

    def turn_ended(self, turn_id: int) -> None:
        """Checks that no request of the agent itself is open at the end of its turn."""
        left = [
            request_id
            for request_id, request in self.open.items()
            if request.turn_id == turn_id and request.is_own
        ]
        for request_id in left:
            self._say("request_left_open", f"{request_id} when turn {turn_id} ended")

    # --- answers to this client ---------------------------------------------------------------

    def accepted(self, request_id: str, answer: Answer) -> None:
        """Stores an acknowledged answer of this client."""
        self._answers[request_id] = answer

    def refusal(self, request_id: str, *, is_empty: bool) -> ErrorCode | None:
        """Returns the refusal that an answer must get; None if it has none, or this is unknown."""
        if request_id in self._answers:  # acknowledged: the request ends next
            return _TOO_LATE["answered"]
        if request_id in self.open:
            return "INPUT_REQUIRED" if is_empty and self.open[request_id].required else None
        if request_id in self._ended:
            return _TOO_LATE[self._ended[request_id]]
        if not self.whole:
            return None
        return "INVALID_QUESTION_ID" if self.open else "NO_PENDING_INPUT"

    # --- the state ----------------------------------------------------------------------------

    def listed(self, requests: list[OpenRequest]) -> bool:
        """Checks that session.state lists all open requests, the oldest first."""
        ids = [request.request_id for request in requests]
        unknown = [each for each in ids if each not in self.open]
        missing = [each for each in self.open if each not in ids]
        wrong = [
            request.request_id
            for request in requests
            if (asked := self.open.get(request.request_id)) and not _is(request, asked)
        ]
        known = [each for each in ids if each in self.open]
        if missing or wrong or (unknown and (self.whole or any(e in self._ended for e in unknown))):
            said = ", ".join(sorted({*missing, *unknown, *wrong}))
            self._say("wrong_requests", f"{said} missing, not open, or different from the request")
            return False
        if known != list(self.open):
            self._say("wrong_requests", f"{', '.join(ids)}: not the oldest first")
            return False
        return True


def _fault(request: Asked, end: p.RequestResolved, now: str) -> str | None:
    """Returns what is wrong with the end of a request; None if it is correct."""
    if end.outcome == "expired":
        deadline = time_of(request.deadline_at)
        if request.deadline_at is None:
            return "it has no deadline"
        if deadline is not None and (time_of(now) or deadline) < deadline:
            return f"it expired before {request.deadline_at}"
    if end.delivered_as not in _WAYS[request.kind]:
        return f"a {request.kind} is not delivered as {end.delivered_as}"
    if request.kind == "question":
        if end.decision is not None:
            return "a question has no decision"
        if end.outcome == "answered" and end.by is not None and end.answer is None:
            return "it was answered, but has no answer"
    elif end.outcome == "answered" and end.by is not None and end.decision is None:
        return "it was answered, but has no decision"
    elif end.outcome == "expired" and end.decision != "deny":
        return "a permission must be denied at its deadline"
    return None


def _other(end: p.RequestResolved, answer: Answer | None) -> str | None:
    """Returns how the end differs from this client's answer; None if they agree."""
    if answer is None:
        return None
    said = answer.said
    if end.outcome != "answered":
        return f"it was answered, not {end.outcome}"
    if end.delivered_as != answer.delivered_as:
        return "delivered_as differs from its ack"
    if isinstance(said, c.QuestionAnswer):
        return None if end.answer == said.answer else "it has a different answer"
    asked = (said.decision, said.reason, said.updated_input)
    if asked != (end.decision, end.reason, end.updated_input):
        return "it has a different decision"
    # A rule of a user who is not the owner may be stored for the session only.
    if end.remembered not in (said.remember, all_for_session(said.remember)):
        return "it has different remembered rules"
    return None


def _is(listed: OpenRequest, asked: Asked) -> bool:
    return (listed.kind, listed.tool_use_id, listed.deadline_at) == (
        asked.kind,
        asked.tool_use_id,
        asked.deadline_at,
    ) and (listed.turn_id, listed.message_sequence) == (asked.turn_id, asked.message_sequence)
