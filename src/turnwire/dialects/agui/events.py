"""The events of an AG-UI stream, one type for each kind that Turnwire sends."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

__all__ = [
    "PROTOCOL_VERSION",
    "ActivitySnapshot",
    "Custom",
    "Event",
    "Interrupt",
    "MessagesSnapshot",
    "Outcome",
    "Patch",
    "RawEvent",
    "ReasoningContent",
    "ReasoningEncryptedValue",
    "ReasoningEnd",
    "ReasoningMessageEnd",
    "ReasoningMessageStart",
    "ReasoningStart",
    "RunError",
    "RunFinished",
    "RunStarted",
    "StateDelta",
    "StateSnapshot",
    "StepFinished",
    "StepStarted",
    "SubagentError",
    "SubagentFinished",
    "SubagentOutcome",
    "SubagentStarted",
    "TextContent",
    "TextEnd",
    "TextStart",
    "TokenUsage",
    "ToolCallArgs",
    "ToolCallEnd",
    "ToolCallResult",
    "ToolCallStart",
]

PROTOCOL_VERSION = "1.0"


class _Plain(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """An object without nulls: the protocol has absent fields only."""


class _Event(_Plain, frozen=True, tag_field="type"):
    """An event. Readers remove events and fields that they do not know."""


Metadata: TypeAlias = dict[str, Any]  # ours is under `turnwire`


# --- runs -----------------------------------------------------------------------------------------


class RunStarted(_Event, frozen=True, tag="RUN_STARTED"):
    """A run begins. It is always the first event."""

    thread_id: str
    run_id: str
    protocol_version: str
    metadata: Metadata | None = None


class Interrupt(_Plain, frozen=True):
    """A question or a permission that waits for a person."""

    id: str
    reason: str
    message: str | None = None
    tool_call_id: str | None = None
    response_schema: dict[str, Any] | None = None
    expires_at: str | None = None
    subagent_run_id: str | None = None
    metadata: Metadata | None = None


class Outcome(_Plain, frozen=True):
    """Why a run ended: it waits, it was stopped, or it succeeded."""

    type: Literal["success", "interrupt", "cancelled"]
    interrupts: list[Interrupt] | None = None  # with `interrupt`
    pending_tool_call_ids: list[str] | None = None  # with `success`: calls for the front end


class TokenUsage(_Plain, frozen=True):
    """Tokens. The totals include what was read from and written to a cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class RunFinished(_Event, frozen=True, tag="RUN_FINISHED"):
    """A run has ended, and has not failed."""

    thread_id: str
    run_id: str
    outcome: Outcome
    result: Any = UNSET
    usage: list[TokenUsage] | None = None
    metadata: Metadata | None = None


class RunError(_Event, frozen=True, tag="RUN_ERROR"):
    """A run has failed, or its stream cannot continue."""

    message: str
    code: str | None = None
    usage: list[TokenUsage] | None = None
    metadata: Metadata | None = None


class StepStarted(_Event, frozen=True, tag="STEP_STARTED"):
    """A turn of the conversation begins, or continues in this run."""

    step_name: str
    metadata: Metadata | None = None


class StepFinished(_Event, frozen=True, tag="STEP_FINISHED"):
    """The turn has ended, or this run shows no more of it."""

    step_name: str
    metadata: Metadata | None = None


# --- text and reasoning ---------------------------------------------------------------------------


class TextStart(_Event, frozen=True, tag="TEXT_MESSAGE_START"):
    """A message begins, or continues."""

    message_id: str
    role: Literal["assistant", "user"]
    subagent_run_id: str | None = None
    metadata: Metadata | None = None


class TextContent(_Event, frozen=True, tag="TEXT_MESSAGE_CONTENT"):
    """A message grows."""

    message_id: str
    delta: str


class TextEnd(_Event, frozen=True, tag="TEXT_MESSAGE_END"):
    """A message is finished, or will never be."""

    message_id: str
    metadata: Metadata | None = None


class ReasoningStart(_Event, frozen=True, tag="REASONING_START"):
    """A span of reasoning begins. It holds one message here."""

    message_id: str
    subagent_run_id: str | None = None


class ReasoningMessageStart(
    _Event, frozen=True, tag="REASONING_MESSAGE_START", omit_defaults=False
):
    """Reasoning begins, or continues."""

    message_id: str
    role: Literal["reasoning"] = "reasoning"
    subagent_run_id: str | UnsetType = UNSET


class ReasoningContent(_Event, frozen=True, tag="REASONING_MESSAGE_CONTENT"):
    """Reasoning grows."""

    message_id: str
    delta: str


