"""Claude's stream in, normalized events out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core import blocks as unified
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.lenient import Unknown
from turnwire.dialects.claude import control, messages, stream, system
from turnwire.dialects.claude.cost import CostMeter
from turnwire.dialects.claude.decode import Line
from turnwire.dialects.claude.message_state import MessageState, StreamedBlock
from turnwire.dialects.claude.plan import Plan
from turnwire.dialects.claude.questions import asks_a_person, questions_of
from turnwire.dialects.claude.translate import unify, unify_all

__all__ = ["ClaudeStreamAdapter"]

Events = list[NormalizedStreamEvent]

_MAX_LANES = 256  # sub-agents remembered at once; far more than ever speak together

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


class _Lane:
    """One voice: the agent itself, or a sub-agent under its tool call. Each has its own messages."""

    __slots__ = ("agent_id", "ended_id", "message", "parent")

    def __init__(self, parent: str | None, agent_id: str | None) -> None:
        self.parent = parent
        self.agent_id = agent_id
        self.message: MessageState | None = None
        self.ended_id: str | None = None  # the message before, in case its last words come late


class ClaudeStreamAdapter:
    """Follows one Claude process line by line. Feed it every line, in order, then `finish`.

    The handlers append to `out` rather than return lists, and pass an event's common fields by
    position: this runs once for every line of every conversation.
    """

    def __init__(self) -> None:
        self.session_id = ""
        self._main = _Lane(None, None)
        self._lanes: dict[str | None, _Lane] = {None: self._main}
        self._in_turn = False
        self._interrupted = False
        self._unnamed = 0  # messages the agent gave no id
        self._cost = CostMeter()
        self._plan = Plan()
        self._handlers: dict[type, Callable[[Any, Line, Events], None]] = {
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
            # Stream events come first in `feed`; every other message is news about the session.
        }
        self._block_handlers: dict[type, Callable[[Any, _Lane, MessageState, Events], None]] = {
            stream.ContentBlockDelta: self._block_delta,
            stream.ContentBlockStart: self._block_start,
            stream.ContentBlockStop: self._block_stop,
            stream.MessageDelta: self._message_delta,
        }

    def feed(self, line: Line) -> Events:
        """The events that one line means, in order; often one, sometimes none."""
        out: Events = []
        message = line.message
        if type(message) is messages.StreamEvent:
            # Most lines are these, and most of them are about a block of the current message.
            if message.session_id != self.session_id and message.session_id:
                self.session_id = message.session_id
            lane = self._main if message.parent_tool_use_id is None else self._lane(message)
            event = message.event
            handle = self._block_handlers.get(type(event))
            if handle is None:
                self._message_event(message, lane, line, out)
                return out
            state = lane.message
            if state is None or state.stopped or message.api_message_id != state.id:
                state = self._current(message, lane, out)
            if state is not None:
                handle(event, lane, state, out)
            return out
        session_id = getattr(message, "session_id", None)
        if session_id and session_id != self.session_id:
            self.session_id = session_id
        handler = self._handlers.get(type(message))
        if handler is None:
            out.append(self._news(_subtype(message), line))
        else:
            handler(message, line, out)
        return out

    def finish(self) -> Events:
        """The stream ended. Whatever is still open ends with it, so that nothing stays half said."""
        out: Events = []
        self._discard_all("stream_ended", out)
        if self._in_turn:
            self._in_turn = False
            said = "the agent's stream ended in the middle of a turn"
            out.append(ev.TurnFailed("claude", self.session_id, None, None, "agent_lost", said))
        return out

    def interrupt_requested(self) -> None:
        """The host asked for an interrupt; what the CLI says next in the user's name is its own."""
        self._interrupted = True

    # --- stream events ------------------------------------------------------------------------

    def _message_event(
        self, frame: messages.StreamEvent, lane: _Lane, line: Line, out: Events
    ) -> None:
        event = frame.event
        if isinstance(event, stream.MessageStart):
            self._message_start(event.message or _NO_MESSAGE, frame, lane, out)
        elif isinstance(event, stream.MessageStop):
            self._message_stop(frame, lane, out)
        elif isinstance(event, stream.UnknownStreamEvent):
            out.append(self._unknown(f"stream_event/{event.original_type}", line))
        elif isinstance(event, stream.StreamError):
            out.append(self._news("stream_error", line))
        # What is left is a ping.

    def _message_start(
        self, message: stream.ApiMessage, frame: messages.StreamEvent, lane: _Lane, out: Events
    ) -> None:
        self._open_turn(lane, out)
        # A message that did not stop before the next one began was abandoned.
        self._discard(lane, "restarted", out)
        state = self._new_message(lane, message.id or frame.api_message_id, True)
        out.append(
            ev.MessageStarted(
                "claude", self.session_id, lane.parent, lane.agent_id, state.id, message.model
            )
        )
        # The start may already carry blocks.
        if message.content and isinstance(message.content, list):
            for index, block in enumerate(message.content):
                self._start_block(lane, state, index, unify(block, "in_progress"), out)

    def _block_start(
        self, event: stream.ContentBlockStart, lane: _Lane, state: MessageState, out: Events
    ) -> None:
        block = unify(event.content_block, "in_progress")
        self._start_block(lane, state, event.index, block, out)

    def _block_delta(
        self, event: stream.ContentBlockDelta, lane: _Lane, state: MessageState, out: Events
    ) -> None:
        # The hottest path there is: most lines of a long stream are deltas.
        index, delta = event.index, event.delta
        block = state.blocks.get(index)
        if block is None:
            started = _implied(delta)
            if started is None:
                return
            self._start_block(lane, state, index, started, out)
            block = state.blocks[index]
        kind: ev.DeltaKind
        if isinstance(delta, stream.TextDelta):
            kind, text = "text", delta.text
        elif isinstance(delta, stream.InputJsonDelta):
            kind, text = "tool_input", delta.partial_json
        elif isinstance(delta, stream.ThinkingDelta):
            kind, text = "thinking", delta.thinking
        elif isinstance(delta, stream.SignatureDelta):
            block.signature += delta.signature
            return
        elif isinstance(delta, stream.CitationsDelta):
            block.citations.append(delta.citation)
            return
        else:
            self._unknown_delta(delta, lane, out)
            return
        if not text:  # Claude opens every tool's input with an empty piece
            return
        block.pieces.append(text)
        out.append(
            ev.ContentDelta(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                state.id,
                index,
                kind,
                text,
                block.tool_use_id,
            )
        )

    def _block_stop(
        self, event: stream.ContentBlockStop, lane: _Lane, state: MessageState, out: Events
    ) -> None:
        block = state.blocks.get(event.index)
        if block is not None and not block.ended:
            self._end_block(lane, state, event.index, block, out)

    def _message_delta(
        self, event: stream.MessageDelta, lane: _Lane, state: MessageState, out: Events
    ) -> None:
        if event.delta and event.delta.stop_reason:
            state.stop_reason = event.delta.stop_reason
        if event.usage:
            state.usage = event.usage
            out.append(
                ev.UsageUpdated(
                    "claude", self.session_id, lane.parent, lane.agent_id, event.usage, state.id
                )
            )

    def _message_stop(self, frame: messages.StreamEvent, lane: _Lane, out: Events) -> None:
        state = lane.message
        if state is None or state.stopped or self._is_late(frame, lane):
            return
        abandoned = frame.abandoned_blocks
        if abandoned and any(i >= abandoned.from_block_index for i in state.blocks):
            self._discard(lane, "abandoned", out, abandoned.from_block_index)
            return
        for index, block in state.blocks.items():
            if not block.ended:
                self._end_block(lane, state, index, block, out)
        state.stopped = True
        out.append(
            ev.MessageCompleted(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                state.id,
                state.stop_reason,
                state.usage,
            )
        )

    # --- finished messages --------------------------------------------------------------------

    def _assistant(self, frame: messages.AssistantMessage, line: Line, out: Events) -> None:
        lane = self._lane(frame)
        message = frame.message or _NO_MESSAGE
        content = unify_all(message.content)
        self._open_turn(lane, out)
        state = lane.message
        if state is None or (message.id != state.id and not _belongs(state, message.id)):
            self._discard(lane, "replaced", out)
            state = self._new_message(lane, message.id, False)
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

    def _user(self, frame: messages.UserMessage, line: Line, out: Events) -> None:
        lane = self._lane(frame)
        message = frame.message or _NO_MESSAGE
        content = unify_all(message.content, frame.tool_use_result)
        out.append(
            ev.UserMessage(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                content,
                self._origin(frame, content),
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
        # The CLI's leftover of an interrupt is not marked; the interrupt before it gives it away.
        if self._interrupted and _text(content).startswith("[Request interrupted by user"):
            return "interrupt"
        return "user"

    # --- turns --------------------------------------------------------------------------------

    def _init(self, message: system.Init, line: Line, out: Events) -> None:
        out.append(
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
            )
        )
        self._open_turn(self._main, out)

    def _open_turn(self, lane: _Lane, out: Events) -> None:
        if not self._in_turn and lane.parent is None:
            self._in_turn = True
            out.append(ev.TurnStarted("claude", self.session_id, None, None))

    def _result(self, result: messages.ResultMessage, line: Line, out: Events) -> None:
        self._discard(self._main, "turn_ended", out)
        self._in_turn = self._interrupted = False
        session_id = self.session_id
        origin = result.origin.kind if result.origin else None
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

    def _error(self, message: messages.ErrorMessage, line: Line, out: Events) -> None:
        self._discard_all("stream_ended", out)
        self._in_turn = self._interrupted = False
        text = message.error if isinstance(message.error, str) else line.raw.decode()
        out.append(ev.TurnFailed("claude", self.session_id, None, None, "agent_error", text))

    # --- what the agent asks ------------------------------------------------------------------

    def _control_request(self, frame: control.ControlRequest, line: Line, out: Events) -> None:
        request = frame.request
        if isinstance(request, control.CanUseTool):
            if asks_a_person(request.tool_name):
                self._question(frame.request_id, request, line, out)
            else:
                self._permission(frame.request_id, request, line, out)
        elif isinstance(request, control.McpMessage):
            asked = _mcp_question(request.message)
            if asked is not None:
                self._question(frame.request_id, asked, line, out)
        elif isinstance(request, control.UnknownControlRequest):
            out.append(self._unknown(f"control_request/{request.original_type}", line))
        # Hooks, and what the host itself asks, are the host's business.

    def _question(
        self, request_id: str, request: control.CanUseTool, line: Line, out: Events
    ) -> None:
        out.append(
            ev.QuestionAsked(
                *self._whose(request.agent_id),
                request_id,
                request.tool_use_id or request_id,
                request.tool_name,
                questions_of(request.input),
                request.input,
                Raw(line.raw),
            )
        )

    def _permission(
        self, request_id: str, request: control.CanUseTool, line: Line, out: Events
    ) -> None:
        out.append(
            ev.PermissionRequested(
                *self._whose(request.agent_id),
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
        )

    def _control_response(self, frame: control.ControlResponse, line: Line, out: Events) -> None:
        response = frame.response
        if isinstance(response, control.ControlSuccess):
            if _is_interrupt_receipt(response.response):
                self._interrupted = True
        elif isinstance(response, control.UnknownControlOutcome):
            out.append(self._unknown(f"control_response/{response.original_type}", line))

    def _withdrawn(self, frame: control.ControlCancelRequest, line: Line, out: Events) -> None:
        out.append(ev.RequestWithdrawn("claude", self.session_id, None, None, frame.request_id))

    # --- everything around it -----------------------------------------------------------------

    def _tool_progress(self, frame: messages.ToolProgress, line: Line, out: Events) -> None:
        tool_use_id, parent = frame.tool_use_id, frame.parent_tool_use_id
        if parent is not None and tool_use_id.startswith(f"{parent}-heartbeat-"):
            tool_use_id, parent = parent, None  # not a sub-agent: the tool's own sign of life
        out.append(
            ev.ToolProgress(
                "claude",
                self.session_id,
                parent,
                None,
                tool_use_id,
                frame.tool_name,
                frame.elapsed_time_seconds,
                None,
                bool(frame.heartbeat),
            )
        )

    def _unknown_message(self, message: messages.UnknownMessage, line: Line, out: Events) -> None:
        out.append(
            ev.UnknownEvent(
                "claude",
                self.session_id,
                None,
                None,
                message.original_type,
                message.data,
                message.reason,
            )
        )

    def _unknown_delta(self, delta: stream.UnknownDelta, lane: _Lane, out: Events) -> None:
        kind = f"delta/{delta.original_type}"
        data = Raw(msgspec.json.encode(delta.data))
        out.append(
            ev.UnknownEvent("claude", self.session_id, lane.parent, lane.agent_id, kind, data)
        )

    def _nothing(self, message: messages.KeepAlive, line: Line, out: Events) -> None:
        pass

    def _news(self, subtype: str, line: Line) -> NormalizedStreamEvent:
        return ev.SystemEvent("claude", self.session_id, None, None, subtype, Raw(line.raw))

    def _unknown(self, kind: str, line: Line) -> NormalizedStreamEvent:
        return ev.UnknownEvent("claude", self.session_id, None, None, kind, Raw(line.raw))

    # --- lanes and their messages -------------------------------------------------------------

    def _lane(
        self, frame: messages.StreamEvent | messages.AssistantMessage | messages.UserMessage
    ) -> _Lane:
        parent = frame.parent_tool_use_id
        lane = self._lanes.get(parent)
        if lane is None:
            if len(self._lanes) > _MAX_LANES:
                del self._lanes[next(key for key in self._lanes if key is not None)]
            lane = self._lanes[parent] = _Lane(parent, frame.agent_id)
        elif parent is not None and frame.agent_id is not None:
            lane.agent_id = frame.agent_id
        return lane

    def _new_message(self, lane: _Lane, message_id: str | None, streamed: bool) -> MessageState:
        if message_id is None:
            self._unnamed += 1
        name = message_id or f"unnamed-{self._unnamed}"
        lane.ended_id = lane.message.id if lane.message else None
        lane.message = MessageState(name, message_id is not None, streamed)
        return lane.message

    def _is_late(self, frame: messages.StreamEvent, lane: _Lane) -> bool:
        """Whether a stream event speaks of the message before the current one."""
        return frame.api_message_id is not None and frame.api_message_id == lane.ended_id

    def _current(
        self, frame: messages.StreamEvent, lane: _Lane, out: Events
    ) -> MessageState | None:
        """The message a stream event belongs to; begun here if its start was never seen."""
        state = lane.message
        named = frame.api_message_id
        if state is not None and not state.stopped and (named is None or not state.has_own_id):
            return state
        if self._is_late(frame, lane) or (state is not None and named == state.id):
            return None
        self._open_turn(lane, out)
        self._discard(lane, "restarted", out)
        state = self._new_message(lane, named, True)
        out.append(
            ev.MessageStarted("claude", self.session_id, lane.parent, lane.agent_id, state.id)
        )
        return state

    def _start_block(
        self, lane: _Lane, state: MessageState, index: int, block: ContentBlock, out: Events
    ) -> None:
        if index in state.blocks:  # said twice: the first one counts
            return
        state.blocks[index] = StreamedBlock(block)
        if isinstance(block, unified.ToolUseBlock) and not block.input:
            # An empty input at the start means "still to come", not "no arguments".
            block = unified.ToolUseBlock(
                block.id, block.tool_name, block.tool_type, None, "in_progress"
            )
        out.append(
            ev.ContentStarted(
                "claude", self.session_id, lane.parent, lane.agent_id, state.id, index, block
            )
        )

    def _end_block(
        self, lane: _Lane, state: MessageState, index: int, block: StreamedBlock, out: Events
    ) -> None:
        block.ended = True
        out.append(
            ev.ContentCompleted(
                "claude",
                self.session_id,
                lane.parent,
                lane.agent_id,
                state.id,
                index,
                state.finished.get(index) or block.assembled(),
            )
        )

    def _discard(
        self, lane: _Lane, reason: str, out: Events, from_index: int | None = None
    ) -> None:
        """End the lane's message if it was streamed and did not stop; its unconfirmed blocks go."""
        state = lane.message
        if state is None or state.stopped or not state.streamed:
            return
        state.stopped = True
        if from_index is None:
            from_index = state.first_unfinished()
        for index, block in state.blocks.items():
            if index < from_index and not block.ended:
                self._end_block(lane, state, index, block, out)
        out.append(
            ev.MessageDiscarded(
                "claude", self.session_id, lane.parent, lane.agent_id, state.id, from_index, reason
            )
        )

    def _discard_all(self, reason: str, out: Events) -> None:
        for lane in self._lanes.values():
            self._discard(lane, reason, out)

    def _whose(self, agent_id: str | None) -> tuple[str, str, str | None, str | None]:
        """A request names only the sub-agent; its lane knows under which tool call it runs."""
        for lane in self._lanes.values():
            if lane.agent_id == agent_id:
                return "claude", self.session_id, lane.parent, agent_id
        return "claude", self.session_id, None, agent_id


_NO_MESSAGE = stream.ApiMessage()


# What each kind of news is called; an unknown subtype goes by its own name.
_SUBTYPES = {
    kind: str(kind.__struct_config__.tag)
    for kind in (*get_args(messages.ClaudeMessage), *get_args(system.SystemMessage))
    if kind is not system.UnknownSystemMessage
}


def _subtype(message: Struct) -> str:
    known = _SUBTYPES.get(type(message))
    return known if known is not None else cast(Unknown, message).original_type


def _text(content: list[ContentBlock]) -> str:
    return "".join(block.text for block in content if isinstance(block, unified.TextBlock))


def _belongs(state: MessageState, message_id: str | None) -> bool:
    """Whether an assistant frame is about this message although their ids differ.

    A frame without an id, or a message without one, belongs together while streamed blocks wait.
    """
    return (message_id is None or not state.has_own_id) and state.waits()


def _implied(delta: stream.Delta) -> ContentBlock | None:
    """The block a delta must belong to, where its start was missed."""
    match delta:
        case stream.TextDelta() | stream.CitationsDelta():
            return unified.TextBlock("", "in_progress")
        case stream.ThinkingDelta() | stream.SignatureDelta():
            return unified.ThinkingBlock("", "in_progress")
        case _:  # a tool without its id and name cannot be made up
            return None


def _mcp_question(message: Any) -> control.CanUseTool | None:
    """A call of the host's own request_input tool; it carries the tool_use id in its `_meta`."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict) or message.get("method") != "tools/call":
        return None
    name, meta = params.get("name"), params.get("_meta")
    if not isinstance(name, str) or not asks_a_person(name):
        return None
    known = meta.get("claudecode/toolUseId") if isinstance(meta, dict) else None
    tool_use_id = known if isinstance(known, str) else None
    return control.CanUseTool(name, params.get("arguments"), tool_use_id)


def _is_interrupt_receipt(response: Raw | UnsetType) -> bool:
    """The answer to an interrupt is short and says which prompts still wait."""
    return response is not UNSET and b'"still_queued"' in bytes(response)[:1000]


def _error_text(result: messages.ResultMessage) -> str:
    if result.errors:
        return "; ".join(result.errors)
    return result.result or result.terminal_reason or result.subtype
