"""Checks of tool calls: each has one result, and every reference names a call in the log."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from turnwire.core import blocks
from turnwire.core.conversation.asking import shown_of
from turnwire.core.conversation.state import OpenTool
from turnwire.core.entries import entry_of, event_entry
from turnwire.core.message import Message, ToolCallPart, ToolResultPart, known_meta, to_json
from turnwire.core.status import OpenRequest
from turnwire.stores.fsck.case import Entry
from turnwire.stores.fsck.mending import Mending, event_of, parent_of

__all__ = ["mend_calls", "mend_results", "place_requests"]

_LOST = "This call was lost. Only entries that refer to it are left."


# --- missing calls ------------------------------------------------------------------------------


def mend_calls(m: Mending) -> None:
    """Restores calls and requests that entries refer to, and turns duplicates into notes."""
    seen: set[str] = set()  # ids of calls and permissions
    answered: set[str] = set()
    blocks_seen: set[tuple[str, Any]] = set()
    asked: set[tuple[str, Any]] = set()  # request events, by name and request id
    for entry in list(m.entries):
        message = entry.message
        if message is None:
            continue
        parent = parent_of(entry)
        if parent is not None and parent not in seen:
            _put_back(m, seen, entry, parent)
        match message.role, message.parts:
            case _, [ToolCallPart(payload=call)]:
                if call.tool_call_id in seen:
                    _is_twice(m, entry)
                seen.add(call.tool_call_id)
            case "assistant", _:
                name, index = message.meta.get("messageId"), message.meta.get("index") or 0
                if isinstance(name, str):
                    if (name, index) in blocks_seen:
                        _is_twice(m, entry)
                    blocks_seen.add((name, index))
            case _, [ToolResultPart(payload=result)]:
                call_id = result.tool_call_id
                if call_id in answered:
                    m.say("result_twice", f"The call {call_id} already has a result.", _at(entry))
                    _make_note(m, entry, "result_twice", "A second result of one tool call.")
                elif call_id not in seen:
                    _put_back(m, seen, entry, call_id)
                answered.add(call_id)
            case "system", _:
                _follow_event(m, seen, asked, entry)
            case _:
                pass
    for request in m.state.requests:
        if request.request_id not in seen:
            _put_back(m, seen, None, request.request_id)


def _is_twice(m: Mending, entry: Entry) -> None:
    m.say("entry_twice", "The block is already in the log.", _at(entry))
    _make_note(m, entry, "entry_twice", "A duplicate of an earlier entry.")


def _follow_event(m: Mending, seen: set[str], asked: set[tuple[str, Any]], entry: Entry) -> None:
    name, data = event_of(entry)
    if name in ("permission_request", "input_request", "request_resolved"):
        request = name, str(data.get("request_id") or data.get("question_id"))
        if request in asked:
            _is_twice(m, entry)
            return
        asked.add(request)
    if name == "permission_request":
        call_id = str(data.get("tool_use_id"))
        if call_id not in seen:
            _put_back(m, seen, entry, call_id)
        seen.add(str(data.get("request_id")))
    elif name == "input_request":
        call_id = str(data.get("question_id"))
        if call_id not in seen:
            _put_back(m, seen, entry, call_id)
    elif name == "request_resolved" and data.get("request_id") not in seen:
        request_id = str(data.get("request_id"))
        if _request(m, request_id) is None:
            m.say("call_missing", f"The request {request_id} is missing.", _at(entry))
            _make_note(m, entry, "request_lost", "The end of a request that was lost.")
        else:
            _put_back(m, seen, entry, request_id)


def _put_back(m: Mending, seen: set[str], entry: Entry | None, name: str) -> None:
    """Restores a call or a request in place of a lost entry, else before `entry`.

    `entry` refers to the call; it is None if only the state does.
    """
    request = _request(m, name)
    m.say("call_missing", f"The log lacks {name}.", "the state" if entry is None else _at(entry))
    before = m.entries if entry is None else m.entries[: m.entries.index(entry)]
    lost = next((e for e in reversed(before) if e.is_lost), None)
    turn_id = request.turn_id if request is not None else None
    if request is None and entry is not None:
        turn_id = entry.turn_id
    if request is not None and request.kind == "permission":
        message = _permission(m, request)
        if request.tool_use_id not in seen:
            _put_back(m, seen, entry, request.tool_use_id)
            lost = None
    else:
        message = _call(m, name, request, turn_id)
    seen.add(name)
    if lost is not None:
        m.replace(lost, message)
        lost.turn_id, lost.trace_id, lost.is_lost = turn_id, m.trace_of(turn_id), False
    elif entry is not None:
        m.put_before(entry, message, turn_id)
    else:
        m.put_at_end(message, turn_id)


def _request(m: Mending, name: str) -> OpenRequest | None:
    """Returns a request from the state, else from its row; None if neither has it."""
    remembered = (each for each in m.state.requests if each.request_id == name)
    row = m.case.requests.get(name)
    return next(remembered, row.request if row is not None else None)


def _call(m: Mending, call_id: str, request: OpenRequest | None, turn_id: int | None) -> Message:
    """Returns an entry for a missing call, with the input of its request if it is a question."""
    tool, given, data, asks = "lost", {"lost": _LOST}, None, None
    if request is not None:
        tool, given = request.tool_name, request.input
        asks = not any(_tells_question(each, call_id) for each in m.entries) or None
        data = {
            name: getattr(request, name)
            for name in ("required", "metadata", "inbox_item_id", "deadline_at")
        }
    return entry_of(
        "assistant",
        [blocks.ToolUseBlock(call_id, tool, "OTHER", given, "completed", asks=asks)],
        run_id=m.run(turn_id),
        timestamp=m.now,
        message_id=f"lost:{call_id}",
        index=0,
        parent_tool_use_id=request.parent_tool_use_id if request else None,
        agent_id=request.agent_id if request else None,
        data=to_json(data) if data else None,
    )


def _tells_question(entry: Entry, call_id: str) -> bool:
    """Returns whether the question has its own event; the call is then an ordinary tool call."""
    name, data = event_of(entry)
    return name == "input_request" and data.get("question_id") == call_id


def _permission(m: Mending, request: OpenRequest) -> Message:
    return event_entry(
        "permission_request",
        f"{request.tool_name} asks for permission",
        run_id=m.run(request.turn_id),
        timestamp=m.now,
        data={"input": None, **shown_of(request)},
        parent_tool_use_id=request.parent_tool_use_id,
        agent_id=request.agent_id,
    )


def _make_note(m: Mending, entry: Entry, subtype: str, text: str) -> None:
    """Replaces an entry that is invalid at its position by a note that contains the entry."""
    m.replace(entry, m.note(subtype, text, entry.turn_id, entry=to_json(entry.message)))


# --- missing results ----------------------------------------------------------------------------


def mend_results(m: Mending) -> None:
    """Adds an error result to each call without a result, unless the call may still get one."""
    calls = _open_calls(m)
    # Recovery ends a permission first, then its call.
    waited_for = {request.tool_use_id for request in m.state.requests}
    waited_for |= {reply.request_id for reply in m.state.replies}
    tools = dict(m.state.tools)
    for call_id, entry in calls.items():
        tool = tools.get(call_id)
        goes_on = tool is not None and (tool.background or not m.has_ended(entry.turn_id))
        if call_id in waited_for:
            if tool is None:
                m.say(
                    "state_wrong",
                    f"The call {call_id} waits for a request, but the state lacks it.",
                )
                tools[call_id] = OpenTool(call_id, entry.turn_id, parent_of(entry))
        elif not goes_on:
            m.say("result_missing", f"The call {call_id} has no result.", _at(entry))
            tools.pop(call_id, None)
            m.put_at_end(_lost_result(m, call_id, entry), entry.turn_id)
    for call_id in [each for each in tools if each not in calls]:
        m.say("state_wrong", f"The state has the call {call_id} open, but the log does not.")
        del tools[call_id]
    if tools != m.state.tools:
        m.remember(tools=tools)


def _open_calls(m: Mending) -> dict[str, Entry]:
    out: dict[str, Entry] = {}
    for entry in m.entries:
        match entry.message.parts if entry.message else []:
            case [ToolCallPart(payload=call)]:
                out[call.tool_call_id] = entry
            case [ToolResultPart(payload=result)]:
                out.pop(result.tool_call_id, None)
            case _:
                pass
    return out


def _lost_result(m: Mending, call_id: str, call: Entry) -> Message:
    said = blocks.ToolResultBlock(call_id, "The result of this call was lost.", True, "failed")
    assert call.message is not None
    meta = known_meta(call.message)
    return entry_of(
        "tool",
        [said],
        run_id=m.run(call.turn_id),
        timestamp=m.now,
        parent_tool_use_id=meta.parent_tool_use_id,
        agent_id=meta.agent_id,
    )


def _at(entry: Entry) -> str:
    return f"entry {entry.sequence}"


def place_requests(m: Mending) -> None:
    """Updates the sequence number of each open request after entries have moved."""
    places: dict[str, int] = {}
    for number, entry in enumerate(m.entries, 1):
        if entry.message is None:
            continue
        match entry.message.parts:
            case [ToolCallPart(payload=call)]:
                places[call.tool_call_id] = number
            case _:
                name, data = event_of(entry)
                if name == "permission_request":
                    places[str(data.get("request_id"))] = number
                elif name == "input_request":
                    places[str(data.get("question_id"))] = number
    placed = [
        structs.replace(r, message_sequence=places.get(r.request_id, r.message_sequence))
        for r in m.state.requests
    ]
    placed.sort(key=lambda request: request.message_sequence or 0)  # the oldest first
    if placed != m.state.requests:
        m.remember(requests=placed)
