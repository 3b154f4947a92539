"""The answers and server calls of the profile `classic`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from turnwire.core.error_codes import ERRORS, Refused
from turnwire.dialects.rpc.frames import error_of
from turnwire.dialects.rpc.messages import ClassicMessage

__all__ = [
    "Answer",
    "AskedOption",
    "AskedQuestion",
    "Capabilities",
    "Connected",
    "Error",
    "History",
    "ModeChanged",
    "ModelChanged",
    "Permission",
    "Questions",
    "ServerCall",
    "Session",
    "Sessions",
    "Told",
    "error_for",
]


# Next steps that name what this profile has.
_STEPS = {
    "NOT_SUPPORTED": "Offer only what the capabilities in the result of connect say.",
    "UNKNOWN_MESSAGE_TYPE": "Check the spelling.",
}


class _Plain(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    pass


class Error(_Plain, frozen=True):
    """Why a call failed."""

    message: str  # what happened, and what to do
    code: str  # one of the error codes of protocol v2


class Answer(Struct, frozen=True, gc=False):
    """The answer to a call. Either `result` or `error` is null."""

    id: str
    result: Any
    error: Error | str | None  # the text alone, if the address has `errors=text`


def error_for(refused: Refused, method: str | None = None) -> Error:
    """Converts a refusal into an error with all its text in `message`."""
    full = error_of(refused, method)
    step = _STEPS.get(full.code, full.what_to_do)
    if full.code == "FORBIDDEN" and full.message != ERRORS["FORBIDDEN"].meaning:
        step = ""  # the text says what to do instead: it is no matter of the conversation's owner
    return Error(" ".join(each for each in (full.message, step) if each), full.code)


# --- results of calls ---------------------------------------------------------------------------


class Capabilities(Struct, frozen=True, rename="camel", gc=False):
    """The features of the agent for this user."""

    can_interrupt: bool
    can_switch_model: bool
    can_switch_permission_mode: bool
    supported_permission_modes: list[str]
    can_skip_permissions: bool  # always false
    can_send_rich_content: bool
    can_think: bool  # whether `thinkingEnabled` of `connect` has an effect
    can_resume_session: bool


class Connected(_Plain, frozen=True):
    """The result of `connect`."""

    session_id: str  # the conversation
    provider: str  # the agent
    status: str  # always `connected`
    capabilities: Capabilities
    model: str | None = None
    cwd: str | None = None


class Told(_Plain, frozen=True):
    """The result of `interrupt` and `disconnect`."""

    status: Literal["connected", "interrupted", "disconnected"]  # connected: no turn was running


class ModelChanged(Struct, frozen=True, gc=False):
    """The result of `setModel`."""

    model: str
    status: str = "model_changed"


class ModeChanged(Struct, frozen=True, gc=False):
    """The result of `setPermissionMode`."""

    mode: str
    success: bool = True


class History(_Plain, frozen=True):
    """The result of `getHistory`."""

    messages: list[ClassicMessage]  # oldest first


class Session(Struct, frozen=True, rename="camel", gc=False):
    """A conversation in the list."""

    session_id: str
    first_user_message: str
    timestamp: int  # of the last change, in milliseconds since 1970
    message_count: int  # entries of its log
    project_path: str  # the agent's working directory; empty if it has none


class Sessions(Struct, frozen=True, gc=False):
    """The result of `getHistorySessions`."""

    sessions: list[Session]


# --- calls of the server ------------------------------------------------------------------------


class AskedOption(Struct, frozen=True, gc=False):
    """An option of a question."""

    label: str
    description: str


class AskedQuestion(Struct, frozen=True, rename="camel", gc=False):
    """One question."""

    question: str
    header: str  # the key of its answer
    options: list[AskedOption]
    multi_select: bool


class Questions(Struct, frozen=True, gc=False):
    """The parameters of `AskUserQuestion`."""

    questions: list[AskedQuestion]


class Permission(_Plain, frozen=True):
    """The parameters of `RequestPermission`."""

    tool_name: str
    input: Any
    tool_use_id: str
    permission_suggestions: list[Any] = []  # rules that may be sent back in `permissionUpdates`


class ServerCall(Struct, frozen=True, gc=False):
    """The server calls the client: a request waits for a person."""

    id: str  # `srv-N`
    method: Literal["AskUserQuestion", "RequestPermission"]
    params: Questions | Permission
