"""The frames of the client: what a person, or a program, asks of a conversation."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from turnwire.core.content import Content
from turnwire.dialects.v2.payloads import QueueFate

__all__ = [
    "Beat",
    "ClientFrame",
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
    "SetModel",
    "SetPermissionMode",
    "Stop",
]


class _Wish(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A payload. A field that is not known is refused: a misspelt wish would be half a wish."""


# --- payloads -----------------------------------------------------------------------------------


class NewMessage(_Wish, frozen=True):
    """Something to say to the agent."""

    content: str | list[Content]  # words, or words, pictures and files in their order


class QuestionAnswer(_Wish, frozen=True):
    """The answer to a question."""

    question_id: str
    answer: str | dict[str, str | list[str]]  # words; or by question id, a list for several options
    resume_task: bool = True  # wake the agent for it, if its process has ended


class PermissionChoice(_Wish, frozen=True):
    """Leave, or not."""

    request_id: str
    decision: Literal["allow", "deny"]
    reason: str | None = None  # deny: told to the agent
    updated_input: Any = None  # allow: run this instead of what was shown
    remember: list[Any] = []  # allow: those of the request's suggestions that hold from now on


class Stop(_Wish, frozen=True):
    """Stop a turn."""

    turn_id: int  # a stop that comes late must not end the next turn
    queue: QueueFate = "hold"  # what becomes of the messages that wait


class QueueChange(_Wish, frozen=True):
    """Change the queue."""

    action: Literal["remove", "replace", "move", "resume"]
    queue_id: str | None = None  # the message; not for resume
    content: str | list[Content] | None = None  # replace: what it says now
    before: str | None = None  # move: the message it goes before; absent: to the end


class RewindTo(_Wish, frozen=True):
    """Put the files back as they were before a message. The log is never cut."""

    message_sequence: int  # of a user.message
    dry_run: bool = False  # only say which files would change


class ModelChoice(_Wish, frozen=True):
    """Use another model from the next turn on."""

    model: str | None  # null: the agent's default


class PermissionModeChoice(_Wish, frozen=True):
    """Ask more often, or less."""

    mode: str  # one of capabilities.permission_modes


class Beat(_Wish, frozen=True):
    """Nothing, but a sign of life."""


# --- frames -------------------------------------------------------------------------------------


class _Command(Struct, frozen=True, omit_defaults=True, tag_field="type", kw_only=True, gc=False):
    """What every client frame has."""

    client_message_id: str | None = None  # the client's own id: makes sending it again harmless


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
    | Heartbeat
)
