"""The client frames of protocol v2: the commands that a client sends to a conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from turnwire.core.content import Blob, FileContent, ImageContent, TextContent
from turnwire.core.controls import AgentControl
from turnwire.dialects.v2.payloads import Decision, QueueFate

__all__ = [
    "AgentChoice",
    "Beat",
    "ClientFrame",
    "ControlCommand",
    "ForgetRule",
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
    "RuleChoice",
    "SendMessage",
    "SentBlob",
    "SentContent",
    "SentFile",
    "SentImage",
    "SentText",
    "SetAgent",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetPermissionMode",
    "Stop",
    "ThinkingChoice",
]

_NotEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Wish(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A frame or its payload. Rejects unknown fields, so that no misspelt field is ignored."""


# --- content of messages ------------------------------------------------------------------------

# The same types as in the server's frames, but they reject unknown fields.


class SentBlob(Blob, frozen=True, forbid_unknown_fields=True):
    """A reference to content that was uploaded to the server before."""


class SentText(TextContent, frozen=True, tag="text", forbid_unknown_fields=True):
    """Text."""

    blob: SentBlob | None = None  # the whole text, if `text` is only its beginning


class SentImage(ImageContent, frozen=True, tag="image", forbid_unknown_fields=True):
    """An image: in a blob, inline, or by URL."""

    blob: SentBlob | None = None

    def __post_init__(self) -> None:
        if self.data is None and self.url is None and self.blob is None:
            raise ValueError("the image has no content: add `data`, `url` or `blob`")


class SentFile(FileContent, frozen=True, tag="file_ref", forbid_unknown_fields=True):
    """A reference to a file by its name."""

    blob: SentBlob | None = None  # the content of the file, if it was uploaded


SentContent: TypeAlias = SentText | SentImage | SentFile

_Words: TypeAlias = _NotEmpty | Annotated[list[SentContent], Meta(min_length=1)]


# --- payloads -----------------------------------------------------------------------------------


class NewMessage(_Wish, frozen=True):
    """A message to the agent."""

    content: _Words  # text, or a list of text, images and files
    steer: bool = False  # for the running turn, if one runs; needs the capability `steer`


class QuestionAnswer(_Wish, frozen=True):
    """The answer to a question."""

    question_id: str
    answer: str | dict[str, str | list[str]]  # text, or by question id; a list if multi-select
    resume_task: bool = True  # start the agent again for the answer, if its process has ended


class PermissionChoice(_Wish, frozen=True):
    """The decision on a permission request."""

    request_id: str
    decision: Decision
    reason: str | None = None  # deny: the reason, passed on to the agent
    updated_input: Any = None  # allow: run the tool with this input instead
    remember: list[Any] = []  # allow: those of the request's suggestions that apply from now on

    def __post_init__(self) -> None:
        if self.decision == "deny":
            if self.updated_input is not None:
                raise ValueError("`updated_input` is not for deny: leave it out, or allow")
            if self.remember:
                raise ValueError("`remember` is not for deny: leave it out, or allow")


class Stop(_Wish, frozen=True):
    """The turn to interrupt."""

    turn_id: Annotated[int, Meta(ge=1)]  # a late command must not stop the next turn
    queue: QueueFate = "hold"  # what happens to the queued messages


class QueueChange(_Wish, frozen=True):
    """A change of the queue."""

    action: Literal["remove", "replace", "move", "resume"]
    queue_id: str | None = None  # the queued message; not for resume
    content: _Words | None = None  # replace: the new content
    before: str | None = None  # move: the message to move it before; absent: move it to the end

    def __post_init__(self) -> None:
        if self.action not in _FIELDS:  # a program may say anything
            raise ValueError(f"there is no action {self.action}; use one of: {', '.join(_FIELDS)}")
        needed, allowed = _FIELDS[self.action]
        for name in ("queue_id", "content", "before"):
            if getattr(self, name) is not None:
                if name not in allowed:
                    raise ValueError(f"`{name}` is not for {self.action}: leave it out")
            elif name in needed:
                raise ValueError(f"`{name}` is missing: {self.action} needs it")


