"""UI events for front ends, and the adapter that makes them from normalized events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.usage import ModelUsage, Usage

__all__ = [
    "UiAssistantMessage",
    "UiBlockStart",
    "UiBlockStop",
    "UiError",
    "UiMessageComplete",
    "UiMessageStart",
    "UiResultMessage",
    "UiStreamAdapter",
    "UiStreamEvent",
    "UiSystemMessage",
    "UiTextDelta",
    "UiThinkingDelta",
    "UiToolComplete",
    "UiToolInputDelta",
    "UiToolProgress",
    "UiToolStart",
    "UiUserMessage",
]


class UiEvent(Struct, frozen=True, omit_defaults=True, tag_field="type", tag=str, gc=False):
    """The fields that every UI event has."""

    provider: str  # the agent's name
    session_id: str  # the agent's own session
    parent_tool_use_id: str | None  # the sub-agent's tool call; null: the agent itself
    agent_id: str | None  # the id of that sub-agent


class UiMessageStart(UiEvent, frozen=True):
    """A message begins."""

    message_id: str
    model: str | None = None


class UiBlockStart(UiEvent, frozen=True):
    """A block other than a tool call begins."""

    message_id: str
    index: int  # the block's position in its message
    block: ContentBlock


class UiTextDelta(UiEvent, frozen=True):
    """More text."""

    message_id: str
    index: int
    text: str


class UiThinkingDelta(UiEvent, frozen=True):
    """More reasoning."""

    message_id: str
    index: int
    thinking: str


class UiToolStart(UiEvent, frozen=True):
    """A tool call begins; its input still streams in."""

    message_id: str
    index: int
    tool_id: str
    tool_name: str
    tool_type: str
    input: Any = None  # if it is known at once


class UiToolInputDelta(UiEvent, frozen=True):
    """More of a tool's input, as JSON text."""

    message_id: str
    index: int
    tool_id: str
    partial_json: str


class UiBlockStop(UiEvent, frozen=True):
    """A block ended."""

    message_id: str
    index: int


class UiToolProgress(UiEvent, frozen=True):
    """A tool is running: its new output, or only a heartbeat."""

    message_id: str | None
    index: int | None  # the tool's own block; null if its start was not seen
    tool_id: str
    output_preview: str | None = None  # output since the last event
    elapsed_seconds: float | None = None


class UiToolComplete(UiEvent, frozen=True):
    """A tool has returned its result."""

    message_id: str | None
    index: int | None  # the tool's own block; null if its start was not seen
    tool_id: str
    result: Any
    is_error: bool
    details: Raw | UnsetType = UNSET  # the tool's structured result, if the agent gives one


class UiMessageComplete(UiEvent, frozen=True):
    """A message ended. Blocks from `discarded_from` on were abandoned and are to be dropped."""

    message_id: str
    stop_reason: str | None = None
    usage: Usage | None = None
    discarded_from: int | None = None  # drop the blocks from this index on


class UiAssistantMessage(UiEvent, frozen=True):
    """Finished blocks; they replace the streamed ones."""

    message_id: str
    index: int  # the position of the first of these blocks
    content: list[ContentBlock]
    model: str | None = None
    error: str | None = None  # the API failed and the text says so: `rate_limit`, ...
    aborted: bool = False  # cut off by an interrupt


class UiUserMessage(UiEvent, frozen=True):
    """A message to the model, without tool results, which come as UiToolComplete."""

    content: list[ContentBlock]
    origin: ev.UserOrigin  # the author
    uuid: str | None = None  # the agent's id of this frame


class UiResultMessage(UiEvent, frozen=True):
    """Usage, cost and duration of a turn."""

    subtype: str
    is_error: bool
    duration_ms: int
    duration_api_ms: int
    num_turns: int
    cost_usd: float | None = None  # this turn
    total_cost_usd: float | None = None  # since the agent process started
    usage: Usage | None = None
    result: str | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    structured_output: Any = None
    errors: list[str] | None = None
    model_usage: dict[str, ModelUsage] | None = None  # this turn, by model


class UiError(UiEvent, frozen=True):
    """Something failed."""

    message: str
    code: str | None = None  # the agent's error code: `api_error`, ...


class UiSystemMessage(UiEvent, frozen=True):
    """News about the session."""

    subtype: str
    data: Raw | UnsetType = UNSET  # the agent's own message, unchanged


UiStreamEvent: TypeAlias = (
    UiMessageStart
    | UiBlockStart
    | UiTextDelta
    | UiThinkingDelta
    | UiToolStart
    | UiToolInputDelta
    | UiBlockStop
    | UiToolProgress
    | UiToolComplete
    | UiMessageComplete
    | UiAssistantMessage
    | UiUserMessage
    | UiResultMessage
    | UiError
    | UiSystemMessage
)

