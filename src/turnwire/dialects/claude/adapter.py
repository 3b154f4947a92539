"""Translates Claude's stream into normalized events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args

import msgspec
from msgspec import Raw, UnsetType

from turnwire.core import blocks as unified
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock
from turnwire.core.digest import digest_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of
from turnwire.dialects.claude import control, messages, system
from turnwire.dialects.claude.answers import InterruptReceipt, read_answer
from turnwire.dialects.claude.cost import CostMeter
from turnwire.dialects.claude.elicitation import asked_with
from turnwire.dialects.claude.lines import Line
from turnwire.dialects.claude.message_state import MessageState
from turnwire.dialects.claude.news import MEANINGS
from turnwire.dialects.claude.plan import Plan
from turnwire.dialects.claude.questions import client_tool, is_question
from turnwire.dialects.claude.streaming import NO_MESSAGE, Events, StreamFollower
from turnwire.dialects.claude.translate import unify_all

__all__ = ["ClaudeStreamAdapter"]

_FAILED = frozenset(
    [
        "max_turns",
        "budget_exhausted",
        "api_error",
        "prompt_too_long",
        "blocking_limit",
        "image_error",
        "model_error",
        "turn_setup_failed",
    ]
)


_BY_A_PERSON = ("human", "user")  # Claude's values for a turn that a person started
_LONGEST_RECEIPT = 1000  # bytes; the answers to other requests can be much longer

# Fields of an init that name the message, the session or the process. They say nothing about the
# agent, and differ in every turn or process.
_NAMES_IN_INIT = ("uuid", "session_id", "user_message_uuids", "messaging_socket_path")
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode

# The subtype of each kind of system event; an unknown subtype keeps its own name.
_SUBTYPES = {
    kind: str(kind.__struct_config__.tag)
    for kind in get_args(messages.ClaudeMessage)
    if kind is not system.UnknownSystemMessage
}

# System events that are sent live but not stored: they are only about the moment, or a stored entry
# says the same later. All others are stored, unknown subtypes included.
_EPHEMERAL = frozenset(
    [
        "api_retry",
        "attachment",
        "auth_status",
        "background_tasks_changed",
        "command_lifecycle",
        "commands_changed",
        "hook_progress",
        "hook_started",
        "prompt_suggestion",
        "rate_limit_event",
        "session_state_changed",
        "session_title_changed",
        "status",
        "task_progress",
        "thinking_tokens",
        "transcript_mirror",
    ]
)


class ClaudeStreamAdapter(StreamFollower):
    """Follows one Claude process. Call `feed` for every line in order, then `finish`."""

    def __init__(self) -> None:
        super().__init__()
        self._interrupted = False
        self._last_result: str | None = None  # the uuid of the frame that ended the last turn
        self._cost = CostMeter()
        self._plan = Plan()
        self._handlers: dict[type, Callable[[Any, Line], Events]] = {
            # Any message that is not listed below is a system event.
            **dict.fromkeys(_SUBTYPES, self._system_event),
            **dict.fromkeys(MEANINGS, self._news),
            system.UnknownSystemMessage: self._system_event,
            messages.AssistantMessage: self._assistant,
            messages.UserMessage: self._user,
            messages.ResultMessage: self._result,
            messages.ToolProgress: self._tool_progress,
            messages.ErrorMessage: self._error,
            messages.UnknownMessage: self._unknown_message,
            messages.KeepAlive: self._nothing,
            control.ControlRequest: self._control_request,
            control.ControlResponse: self._control_response,
            control.ControlCancelRequest: self._withdrawn,
            system.Init: self._init,
            messages.StreamEvent: self._stream_event,
        }

    def feed(self, line: Line) -> Events:
        """Returns the events of one line, in order; often one, sometimes none."""
        message = line.message
        return self._handlers[type(message)](message, line)

    def feed_all(self, lines: Iterable[Line]) -> Events:
        """Returns the events of several lines. Faster than one call for each."""
        handlers = self._handlers
        return [
            event for line in lines for event in handlers[type(line.message)](line.message, line)
        ]

    def finish(self) -> Events:
        """Ends the stream: ends the open turn and discards all unfinished blocks."""
        out: Events = []
        self._discard_all("stream_ended", out)
        if self._in_turn:
            self._in_turn = False
            said = "the agent's stream ended in the middle of a turn"
            out.append(ev.TurnFailed("claude", self.session_id, None, None, "agent_lost", said))
        return out

    def interrupt_requested(self) -> None:
        """Notes that the host sent an interrupt: the CLI writes the next user message."""
        self._interrupted = True

    # --- finished messages --------------------------------------------------------------------

    def _assistant(self, frame: messages.AssistantMessage, line: Line) -> Events:
        if frame.session_id != self.session_id:
            self._meet(frame.session_id)
        lane = self._main if frame.parent_tool_use_id is None else self._lane(frame)
        message = frame.message or NO_MESSAGE
        content = unify_all(message.content)
        out: Events = []
        if not self._in_turn:
            self._open_turn(lane, out)
        state = lane.message
        if state is None or (message.id != state.id and not _belongs(state, message.id)):
            state = lane.past.get(message.id or "")
            if state is None:
                self._discard(lane, "replaced", out)
                state = self._new_message(lane, message.id)
        if frame.aborted:
            self._interrupted = True
        for block in content:
            if isinstance(block, unified.ToolUseBlock):
                self._plan.called(block)
        out.append(
            ev.AssistantMessage(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                state.id,
                state.place(content, frame.uuid),
                content,
                message.model,
                message.stop_reason,
                message.usage,
                frame.error,
                bool(frame.aborted),
                frame.uuid,
                frame.timestamp,
                Raw(line.raw),
            )
        )
        return out

    def _user(self, frame: messages.UserMessage, line: Line) -> Events:
        if frame.session_id != self.session_id:
            self._meet(frame.session_id)
        lane = self._main if frame.parent_tool_use_id is None else self._lane(frame)
        message = frame.message or NO_MESSAGE
        content = unify_all(message.content, frame.tool_use_result)
        origin = self._origin(frame, content)
        if origin == "user":
            self._woken = False
        out: Events = []
        if origin == "tool":  # a resumed session starts with the tool result that it waited for
            self._open_turn(lane, out)
        out.append(
            ev.UserMessage(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                content,
                origin,
                frame.uuid,
                frame.timestamp,
                Raw(line.raw),
            )
        )
        for block in content:
            if isinstance(block, unified.ToolResultBlock) and self._plan.answered(block):
                out.append(
                    ev.PlanUpdated(
                        "claude", self.session_id, lane.parent, lane.agent_id, self._plan.items
                    )
                )
        return out

    def _origin(self, frame: messages.UserMessage, content: list[ContentBlock]) -> ev.UserOrigin:
        for block in content:
            if isinstance(block, unified.ToolResultBlock):
                return "tool"
        if frame.isReplay:
            return "replay"
        if frame.isSynthetic or frame.origin is not None:
            return "synthetic"
        if frame.parent_tool_use_id is not None:
            return "agent"
        # The CLI does not mark the message that it writes after an interrupt.
        if self._interrupted and _text(content).startswith("[Request interrupted by user"):
            return "interrupt"
        return "user"

    # --- turns --------------------------------------------------------------------------------

    def _init(self, message: system.Init, line: Line) -> Events:
        self._meet(message.session_id)
        out: Events = [
            ev.SessionInit(
                "claude",
                self.session_id,
                None,
                None,
                message.model,
                message.cwd,
                message.permissionMode,
                message.tools,
                message.claude_code_version,
                Raw(line.raw),
                _digest(line.raw),
            )
        ]
        self._open_turn(self._main, out)
        return out

    def _result(self, result: messages.ResultMessage, line: Line) -> Events:
        if result.uuid is not None and result.uuid == self._last_result:
            return []  # a duplicate: a turn ends only once
        self._last_result = result.uuid
        self._meet(result.session_id)
        out: Events = []
        self._discard(self._main, "turn_ended", out)
        self._in_turn = self._interrupted = False
        session_id = self.session_id
        origin = result.origin.kind if result.origin else None
        if origin in _BY_A_PERSON:
            origin = None
        reason = result.terminal_reason or ""
        ended: NormalizedStreamEvent
        if reason.startswith("aborted"):
            ended = ev.TurnCompleted(
                "claude", session_id, None, None, result.stop_reason, True, None, origin
            )
        elif result.is_error or reason in _FAILED or result.subtype.startswith("error"):
            code, said = reason or result.subtype, _error_text(result)
            ended = ev.TurnFailed("claude", session_id, None, None, code, said, origin)
        else:
            paused_at = result.deferred_tool_use.id if result.deferred_tool_use else None
            ended = ev.TurnCompleted(
                "claude", session_id, None, None, result.stop_reason, False, paused_at, origin
            )
        out.append(ended)
        cost, by_model = self._cost.turn(result)
        out.append(
            ev.ResultSummary(
                "claude",
                session_id,
                None,
                None,
                result.subtype,
                result.is_error,
                result.duration_ms,
                result.duration_api_ms,
                result.num_turns,
                cost,
                result.total_cost_usd,
                result.usage,
                by_model,
                result.result,
                result.structured_output,
                result.stop_reason,
                result.terminal_reason,
                result.errors,
                Raw(line.raw),
            )
        )
        return out

    def _error(self, message: messages.ErrorMessage, line: Line) -> Events:
        self._meet(message.session_id)
        out: Events = []
        self._discard_all("stream_ended", out)
        self._in_turn = self._interrupted = False
        text = message.error if isinstance(message.error, str) else line.raw.decode()
        out.append(ev.TurnFailed("claude", self.session_id, None, None, "agent_error", text))
        return out

    # --- requests of the agent ----------------------------------------------------------------

    def _control_request(self, frame: control.ControlRequest, line: Line) -> Events:
        match frame.request:
            case control.CanUseTool() as request if is_question(request.tool_name):
                return [self._question(frame.request_id, request, line)]
            case control.CanUseTool() as request:
                return [self._permission(frame.request_id, request, line)]
            case control.McpMessage(message=message):
                asked = _mcp_question(message)
                return [self._question(frame.request_id, asked, line)] if asked else []
            case control.Elicitation() as request:
                asked = control.CanUseTool("request_input", asked_with(request))
                return [self._question(frame.request_id, asked, line)]
            case control.RequestUserDialog() as request:
                kind = str(request.__struct_config__.tag)
                news = ev.SystemEvent("claude", self.session_id, None, None, kind, Raw(line.raw))
                return [news]
            case control.UnknownControlRequest(original_type=kind):
                return [self._unknown(f"control_request/{kind}", line)]
            case _:  # hooks and requests of the host, which the host handles
                return []

    def _question(
        self, request_id: str, request: control.CanUseTool, line: Line
    ) -> NormalizedStreamEvent:
        return ev.QuestionAsked(
            *self.whose(request.agent_id),
            request_id,
            request.tool_use_id or request_id,
            request.tool_name,
            questions_of(request.input),
            request.input,
            Raw(line.raw),
            True,
        )

    def _permission(
        self, request_id: str, request: control.CanUseTool, line: Line
    ) -> NormalizedStreamEvent:
        return ev.PermissionRequested(
            *self.whose(request.agent_id),
            request_id,
            request.tool_use_id or request_id,
            request.tool_name,
            request.input,
            request.title or request.display_name,
            request.description,
            list(request.permission_suggestions or ()),
            request.blocked_path,
            request.decision_reason,
            Raw(line.raw),
        )

    def _control_response(self, frame: control.ControlResponse, line: Line) -> Events:
        response = frame.response
        if isinstance(response, control.ControlSuccess):
            if len(line.raw) <= _LONGEST_RECEIPT and _is_interrupt_receipt(response.response):
                self._interrupted = True
        elif isinstance(response, control.UnknownControlOutcome):
            return [self._unknown(f"control_response/{response.original_type}", line)]
        return []

    def _withdrawn(self, frame: control.ControlCancelRequest, line: Line) -> Events:
        return [ev.RequestWithdrawn("claude", self.session_id, None, None, frame.request_id)]

    # --- system events ------------------------------------------------------------------------

    def _tool_progress(self, frame: messages.ToolProgress, line: Line) -> Events:
        self._meet(frame.session_id)
        tool_use_id, parent = frame.tool_use_id, frame.parent_tool_use_id
        if parent is not None and tool_use_id.startswith(f"{parent}-heartbeat-"):
            tool_use_id, parent = parent, None  # a heartbeat of the tool, not a sub-agent
        return [
            ev.ToolProgress(
                "claude",
                self.session_id,
                parent,
                None,
                tool_use_id,
                client_tool(frame.tool_name or "") or frame.tool_name,
                frame.elapsed_time_seconds,
                None,
                bool(frame.heartbeat),
            )
        ]

    def _unknown_message(self, message: messages.UnknownMessage, line: Line) -> Events:
        return [
            ev.UnknownEvent(
                "claude",
                self.session_id,
                None,
                None,
                message.original_type,
                message.data,
                message.reason,
            )
        ]

    def _nothing(self, message: messages.KeepAlive, line: Line) -> Events:
        return []

    def _system_event(self, message: Any, line: Line) -> Events:
        session_id = getattr(message, "session_id", None)
        if session_id != self.session_id:
            self._meet(session_id)
        subtype = _SUBTYPES.get(type(message)) or message.original_type
        return [
            ev.SystemEvent(
                "claude",
                self.session_id,
                None,
                None,
                subtype,
                Raw(line.raw),
                subtype in _EPHEMERAL,
            )
        ]

    def _news(self, message: Any, line: Line) -> Events:
        if type(message) is system.TaskNotification:
            # A turn that starts now reports the result of this task.
            self._woken = not self._in_turn
        self._meet(message.session_id)
        kind, more = MEANINGS[type(message)](message)
        subtype = _SUBTYPES[type(message)]
        ids = ("claude", self.session_id, None, None)
        return [kind(*ids, subtype, Raw(line.raw), subtype in _EPHEMERAL, **more)]

    def whose(self, agent_id: str | None) -> tuple[str, str, str | None, str | None]:
        """Finds the tool call of a sub-agent: a request names only the sub-agent."""
        for lane in self._lanes.values():
            if lane.agent_id == agent_id:
                return "claude", self.session_id, lane.parent, agent_id
        return "claude", self.session_id, None, agent_id


def _digest(init: bytes) -> str | None:
    """Returns the digest of an init's facts about the agent; None if it is nested too deeply."""
    try:
        fields = _decode_fields(init)
    except RecursionError:
        return None
    for name in _NAMES_IN_INIT:
        fields.pop(name, None)
    return digest_of(fields)


