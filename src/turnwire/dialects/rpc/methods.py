"""The RPC methods that a client can call: one type for the parameters of each method."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from turnwire.core.offers import Setting
from turnwire.dialects.rpc.messages import ToolProgressMode

__all__ = [
    "METHODS",
    "BlobSource",
    "Connect",
    "Content",
    "Disconnect",
    "ForgetRule",
    "GetCapabilities",
    "GetCommands",
    "GetContextUsage",
    "GetHistory",
    "GetHistorySessions",
    "GetMcpStatus",
    "GetModels",
    "GetSessionOptions",
    "GivenFile",
    "GivenImage",
    "GivenText",
    "ImageSource",
    "InlineSource",
    "Interrupt",
    "LoadHistory",
    "Method",
    "PermissionReply",
    "Query",
    "QueryWithContent",
    "QuestionReply",
    "ReconnectMcp",
    "RewindFiles",
    "SetAgent",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetPermissionMode",
    "SetSessionOption",
    "StopTask",
    "ToggleMcp",
    "UrlSource",
]

_NotEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Params(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """The parameters of a method. Rejects unknown fields, so that no misspelt field is ignored."""


# --- a conversation -----------------------------------------------------------------------------


class Connect(_Params, frozen=True):
    """Opens a conversation: an existing one, or a new one.

    The server answers `connect`, then streams missed and live messages until `disconnect`.
    """

    conversation: _NotEmpty | None = None  # an existing conversation; absent: create one
    last_sequence: Annotated[int, Meta(ge=0)] = 0  # the client has all entries up to this number
    epoch: _NotEmpty | None = None  # the epoch of the log that this number belongs to
    tail: Annotated[int, Meta(ge=1)] | None = None  # replay at most this many of the newest entries
    # Options of this connection.
    tool_progress: ToolProgressMode = "off"  # how to send the output of a running tool
    system_messages: bool = False  # whether `system` messages are sent
    include_partial_messages: bool = True  # whether `stream_event` messages are sent
    # Options of a new conversation.
    client_message_id: _NotEmpty | None = (
        None  # idempotency key, chosen by the client: makes a retry safe
    )
    provider: _NotEmpty | None = None  # the agent; absent: the server's default
    resume: _NotEmpty | None = None  # continue this session of the agent
    model: _NotEmpty | None = None
    system_prompt: str | None = None
    permission_mode: _NotEmpty | None = None
    cwd: _NotEmpty | None = None  # the agent's working directory
    title: _NotEmpty | None = None
    options: dict[str, Any] = {}  # options of the agent

    def __post_init__(self) -> None:
        is_new = self.conversation is None
        for name in _PLACE if is_new else _NEW:
            if getattr(self, name):
                of = "an existing `conversation`" if is_new else "a new conversation"
                raise ValueError(f"`{name}` is only for {of}: leave it out")


_PLACE = ["last_sequence", "epoch", "tail"]
_NEW = [
    "client_message_id",
    "provider",
    "resume",
    "model",
    "system_prompt",
    "permission_mode",
    "cwd",
    "title",
    "options",
]


class Disconnect(_Params, frozen=True):
    """Leaves the conversation, which goes on. The connection can call `connect` again."""


class GetCapabilities(_Params, frozen=True):
    """Returns the features of an agent."""

    provider: _NotEmpty | None = None  # absent: of this conversation, else the default


# --- sending messages ---------------------------------------------------------------------------


class Query(_Params, frozen=True):
    """Sends a message to the agent. Streams its turn: the `result` message comes last."""

    prompt: _NotEmpty
    client_message_id: _NotEmpty | None = (
        None  # idempotency key, chosen by the client: makes a retry safe
    )
    steer: bool = False  # for the running turn, if one runs; needs the capability `steer`


class GivenText(_Params, frozen=True, tag_field="type", tag="text"):
    """Text."""

    text: str


class InlineSource(_Params, frozen=True, tag_field="type", tag="base64"):
    """An image inside of the frame."""

    media_type: _NotEmpty
    data: _NotEmpty  # base64


class UrlSource(_Params, frozen=True, tag_field="type", tag="url"):
    """An image by its URL."""

    url: _NotEmpty


class BlobSource(_Params, frozen=True, tag_field="type", tag="blob"):
    """An image that was uploaded before, because it is too large for a frame or is used again."""

    blob_id: _NotEmpty


ImageSource: TypeAlias = InlineSource | UrlSource | BlobSource


class GivenImage(_Params, frozen=True, tag_field="type", tag="image"):
    """An image."""

    source: ImageSource


class GivenFile(_Params, frozen=True, tag_field="type", tag="file"):
    """A file that was uploaded before."""

    name: _NotEmpty
    blob_id: _NotEmpty


Content: TypeAlias = GivenText | GivenImage | GivenFile


class QueryWithContent(_Params, frozen=True):
    """Sends a message of text, images and files, in their order."""

    content: Annotated[list[Content], Meta(min_length=1)]
    client_message_id: _NotEmpty | None = (
        None  # idempotency key, chosen by the client: makes a retry safe
    )
    steer: bool = False  # for the running turn, if one runs; needs the capability `steer`


class Interrupt(_Params, frozen=True):
    """Interrupts a turn."""

    turn_id: Annotated[int, Meta(ge=1)] | None = None  # absent: the running turn
    queue: Literal["hold", "continue", "clear"] = "hold"  # what happens to the queued messages


# --- the agent ----------------------------------------------------------------------------------


class ForgetRule(_Params, frozen=True):
    """Takes a remembered permission rule back: the agent asks again."""

    rule_id: _NotEmpty


class SetAgent(_Params, frozen=True):
    """Lets another agent speak from the next turn on. It is told what was said before."""

    agent: _NotEmpty  # one of the agents of the server


class SetModel(_Params, frozen=True):
    """Sets the model from now on."""

    model: _NotEmpty | None  # null: the agent's default


class SetPermissionMode(_Params, frozen=True):
    """Sets the permission mode: how often the agent asks before it runs a tool."""

    mode: _NotEmpty  # one of the capabilities' permission_modes


class SetMaxThinkingTokens(_Params, frozen=True):
    """Sets the limit of reasoning in each turn."""

    max_thinking_tokens: Annotated[int, Meta(ge=0)] | None  # 0: none; null: the initial value


class RewindFiles(_Params, frozen=True):
    """Restores files to their content before a message. The log itself stays as it is."""

    sequence: Annotated[int, Meta(ge=1)]  # the number of a `user` message
    dry_run: bool = False  # only report which files would change


class GetMcpStatus(_Params, frozen=True):
    """Returns the status of the agent's MCP servers."""


