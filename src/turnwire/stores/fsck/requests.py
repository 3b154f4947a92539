"""Checks of requests: the log, the rows, the inbox and the state must agree."""

from __future__ import annotations

from typing import Any

from turnwire.core.entries import event_entry
from turnwire.core.message import Message, ToolCallPart, ToolResultPart
from turnwire.core.status import OpenRequest
from turnwire.core.text import json_text
from turnwire.stores.fsck.case import Entry, Item, Request
from turnwire.stores.fsck.mending import Mending, event_of, state_after

__all__ = ["mend_requests"]


def mend_requests(m: Mending) -> None:
    """Corrects the state, the rows and the inbox from the log, and the rules from the state."""
    asked, resolved = _in_log(m)
    kept: list[OpenRequest] = []
    for request in m.state.requests:
        if request.request_id in asked and not _is_over(m, request):
            kept.append(request)
            _mend_row(m, request)
        else:
            m.say(
                "state_wrong", "The state has the request open, but the log does not.", _at(request)
            )
    waited_for = {request.request_id for request in kept}
    for request_id, entry in asked.items():
        if request_id not in waited_for:
            _end(m, request_id, entry)
    for row in m.case.requests.values():
        if row.outcome is None and row.request_id not in waited_for:
            place = f"request {row.request_id}"
            m.say(
                "row_without_request",
                "The row is open, but the conversation does not wait for it.",
                place,
            )
            row.outcome = str(resolved.get(row.request_id, "cancelled"))
            row.ended_at, row.ended_by = m.now, None
    if kept != m.state.requests:
        m.remember(requests=kept)
    _mend_state(m)
    _mend_inbox(m)
    _check_rules(m)


def _in_log(m: Mending) -> tuple[dict[str, Entry], dict[str, Any]]:
    """Returns the entries of open requests, and the outcomes of ended ones, by request id."""
    asked: dict[str, Entry] = {}
    resolved: dict[str, Any] = {}
    for entry in m.entries:
        match entry.message.parts if entry.message else []:
            case [ToolCallPart(payload=call)]:
                if call.is_question:
                    asked[call.tool_call_id] = entry
                continue
            case _:
                name, data = event_of(entry)
        request_id = str(data.get("request_id"))
        if name == "permission_request":
            asked[request_id] = entry
        elif name == "input_request":
            asked[str(data.get("question_id"))] = entry
        elif name == "request_resolved":
            asked.pop(request_id, None)
            resolved[request_id] = data.get("outcome")
    return asked, resolved


def _is_over(m: Mending, request: OpenRequest) -> bool:
    """Returns whether the request has ended with its turn.

    Requests of sub-agents may outlive it.
    """
    return request.parent_tool_use_id is None and m.has_ended(request.turn_id)


def _mend_row(m: Mending, request: OpenRequest) -> None:
    row = m.case.requests.get(request.request_id)
    if row is None or row.request is None:
        m.say("request_without_row", "The request is open, but has no row.", _at(request))
        m.case.requests[request.request_id] = Request(request.request_id, request, m.now)
    elif row.outcome is not None:
        m.say("request_without_row", "The request is open, but its row has ended.", _at(request))
        row.outcome = row.ended_at = row.ended_by = None


def _end(m: Mending, request_id: str, entry: Entry) -> None:
    """Adds the missing end of a request to the log, with the outcome of its row."""
    row = m.case.requests.get(request_id)
    if row is None or row.outcome is not None:
        m.say("request_left_open", "The log has no end of the request.", f"request {request_id}")
    else:
        m.say(
            "row_without_request",
            "The conversation no longer waits for the request.",
            f"request {request_id}",
        )
        row.outcome, row.ended_at, row.ended_by = "cancelled", m.now, None
    outcome = row.outcome if row is not None else "cancelled"
    assert entry.message is not None
    meta = entry.message.meta
    message = event_entry(
        "request_resolved",
        f"Request {outcome}",
        run_id=m.run(entry.turn_id),
        timestamp=m.now,
        data={"request_id": request_id, "outcome": outcome, "by": None},
        parent_tool_use_id=meta.get("parentToolUseId"),
        agent_id=meta.get("agentId"),
    )
    _put_between(m, entry, message)


def _put_between(m: Mending, asked: Entry, message: Message) -> None:
    """Inserts the end of a request after the request and before the result of its call."""
    assert asked.message is not None
    call = asked.message.parts[0]
    name = call.payload.tool_call_id if isinstance(call, ToolCallPart) else None
    data = event_of(asked)[1]
    call_id = name or data.get("tool_use_id") or data.get("question_id")
    lost: Entry | None = None
    for entry in m.entries[m.entries.index(asked) + 1 :]:
        if entry.is_lost and lost is None:
            lost = entry
        match entry.message.parts if entry.message else []:
            case [ToolResultPart(payload=result)] if result.tool_call_id == call_id:
                break
            case _:
                pass
    else:
        m.put_at_end(message, asked.turn_id)
        return
    if lost is None:
        m.put_before(entry, message, asked.turn_id)
    else:
        m.replace(lost, message)
        lost.turn_id, lost.trace_id, lost.is_lost = asked.turn_id, asked.trace_id, False


def _mend_state(m: Mending) -> None:
    """Sets the state `waiting_input` if, and only if, a request is open."""
    if bool(m.state.requests) is (m.state.state == "waiting_input"):
        return
    if m.case.state is not None and m.case.state.requests == m.state.requests:
        m.say("state_wrong", f"The state is {m.state.state}, which contradicts the open requests.")
    end = m.state.last_turn if m.state.turn is None else None
    idle = "active" if end is None else state_after(end)
    m.remember(state="waiting_input" if m.state.requests else idle)


def _mend_inbox(m: Mending) -> None:
    for row in m.case.requests.values():
        if row.request is None:
            continue
        item = m.case.items.get(row.request_id)
        is_open = row.outcome is None
        if item is None and is_open:
            m.say(
                "inbox_wrong",
                "The request is open, but not in the inbox.",
                f"request {row.request_id}",
            )
            m.case.items[row.request_id] = Item("", row.request_id, None)
        elif item is not None and (item.closed_at is None) is not is_open:
            said = (
                "The request is open, but its item is closed."
                if is_open
                else "The request has ended."
            )
            m.say("inbox_wrong", said, f"request {row.request_id}")
            item.closed_at = None if is_open else m.now


def _check_rules(m: Mending) -> None:
    """Reports a list of rules that is not that of the state. A repair writes it again."""
    if m.case.rules != {rule.rule_id: json_text(rule) for rule in m.state.rules}:
        m.say("rules_wrong", "The list of remembered rules is not that of the state.")


def _at(request: OpenRequest) -> str:
    return f"request {request.request_id}"
