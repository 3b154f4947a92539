"""What a client of the RPC door may ask for: a type for the parameters of each method."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from turnwire.dialects.rpc.messages import ToolProgressMode

__all__ = [
    "METHODS",
    "BlobSource",
    "Connect",
    "Content",
    "Disconnect",
    "GetCapabilities",
    "GetCommands",
    "GetContextUsage",
    "GetHistory",
    "GetHistorySessions",
    "GetMcpStatus",
    "GetModels",
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
    "SetMaxThinkingTokens",
    "SetModel",
    "SetPermissionMode",
    "StopTask",
    "ToggleMcp",
    "UrlSource",
]

_NotEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Params(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """An unknown field is refused: a misspelt wish would be half a wish."""


# --- a conversation -----------------------------------------------------------------------------


class Connect(_Params, frozen=True):
    """Come into a conversation: one that exists, or a new one.

    `connect` is answered, then streams what was missed and what happens, until `disconnect`.
    """

    conversation: _NotEmpty | None = None  # one that exists; absent: a new one
    last_sequence: Annotated[int, Meta(ge=0)] = 0  # of it, everything up to this number is known
    epoch: _NotEmpty | None = None  # the log that this number is of
    tail: Annotated[int, Meta(ge=1)] | None = None  # of it, no more than the newest so many entries
    # What the connection wants to see.
    tool_progress: ToolProgressMode = "off"  # what becomes of a running tool's output
    system_messages: bool = False  # whether `system` messages are sent
    include_partial_messages: bool = True  # whether `stream_event` messages are sent
    # What a new conversation begins with.
    client_message_id: _NotEmpty | None = (
        None  # the client's own id: makes asking for it again harmless
    )
    provider: _NotEmpty | None = None  # the agent; absent: the server's usual one
    resume: _NotEmpty | None = None  # go on with this session of the agent's own
    model: _NotEmpty | None = None
    system_prompt: str | None = None
    permission_mode: _NotEmpty | None = None
    cwd: _NotEmpty | None = None  # where the agent works
    title: _NotEmpty | None = None
    options: dict[str, Any] = {}  # the agent's own

    def __post_init__(self) -> None:
        is_new = self.conversation is None
        for name in _PLACE if is_new else _NEW:
            if getattr(self, name):
                of = "a `conversation` that exists" if is_new else "a new conversation"
                raise ValueError(f"`{name}` is for {of}, which this is not: leave it out")


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
    """Leave the conversation. Whatever runs in it goes on; this connection can `connect` again."""


class GetCapabilities(_Params, frozen=True):
    """What may be asked of an agent."""

    provider: _NotEmpty | None = None  # absent: of this conversation's, else of the usual one


# --- talking ------------------------------------------------------------------------------------


class Query(_Params, frozen=True):
    """Say something to the agent. Streams its turn: the `result` message comes last."""

    prompt: _NotEmpty
    client_message_id: _NotEmpty | None = (
        None  # the client's own id: makes sending it again harmless
    )


class GivenText(_Params, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class InlineSource(_Params, frozen=True, tag_field="type", tag="base64"):
    """A picture in the frame itself."""

    media_type: _NotEmpty
    data: _NotEmpty  # base64


class UrlSource(_Params, frozen=True, tag_field="type", tag="url"):
    """A picture by its address."""

    url: _NotEmpty


class BlobSource(_Params, frozen=True, tag_field="type", tag="blob"):
    """A picture that was given to the server before: too large for a frame, or used again."""

    blob_id: _NotEmpty


ImageSource: TypeAlias = InlineSource | UrlSource | BlobSource


class GivenImage(_Params, frozen=True, tag_field="type", tag="image"):
    """A picture."""

    source: ImageSource


Content: TypeAlias = GivenText | GivenImage


class QueryWithContent(_Params, frozen=True):
    """The same with words and pictures, in their order."""

    content: Annotated[list[Content], Meta(min_length=1)]
    client_message_id: _NotEmpty | None = (
        None  # the client's own id: makes sending it again harmless
    )


class Interrupt(_Params, frozen=True):
    """Stop a turn."""

    turn_id: Annotated[int, Meta(ge=1)] | None = None  # absent: the one that runs now
    queue: Literal["hold", "continue", "clear"] = "hold"  # what becomes of what waits


# --- the agent ----------------------------------------------------------------------------------


class SetModel(_Params, frozen=True):
    """Use another model from now on."""

    model: _NotEmpty | None  # null: the agent's default


class SetPermissionMode(_Params, frozen=True):
    """Ask more often, or less."""

    mode: _NotEmpty  # one of the capabilities' permission_modes


class SetMaxThinkingTokens(_Params, frozen=True):
    """Think more, or less."""

    max_thinking_tokens: Annotated[int, Meta(ge=0)] | None  # 0: not at all; null: as it began


class RewindFiles(_Params, frozen=True):
    """Put the files back as they were before a message. The log is never cut."""

    sequence: Annotated[int, Meta(ge=1)]  # of a `user` message
    dry_run: bool = False  # only say which files would change


class GetMcpStatus(_Params, frozen=True):
    """How the agent's MCP servers are."""


class ReconnectMcp(_Params, frozen=True):
    """Connect the agent to one of its MCP servers again."""

    server: _NotEmpty


class ToggleMcp(_Params, frozen=True):
    """Switch one of the agent's MCP servers on or off, in this conversation and for good."""

    server: _NotEmpty
    enabled: bool


class StopTask(_Params, frozen=True):
    """End what works in the background."""

    task_id: _NotEmpty  # one of the state's `background_tasks`


class GetContextUsage(_Params, frozen=True):
    """How full the agent's context is, and of what."""


class GetModels(_Params, frozen=True):
    """The models that may be chosen."""


class GetCommands(_Params, frozen=True):
    """The agent's slash commands."""


# --- the log ------------------------------------------------------------------------------------


class GetHistory(_Params, frozen=True):
    """The newest messages of this conversation."""


class LoadHistory(_Params, frozen=True):
    """A page of a conversation's messages. Without `after` and `before` the newest."""

    conversation: _NotEmpty | None = None  # absent: this one
    after: Annotated[int, Meta(ge=0)] | None = None  # only those with a greater number
    before: Annotated[int, Meta(ge=1)] | None = None  # only those with a smaller one
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class GetHistorySessions(_Params, frozen=True):
    """The conversations that there are, the newest first."""

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
    "getCapabilities": GetCapabilities,
    "rewindFiles": RewindFiles,
}


# --- what a client says when the server calls ---------------------------------------------------


class QuestionReply(_Params, frozen=True):
    """The result of `askUserQuestion`."""

    answer: str | dict[str, str | list[str]]  # words; or by question id, a list for several options
    resume_task: bool = True  # wake the agent for it, if its process has ended


class PermissionReply(_Params, frozen=True):
    """The result of `requestPermission`."""

    decision: Literal["allow", "deny"]
    reason: str | None = None  # deny: told to the agent
    updated_input: Any = None  # allow: run this instead of what was shown
    remember: list[Any] = []  # allow: those of the request's suggestions that hold from now on

    def __post_init__(self) -> None:
        if self.decision == "deny" and (self.updated_input is not None or self.remember):
            raise ValueError("`updated_input` and `remember` are not for deny: leave them out")
