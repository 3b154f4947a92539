"""The system messages: events about a session, one type for each known subtype."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.lenient import Unknown

__all__ = [
    "ApiRetry",
    "BackgroundTask",
    "BackgroundTasksChanged",
    "CommandsChanged",
    "CompactBoundary",
    "CompactMetadata",
    "ElicitationComplete",
    "End",
    "FilesPersisted",
    "HookProgress",
    "HookResponse",
    "HookStarted",
    "Informational",
    "Init",
    "LocalCommandOutput",
    "McpServer",
    "MemoryRecall",
    "MirrorError",
    "ModelRefusalFallback",
    "Notification",
    "PermissionDenied",
    "PluginInstall",
    "SessionStateChanged",
    "SessionTitleChanged",
    "SessionWritesLost",
    "Start",
    "StatusChanged",
    "SystemMessage",
    "TaskNotification",
    "TaskProgress",
    "TaskStarted",
    "TaskUpdated",
    "TaskUsage",
    "ThinkingTokens",
    "UnknownSystemMessage",
    "WorkerShuttingDown",
]


class _System(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="subtype", gc=False):
    """The fields of every system message."""

    session_id: str | None = None
    uuid: str | None = None


class McpServer(Struct, frozen=True, omit_defaults=True, gc=False):
    """An MCP server of the session."""

    name: str | None = None
    status: str | None = None


class Init(_System, frozen=True, tag="init"):
    """The description of the session, sent at the start of every turn."""

    cwd: str | None = None
    model: str | None = None
    tools: list[str] = []
    mcp_servers: list[McpServer] = []
    permissionMode: str | None = None  # noqa: N815 (the wire's spelling)
    apiKeySource: str | None = None  # noqa: N815 (where the key came from)
    output_style: str | None = None
    claude_code_version: str | None = None


class Start(_System, frozen=True, tag="start"):
    """A stage of the session started."""


class End(_System, frozen=True, tag="end"):
    """A stage of the session ended."""


class StatusChanged(_System, frozen=True, tag="status"):
    """The activity of the session: requesting, compacting, or none (null)."""

    status: str | None = None
    permissionMode: str | None = None  # noqa: N815


class ApiRetry(_System, frozen=True, tag="api_retry"):
    """The model's API failed, and the agent retries."""

    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None


class CompactMetadata(Struct, frozen=True, omit_defaults=True, gc=False):
    """Details of compacting the context."""

    trigger: str | None = None  # manual or auto
    pre_tokens: int | None = None  # the size of the context before


class CompactBoundary(_System, frozen=True, tag="compact_boundary"):
    """The earlier messages were replaced by a summary for the model."""

    compact_metadata: CompactMetadata | None = None


class ThinkingTokens(_System, frozen=True, tag="thinking_tokens"):
    """An estimate of the reasoning so far."""

    estimated_tokens: int | None = None
    estimated_tokens_delta: int | None = None


class SessionStateChanged(_System, frozen=True, tag="session_state_changed"):
    """idle, running or requires_action."""

    state: str | None = None


class SessionTitleChanged(_System, frozen=True, tag="session_title_changed"):
    """The title of the session changed."""

    title: str | None = None


class TaskUsage(Struct, frozen=True, omit_defaults=True, gc=False):
    """The usage of a task so far."""

    total_tokens: int | None = None
    tool_uses: int | None = None
    duration_ms: int | None = None


class TaskStarted(_System, frozen=True, tag="task_started"):
    """A sub-agent or a long command started."""

    task_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    task_type: str | None = None
    is_backgrounded: bool | None = None  # continues after the turn
    spawn_depth: int | None = None  # depth of nested sub-agents
    prompt: str | None = None


class TaskProgress(_System, frozen=True, tag="task_progress"):
    """The current activity of a task."""

    task_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    usage: TaskUsage | None = None
    last_tool_name: str | None = None


class TaskUpdated(_System, frozen=True, tag="task_updated"):
    """The record of a task changed."""

    task_id: str | None = None
    patch: Any = None  # the changed fields


