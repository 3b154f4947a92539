"""What the agent says, and what becomes of a conversation when the agent is gone."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, structs

from turnwire.core import events as ev
from turnwire.core.blocks import ToolUseBlock
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import CloseAgent
from turnwire.core.conversation.requests import (
    cancel_requests,
    deadline_of,
    end_request,
    open_request,
    questions_of_turn,
)
from turnwire.core.conversation.state import OpenTool, Waiting
from turnwire.core.conversation.turns import (
    close_tools,
    finish_turn,
    lost,
    resume_turn,
    suspend_turn,
)
from turnwire.core.entries import entry_of
from turnwire.core.message import Message, ToolCallPart, ToolResultPart, run_id
from turnwire.core.questions import asks_a_person, questions_of
from turnwire.core.status import OpenRequest, Totals, TurnEnd, TurnError

__all__ = ["agent_lost", "agent_said", "recovered"]

_VOICES = 256  # sub-agents remembered


def agent_said(d: Draft, said: i.AgentSaid) -> None:
    """One event: first the turn that it belongs to, then what it adds, then whether that was all."""
    event = said.event
    if event.parent_tool_use_id is None:
        _notice(d, event, said.trace_id)
    turn_id = _turn_of(d, event.parent_tool_use_id)
    raw = getattr(event, "raw", UNSET)
    for entry in said.entries:
        _add(d, entry, turn_id, said, raw if isinstance(raw, Raw) else None)
        raw = UNSET  # kept once, with the first
    match event:
        case ev.SessionInit():
            d.model = event.model or d.model
            d.permission_mode = event.permission_mode or d.permission_mode
        case ev.PermissionRequested():
            _permission(d, event, turn_id, said)
        case ev.QuestionAsked():
            _question(d, event, turn_id, said)
        case ev.RequestWithdrawn():
            _withdrawn(d, event.request_id)
        case ev.TurnCompleted(deferred_tool_use_id=str()):
            _deferred(d)
        case ev.TurnCompleted():
            _ending(d, TurnEnd(False, event.interrupted, event.stop_reason))
        case ev.TurnFailed():
            error = TurnError(event.code, event.message)
            _ending(d, TurnEnd(True, False, error=error))
        case ev.ResultSummary():
            _figures(d, event)
        case _:
            pass
    if d.turn is not None and d.turn.ending is not None and said.last:
        _finish(d, d.turn.ending)


# --- turns --------------------------------------------------------------------------------------


def _notice(d: Draft, event: ev.NormalizedStreamEvent, trace_id: str) -> None:
    """A turn that was handed over has begun, or the agent begins one by itself."""
    turn = d.turn
    if turn is None:
        if isinstance(event, ev.TurnStarted):
            d.begin_turn("agent", trace_id)
        return
    if turn.phase == "starting" and not isinstance(event, ev.SystemEvent):
        d.phase("running")
    if turn.phase != "suspended" and d.state == "active":
        d.move("agent_spoke")


def _turn_of(d: Draft, voice: str | None) -> int | None:
    """The turn that a voice belongs to; background work keeps the turn that started it."""
    if voice is None:
        return d.turn.turn_id if d.turn else None
    turn_id = d.voices.get(voice)
    if turn_id is None:
        tool = d.tools.get(voice)
        turn_id = tool.turn_id if tool else d.turns
        d.voices[voice] = turn_id
        if len(d.voices) > _VOICES:
            del d.voices[next(iter(d.voices))]
    return turn_id


def _ending(d: Draft, end: TurnEnd) -> None:
    if d.turn is not None:
        d.turn = structs.replace(d.turn, ending=end)


def _figures(d: Draft, result: ev.ResultSummary) -> None:
    if d.turn is None or d.turn.ending is None:
        return
    end = structs.replace(
        d.turn.ending,
        usage=result.usage,
        cost_usd=result.cost_usd,
        duration_ms=result.duration_ms,
    )
    d.totals = _added(d.totals, result)
    _finish(d, end)


def _added(totals: Totals, result: ev.ResultSummary) -> Totals:
    usage = result.usage
    return Totals(
        totals.input_tokens + ((usage and usage.input_tokens) or 0),
        totals.output_tokens + ((usage and usage.output_tokens) or 0),
        totals.cache_creation_input_tokens + ((usage and usage.cache_creation_input_tokens) or 0),
        totals.cache_read_input_tokens + ((usage and usage.cache_read_input_tokens) or 0),
        totals.cost_usd + (result.cost_usd or 0.0),
    )


def _finish(d: Draft, end: TurnEnd) -> None:
    assert d.turn is not None
    stopping = d.turn.stopping
    if stopping is not None and stopping.error is not None:
        end = structs.replace(end, is_error=True, interrupted=False, error=stopping.error)
        finish_turn(d, end, reason=stopping.reason, acknowledged=True)
    elif stopping is not None:
        finish_turn(d, end, reason=stopping.reason, acknowledged=end.interrupted)
    else:
        finish_turn(d, end, acknowledged=end.interrupted)


def _deferred(d: Draft) -> None:
    """The agent put its question aside: the turn waits for the answer, without the agent."""
    if d.turn is None:
        return
    if not questions_of_turn(d, d.turn.turn_id) and not d.replies:
        finish_turn(d, TurnEnd(False, False, "tool_deferred"))
        return
    d.turn = structs.replace(d.turn, deferred=True)
    d.phase("suspended")
    d.commands.append(CloseAgent())
    if d.replies and not questions_of_turn(d, d.turn.turn_id):
        resume_turn(d)  # the answer was faster


# --- entries ------------------------------------------------------------------------------------


def _add(d: Draft, entry: Message, turn_id: int | None, said: i.AgentSaid, raw: Raw | None) -> None:
    entry = _in_turn(d, entry, turn_id)
    match entry.role, entry.parts:
        case "assistant", [ToolCallPart(payload=call)]:
            tool = OpenTool(
                call.tool_call_id,
                turn_id or d.turns,
                said.event.parent_tool_use_id,
                said.event.agent_id,
            )
            d.tools[call.tool_call_id] = tool
            if asks_a_person(call.tool_name):
                _ask(d, entry, turn_id, said, raw)
                return
        case "tool", [ToolResultPart(payload=result)]:
            if result.tool_call_id not in d.tools:
                return  # it has its one result already
            d.tools.pop(result.tool_call_id)
            d.replies = [r for r in d.replies if r.request_id != result.tool_call_id]
            d.add(entry, turn_id, raw)
            _settled(d, result.tool_call_id)
            return
        case "user", _:
            origin = entry.meta.get("origin")
            if origin in ("replay", "interrupt") or (
                origin == "user" and said.event.parent_tool_use_id is None
            ):
                return  # the log has what people say already; a stop is told by its receipt
        case _:
            pass
    d.add(entry, turn_id, raw)


def _in_turn(d: Draft, entry: Message, turn_id: int | None) -> Message:
    number = turn_id or d.turns
    run = run_id(d.before.conversation_id, number)
    return structs.replace(
        entry, run_id=run, timestamp=d.now, meta={**entry.meta, "turnId": number}
    )


# --- requests -----------------------------------------------------------------------------------


def _ask(d: Draft, entry: Message, turn_id: int | None, said: i.AgentSaid, raw: Raw | None) -> None:
    """A call that is a question: the log tells of it with what a front end needs to ask it."""
    (part,) = entry.parts
    assert isinstance(part, ToolCallPart)
    call = part.payload
    deadline_at = deadline_of(d, "question")
    required = call.arguments.get("required") is not False
    metadata = call.arguments.get("metadata")
    data: dict[str, Any] = {
        "required": required,
        "metadata": metadata if isinstance(metadata, dict) else None,
        "inbox_item_id": said.inbox_item_id,
        "deadline_at": deadline_at,
    }
    d.add(structs.replace(entry, meta={**entry.meta, "data": data}), turn_id, raw)
    open_request(
        d,
        OpenRequest(
            call.tool_call_id,
            "question",
            call.tool_call_id,
            call.tool_name,
            call.arguments,
            turn_id,
            d.head,
            said.inbox_item_id,
            deadline_at,
            questions_of(call.arguments),
            required,
            data["metadata"],
            parent_tool_use_id=said.event.parent_tool_use_id,
            agent_id=said.event.agent_id,
        ),
    )


def _question(d: Draft, event: ev.QuestionAsked, turn_id: int | None, said: i.AgentSaid) -> None:
    """The agent waits for the answer. Some agents ask without a call that the log could show."""
    d.asked[event.request_id] = event.tool_use_id
    if event.tool_use_id in d.tools:
        return
    if any(reply.request_id == event.tool_use_id for reply in d.replies):
        return  # asked again by a new process, and answered already
    call = ToolUseBlock(event.tool_use_id, event.tool_name, "QUESTION", event.input, "in_progress")
    entry = entry_of(
        "assistant",
        [call],
        run_id="",
        timestamp=d.now,
        message_id=event.tool_use_id,
        index=0,
        provider=event.provider,
        parent_tool_use_id=event.parent_tool_use_id,
        agent_id=event.agent_id,
    )
    _add(d, entry, turn_id, said, None)


def _permission(
    d: Draft, event: ev.PermissionRequested, turn_id: int | None, said: i.AgentSaid
) -> None:
    deadline_at = deadline_of(d, "permission")
    request = OpenRequest(
        event.request_id,
        "permission",
        event.tool_use_id,
        event.tool_name,
        event.input,
        turn_id,
        d.head + 1,
        said.inbox_item_id,
        deadline_at,
        title=event.title,
        description=event.description,
        suggestions=event.suggestions,
        blocked_path=event.blocked_path,
        reason=event.reason,
        parent_tool_use_id=event.parent_tool_use_id,
        agent_id=event.agent_id,
    )
    shown = (
        *("request_id", "tool_use_id", "tool_name", "input", "inbox_item_id", "deadline_at"),
        *("title", "description", "suggestions", "blocked_path", "reason"),
    )
    data = {name: getattr(request, name) for name in shown}
    data = {name: value for name, value in data.items() if value not in (None, [])}
    data.setdefault("input", None)
    d.add_event(
        "permission_request",
        f"{event.tool_name} asks for permission",
        turn_id or d.turns,
        data,
        provider=event.provider,
        parent_tool_use_id=event.parent_tool_use_id,
        agent_id=event.agent_id,
    )
    d.asked[event.request_id] = event.request_id
    open_request(d, request)


def _withdrawn(d: Draft, agents_id: str) -> None:
    ours = d.asked.get(agents_id)
    for request in list(d.requests):
        if request.request_id == ours:
            end_request(d, request, "cancelled", "agent")


def _settled(d: Draft, tool_use_id: str) -> None:
    """A call has its result, so whatever was asked about it is over: the agent went on by itself."""
    for request in list(d.requests):
        if request.tool_use_id == tool_use_id:
            end_request(d, request, "cancelled", "agent")


# --- when the agent is gone ---------------------------------------------------------------------


def agent_lost(d: Draft, gone: i.AgentLost) -> None:
    """Its turn ends truthfully; only a question stays open, because it can still be answered."""
    turn = d.turn
    d.background.clear()
    if turn is None or turn.phase == "suspended":
        cancel_requests(d, gone.reason, kind="permission")
        close_tools(d, f"interrupted: {gone.reason}", background=True)
        return
    end = lost(d, gone.reason, gone.message)
    if turn.stopping is not None:
        stopped = TurnEnd(False, True)
        if turn.stopping.error is not None:
            stopped = TurnEnd(True, False, error=turn.stopping.error)
        finish_turn(
            d, stopped, reason=turn.stopping.reason, forced=gone.forced, processes=gone.processes
        )
    elif turn.phase == "starting":
        error = TurnError("AGENT_UNAVAILABLE", gone.message or "The agent could not be started.")
        finish_turn(d, TurnEnd(True, False, error=error))
    elif questions_of_turn(d, turn.turn_id):
        suspend_turn(d, gone.reason)
    else:
        finish_turn(d, end, reason=gone.reason, processes=gone.processes)
    close_tools(d, f"interrupted: {gone.reason}", background=True)
    cancel_requests(d, gone.reason, kind="permission")


def recovered(d: Draft, back: i.Recovered) -> None:
    """The server starts again. What the agent never knew of waits again; the rest is ended."""
    turn = d.turn
    d.background.clear()
    if turn is not None and turn.phase == "starting" and turn.stopping is None and turn.item:
        d.queue.insert(0, Waiting(turn.item, turn.trace_id, turn.turn_id))
        d.turn = None
        d.move("turn_requeued")
    elif turn is not None and turn.phase != "suspended":
        if questions_of_turn(d, turn.turn_id) or d.replies:
            suspend_turn(d, back.reason)
        else:
            finish_turn(d, lost(d, back.reason, "The server stopped."), reason=back.reason)
    cancel_requests(d, back.reason, kind="permission")
    close_tools(d, f"interrupted: {back.reason}", background=True)
    d.held = bool(d.queue) and (d.before.held or d.options.on_disconnect == "converge")
    if back.stopping:
        return
    answered = d.turn is not None and not questions_of_turn(d, d.turn.turn_id)
    if answered and any(reply.wake for reply in d.replies):
        resume_turn(d)  # a person has answered: that must not be lost
    d.begin_next()
