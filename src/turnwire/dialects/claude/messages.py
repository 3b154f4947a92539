"""The messages of Claude Code's stream-json. Every field that an agent may omit has a default."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.usage import Usage
from turnwire.dialects.claude.control import ControlCancelRequest, ControlRequest, ControlResponse
from turnwire.dialects.claude.stream import AbandonedBlocks, ApiMessage, StreamEventBody
from turnwire.dialects.claude.system import SystemMessage

__all__ = [
    "AssistantMessage",
    "Attachment",
    "AuthStatus",
    "ClaudeMessage",
    "CommandLifecycle",
    "ConversationReset",
    "DeferredToolUse",
    "ErrorMessage",
    "KeepAlive",
    "ModelFigures",
    "Origin",
    "PromptSuggestion",
    "RateLimitEvent",
    "RateLimitInfo",
    "ResultMessage",
    "StreamEvent",
    "ToolProgress",
    "ToolUseSummary",
    "TranscriptMirror",
    "UnknownMessage",
    "UserMessage",
]


class _Message(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", gc=False):
    """The fields of most messages."""

    session_id: str | None = None
    uuid: str | None = None


class UserMessage(_Message, frozen=True, tag="user"):
    """A message to the model: a prompt, a tool's result, or a text of the agent program."""

    message: ApiMessage | None = None
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    tool_use_result: Raw | UnsetType = UNSET  # the tool's structured result
    isSynthetic: bool | None = None  # noqa: N815 (said by the agent itself; the wire's spelling)
    isReplay: bool | None = None  # noqa: N815 (said in an earlier turn)
    origin: Origin | None = None  # what started the turn
    timestamp: str | None = None


class AssistantMessage(_Message, frozen=True, tag="assistant"):
    """Finished blocks of a model message; often one frame for each block, with one message id."""

    message: ApiMessage | None = None
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    error: str | None = None  # authentication_failed, billing_error, rate_limit, ...
    aborted: bool | None = None  # ended early by an interrupt
    timestamp: str | None = None


class StreamEvent(
    Struct, frozen=True, omit_defaults=True, tag_field="type", tag="stream_event", gc=False
):
    """An event of a growing model message."""

    # The fields are in the order of the wire, which msgspec decodes fastest.
    event: StreamEventBody
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    uuid: str | None = None
    api_message_id: str | None = None  # the id of its message
    abandoned_blocks: AbandonedBlocks | None = None  # blocks that will never be finished
    agent_id: str | None = None