class TaskNotification(_System, frozen=True, tag="task_notification"):
    """A task ended."""

    task_id: str | None = None
    tool_use_id: str | None = None
    status: str | None = None
    summary: str | None = None
    output_file: str | None = None
    usage: TaskUsage | None = None


class BackgroundTask(Struct, frozen=True, omit_defaults=True, gc=False):
    """A task that runs during or after the turn."""

    task_id: str | None = None
    task_type: str | None = None
    subagent_type: str | None = None
    description: str | None = None


class BackgroundTasksChanged(_System, frozen=True, tag="background_tasks_changed"):
    """The list of all current background tasks."""

    tasks: list[BackgroundTask] = []


class HookStarted(_System, frozen=True, tag="hook_started"):
    """A hook of the settings started."""

    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None


class HookProgress(_System, frozen=True, tag="hook_progress"):
    """The output of a hook so far."""

    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    output: str | None = None


class HookResponse(_System, frozen=True, tag="hook_response"):
    """A hook ended."""

    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None


class PermissionDenied(_System, frozen=True, tag="permission_denied"):
    """A tool call was denied without asking a person."""

    tool_name: str | None = None
    tool_use_id: str | None = None
    message: str | None = None


class Informational(_System, frozen=True, tag="informational"):
    """A text for people, outside of the messages."""

    content: str | None = None
    level: str | None = None


class Notification(_System, frozen=True, tag="notification"):
    """A notification for people."""

    message: str | None = None


class LocalCommandOutput(_System, frozen=True, tag="local_command_output"):
    """The output of a slash command."""

    content: str | None = None


class CommandsChanged(_System, frozen=True, tag="commands_changed"):
    """The current list of slash commands."""

    commands: list[Any] = []


class ModelRefusalFallback(_System, frozen=True, tag="model_refusal_fallback"):
    """A model refused, and another model took over."""

    model: str | None = None
    fallback_model: str | None = None


class MemoryRecall(_System, frozen=True, tag="memory_recall"):
    """The agent read from its memory."""

    content: Any = None


class FilesPersisted(_System, frozen=True, tag="files_persisted"):
    """Files were stored."""

    files: list[Any] = []
    failed: list[Any] = []


class PluginInstall(_System, frozen=True, tag="plugin_install"):
    """A plugin is being installed."""

    name: str | None = None
    status: str | None = None


class ElicitationComplete(_System, frozen=True, tag="elicitation_complete"):
    """The request of an MCP server to a person has ended."""

    mcp_server_name: str | None = None
    elicitation_id: str | None = None


class MirrorError(_System, frozen=True, tag="mirror_error"):
    """The transcript could not be copied to the host's store."""

    error: str | None = None


class WorkerShuttingDown(_System, frozen=True, tag="worker_shutting_down"):
    """The agent process is about to end."""

    reason: str | None = None


class SessionWritesLost(_System, frozen=True, tag="session_writes_lost"):
    """Parts of the agent's own transcript were not saved."""


class UnknownSystemMessage(Unknown, frozen=True, tag_field="subtype", tag="unknown", gc=False):
    """A system message of a subtype that this version does not know."""


SystemMessage: TypeAlias = (
    Init
    | Start
    | End
    | StatusChanged
    | ApiRetry
    | CompactBoundary
    | ThinkingTokens
    | SessionStateChanged
    | SessionTitleChanged
    | TaskStarted
    | TaskProgress
    | TaskUpdated
    | TaskNotification
    | BackgroundTasksChanged
    | HookStarted
    | HookProgress
    | HookResponse
    | PermissionDenied
    | Informational
    | Notification
    | LocalCommandOutput
    | CommandsChanged
    | ModelRefusalFallback
    | MemoryRecall
    | FilesPersisted
    | PluginInstall
    | ElicitationComplete
    | MirrorError
    | WorkerShuttingDown
    | SessionWritesLost
    | UnknownSystemMessage
)
