"""The control protocol: requests and answers that go both ways beside the conversation."""

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
    """A tool, and for which of its calls the rule holds."""

    tool_name: str
    rule_content: str | None = None  # a pattern, in the tool's own syntax


class PermissionUpdate(Struct, frozen=True, omit_defaults=True, gc=False):
    """A change of the session's rules, offered by the agent or asked for with an answer."""

    type: str  # addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories
    rules: list[PermissionRule] | None = None
    behavior: str | None = None  # allow, deny or ask
    mode: str | None = None
    directories: list[str] | None = None
    destination: str | None = None  # where it is kept: `session`, `localSettings`, ...


class _Decision(
    Struct, frozen=True, omit_defaults=True, tag_field="behavior", rename="camel", gc=False
):
    pass


class PermissionAllow(_Decision, frozen=True, tag="allow"):
    """Yes: run it, perhaps with a changed input, perhaps remembering a rule."""

    updated_input: Any = None
    updated_permissions: list[PermissionUpdate] | None = None


class PermissionDeny(_Decision, frozen=True, tag="deny"):
    """No, and why; `interrupt` ends the turn as well."""

    message: str = ""
    interrupt: bool = False


PermissionResult: TypeAlias = PermissionAllow | PermissionDeny


# --- requests: the agent asks the host --------------------------------------------------------


class _Request(Struct, frozen=True, omit_defaults=True, tag_field="subtype", gc=False):
    pass


class CanUseTool(_Request, frozen=True, tag="can_use_tool"):
    """May this tool run with this input? Also how AskUserQuestion reaches a person."""

    tool_name: str
    input: Any = None
    tool_use_id: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None
    permission_suggestions: list[PermissionUpdate] | None = None
    blocked_path: str | None = None  # the path that made it ask
    decision_reason: str | None = None  # why it has to ask
    agent_id: str | None = None
    requires_user_interaction: bool | None = None  # a question rather than a permission


class HookCallback(_Request, frozen=True, tag="hook_callback"):
    """A hook that the host registered is called."""

    callback_id: str
    input: Any = None
    tool_use_id: str | None = None


class McpMessage(_Request, frozen=True, tag="mcp_message"):
    """A JSON-RPC message for an MCP server that the host runs in its own process."""

    server_name: str
    message: Any = None


class Elicitation(_Request, frozen=True, tag="elicitation"):
    """An MCP server asks the person something."""

    mcp_server_name: str | None = None
    message: str | None = None
    requested_schema: Any = None  # of a form: a JSON Schema of an object with plain fields
    mode: str | None = None  # `form` or `url`
    url: str | None = None  # an address that the person is to open
    elicitation_id: str | None = None
    property_order: list[str] | None = None  # of the form's fields
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


class RequestUserDialog(_Request, frozen=True, tag="request_user_dialog"):
    """The agent wants a dialog shown. It asks only hosts that said they can show that kind."""

    dialog_kind: str | None = None
    payload: Any = None
    tool_use_id: str | None = None


# --- requests: the host asks the agent --------------------------------------------------------


class Initialize(_Request, frozen=True, tag="initialize", rename="camel"):
    """The handshake."""

    hooks: dict[str, Any] | UnsetType | None = UNSET
    agents: dict[str, Any] | None = None
    exclude_dynamic_sections: bool | None = None
    system_prompt_snapshot: bool | None = None
    skills: list[str] | None = None
    forward_subagent_text: bool | None = None  # send sub-agents' words too


class Interrupt(_Request, frozen=True, tag="interrupt"):
    """Stop the turn."""


class SetPermissionMode(_Request, frozen=True, tag="set_permission_mode"):
    """Ask more, or less."""

    mode: str


class SetModel(_Request, frozen=True, tag="set_model"):
    """Go on with another model; null is the default one."""

    model: str | UnsetType | None = UNSET


class SetMaxThinkingTokens(_Request, frozen=True, tag="set_max_thinking_tokens"):
    """Think more, or less."""

    max_thinking_tokens: int | UnsetType | None = UNSET


class RewindFiles(_Request, frozen=True, tag="rewind_files"):
    """Put files back to what they were at a user message."""

    user_message_id: str  # the user message's uuid
    dry_run: bool | None = None  # only say what would change


class McpStatus(_Request, frozen=True, tag="mcp_status"):
    """How are the MCP servers?"""


class McpReconnect(_Request, frozen=True, tag="mcp_reconnect", rename="camel"):
    """Connect an MCP server again."""

    server_name: str


class McpToggle(_Request, frozen=True, tag="mcp_toggle", rename="camel"):
    """Switch an MCP server on or off."""

    server_name: str
    enabled: bool


class GetContextUsage(_Request, frozen=True, tag="get_context_usage"):
    """How full is the context?"""


class StopTask(_Request, frozen=True, tag="stop_task"):
    """End a background task."""

    task_id: str


class RenameSession(_Request, frozen=True, tag="rename_session"):
    """Give the session a title."""

    title: str | None = None


class GetSessionCost(_Request, frozen=True, tag="get_session_cost"):
    """What did it cost so far?"""


class ListModels(_Request, frozen=True, tag="list_models"):
    """Which models are there?"""


class GetSettings(_Request, frozen=True, tag="get_settings"):
    """Which settings hold?"""


class UnknownControlRequest(Unknown, frozen=True, tag_field="subtype", tag="unknown", gc=False):
    """A request of a subtype this version does not know."""


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
    """What every answer of a known kind carries."""

    request_id: str


class ControlSuccess(_Outcome, frozen=True, tag="success"):
    """It was done. What `response` says depends on the request, so whoever asked reads it."""

    response: Raw | UnsetType = UNSET


class ControlError(_Outcome, frozen=True, tag="error"):
    """It was not done."""

    error: str | None = None
    error_code: str | None = None


class UnknownControlOutcome(Unknown, frozen=True, tag_field="subtype", tag="unknown", gc=False):
    """An answer of a subtype this version does not know."""


ControlOutcome: TypeAlias = ControlSuccess | ControlError | UnknownControlOutcome


# --- the frames they travel in ----------------------------------------------------------------


class _Frame(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class ControlRequest(_Frame, frozen=True, tag="control_request"):
    """A question to the other side."""

    request_id: str
    request: ControlBody


class ControlResponse(_Frame, frozen=True, tag="control_response"):
    """The answer to a control request."""

    response: ControlOutcome


class ControlCancelRequest(_Frame, frozen=True, tag="control_cancel_request"):
    """The agent no longer waits for an answer."""

    request_id: str