class ReasoningMessageEnd(_Event, frozen=True, tag="REASONING_MESSAGE_END"):
    """Reasoning is finished, or will never be."""

    message_id: str
    metadata: Metadata | None = None


class ReasoningEnd(_Event, frozen=True, tag="REASONING_END"):
    """The span of reasoning has ended."""

    message_id: str


class ReasoningEncryptedValue(_Event, frozen=True, tag="REASONING_ENCRYPTED_VALUE"):
    """Reasoning that only its provider can read."""

    subtype: Literal["message"]
    entity_id: str
    encrypted_value: str


# --- tools ----------------------------------------------------------------------------------------


class ToolCallStart(_Event, frozen=True, tag="TOOL_CALL_START"):
    """A tool call begins, or continues."""

    tool_call_id: str
    tool_call_name: str
    subagent_run_id: str | None = None
    metadata: Metadata | None = None


class ToolCallArgs(_Event, frozen=True, tag="TOOL_CALL_ARGS"):
    """The arguments of a tool call grow: more JSON text."""

    tool_call_id: str
    delta: str


class ToolCallEnd(_Event, frozen=True, tag="TOOL_CALL_END"):
    """The arguments of a tool call are complete, or will never be."""

    tool_call_id: str
    metadata: Metadata | None = None


class ToolCallResult(_Event, frozen=True, tag="TOOL_CALL_RESULT"):
    """The result of a tool, as a message of its own."""

    message_id: str
    tool_call_id: str
    content: str
    role: Literal["tool"] | None = None
    subagent_run_id: str | None = None
    metadata: Metadata | None = None


# --- sub-agents -----------------------------------------------------------------------------------


class SubagentStarted(_Event, frozen=True, tag="SUBAGENT_STARTED"):
    """A sub-agent begins, or continues in this run."""

    subagent_run_id: str
    name: str
    parent_subagent_run_id: str | None = None
    parent_tool_call_id: str | None = None


class SubagentOutcome(_Plain, frozen=True):
    """Why this run shows no more of a sub-agent."""

    type: Literal["success", "suspended"]
    interrupt_ids: list[str] | None = None


class SubagentFinished(_Event, frozen=True, tag="SUBAGENT_FINISHED"):
    """A sub-agent has ended, or waits."""

    subagent_run_id: str
    outcome: SubagentOutcome


class SubagentError(_Event, frozen=True, tag="SUBAGENT_ERROR"):
    """A sub-agent has failed."""

    subagent_run_id: str
    message: str


# --- state, messages and all the rest -------------------------------------------------------------


class Patch(_Plain, frozen=True):
    """An operation of JSON Patch."""

    op: Literal["add", "remove"]
    path: str
    value: Any = UNSET


class StateSnapshot(_Event, frozen=True, tag="STATE_SNAPSHOT"):
    """The whole state of the front end; ours is its field `turnwire`."""

    snapshot: Any


class StateDelta(_Event, frozen=True, tag="STATE_DELTA"):
    """A change of the state."""

    delta: list[Patch]


class MessagesSnapshot(_Event, frozen=True, tag="MESSAGES_SNAPSHOT"):
    """All messages of the conversation."""

    messages: list[dict[str, Any]]
    metadata: Metadata | None = None


class ActivitySnapshot(_Event, frozen=True, tag="ACTIVITY_SNAPSHOT"):
    """A plan, or a block that is no text. It replaces an earlier one with the same id."""

    message_id: str
    activity_type: str
    content: dict[str, Any]
    subagent_run_id: str | None = None


class Custom(_Event, frozen=True, tag="CUSTOM"):
    """News that AG-UI has no event for."""

    name: str  # begins with `turnwire.`
    value: Any


class RawEvent(_Event, frozen=True, tag="RAW"):
    """A frame of protocol v2 as it is."""

    event: Any
    source: str | None = None


Event: TypeAlias = (
    RunStarted
    | RunFinished
    | RunError
    | StepStarted
    | StepFinished
    | TextStart
    | TextContent
    | TextEnd
    | ReasoningStart
    | ReasoningMessageStart
    | ReasoningContent
    | ReasoningMessageEnd
    | ReasoningEnd
    | ReasoningEncryptedValue
    | ToolCallStart
    | ToolCallArgs
    | ToolCallEnd
    | ToolCallResult
    | SubagentStarted
    | SubagentFinished
    | SubagentError
    | StateSnapshot
    | StateDelta
    | MessagesSnapshot
    | ActivitySnapshot
    | Custom
    | RawEvent
)