class ModelFigures(
    Struct,
    frozen=True,
    omit_defaults=True,
    gc=False,
    rename={
        "input_tokens": "inputTokens",
        "output_tokens": "outputTokens",
        "cache_read_input_tokens": "cacheReadInputTokens",
        "cache_creation_input_tokens": "cacheCreationInputTokens",
        "web_search_requests": "webSearchRequests",
        "cost_usd": "costUSD",
    },
):
    """The tokens and the cost of one model."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    web_search_requests: int = 0
    cost_usd: float = 0.0


class DeferredToolUse(Struct, frozen=True, omit_defaults=True, gc=False):
    """The tool call that a turn was paused at."""

    id: str
    name: str | None = None
    input: Any = None


class Origin(Struct, frozen=True, omit_defaults=True, gc=False):
    """The source of the turn."""

    kind: str | None = None  # `task-notification`, ...


class ResultMessage(_Message, frozen=True, tag="result"):
    """The end of a turn, and its figures. `subtype` alone does not tell success."""

    subtype: str = ""
    is_error: bool = False
    duration_ms: int = 0
    duration_api_ms: int = 0
    num_turns: int = 0
    stop_reason: str | None = None
    terminal_reason: str | None = None
    result: str | None = None
    structured_output: Any = None
    errors: list[str] | None = None
    api_error_status: int | None = None  # HTTP status
    total_cost_usd: float | None = None  # cumulative
    usage: Usage | None = None  # of this turn
    # Cumulative, like total_cost_usd: over the process and the session that it resumed.
    modelUsage: dict[str, ModelFigures] | None = None  # noqa: N815 (the wire's spelling)
    model_usage_since_last_result: dict[str, ModelFigures] | None = None
    permission_denials: Raw | UnsetType = UNSET  # the denied calls
    deferred_tool_use: DeferredToolUse | None = None
    origin: Origin | None = None
    result_index: int | None = None  # counts the results of one process from 0
    queued_turn_count: int | None = None  # the number of queued prompts


class RateLimitInfo(Struct, frozen=True, omit_defaults=True, gc=False):
    """The use of a rate limit."""

    status: str | None = None  # `allowed_warning`, ...
    resetsAt: float | None = None  # noqa: N815 (the wire's spelling; seconds since 1970)
    rateLimitType: str | None = None  # noqa: N815 (`five_hour`, ...)
    utilization: float | None = None  # 0 to 1


class RateLimitEvent(_Message, frozen=True, tag="rate_limit_event"):
    """A rate limit is near or reached."""

    rate_limit_info: RateLimitInfo | None = None


class ToolProgress(_Message, frozen=True, tag="tool_progress"):
    """Progress of a tool. A heartbeat has the id `X-heartbeat-N`, and the tool X as its parent."""

    tool_use_id: str
    tool_name: str | None = None
    parent_tool_use_id: str | None = None
    elapsed_time_seconds: float | None = None
    heartbeat: bool | None = None  # only a heartbeat


class ConversationReset(_Message, frozen=True, tag="conversation_reset"):
    """The agent cleared the conversation."""


class ErrorMessage(_Message, frozen=True, tag="error"):
    """An error of the stream. Only the SDK writes it; the CLI does not send it today."""

    error: Any = None


class KeepAlive(_Message, frozen=True, tag="keep_alive"):
    """A heartbeat."""


class CommandLifecycle(_Message, frozen=True, tag="command_lifecycle"):
    """The state of a prompt with a uuid: queued, started, completed, cancelled."""

    command_uuid: str | None = None  # the uuid of the prompt
    state: str | None = None


class ToolUseSummary(_Message, frozen=True, tag="tool_use_summary"):
    """A summary of several tool calls."""

    summary: str | None = None
    preceding_tool_use_ids: list[str] = []


class PromptSuggestion(_Message, frozen=True, tag="prompt_suggestion"):
    """A suggestion for the next prompt."""

    suggestion: str | None = None


class Attachment(_Message, frozen=True, tag="attachment"):
    """Additional input of the model, for example a hook's output in a resumed session."""

    attachment: Raw | UnsetType = UNSET
    parent_tool_use_id: str | None = None


class AuthStatus(_Message, frozen=True, tag="auth_status"):
    """The state of the login."""

    isAuthenticating: bool | None = None  # noqa: N815
    output: list[str] | None = None
    error: str | None = None


class TranscriptMirror(
    _Message, frozen=True, tag="transcript_mirror", rename={"file_path": "filePath"}
):
    """Lines of the agent's own transcript, for a host that stores them."""

    file_path: str | None = None
    entries: Raw | UnsetType = UNSET  # long, and not used here


class UnknownMessage(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message that is unknown or unreadable, stored as received."""

    original_type: str  # empty if the message has no type
    data: Raw  # the whole line
    reason: str | None = None  # why a message of a known type could not be read


ClaudeMessage: TypeAlias = (
    UserMessage
    | AssistantMessage
    | SystemMessage
    | ResultMessage
    | StreamEvent
    | RateLimitEvent
    | ToolProgress
    | ConversationReset
    | ErrorMessage
    | KeepAlive
    | CommandLifecycle
    | ToolUseSummary
    | PromptSuggestion
    | Attachment
    | AuthStatus
    | TranscriptMirror
    | ControlRequest
    | ControlResponse
    | ControlCancelRequest
    | UnknownMessage
)
