"""The frames of the client: what a person, or a program, asks of a conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from turnwire.core.content import Blob, FileContent, ImageContent, TextContent
from turnwire.core.controls import AgentControl
from turnwire.dialects.v2.payloads import Decision, QueueFate

__all__ = [
    "Beat",
    "ClientFrame",
    "ControlCommand",
    "Heartbeat",
    "InputResponse",
    "Interrupt",
    "ModelChoice",
    "NewMessage",
    "PermissionChoice",
    "PermissionModeChoice",
    "PermissionResponse",
    "QuestionAnswer",
    "QueueChange",
    "QueueCommand",
    "Rewind",
    "RewindTo",
    "SendMessage",
    "SentBlob",
    "SentContent",
    "SentFile",
    "SentImage",
    "SentText",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetPermissionMode",
    "Stop",
    "ThinkingChoice",
]

_NotEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Wish(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A frame or its payload. An unknown field is refused: a misspelt wish would be half a wish."""


# --- what is sent -------------------------------------------------------------------------------

# The same as in the server's frames, but read strictly.


class SentBlob(Blob, frozen=True, forbid_unknown_fields=True):
    """Content that was given to the server before, by reference."""


class SentText(TextContent, frozen=True, tag="text", forbid_unknown_fields=True):
    """Words."""

    blob: SentBlob | None = None  # the whole text, where `text` is only its beginning


class SentImage(ImageContent, frozen=True, tag="image", forbid_unknown_fields=True):
    """A picture: in a blob, inline, or by address."""

    blob: SentBlob | None = None

    def __post_init__(self) -> None:
        if self.data is None and self.url is None and self.blob is None:
            raise ValueError("there is no picture: add `data`, `url` or `blob`")


class SentFile(FileContent, frozen=True, tag="file_ref", forbid_unknown_fields=True):
    """A file, named but not included."""

    blob: SentBlob | None = None  # its content, where that is given along


SentContent: TypeAlias = SentText | SentImage | SentFile

_Words: TypeAlias = _NotEmpty | Annotated[list[SentContent], Meta(min_length=1)]


# --- payloads -----------------------------------------------------------------------------------


class NewMessage(_Wish, frozen=True):
    """Something to say to the agent."""

    content: _Words  # words, or words, pictures and files in their order


class QuestionAnswer(_Wish, frozen=True):
    """The answer to a question."""

    question_id: str
    answer: str | dict[str, str | list[str]]  # words; or by question id, a list for several options
    resume_task: bool = True  # wake the agent for it, if its process has ended


class PermissionChoice(_Wish, frozen=True):
    """Leave, or not."""

    request_id: str
    decision: Decision
    reason: str | None = None  # deny: told to the agent
    updated_input: Any = None  # allow: run this instead of what was shown
    remember: list[Any] = []  # allow: those of the request's suggestions that hold from now on

    def __post_init__(self) -> None:
        if self.decision == "deny":
            if self.updated_input is not None:
                raise ValueError("`updated_input` is not for deny: leave it out, or allow")
            if self.remember:
                raise ValueError("`remember` is not for deny: leave it out, or allow")


class Stop(_Wish, frozen=True):
    """Stop a turn."""

    turn_id: Annotated[int, Meta(ge=1)]  # a stop that comes late must not end the next turn
    queue: QueueFate = "hold"  # what becomes of the messages that wait


class QueueChange(_Wish, frozen=True):
    """Change the queue."""

    action: Literal["remove", "replace", "move", "resume"]
    queue_id: str | None = None  # the message; not for resume
    content: _Words | None = None  # replace: what it says now
    before: str | None = None  # move: the message it goes before; absent: to the end

    def __post_init__(self) -> None:
        needed, allowed = _FIELDS[self.action]
        for name in ("queue_id", "content", "before"):
            if getattr(self, name) is not None:
                if name not in allowed:
                    raise ValueError(f"`{name}` is not for {self.action}: leave it out")
            elif name in needed:
                raise ValueError(f"`{name}` is missing: {self.action} needs it")


# For each action of a QueueChange: the fields it needs, and those it may have.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "remove": ({"queue_id"}, {"queue_id"}),
    "replace": ({"queue_id", "content"}, {"queue_id", "content"}),
    "move": ({"queue_id"}, {"queue_id", "before"}),
    "resume": (set(), set()),
}


class RewindTo(_Wish, frozen=True):
    """Put the files back as they were before a message. The log is never cut."""

    message_sequence: Annotated[int, Meta(ge=1)]  # of a user.message
    dry_run: bool = False  # only say which files would change


class ModelChoice(_Wish, frozen=True):
    """Use another model from the next turn on."""

    model: str | None  # null: the agent's default


class PermissionModeChoice(_Wish, frozen=True):
    """Ask more often, or less."""

    mode: str  # one of capabilities.permission_modes


class ThinkingChoice(_Wish, frozen=True):
    """Think more, or less."""

    max_thinking_tokens: Annotated[int, Meta(ge=0)] | None  # 0: not at all; null: as it began


class Beat(_Wish, frozen=True):
    """Nothing, but a sign of life."""


# --- frames -------------------------------------------------------------------------------------


class _Command(_Wish, frozen=True, tag_field="type", kw_only=True):
    """What every client frame has."""

    client_message_id: _NotEmpty | None = (
        None  # the client's own id: makes sending it again harmless
    )


class SendMessage(_Command, frozen=True, tag="user.message"):
    """Say something to the agent. It starts a turn, or waits for its turn."""

    payload: NewMessage


class InputResponse(_Command, frozen=True, tag="user.input_response"):
    """Answer a question."""

    payload: QuestionAnswer


class PermissionResponse(_Command, frozen=True, tag="user.permission_response"):
    """Allow or deny what the agent wants to run."""

    payload: PermissionChoice


class Interrupt(_Command, frozen=True, tag="user.interrupt"):
    """Stop the running turn."""

    payload: Stop


class QueueCommand(_Command, frozen=True, tag="user.queue"):
    """Remove, replace or move a message that waits, or let a held queue go on."""

    payload: QueueChange


class Rewind(_Command, frozen=True, tag="user.rewind"):
    """Put files back."""

    payload: RewindTo


class SetModel(_Command, frozen=True, tag="session.set_model"):
    """Choose the model."""

    payload: ModelChoice


class SetPermissionMode(_Command, frozen=True, tag="session.set_permission_mode"):
    """Choose how much the agent may do without asking."""

    payload: PermissionModeChoice


class SetMaxThinkingTokens(_Command, frozen=True, tag="session.set_max_thinking_tokens"):
    """Choose how much the agent may think before it answers."""

    payload: ThinkingChoice


class ControlCommand(_Command, frozen=True, tag="session.control"):
    """Ask something of the agent beside the talk. It is woken up for it if it sleeps."""

    payload: AgentControl  # one of capabilities.controls


class Heartbeat(_Command, frozen=True, tag="session.heartbeat"):
    """A sign of life."""

    payload: Beat = Beat()


ClientFrame: TypeAlias = (
    SendMessage
    | InputResponse
    | PermissionResponse
    | Interrupt
    | QueueCommand
    | Rewind
    | SetModel
    | SetPermissionMode
    | SetMaxThinkingTokens
    | ControlCommand
    | Heartbeat
)