# The required and the optional fields of each action of a QueueChange.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "remove": ({"queue_id"}, {"queue_id"}),
    "replace": ({"queue_id", "content"}, {"queue_id", "content"}),
    "move": ({"queue_id"}, {"queue_id", "before"}),
    "resume": (set(), set()),
}


class RewindTo(_Wish, frozen=True):
    """The message before which the files are restored. The log itself stays as it is."""

    message_sequence: Annotated[int, Meta(ge=1)]  # the number of a user.message
    dry_run: bool = False  # only report which files would change


class RuleChoice(_Wish, frozen=True):
    """Which rule to take back."""

    rule_id: _NotEmpty  # one of `GET /api/conversations/{id}/rules`


class AgentChoice(_Wish, frozen=True):
    """The agent that speaks from the next turn on."""

    agent: _NotEmpty  # one of the agents of the server


class ModelChoice(_Wish, frozen=True):
    """The model to use from the next turn on."""

    model: str | None  # null: the agent's default


class PermissionModeChoice(_Wish, frozen=True):
    """The permission mode: how often the agent asks before it runs a tool."""

    mode: str  # one of capabilities.permission_modes


class ThinkingChoice(_Wish, frozen=True):
    """The limit of reasoning in each turn."""

    max_thinking_tokens: Annotated[int, Meta(ge=0)] | None  # 0: none; null: the initial value


class Beat(_Wish, frozen=True):
    """An empty payload."""


# --- frames -------------------------------------------------------------------------------------


class _Command(_Wish, frozen=True, tag_field="type", kw_only=True):
    """The fields of every client frame."""

    client_message_id: _NotEmpty | None = (
        None  # idempotency key, chosen by the client: makes a retry safe
    )


class SendMessage(_Command, frozen=True, tag="user.message"):
    """Sends a message to the agent. It starts a turn, or is queued."""

    payload: NewMessage


class InputResponse(_Command, frozen=True, tag="user.input_response"):
    """Answers a question."""

    payload: QuestionAnswer


class PermissionResponse(_Command, frozen=True, tag="user.permission_response"):
    """Allows or denies a tool call that needs a permission."""

    payload: PermissionChoice


class Interrupt(_Command, frozen=True, tag="user.interrupt"):
    """Interrupts the running turn."""

    payload: Stop


class QueueCommand(_Command, frozen=True, tag="user.queue"):
    """Removes, replaces or moves a queued message, or resumes a held queue."""

    payload: QueueChange


class Rewind(_Command, frozen=True, tag="user.rewind"):
    """Restores files to their content before a message."""

    payload: RewindTo


class ForgetRule(_Command, frozen=True, tag="session.forget_rule"):
    """Takes a remembered permission rule back: the agent asks again."""

    payload: RuleChoice


class SetAgent(_Command, frozen=True, tag="session.set_agent"):
    """Lets another agent speak from the next turn on. It is told what was said before."""

    payload: AgentChoice


class SetModel(_Command, frozen=True, tag="session.set_model"):
    """Sets the model."""

    payload: ModelChoice


class SetPermissionMode(_Command, frozen=True, tag="session.set_permission_mode"):
    """Sets the permission mode: how much the agent may do without asking."""

    payload: PermissionModeChoice


class SetMaxThinkingTokens(_Command, frozen=True, tag="session.set_max_thinking_tokens"):
    """Sets how much the agent may reason before it answers."""

    payload: ThinkingChoice


class ControlCommand(_Command, frozen=True, tag="session.control"):
    """Sends a control to the agent, outside of the turns. Starts the agent if it does not run."""

    payload: AgentControl  # one of capabilities.controls


class Heartbeat(_Command, frozen=True, tag="session.heartbeat"):
    """Tells the server that the client is alive."""

    payload: Beat = Beat()


ClientFrame: TypeAlias = (
    SendMessage
    | InputResponse
    | PermissionResponse
    | Interrupt
    | QueueCommand
    | Rewind
    | ForgetRule
    | SetAgent
    | SetModel
    | SetPermissionMode
    | SetMaxThinkingTokens
    | ControlCommand
    | Heartbeat
)
