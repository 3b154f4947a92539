"""What a conversation with Claude may have of its own: every option typed, and who may choose it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

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
    """In JSON the names are those of Claude Code's own files."""


class PresetPrompt(_Typed, frozen=True, tag_field="type", tag="preset"):
    """Claude Code's own system prompt, with something behind it."""

    append: str | None = None
    preset: Literal["claude_code"] = "claude_code"
    exclude_dynamic_sections: bool | None = None  # the same for all users, so that it is cached
    snapshot: bool | None = None  # whether a session keeps the prompt that it began with


class Adaptive(_Typed, frozen=True, tag_field="type", tag="adaptive"):
    """The model decides how much it thinks."""


class Enabled(_Typed, frozen=True, tag_field="type", tag="enabled"):
    """It thinks with so many tokens, as older models do."""

    budget_tokens: Positive


class Disabled(_Typed, frozen=True, tag_field="type", tag="disabled"):
    """It does not think."""


class JsonSchema(_Typed, frozen=True, tag_field="type", tag="json_schema"):
    """The turn's result has to fit this schema; it is in `structured_output`."""

    schema: dict[str, Any]


class HelperDefinition(_Camel, frozen=True):
    """A sub-agent that Claude may send."""

    description: str  # when to send it
    prompt: str  # what it is told
    tools: list[str] | None = None  # none: all
    disallowed_tools: list[str] | None = None
    model: str | None = None
    skills: list[str] | None = None
    mcp_servers: list[str] | None = None  # by name
    max_turns: Positive | None = None
    background: bool | None = None
    effort: Effort | None = None
    permission_mode: Mode | None = None


class SandboxNetwork(_Camel, frozen=True):
    """What commands in the sandbox may reach."""

    allowed_domains: list[str] | None = None
    denied_domains: list[str] | None = None
    allow_unix_sockets: list[str] | None = None
    allow_all_unix_sockets: bool | None = None
    allow_local_binding: bool | None = None
    http_proxy_port: int | None = None
    socks_proxy_port: int | None = None


class Sandbox(_Camel, frozen=True):
    """Commands run apart from the rest of the machine."""

    enabled: bool
    fail_if_unavailable: bool | None = None  # false: then they run without it; here it is true
    auto_allow_bash_if_sandboxed: bool | None = None
    excluded_commands: list[str] | None = None
    allow_unsandboxed_commands: bool | None = None
    network: SandboxNetwork | None = None
    ignore_violations: dict[str, list[str]] | None = None
    enable_weaker_nested_sandbox: bool | None = None


class ClaudeOptions(_Typed, frozen=True):
    """Given as a conversation's `options`. What is left out is as the agent was made."""

    # For anyone, over the wire as well: they can only narrow what the agent was made with.
    system_prompt: str | PresetPrompt | None = None  # a string replaces Claude Code's own
    tools: list[str] | None = None  # of Claude Code's own; none: all
    disallowed_tools: list[str] = []  # beside those that nobody may use
    agents: dict[str, HelperDefinition] = {}  # sub-agents, by name
    hooks: list[Any] = []  # names of optional ones
    mcp_servers: list[str] = []  # names of optional ones
    output_format: JsonSchema | None = None
    max_turns: Positive | None = None
    max_budget_usd: Annotated[float, Meta(gt=0)] | None = None
    task_budget: Positive | None = None  # tokens that the model knows of
    thinking: Adaptive | Enabled | Disabled | None = None
    max_thinking_tokens: Annotated[int, Meta(ge=0)] | None = None
    effort: Effort | None = None
    # For the owner of the data.
    allowed_tools: list[str] = []  # for which nobody is asked, beside the agent's
    fallback_model: str | None = None
    skills: list[str] | Literal["all"] | None = None
    sandbox: Sandbox | None = None
    betas: list[str] = []
    forward_subagent_text: bool = False
    # For programs: they lead to files, or change how Claude Code is started.
    add_dirs: list[str] = []  # below the agent's roots
    setting_sources: list[Literal["user", "project", "local"]] | None = None
    strict_mcp_config: bool = False
    include_hook_events: bool = False
    extra_args: dict[str, str | None] = {}  # only some: see `EXTRA_ARGS`


_ALL = ClaudeOptions.__struct_fields__
FOR_ANYONE = list(_ALL[: _ALL.index("allowed_tools")])
FOR_OWNER = list(_ALL[_ALL.index("allowed_tools") : _ALL.index("add_dirs")])
FOR_PROGRAMS = list(_ALL[_ALL.index("add_dirs") :])
# Whatever their value, with one of these Claude can do less than without it.
NARROWING = ["tools", "disallowed_tools", "max_turns", "task_budget"]