class ReconnectMcp(_Params, frozen=True):
    """Reconnects the agent to one of its MCP servers."""

    server: _NotEmpty


class ToggleMcp(_Params, frozen=True):
    """Enables or disables one of the agent's MCP servers, permanently for this conversation."""

    server: _NotEmpty
    enabled: bool


class StopTask(_Params, frozen=True):
    """Stops a background task."""

    task_id: _NotEmpty  # one of the state's `background_tasks`


class GetContextUsage(_Params, frozen=True):
    """Returns how much of the agent's context is used, by category."""


class GetModels(_Params, frozen=True):
    """Returns the available models."""


class GetCommands(_Params, frozen=True):
    """Returns the agent's slash commands."""


class GetSessionOptions(_Params, frozen=True):
    """Returns the further options of the agent's session, and their current values."""


class SetSessionOption(_Params, frozen=True):
    """Changes an option of the agent's session, permanently for this conversation."""

    option: _NotEmpty  # one of the capabilities' `session_options`
    value: Setting


# --- the log ------------------------------------------------------------------------------------


class GetHistory(_Params, frozen=True):
    """Returns the newest messages of this conversation."""


class LoadHistory(_Params, frozen=True):
    """Returns a page of a conversation's messages; without `after` and `before` the newest."""

    conversation: _NotEmpty | None = None  # absent: the conversation of this connection
    after: Annotated[int, Meta(ge=0)] | None = None  # only entries with a greater number
    before: Annotated[int, Meta(ge=1)] | None = None  # only entries with a smaller number
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class GetHistorySessions(_Params, frozen=True):
    """Returns the list of conversations, the newest first."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    offset: Annotated[int, Meta(ge=0)] = 0
    archived: bool = False


Method: TypeAlias = (
    Connect
    | Disconnect
    | GetCapabilities
    | Query
    | QueryWithContent
    | Interrupt
    | ForgetRule
    | SetAgent
    | SetModel
    | SetPermissionMode
    | SetMaxThinkingTokens
    | RewindFiles
    | GetMcpStatus
    | ReconnectMcp
    | ToggleMcp
    | StopTask
    | GetContextUsage
    | GetModels
    | GetCommands
    | GetSessionOptions
    | SetSessionOption
    | GetHistory
    | LoadHistory
    | GetHistorySessions
)

METHODS: dict[str, type[Method]] = {
    "connect": Connect,
    "query": Query,
    "queryWithContent": QueryWithContent,
    "interrupt": Interrupt,
    "disconnect": Disconnect,
    "forgetRule": ForgetRule,
    "setAgent": SetAgent,
    "setModel": SetModel,
    "setPermissionMode": SetPermissionMode,
    "setMaxThinkingTokens": SetMaxThinkingTokens,
    "getHistory": GetHistory,
    "loadHistory": LoadHistory,
    "getHistorySessions": GetHistorySessions,
    "getMcpStatus": GetMcpStatus,
    "reconnectMcp": ReconnectMcp,
    "toggleMcp": ToggleMcp,
    "stopTask": StopTask,
    "getContextUsage": GetContextUsage,
    "getModels": GetModels,
    "getCommands": GetCommands,
    "getSessionOptions": GetSessionOptions,
    "setSessionOption": SetSessionOption,
    "getCapabilities": GetCapabilities,
    "rewindFiles": RewindFiles,
}


# --- answers to calls of the server -------------------------------------------------------------


class QuestionReply(_Params, frozen=True):
    """The result of `askUserQuestion`."""

    answer: str | dict[str, str | list[str]]  # text, or by question id; a list if multi-select
    resume_task: bool = True  # start the agent again for the answer, if its process has ended


class PermissionReply(_Params, frozen=True):
    """The result of `requestPermission`."""

    decision: Literal["allow", "deny"]
    reason: str | None = None  # deny: the reason, passed on to the agent
    updated_input: Any = None  # allow: run the tool with this input instead
    remember: list[Any] = []  # allow: those of the request's suggestions that apply from now on

    def __post_init__(self) -> None:
        if self.decision == "deny" and (self.updated_input is not None or self.remember):
            raise ValueError("`updated_input` and `remember` are not for deny: leave them out")
