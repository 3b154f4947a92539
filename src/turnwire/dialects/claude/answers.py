"""The typed answers to control requests. Their type depends on the request.

read_answer(SetModel, outcome.response) -> SetModelAnswer
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct, UnsetType

from turnwire.dialects.claude import control

__all__ = [
    "ANSWERS",
    "Answer",
    "ContextCategory",
    "ContextUsageAnswer",
    "DialogAnswer",
    "ElicitationAnswer",
    "HookAnswer",
    "HookOutput",
    "InitializeAnswer",
    "InterruptReceipt",
    "McpAnswer",
    "McpStatusAnswer",
    "ModelChoice",
    "Named",
    "NoAnswer",
    "RewindFilesAnswer",
    "SessionCostAnswer",
    "SetModelAnswer",
    "SetPermissionModeAnswer",
    "SettingsAnswer",
    "read_answer",
]


class _Answer(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    pass


class NoAnswer(_Answer, frozen=True):
    """An answer without content."""


# --- answers of the agent to the host ---------------------------------------------------------


class Named(_Answer, frozen=True):
    """A slash command or a sub-agent."""

    name: str = ""
    description: str | None = None
    argument_hint: str | None = None
    model: str | None = None


class ModelChoice(_Answer, frozen=True):
    """An available model."""

    value: str = ""
    display_name: str | None = None
    description: str | None = None
    resolved_model: str | None = None


class InitializeAnswer(
    _Answer,
    frozen=True,
    rename={
        "output_style": "output_style",
        "available_output_styles": "available_output_styles",
        "claude_code_version": "claude_code_version",
        "current_permission_mode": "current_permission_mode",
        "session_state": "session_state",
    },
):
    """The description of the agent and its features."""

    commands: list[Named] = []
    agents: list[Named] = []
    models: list[ModelChoice] = []
    output_style: str | None = None
    available_output_styles: list[str] = []
    claude_code_version: str | None = None
    current_permission_mode: str | None = None
    session_state: str | None = None
    capabilities: list[str] = []
    pid: int | None = None  # of the agent's process
    account: Any = None


class InterruptReceipt(_Answer, frozen=True, rename={"still_queued": "still_queued"}):
    """The interrupt was accepted; lists the prompts that are still queued."""

    still_queued: list[Any]


class SetModelAnswer(_Answer, frozen=True):
    """The new model."""

    model: str | None = None


class SetPermissionModeAnswer(_Answer, frozen=True):
    """The new permission mode."""

    mode: str | None = None


class McpStatusAnswer(_Answer, frozen=True):
    """The status of each MCP server."""

    mcp_servers: list[Any] = []


class ContextCategory(_Answer, frozen=True):
    """A category of the context's content."""

    name: str = ""
    tokens: int = 0
    kind: str | None = None  # used, free or deferred


class ContextUsageAnswer(_Answer, frozen=True):
    """The use of the context."""

    categories: list[ContextCategory] = []
    total_tokens: int | None = None
    max_tokens: int | None = None
    percentage: float | None = None
    model: str | None = None


class RewindFilesAnswer(_Answer, frozen=True):
    """The result of restoring files."""

    can_rewind: bool | None = None
    error: str | None = None
    files_changed: list[str] = []


class SessionCostAnswer(_Answer, frozen=True):
    """The cost so far, as text."""

    text: str | None = None


class SettingsAnswer(_Answer, frozen=True):
    """The effective settings and their sources."""

    effective: Any = None
    sources: list[Any] = []
    applied: Any = None


# --- answers of the host to the agent ---------------------------------------------------------


class HookOutput(_Answer, frozen=True):
    """The decision of a hook about its event."""

    hook_event_name: str | None = None
    permission_decision: str | None = None  # allow, deny, ask or defer
    permission_decision_reason: str | None = None
    updated_input: Any = None
    additional_context: str | None = None


class HookAnswer(_Answer, frozen=True, rename={"hook_specific_output": "hookSpecificOutput"}):
    """The output of a hook."""

    hook_specific_output: HookOutput | None = None
    decision: str | None = None  # block
    reason: str | None = None


class ElicitationAnswer(_Answer, frozen=True):
    """The answer of a person to an MCP server."""

    action: str  # accept, decline or cancel
    content: dict[str, Any] | None = None  # accept: the fields of the form


class DialogAnswer(_Answer, frozen=True):
    """The answer of a person to a dialog."""

    behavior: str  # completed or cancelled
    result: Any = None


class McpAnswer(_Answer, frozen=True, rename={"mcp_response": "mcp_response"}):
    """The JSON-RPC answer of the host's MCP server."""

    mcp_response: Any = None


Answer: TypeAlias = (
    InitializeAnswer
    | InterruptReceipt
    | SetModelAnswer
    | SetPermissionModeAnswer
    | McpStatusAnswer
    | ContextUsageAnswer
    | RewindFilesAnswer
    | SessionCostAnswer
    | SettingsAnswer
    | HookAnswer
    | McpAnswer
    | ElicitationAnswer
    | DialogAnswer
    | NoAnswer
    | control.PermissionAllow
    | control.PermissionDeny
)

# The type of each request's answer; other requests have an answer without content.
ANSWERS: dict[type[Struct], Any] = {
    control.Initialize: InitializeAnswer,
    control.Interrupt: InterruptReceipt,
    control.SetModel: SetModelAnswer,
    control.SetPermissionMode: SetPermissionModeAnswer,
    control.McpStatus: McpStatusAnswer,
    control.GetContextUsage: ContextUsageAnswer,
    control.RewindFiles: RewindFilesAnswer,
    control.GetSessionCost: SessionCostAnswer,
    control.GetSettings: SettingsAnswer,
    control.CanUseTool: control.PermissionResult,
    control.HookCallback: HookAnswer,
    control.McpMessage: McpAnswer,
    control.Elicitation: ElicitationAnswer,
    control.RequestUserDialog: DialogAnswer,
}


def read_answer(request: type[Struct], response: Raw | UnsetType) -> Answer:
    """Returns the answer to a request of this type. Raises msgspec.ValidationError."""
    raw = b"{}" if isinstance(response, UnsetType) else response
    answer: Answer = msgspec.json.decode(raw, type=ANSWERS.get(request, NoAnswer))
    return answer
