"""What can be asked of a running agent beside the talk, and what it answers.

A control has the name of its answer: `{"control": "mcp_status"}` is answered with
`{"control": "mcp_status", "servers": [...]}`. What an agent can do is in its capabilities.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, get_args

from msgspec import Meta, Struct

__all__ = [
    "CONTROLS",
    "AgentControl",
    "Commands",
    "ContextPart",
    "ContextUsage",
    "ContextUsed",
    "Control",
    "ControlResult",
    "Done",
    "ListCommands",
    "ListModels",
    "McpReconnect",
    "McpServer",
    "McpServers",
    "McpStatus",
    "McpToggle",
    "Model",
    "Models",
    "RewindFiles",
    "Rewound",
    "SlashCommand",
    "StopTask",
    "name_of",
    "only_asks",
]

_NotEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Control(
    Struct,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="control",
    gc=False,
):
    """An unknown field is refused: a misspelt wish would be half a wish."""


# --- what is asked ------------------------------------------------------------------------------


class McpStatus(_Control, frozen=True, tag="mcp_status"):
    """How are the MCP servers?"""


class McpReconnect(_Control, frozen=True, tag="mcp_reconnect"):
    """Connect to one of them again."""

    server: _NotEmpty  # its name, as `mcp_status` says it


class McpToggle(_Control, frozen=True, tag="mcp_toggle"):
    """Switch one of them on or off, in this conversation and for good."""

    server: _NotEmpty  # its name, as `mcp_status` says it
    enabled: bool


class StopTask(_Control, frozen=True, tag="stop_task"):
    """End what works in the background."""

    task_id: _NotEmpty  # one of the state's `background_tasks`


class ContextUsage(_Control, frozen=True, tag="context_usage"):
    """How full is the context, and of what?"""


class ListModels(_Control, frozen=True, tag="models"):
    """Which models may be chosen?"""


class ListCommands(_Control, frozen=True, tag="commands"):
    """Which slash commands are there?"""


AgentControl: TypeAlias = (
    McpStatus | McpReconnect | McpToggle | StopTask | ContextUsage | ListModels | ListCommands
)


class RewindFiles(_Control, frozen=True, tag="rewind"):
    """Put the files back as they were before a turn. Clients ask for it with `user.rewind`."""

    message_sequence: int  # of the message that began the turn
    turn_uuid: str  # what the agent was told with that prompt
    dry_run: bool = False  # only say which files would change


Control: TypeAlias = AgentControl | RewindFiles

CONTROLS: dict[str, type[AgentControl]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AgentControl)
}


def name_of(control: Control) -> str:
    """Its name on the wire."""
    return str(control.__struct_config__.tag)


def only_asks(control: Control) -> bool:
    """Whether nothing is another after it, so that it need not be remembered."""
    match control:
        case McpReconnect() | McpToggle() | StopTask():
            return False
        case RewindFiles(dry_run=dry_run):
            return dry_run
        case _:
            return True


# --- what is answered ---------------------------------------------------------------------------


class _Result(Struct, frozen=True, omit_defaults=True, tag_field="control", gc=False):
    pass


class Done(_Result, frozen=True, tag="done"):
    """It was done, and there is nothing more to say."""


class McpServer(Struct, frozen=True, omit_defaults=True, gc=False):
    """An MCP server, as the agent sees it."""

    name: str
    status: str  # the agent's word: `connected`, `failed`, `disabled`, `pending`, `needs-auth`, ...
    error: str | None = None  # why it failed
    transport: str | None = None  # `stdio`, `http`, `sdk`, ...
    tools: list[str] = []
    fixed: bool = False  # the agent cannot do without it: it is not switched off


class McpServers(_Result, frozen=True, tag="mcp_status"):
    """How the MCP servers are."""

    servers: list[McpServer]


class ContextPart(Struct, frozen=True, omit_defaults=True, gc=False):
    """What takes up a part of the context."""

    name: str  # for a person
    tokens: int
    kind: str | None = None  # the agent's word: `used`, `free`, `deferred`


class ContextUsed(_Result, frozen=True, tag="context_usage"):
    """How full the context is."""

    total_tokens: int
    max_tokens: int | None = None
    percentage: float | None = None  # of max_tokens
    model: str | None = None
    parts: list[ContextPart] = []


class Model(Struct, frozen=True, omit_defaults=True, gc=False):
    """A model that may be chosen."""

    model: str  # for `session.set_model`
    name: str | None = None  # for a person
    description: str | None = None
    resolved: str | None = None  # which one it is now, where `model` is an alias


class Models(_Result, frozen=True, tag="models"):
    """The models that may be chosen."""

    models: list[Model]


class SlashCommand(Struct, frozen=True, omit_defaults=True, gc=False):
    """A slash command: a message that begins with it is one for the agent's program."""

    name: str  # without the slash
    description: str | None = None
    argument_hint: str | None = None


class Commands(_Result, frozen=True, tag="commands"):
    """The slash commands that there are."""

    commands: list[SlashCommand]


class Rewound(_Result, frozen=True, tag="rewind"):
    """The files that were put back, or would be."""

    files: list[str]
    failed: list[str] = []  # that could not be put back


ControlResult: TypeAlias = Done | McpServers | ContextUsed | Models | Commands | Rewound