UiEvents = list[UiStreamEvent]


class UiStreamAdapter:
    """Converts normalized events into UI events.

    Keeps only the block index of each running tool.
    """

    def __init__(self) -> None:
        self._tools: dict[str, tuple[str, int]] = {}
        self._told: set[str] = set()  # this turn's tools whose streamed result was emitted
        self._handlers: dict[type, Callable[[Any], UiEvents]] = {
            ev.ContentDelta: self._content_delta,
            ev.ContentStarted: self._content_started,
            ev.ContentCompleted: self._content_completed,
            ev.MessageStarted: self._message_started,
            ev.MessageCompleted: self._message_completed,
            ev.MessageDiscarded: self._message_discarded,
            ev.AssistantMessage: self._assistant_message,
            ev.UserMessage: self._user_message,
            ev.ToolProgress: self._tool_progress,
            ev.TurnFailed: self._turn_failed,
            ev.ResultSummary: self._result,
            ev.SessionInit: self._session_init,
            **dict.fromkeys(ev.SYSTEM_EVENTS, self._system_event),
            ev.UnknownEvent: self._unknown,
            # Each protocol has its own messages for turns, plans, usage and requests.
            ev.TurnStarted: self._nothing,
            ev.TurnCompleted: self._nothing,
            ev.UsageUpdated: self._nothing,
            ev.PlanUpdated: self._nothing,
            ev.QuestionAsked: self._nothing,
            ev.PermissionRequested: self._nothing,
            ev.RequestWithdrawn: self._nothing,
        }

    def feed(self, event: NormalizedStreamEvent) -> UiEvents:
        """Returns the UI events of one normalized event, in order."""
        return self._handlers[type(event)](event)

    def feed_all(self, events: Iterable[NormalizedStreamEvent]) -> UiEvents:
        """Returns the UI events of several normalized events; faster than one by one."""
        handlers = self._handlers
        return [shown for event in events for shown in handlers[type(event)](event)]

    def _nothing(self, e: NormalizedStreamEvent) -> UiEvents:
        return []

    # --- streamed messages ----------------------------------------------------------------------

    def _message_started(self, e: ev.MessageStarted) -> UiEvents:
        return [
            UiMessageStart(
                e.provider, e.session_id, e.parent_tool_use_id, e.agent_id, e.message_id, e.model
            )
        ]

    def _content_started(self, e: ev.ContentStarted) -> UiEvents:
        block = e.block
        if isinstance(block, ToolResultBlock):
            return []  # a tool of the model's provider; its result is emitted when it is complete
        if not isinstance(block, ToolUseBlock):
            return [
                UiBlockStart(
                    e.provider,
                    e.session_id,
                    e.parent_tool_use_id,
                    e.agent_id,
                    e.message_id,
                    e.index,
                    block,
                )
            ]
        self._tools[block.id] = (e.message_id, e.index)
        return [
            UiToolStart(
                e.provider,
                e.session_id,
                e.parent_tool_use_id,
                e.agent_id,
                e.message_id,
                e.index,
                block.id,
                block.tool_name,
                block.tool_type,
                block.input,
            )
        ]

    def _content_delta(self, e: ev.ContentDelta) -> UiEvents:
        # The most frequent event.
        kind = e.kind
        if kind == "text":
            return [
                UiTextDelta(
                    e.provider,
                    e.session_id,
                    e.parent_tool_use_id,
                    e.agent_id,
                    e.message_id,
                    e.index,
                    e.text,
                )
            ]
        tool_id = e.tool_use_id or ""
        if kind == "tool_input":
            return [
                UiToolInputDelta(
                    e.provider,
                    e.session_id,
                    e.parent_tool_use_id,
                    e.agent_id,
                    e.message_id,
                    e.index,
                    tool_id,
                    e.text,
                )
            ]
        if kind == "thinking":
            return [
                UiThinkingDelta(
                    e.provider,
                    e.session_id,
                    e.parent_tool_use_id,
                    e.agent_id,
                    e.message_id,
                    e.index,
                    e.text,
                )
            ]
        return [
            UiToolProgress(
                e.provider,
                e.session_id,
                e.parent_tool_use_id,
                e.agent_id,
                e.message_id,
                e.index,
                tool_id,
                e.text,
            )
        ]

    def _content_completed(self, e: ev.ContentCompleted) -> UiEvents:
        if isinstance(e.block, ToolResultBlock):
            if e.block.tool_use_id not in self._tools:
                return []  # contained in the finished message already
            self._told.add(e.block.tool_use_id)
            return [self._complete(e.block, e)]
        return [
            UiBlockStop(
                e.provider,
                e.session_id,
                e.parent_tool_use_id,
                e.agent_id,
                e.message_id,
                e.index,
            )
        ]

    def _message_completed(self, e: ev.MessageCompleted) -> UiEvents:
        return [
            UiMessageComplete(
                e.provider,
                e.session_id,
                e.parent_tool_use_id,
                e.agent_id,
                e.message_id,
                e.stop_reason,
                e.usage,
            )
        ]

    def _message_discarded(self, e: ev.MessageDiscarded) -> UiEvents:
        for tool_id, (message_id, index) in list(self._tools.items()):
            if message_id == e.message_id and index >= e.from_index:
                del self._tools[tool_id]
        return [
            UiMessageComplete(
                *_who(e),
                e.message_id,
                discarded_from=e.from_index,
            )
        ]

    # --- finished messages --------------------------------------------------------------------

    def _assistant_message(self, e: ev.AssistantMessage) -> UiEvents:
        if len(e.content) == 1 and type(e.content[0]) is TextBlock:
            return [_assistant(e, e.index, e.content)]  # the usual frame
        out: UiEvents = []
        run: list[ContentBlock] = []  # adjacent blocks, placed by the index of the first
        start = e.index
        for index, block in enumerate(e.content, e.index):
            if isinstance(block, ToolResultBlock):
                if run:
                    out.append(_assistant(e, start, run))
                if block.tool_use_id not in self._told:
                    out.append(self._complete(block, e))
                run, start = [], index + 1
                continue
            run.append(block)
            if isinstance(block, ToolUseBlock) and block.id not in self._told:
                self._tools[block.id] = (e.message_id, index)
        if run or not e.content:
            out.append(_assistant(e, start, run))
        return out

    def _user_message(self, e: ev.UserMessage) -> UiEvents:
        out: UiEvents = []
        rest: list[ContentBlock] = []
        for block in e.content:
            if isinstance(block, ToolResultBlock):
                out.append(self._complete(block, e))
            else:
                rest.append(block)
        if rest or not out:
            out.append(
                UiUserMessage(
                    *_who(e),
                    rest,
                    e.origin,
                    e.uuid,
                )
            )
        return out

    def _complete(self, block: ToolResultBlock, e: ev.Event) -> UiToolComplete:
        message_id, index = self._tools.pop(block.tool_use_id, (None, None))
        return UiToolComplete(
            *_who(e),
            message_id,
            index,
            block.tool_use_id,
            block.content,
            block.is_error,
            block.details,
        )

    # --- progress, results and news -------------------------------------------------------------

    def _tool_progress(self, e: ev.ToolProgress) -> UiEvents:
        message_id, index = self._tools.get(e.tool_use_id, (None, None))
        return [
            UiToolProgress(
                *_who(e),
                message_id,
                index,
                e.tool_use_id,
                e.output,
                e.elapsed_seconds,
            )
        ]

    def _turn_failed(self, e: ev.TurnFailed) -> UiEvents:
        return [UiError(*_who(e), e.message, e.code)]

    def _result(self, e: ev.ResultSummary) -> UiEvents:
        self._told.clear()
        return [
            UiResultMessage(
                *_who(e),
                e.subtype,
                e.is_error,
                e.duration_ms,
                e.duration_api_ms,
                e.num_turns,
                e.cost_usd,
                e.total_cost_usd,
                e.usage,
                e.result,
                e.stop_reason,
                e.terminal_reason,
                e.structured_output,
                e.errors,
                e.model_usage,
            )
        ]

    def _session_init(self, e: ev.SessionInit) -> UiEvents:
        return [UiSystemMessage(*_who(e), "init", e.raw)]

    def _system_event(self, e: ev.SystemEvent) -> UiEvents:
        return [
            UiSystemMessage(
                e.provider, e.session_id, e.parent_tool_use_id, e.agent_id, e.subtype, e.data
            )
        ]

    def _unknown(self, e: ev.UnknownEvent) -> UiEvents:
        return [UiSystemMessage(*_who(e), "unknown", e.data)]


def _assistant(e: ev.AssistantMessage, index: int, run: list[ContentBlock]) -> UiAssistantMessage:
    return UiAssistantMessage(
        e.provider,
        e.session_id,
        e.parent_tool_use_id,
        e.agent_id,
        e.message_id,
        index,
        run,
        e.model,
        e.error,
        e.aborted,
    )


def _who(e: ev.Event) -> tuple[str, str, str | None, str | None]:
    """Returns the fields that every event has. Frequent events repeat this inline for speed."""
    return e.provider, e.session_id, e.parent_tool_use_id, e.agent_id
