"""The requests, tools and turns of an imported conversation, and how open ones are ended."""

from __future__ import annotations

import uuid
from typing import Any

from msgspec import convert, structs

from turnwire.core.conversation import step
from turnwire.core.conversation.effects import (
    AddEntry,
    EndRequest,
    EndTurn,
    OpenRequestRow,
    Write,
)
from turnwire.core.conversation.inputs import AgentLost
from turnwire.core.conversation.state import Conversation, OpenTool, Turn
from turnwire.core.message import ToolCallPart, ToolResultPart, known_meta
from turnwire.core.questions import questions_of
from turnwire.core.status import OpenRequest, Outcome, TurnEnd, TurnError, TurnOrigin
from turnwire.ports import StoredEntry

__all__ = ["LeftOpen"]

_REASON = "import"
_END = TurnEnd(True, True, error=TurnError(_REASON, "The turn was still running at the export."))


class LeftOpen:
    """Follows entries and ends of turns, and keeps the turns, tools and requests that are open."""

    def __init__(self) -> None:
        self._tools: dict[str, OpenTool] = {}
        self._requests: dict[str, OpenRequest] = {}
        self._traces: dict[int, str] = {}
        self._origin: TurnOrigin = "agent"
        self._newest = 0
        self._ended: set[int] = set()

    def entry(self, stored: StoredEntry) -> list[Write]:
        """Takes the next entry. Returns the writes for requests that it ends.

        Raises ValueError if its turn is wrong.
        """
        entry, turn_id = stored.entry, stored.turn_id
        meta = known_meta(entry)
        if meta.turn_id != turn_id:
            raise ValueError(
                f"entry {stored.sequence} names two turns: {turn_id} and {meta.turn_id}"
            )
        if turn_id is not None:
            self._reach(turn_id)
            if stored.trace_id is not None:
                self._traces[turn_id] = stored.trace_id
            if entry.role == "user" and meta.origin == "user" and turn_id == self._newest:
                self._origin = "user"
        match entry.parts:
            case [ToolCallPart(payload=call)]:
                name = call.tool_call_id
                above = meta.parent_tool_use_id
                self._tools[name] = OpenTool(name, turn_id, above, meta.agent_id)
                if call.is_question:
                    self._ask(name, "question", name, call.tool_name, call.arguments, stored)
            case [ToolResultPart(payload=result)]:
                self._tools.pop(result.tool_call_id, None)
            case _:
                return self._event(stored, meta.message_type, meta.data)
        return []

    def end(self, turn_id: int, after: int, head: int) -> None:
        """Takes the end of a turn. Raises ValueError if that turn cannot end at this place."""
        if turn_id in self._ended:
            raise ValueError(f"turn {turn_id} ends twice")
        if after != head:
            raise ValueError(f"turn {turn_id} ends after entry {after}, but the last one is {head}")
        self._reach(turn_id)
        self._ended.add(turn_id)

    def closed(self, state: Conversation, now: int) -> tuple[Conversation, list[Write]]:
        """Ends everything that is open, as if the agent had been lost. Returns the state and writes.

        Raises ValueError if a turn before the newest one is open.
        """
        for turn_id in range(1, self._newest):
            if turn_id not in self._ended:
                raise ValueError(f"turn {turn_id} has no end")
        turn = None
        if self._newest and self._newest not in self._ended:
            trace = self._traces.get(self._newest) or uuid.uuid4().hex
            turn = Turn(self._newest, trace, self._origin, "running", ending=_END)
        if turn is None and not self._tools and not self._requests:
            return state, []
        requests = list(self._requests.values())
        left = structs.replace(
            state,
            state="waiting_input" if requests else "streaming" if turn else state.state,
            turn=turn,
            requests=requests,
            tools=self._tools,
            traces=self._traces if turn is None else {**self._traces, turn.turn_id: turn.trace_id},
        )
        state, effects = step(left, AgentLost(at=now, reason=_REASON))
        # No rows for the audit trail: no person has acted.
        ends = [w for w in effects.writes if isinstance(w, AddEntry | EndTurn | EndRequest)]
        return state, [*map(OpenRequestRow, requests), *ends]

    def _reach(self, turn_id: int) -> None:
        """Raises ValueError if the number of a turn leaves a gap."""
        if not 1 <= turn_id <= self._newest + 1:
            raise ValueError(f"turn {turn_id} is out of order: the newest is {self._newest}")
        if turn_id > self._newest:
            self._newest, self._origin = turn_id, "agent"

    def _event(self, stored: StoredEntry, name: str | None, data: Any) -> list[Write]:
        if not isinstance(data, dict):
            return []
        request_id = str(data.get("request_id"))
        if name == "permission_request":
            call, tool = str(data.get("tool_use_id")), str(data.get("tool_name"))
            self._ask(request_id, "permission", call, tool, data.get("input"), stored)
        elif name == "input_request":
            call, tool = str(data.get("question_id")), str(data.get("tool_name"))
            self._ask(call, "question", call, tool, data.get("input"), stored, data)
        elif name == "request_resolved":
            request = self._requests.pop(request_id, None)
            if request is not None:  # stored, so that a late answer is refused as late
                by = data.get("by")
                how = convert(data.get("outcome"), Outcome)
                end = EndRequest(request_id, how, by if isinstance(by, str) else None)
                return [OpenRequestRow(request), end]
        return []

    def _ask(
        self,
        name: str,
        kind: str,
        call: str,
        tool: str,
        given: Any,
        stored: StoredEntry,
        asked: Any = None,
    ) -> None:
        meta = known_meta(stored.entry)
        self._requests[name] = OpenRequest(
            name,
            kind,
            call,
            tool,
            given,
            turn_id=stored.turn_id,
            message_sequence=stored.sequence,
            questions=questions_of(given if asked is None else asked) if kind == "question" else [],
            parent_tool_use_id=meta.parent_tool_use_id,
            agent_id=meta.agent_id,
        )
