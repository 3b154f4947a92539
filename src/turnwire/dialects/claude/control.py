"""The control protocol: requests and answers in both directions, outside of the messages."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.lenient import Unknown

__all__ = [
    "CanUseTool",
    "ControlBody",
    "ControlCancelRequest",
    "ControlError",
    "ControlOutcome",
    "ControlRequest",
    "ControlResponse",
    "ControlSuccess",
    "Elicitation",
    "GetContextUsage",
    "GetSessionCost",
    "GetSettings",
    "HookCallback",
    "Initialize",
    "Interrupt",
    "ListModels",
    "McpMessage",
    "McpReconnect",
    "McpStatus",
    "McpToggle",
    "PermissionAllow",
    "PermissionDeny",
    "PermissionResult",
    "PermissionRule",
    "PermissionUpdate",
    "RenameSession",
    "RequestUserDialog",
    "RewindFiles",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetPermissionMode",
    "StopTask",
    "UnknownControlOutcome",
    "UnknownControlRequest",
]


# --- permissions ------------------------------------------------------------------------------


class PermissionRule(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """A tool, and the calls of it that the rule applies to."""

    tool_name: str
    rule_content: str | None = None  # a pattern, in the tool's own syntax


class PermissionUpdate(Struct, frozen=True, omit_defaults=True, gc=False):
    """A change of the session's rules, suggested by the agent or requested with an answer."""

    type: str  # addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories
    rules: list[PermissionRule] | None = None
    behavior: str | None = None  # allow, deny or ask
    mode: str | None = None
    directories: list[str] | None = None
    destination: str | None = None  # where it is stored: `session`, `localSettings`, ...


class _Decision(
    Struct, frozen=True, omit_defaults=True, tag_field="behavior", rename="camel", gc=False
):
    pass


class PermissionAllow(_Decision, frozen=True, tag="allow"):
    """Allows the call, optionally with a changed input and new rules."""

    updated_input: Any = None
    updated_permissions: list[PermissionUpdate] | None = None


class PermissionDeny(_Decision, frozen=True, tag="deny"):
    """Denies the call, with a reason; `interrupt` also ends the turn."""

    message: str = ""
    interrupt: bool = False


PermissionResult: TypeAlias = PermissionAllow | PermissionDeny


# --- requests of the agent to the host --------------------------------------------------------


class _Request(Struct, frozen=True, omit_defaults=True, tag_field="subtype", gc=False):
    pass


class CanUseTool(_Request, frozen=True, tag="can_use_tool"):
    """Asks whether a tool may run with this input. AskUserQuestion uses the same request."""

    tool_name: str
    input: Any = None
    tool_use_id: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None
    permission_suggestions: list[PermissionUpdate] | None = None
    blocked_path: str | None = None  # the path that needs the permission
    decision_reason: str | None = None  # why the permission is needed
    agent_id: str | None = None
    requires_user_interaction: bool | None = None  # a question, not a permission


class HookCallback(_Request, frozen=True, tag="hook_callback"):
    """Calls a hook that the host registered."""

    callback_id: str
    input: Any = None
    tool_use_id: str | None = None


class McpMessage(_Request, frozen=True, tag="mcp_message"):
    """A JSON-RPC message to an MCP server inside of the host's process."""

    server_name: str
    message: Any = None


class Elicitation(_Request, frozen=True, tag="elicitation"):
    """An MCP server asks a person."""

    mcp_server_name: str | None = None
    message: str | None = None
    requested_schema: Any = None  # of a form: a JSON Schema of an object with plain fields
    mode: str | None = None  # `form` or `url`
    url: str | None = None  # a URL that the person should open
    elicitation_id: str | None = None
    property_order: list[str] | None = None  # the order of the form's fields
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


class RequestUserDialog(_Request, frozen=True, tag="request_user_dialog"):
    """Asks to show a dialog. The agent asks only hosts that declared support for its kind."""

    dialog_kind: str | None = None
    payload: Any = None
    tool_use_id: str | None = None


# --- requests of the host to the agent --------------------------------------------------------


