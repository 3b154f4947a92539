"""Types of the options of a conversation with Claude, and who may choose each option."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from turnwire.agents.client_tools import ClientTool

__all__ = [
    "FOR_ANYONE",
    "FOR_OWNER",
    "FOR_PROGRAMS",
    "MODES",
    "NARROWING",
    "Adaptive",
    "ClaudeOptions",
    "Disabled",
    "Enabled",
    "HelperDefinition",
    "JsonSchema",
    "PresetPrompt",
    "Sandbox",
    "SandboxNetwork",
]

Positive: TypeAlias = Annotated[int, Meta(ge=1)]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
Mode: TypeAlias = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]
MODES: list[str] = list(get_args(Mode))


class _Typed(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class _Camel(_Typed, frozen=True, rename="camel"):
    """Field names in JSON are those of Claude Code's own files."""


class PresetPrompt(_Typed, frozen=True, tag_field="type", tag="preset"):
    """Claude Code's own system prompt, with optional text after it."""

    append: str | None = None
    preset: Literal["claude_code"] = "claude_code"
    exclude_dynamic_sections: bool | None = None  # the same for all users, for caching
    snapshot: bool | None = None  # whether a session keeps the prompt that it started with


class Adaptive(_Typed, frozen=True, tag_field="type", tag="adaptive"):
    """The model chooses how much it thinks."""


class Enabled(_Typed, frozen=True, tag_field="type", tag="enabled"):
    """The model thinks with a fixed number of tokens, as older models do."""

    budget_tokens: Positive


class Disabled(_Typed, frozen=True, tag_field="type", tag="disabled"):
    """The model does not think."""


class JsonSchema(_Typed, frozen=True, tag_field="type", tag="json_schema"):
    """The turn's result, in `structured_output`, has to match this schema."""

    schema: dict[str, Any]


class HelperDefinition(_Camel, frozen=True):
    """A sub-agent that Claude may start."""

    description: str  # when to start it
    prompt: str  # its system prompt
    tools: list[str] | None = None  # None: all
    disallowed_tools: list[str] | None = None
    model: str | None = None
    skills: list[str] | None = None
    mcp_servers: list[str] | None = None  # by name
    max_turns: Positive | None = None
    background: bool | None = None
    effort: Effort | None = None
    permission_mode: Mode | None = None


class SandboxNetwork(_Camel, frozen=True):
    """The network access of commands in the sandbox."""

    allowed_domains: list[str] | None = None
    denied_domains: list[str] | None = None
    allow_unix_sockets: list[str] | None = None
    allow_all_unix_sockets: bool | None = None
    allow_local_binding: bool | None = None
    http_proxy_port: int | None = None
    socks_proxy_port: int | None = None


class Sandbox(_Camel, frozen=True):
    """The sandbox that isolates commands from the rest of the machine."""

    enabled: bool
    fail_if_unavailable: bool | None = None  # default: true; false: commands run without it
    auto_allow_bash_if_sandboxed: bool | None = None
    excluded_commands: list[str] | None = None
    allow_unsandboxed_commands: bool | None = None
    network: SandboxNetwork | None = None
    ignore_violations: dict[str, list[str]] | None = None
    enable_weaker_nested_sandbox: bool | None = None


class ClaudeOptions(_Typed, frozen=True):
    """The `options` of a conversation. Missing options have the values of the agent."""

    # For any user, also over the wire: these options can only narrow those of the agent.
    system_prompt: str | PresetPrompt | None = None  # a string replaces Claude Code's own
    tools: list[str] | None = None  # of Claude Code's own tools; None: all
    disallowed_tools: list[str] = []  # in addition to those that the agent disallows
    agents: dict[str, HelperDefinition] = {}  # sub-agents, by name
    hooks: list[Any] = []  # names of optional hooks
    mcp_servers: list[str] = []  # names of optional servers
    output_format: JsonSchema | None = None
    max_turns: Positive | None = None
    max_budget_usd: Annotated[float, Meta(gt=0)] | None = None
    task_budget: Positive | None = None  # tokens; the model knows this limit
    thinking: Adaptive | Enabled | Disabled | None = None
    max_thinking_tokens: Annotated[int, Meta(ge=0)] | None = None
    effort: Effort | None = None
    client_tools: list[ClientTool] = []  # tools that the front end runs
    # For the owner of the data.
    allowed_tools: list[str] = []  # run without permission, in addition to the agent's
    fallback_model: str | None = None
    skills: list[str] | Literal["all"] | None = None
    sandbox: Sandbox | None = None
    betas: list[str] = []
    forward_subagent_text: bool = False
    # For programs: these options give access to files, or change how Claude Code is started.
    add_dirs: list[str] = []  # below the agent's roots
    setting_sources: list[Literal["user", "project", "local"]] | None = None
    strict_mcp_config: bool = False
    include_hook_events: bool = False
    extra_args: dict[str, str | None] = {}  # only those in `EXTRA_ARGS`


_ALL = ClaudeOptions.__struct_fields__
FOR_ANYONE = list(_ALL[: _ALL.index("allowed_tools")])
FOR_OWNER = list(_ALL[_ALL.index("allowed_tools") : _ALL.index("add_dirs")])
FOR_PROGRAMS = list(_ALL[_ALL.index("add_dirs") :])
# With any value of these options Claude can do less than without it.
NARROWING = ["tools", "disallowed_tools", "max_turns", "task_budget"]
