"""Controls of a running agent, independent of turns, and their results.

A result has the name of its control: `{"control": "mcp_status"}` is answered with `{"control":
"mcp_status", "servers": [...]}`. An agent's capabilities list its controls.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, get_args

from msgspec import Meta, Struct

from turnwire.core.offers import SessionOption, Setting

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
    "ListSessionOptions",
    "McpReconnect",
    "McpServer",
    "McpServers",
    "McpStatus",
    "McpToggle",
    "Model",
    "Models",
    "RewindFiles",
    "Rewound",
    "SessionOptions",
    "SetSessionOption",
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
    """Base of the controls. Rejects unknown fields, so that a misspelt field is not ignored."""


# --- controls -------------------------------------------------------------------------------------


class McpStatus(_Control, frozen=True, tag="mcp_status"):
    """Returns the status of the MCP servers."""


class McpReconnect(_Control, frozen=True, tag="mcp_reconnect"):
    """Reconnects an MCP server."""

    server: _NotEmpty  # its name, as in the result of `mcp_status`


class McpToggle(_Control, frozen=True, tag="mcp_toggle"):
    """Switches an MCP server on or off, permanently for this conversation."""

    server: _NotEmpty  # its name, as in the result of `mcp_status`
    enabled: bool


class ListSessionOptions(_Control, frozen=True, tag="session_options"):
    """Returns the further options of the agent's session, such as how long it thinks."""


class SetSessionOption(_Control, frozen=True, tag="set_session_option"):
    """Changes an option of the agent's session, permanently for this conversation."""

    option: _NotEmpty  # one of the result of `session_options`
    value: Setting


class StopTask(_Control, frozen=True, tag="stop_task"):
    """Ends a background task."""

    task_id: _NotEmpty  # one of the `background_tasks` in the status


class ContextUsage(_Control, frozen=True, tag="context_usage"):
    """Returns the size of the context and of its parts."""


class ListModels(_Control, frozen=True, tag="models"):
    """Returns the models that may be chosen."""


class ListCommands(_Control, frozen=True, tag="commands"):
    """Returns the slash commands."""


AgentControl: TypeAlias = (
    McpStatus
    | McpReconnect
    | McpToggle
    | StopTask
    | ContextUsage
    | ListModels
    | ListCommands
    | ListSessionOptions
    | SetSessionOption
)


class RewindFiles(_Control, frozen=True, tag="rewind"):
    """Restores the files as they were before a turn. Clients ask for it with `user.rewind`."""

    message_sequence: int  # of the message that began the turn
    turn_uuid: str  # the id that the agent got with that prompt
    dry_run: bool = False  # only report which files would change


Control: TypeAlias = AgentControl | RewindFiles

CONTROLS: dict[str, type[AgentControl]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AgentControl)
}


def name_of(control: Control) -> str:
    """Returns the name of a control on the wire."""
    return str(control.__struct_config__.tag)


def only_asks(control: Control) -> bool:
    """Returns whether a control changes nothing, so that it needs no record."""
    match control:
        case McpReconnect() | McpToggle() | StopTask() | SetSessionOption():
            return False
        case RewindFiles(dry_run=dry_run):
            return dry_run
        case _:
            return True


# --- results --------------------------------------------------------------------------------------


class _Result(Struct, frozen=True, omit_defaults=True, tag_field="control", gc=False):
    pass


class Done(_Result, frozen=True, tag="done"):
    """The control was carried out; it has no further result."""


class McpServer(Struct, frozen=True, omit_defaults=True, gc=False):
    """An MCP server, as the agent reports it."""

    name: str
    status: str  # `connected`, `failed`, `disabled`, `pending`, `needs-auth`, ...
    error: str | None = None  # why it failed
    transport: str | None = None  # `stdio`, `http`, `sdk`, ...
    tools: list[str] = []
    fixed: bool = False  # the agent requires it: it cannot be switched off


class McpServers(_Result, frozen=True, tag="mcp_status"):
    """The status of the MCP servers."""

    servers: list[McpServer]


class ContextPart(Struct, frozen=True, omit_defaults=True, gc=False):
    """A part of the context."""

    name: str  # for a person
    tokens: int
    kind: str | None = None  # the agent's name for it: `used`, `free`, `deferred`


class ContextUsed(_Result, frozen=True, tag="context_usage"):
    """The size of the context."""

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
    resolved: str | None = None  # the current model, if `model` is an alias


class Models(_Result, frozen=True, tag="models"):
    """The models that may be chosen."""

    models: list[Model]


class SlashCommand(Struct, frozen=True, omit_defaults=True, gc=False):
    """A slash command: a message that begins with it is handled by the agent's program."""

    name: str  # without the slash
    description: str | None = None
    argument_hint: str | None = None


class Commands(_Result, frozen=True, tag="commands"):
    """The available slash commands."""

    commands: list[SlashCommand]


class SessionOptions(_Result, frozen=True, tag="session_options"):
    """The options of the agent's session, and their current values."""

    options: list[SessionOption]
    values: dict[str, Setting]


class Rewound(_Result, frozen=True, tag="rewind"):
    """The files that were restored, or would be."""

    files: list[str]
    failed: list[str] = []  # files that could not be restored


ControlResult: TypeAlias = (
    Done | McpServers | ContextUsed | Models | Commands | SessionOptions | Rewound
)
