"""What is still open in a conversation: tool calls without a result, and what waits for a person."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from msgspec import Struct

from turnwire.core.status import OpenRequest
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.requests import open_permission, open_question

__all__ = ["Call", "Pending"]

_MAX_KNOWN = 4096  # tool calls whose turn is remembered, for background work that speaks later


class Call(Struct, frozen=True, gc=False):
    """A tool call that has no result yet."""

    tool_use_id: str
    turn_id: int | None
    parent_tool_use_id: str | None
    agent_id: str | None
    tool_name: str
    input: Any


class Pending:
    """Open calls and open requests. Nothing is decided here."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._requests: dict[str, OpenRequest] = {}
        self._names: dict[str, str] = {}  # the agent's own ids of open questions
        self._turns: OrderedDict[str, int] = OrderedDict()

    @property
    def requests(self) -> list[OpenRequest]:
        """Those that wait, oldest first."""
        return list(self._requests.values())

    def turn_of(self, tool_use_id: str) -> int | None:
        """The turn in which a call was made: what its sub-agent says belongs there."""
        return self._turns.get(tool_use_id)

    # --- opening ------------------------------------------------------------------------------

    def called(self, call: Call) -> None:
        """A tool was called."""
        self._calls[call.tool_use_id] = call
        if call.turn_id is not None:
            self._turns[call.tool_use_id] = call.turn_id
            if len(self._turns) > _MAX_KNOWN:
                self._turns.popitem(last=False)

    def question(self, asked: p.RequestInput, turn_id: int | None) -> None:
        """A question was asked; it is a call as well."""
        self.called(
            Call(
                asked.question_id,
                turn_id,
                asked.parent_tool_use_id,
                asked.agent_id,
                asked.tool_name,
                asked.input,
            )
        )
        self._requests[asked.question_id] = open_question(asked, turn_id)

    def permission(self, asked: p.PermissionAsked, turn_id: int | None) -> None:
        """A permission was asked for."""
        self._requests[asked.request_id] = open_permission(asked, turn_id)

    def named(self, own_id: str, question_id: str) -> None:
        """The agent calls this question by an id of its own."""
        if question_id in self._requests:
            self._names[own_id] = question_id

    def unasked(self, tool_use_id: str) -> Call | None:
        """An open call about which nobody has been asked."""
        if any(each.tool_use_id == tool_use_id for each in self._requests.values()):
            return None
        return self._calls.get(tool_use_id)

    # --- ending -------------------------------------------------------------------------------

    def answered(self, tool_use_id: str) -> list[OpenRequest]:
        """The call has its result. What still waited for it has to end."""
        self._calls.pop(tool_use_id, None)
        if not self._requests:
            return []
        return [each for each in self._requests.values() if each.tool_use_id == tool_use_id]

    def find(self, request_id: str) -> OpenRequest | None:
        """An open request, by its id or by the agent's own."""
        return self._requests.get(self._names.get(request_id, request_id))

    def resolved(self, request: OpenRequest) -> None:
        """The request has ended."""
        del self._requests[request.request_id]
        self._names = {own: q for own, q in self._names.items() if q != request.request_id}

    def of_the_turn(self) -> tuple[list[OpenRequest], list[Call]]:
        """What ends with the turn: all but what works in the background."""
        if not self._calls and not self._requests:  # almost always
            return [], []
        requests = [
            each for each in self._requests.values() if not self._is_behind(each.parent_tool_use_id)
        ]
        calls = [
            each for each in self._calls.values() if not self._is_behind(each.parent_tool_use_id)
        ]
        return requests, calls

    def _is_behind(self, parent: str | None) -> bool:
        """Whether this voice goes on without the turn: the call it works for has its result."""
        while parent is not None:
            call = self._calls.get(parent)
            if call is None:
                return True
            parent = call.parent_tool_use_id
        return False
