"""The updates of a session: everything that an agent reports during a turn."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Struct, field

from turnwire.core.lenient import Unknown, known
from turnwire.dialects.acp.content import AcpContent, ToolContent

__all__ = [
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "AvailableCommand",
    "AvailableCommandsUpdate",
    "CommandInput",
    "ConfigOptionUpdate",
    "Cost",
    "CurrentModeUpdate",
    "Plan",
    "PlanBody",
    "PlanEntry",
    "PlanRemoved",
    "PlanUpdate",
    "SessionInfoUpdate",
    "SessionUpdate",
    "ToolCall",
    "ToolCallFields",
    "ToolCallUpdate",
    "ToolKind",
    "ToolStatus",
    "UnknownUpdate",
    "UsageUpdate",
    "UserMessageChunk",
]

ToolKind: TypeAlias = Literal[
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
]
ToolStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]


class _Part(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    pass


class _Update(
    Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="sessionUpdate", gc=False
):
    pass


# --- messages -------------------------------------------------------------------------------------


class _Chunk(_Update, frozen=True):
    content: AcpContent
    message_id: str | None = None  # chunks of one message have the same id, if they have any


class AgentMessageChunk(_Chunk, frozen=True, tag="agent_message_chunk"):
    """A piece of the agent's answer."""


class AgentThoughtChunk(_Chunk, frozen=True, tag="agent_thought_chunk"):
    """A piece of the agent's reasoning."""


class UserMessageChunk(_Chunk, frozen=True, tag="user_message_chunk"):
    """A piece of a person's message: while a session is loaded, or as an echo of the prompt."""


# --- tool calls -----------------------------------------------------------------------------------


class ToolCallFields(_Part, frozen=True):
    """A tool call, or a change of it: fields that are absent stay as they are."""

    tool_call_id: str
    title: str | None = None  # for people
    name: str | None = None  # the tool, if the agent says it
    kind: Annotated[str, known(ToolKind)] | None = None
    status: Annotated[str, known(ToolStatus)] | None = None
    content: list[ToolContent] | None = None  # replaces the former content
    locations: list[Any] | None = None  # the files that it works on
    raw_input: Any = None
    raw_output: Any = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ToolCall(ToolCallFields, frozen=True, tag_field="sessionUpdate", tag="tool_call"):
    """A tool call begins."""


class ToolCallUpdate(
    ToolCallFields, frozen=True, tag_field="sessionUpdate", tag="tool_call_update"
):
    """A tool call changes, or ends."""


# --- plans ----------------------------------------------------------------------------------------


class PlanEntry(_Part, frozen=True):
    """One item of a plan."""

    content: str
    status: str = "pending"
    priority: str | None = None


class Plan(_Update, frozen=True, tag="plan"):
    """The complete plan."""

    entries: list[PlanEntry] = []


class PlanBody(_Part, frozen=True):
    """One of several plans: a list of entries, a text, or a file."""

    type: str = "items"  # items, markdown, file
    plan_id: str = ""
    entries: list[PlanEntry] | None = None
    content: str | None = None
    uri: str | None = None


class PlanUpdate(_Update, frozen=True, tag="plan_update"):
    """One of several plans, complete."""

    plan: PlanBody


class PlanRemoved(_Update, frozen=True, tag="plan_removed"):
    """A plan is void."""

    plan_id: str = ""


# --- the session ----------------------------------------------------------------------------------


class CommandInput(_Part, frozen=True):
    """The argument of a slash command."""

    hint: str | None = None


class AvailableCommand(_Part, frozen=True):
    """A slash command."""

    name: str
    description: str | None = None
    input: CommandInput | None = None


class AvailableCommandsUpdate(_Update, frozen=True, tag="available_commands_update"):
    """The complete list of slash commands."""

    available_commands: list[AvailableCommand] = []


class CurrentModeUpdate(_Update, frozen=True, tag="current_mode_update"):
    """The agent has changed its mode."""

    current_mode_id: str


class ConfigOptionUpdate(_Update, frozen=True, tag="config_option_update"):
    """The complete list of the session's options."""

    config_options: list[Any] = []


class SessionInfoUpdate(_Update, frozen=True, tag="session_info_update"):
    """The title of the session, and other facts."""

    title: str | None = None
    updated_at: str | None = None


class Cost(_Part, frozen=True):
    """An amount of money."""

    amount: float
    currency: str = "USD"


class UsageUpdate(_Update, frozen=True, tag="usage_update"):
    """The size of the context, and the cost of the session so far."""

    used: int = 0  # tokens in the context
    size: int | None = None  # maximum of the context
    cost: Cost | None = None


class UnknownUpdate(Unknown, frozen=True, tag_field="sessionUpdate", tag="unknown", gc=False):
    """An update of a kind that this version does not know."""


SessionUpdate: TypeAlias = (
    AgentMessageChunk
    | AgentThoughtChunk
    | UserMessageChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | UnknownUpdate
)
