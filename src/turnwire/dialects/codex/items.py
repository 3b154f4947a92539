"""The items of a thread: what Codex and people say, and what Codex does."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.lenient import Unknown

__all__ = [
    "AgentMessage",
    "CollabAgentToolCall",
    "CommandExecution",
    "ContextCompaction",
    "DynamicToolCall",
    "EnteredReviewMode",
    "ExitedReviewMode",
    "FileChange",
    "FileUpdate",
    "FunctionCallOutput",
    "HookPrompt",
    "ImageGeneration",
    "ImageView",
    "McpToolCall",
    "Plan",
    "Reasoning",
    "Sleep",
    "SubAgentActivity",
    "ThreadItem",
    "UnknownItem",
    "UserMessage",
    "WebSearch",
]


class _Item(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename="camel",
    tag_field="type",
    gc=False,
    kw_only=True,
):
    id: str


class UserMessage(_Item, frozen=True, tag="userMessage"):
    """A message of a person."""

    content: list[Any] = []  # text, image, localImage, skill, mention, ...
    client_id: str | None = None


class HookPrompt(_Item, frozen=True, tag="hookPrompt"):
    """Text that a hook of the configuration has given to the model."""

    fragments: list[Any] = []


class AgentMessage(_Item, frozen=True, tag="agentMessage"):
    """Text of the model."""

    text: str = ""
    phase: str | None = None  # `commentary` or `final_answer`
    memory_citation: Any = None
    delivery: Any = None
    questions: Any = None


class FunctionCallOutput(_Item, frozen=True, tag="functionCallOutput"):
    """The output of a function that has no item of its own."""

    name: str = ""
    namespace: str | None = None
    output: Any = None


class Plan(_Item, frozen=True, tag="plan"):
    """A plan as text, in plan mode."""

    text: str = ""


class Reasoning(_Item, frozen=True, tag="reasoning"):
    """Reasoning of the model: summaries of it, or the raw text."""

    summary: list[str] = []
    content: list[str] = []


class CommandExecution(_Item, frozen=True, tag="commandExecution"):
    """A shell command."""

    command: str = ""
    cwd: str | None = None
    status: str = "inProgress"  # inProgress, completed, failed, declined
    aggregated_output: str | None = None  # all output; the deltas may lack the first piece
    exit_code: int | None = None
    duration_ms: int | None = None
    command_actions: list[Any] = []
    process_id: str | None = None
    source: str | None = None
    plugin_id: str | None = None
    script_path: str | None = None


class FileUpdate(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """The change of one file."""

    path: str = ""
    kind: Any = None  # {"type": "add"}, {"type": "update", "move_path": ...}, {"type": "delete"}
    diff: str | None = None  # of an added or deleted file: its content


class FileChange(_Item, frozen=True, tag="fileChange"):
    """A patch of files."""

    changes: list[FileUpdate] = []
    status: str = "inProgress"  # inProgress, completed, failed, declined


class McpToolCall(_Item, frozen=True, tag="mcpToolCall"):
    """A call of a tool on an MCP server."""

    server: str = ""
    tool: str = ""
    arguments: Any = None
    status: str = "inProgress"  # inProgress, completed, failed
    result: Any = None
    error: Any = None
    duration_ms: int | None = None
    app_context: Any = None
    mcp_app_resource_uri: str | None = None
    mcp_app_ui: Any = None
    plugin_id: str | None = None
    read_only_hint: bool | None = None


class DynamicToolCall(_Item, frozen=True, tag="dynamicToolCall"):
    """A call of a tool that the host offers."""

    tool: str = ""
    arguments: Any = None
    status: str = "inProgress"
    namespace: str | None = None
    content_items: Any = None
    success: bool | None = None
    duration_ms: int | None = None


class CollabAgentToolCall(_Item, frozen=True, tag="collabAgentToolCall"):
    """A call that starts, asks or ends sub-agents. Each of them has a thread of its own."""

    tool: str = ""
    status: str = "inProgress"  # inProgress, completed, failed, interrupted
    receiver_thread_ids: list[str] = []
    sender_thread_id: str | None = None
    prompt: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    agents_states: Any = None


class SubAgentActivity(_Item, frozen=True, tag="subAgentActivity"):
    """News about a sub-agent."""

    agent_thread_id: str | None = None
    agent_path: Any = None
    kind: Any = None
    model: str | None = None
    reasoning_effort: str | None = None


class WebSearch(_Item, frozen=True, tag="webSearch"):
    """A search of the model's provider."""

    query: str = ""
    action: Any = None
    results: Any = None


class ImageView(_Item, frozen=True, tag="imageView"):
    """A picture that the model has looked at."""

    path: str = ""


class Sleep(_Item, frozen=True, tag="sleep"):
    """A pause of the model."""

    duration_ms: int = 0


class ImageGeneration(_Item, frozen=True, tag="imageGeneration"):
    """A picture that the model has made."""

    status: str = ""
    result: str = ""  # base64
    revised_prompt: str | None = None
    saved_path: str | None = None
    failure: Any = None
    transparent_background: bool | None = None


class EnteredReviewMode(_Item, frozen=True, tag="enteredReviewMode"):
    """A review begins."""

    review: str = ""


class ExitedReviewMode(_Item, frozen=True, tag="exitedReviewMode"):
    """A review has ended, with this text."""

    review: str = ""


class ContextCompaction(_Item, frozen=True, tag="contextCompaction"):
    """The context was summarized, because it was too long."""


class UnknownItem(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """An item of a kind that this version does not know, kept unchanged."""

    @property
    def id(self) -> str:
        """Returns the id of the item. Returns an empty text if it has none."""
        named = self.data.get("id") if isinstance(self.data, dict) else None
        return named if isinstance(named, str) else ""


ThreadItem: TypeAlias = (
    UserMessage
    | HookPrompt
    | AgentMessage
    | FunctionCallOutput
    | Plan
    | Reasoning
    | CommandExecution
    | FileChange
    | McpToolCall
    | DynamicToolCall
    | CollabAgentToolCall
    | SubAgentActivity
    | WebSearch
    | ImageView
    | Sleep
    | ImageGeneration
    | EnteredReviewMode
    | ExitedReviewMode
    | ContextCompaction
    | UnknownItem
)