class Initialize(_Request, frozen=True, tag="initialize", rename="camel"):
    """The handshake."""

    hooks: dict[str, Any] | UnsetType | None = UNSET
    agents: dict[str, Any] | None = None
    exclude_dynamic_sections: bool | None = None
    system_prompt_snapshot: bool | None = None
    skills: list[str] | None = None
    forward_subagent_text: bool | None = None  # also send the text of sub-agents


class Interrupt(_Request, frozen=True, tag="interrupt"):
    """Interrupts the turn."""


class SetPermissionMode(_Request, frozen=True, tag="set_permission_mode"):
    """Sets the permission mode."""

    mode: str


class SetModel(_Request, frozen=True, tag="set_model"):
    """Sets the model; null is the default model."""

    model: str | UnsetType | None = UNSET


class SetMaxThinkingTokens(_Request, frozen=True, tag="set_max_thinking_tokens"):
    """Sets the limit of reasoning."""

    max_thinking_tokens: int | UnsetType | None = UNSET


class RewindFiles(_Request, frozen=True, tag="rewind_files"):
    """Restores files to their content before a user message."""

    user_message_id: str  # the uuid of the user message
    dry_run: bool | None = None  # only report what would change


class McpStatus(_Request, frozen=True, tag="mcp_status"):
    """Asks for the status of the MCP servers."""


class McpReconnect(_Request, frozen=True, tag="mcp_reconnect", rename="camel"):
    """Reconnects an MCP server."""

    server_name: str


class McpToggle(_Request, frozen=True, tag="mcp_toggle", rename="camel"):
    """Enables or disables an MCP server."""

    server_name: str
    enabled: bool


class GetContextUsage(_Request, frozen=True, tag="get_context_usage"):
    """Asks for the use of the context."""


class StopTask(_Request, frozen=True, tag="stop_task"):
    """Stops a background task."""

    task_id: str


class RenameSession(_Request, frozen=True, tag="rename_session"):
    """Sets the title of the session."""

    title: str | None = None


class GetSessionCost(_Request, frozen=True, tag="get_session_cost"):
    """Asks for the cost so far."""


class ListModels(_Request, frozen=True, tag="list_models"):
    """Asks for the available models."""


class GetSettings(_Request, frozen=True, tag="get_settings"):
    """Asks for the effective settings."""


class UnknownControlRequest(Unknown, frozen=True, tag_field="subtype", tag="unknown", gc=False):
    """A request of a subtype that this version does not know."""


ControlBody: TypeAlias = (
    CanUseTool
    | HookCallback
    | McpMessage
    | Elicitation
    | RequestUserDialog
    | Initialize
    | Interrupt
    | SetPermissionMode
    | SetModel
    | SetMaxThinkingTokens
    | RewindFiles
    | McpStatus
    | McpReconnect
    | McpToggle
    | GetContextUsage
    | StopTask
    | RenameSession
    | GetSessionCost
    | ListModels
    | GetSettings
    | UnknownControlRequest
)


# --- answers ----------------------------------------------------------------------------------


class _Outcome(Struct, frozen=True, omit_defaults=True, tag_field="subtype", gc=False):
    """The fields of every known answer."""

    request_id: str


class ControlSuccess(_Outcome, frozen=True, tag="success"):
    """The request succeeded. The type of `response` depends on the request."""

    response: Raw | UnsetType = UNSET


class ControlError(_Outcome, frozen=True, tag="error"):
    """The request failed."""

    error: str | None = None
    error_code: str | None = None


class UnknownControlOutcome(Unknown, frozen=True, tag_field="subtype", tag="unknown", gc=False):
    """An answer of a subtype that this version does not know."""


ControlOutcome: TypeAlias = ControlSuccess | ControlError | UnknownControlOutcome


# --- frames -----------------------------------------------------------------------------------


class _Frame(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class ControlRequest(_Frame, frozen=True, tag="control_request"):
    """A request to the other side."""

    request_id: str
    request: ControlBody


class ControlResponse(_Frame, frozen=True, tag="control_response"):
    """The answer to a control request."""

    response: ControlOutcome


class ControlCancelRequest(_Frame, frozen=True, tag="control_cancel_request"):
    """The agent no longer waits for an answer."""

    request_id: str