def _text(content: list[ContentBlock]) -> str:
    return "".join(block.text for block in content if isinstance(block, unified.TextBlock))


def _belongs(state: MessageState, message_id: str | None) -> bool:
    """Returns whether an assistant frame belongs to this message although their ids differ.

    If either has no id, they belong together as long as streamed blocks are unconfirmed.
    """
    return (message_id is None or not state.has_own_id) and state.waits()


def _mcp_question(message: Any) -> control.CanUseTool | None:
    """Reads a call of the host's own request_input tool; `_meta` holds the tool_use id."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict) or message.get("method") != "tools/call":
        return None
    name, meta = params.get("name"), params.get("_meta")
    if not isinstance(name, str) or not is_question(name):
        return None
    known = meta.get("claudecode/toolUseId") if isinstance(meta, dict) else None
    tool_use_id = known if isinstance(known, str) else None
    return control.CanUseTool(name, params.get("arguments"), tool_use_id)


def _is_interrupt_receipt(response: Raw | UnsetType) -> bool:
    """Returns whether an answer is the one to an interrupt: only it lists queued prompts."""
    try:
        return isinstance(read_answer(control.Interrupt, response), InterruptReceipt)
    except msgspec.ValidationError:
        return False


def _error_text(result: messages.ResultMessage) -> str:
    if result.errors:
        return "; ".join(result.errors)
    return result.result or result.terminal_reason or result.subtype
