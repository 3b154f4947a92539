"""The JSON-RPC messages of the Agent Client Protocol, of both sides. Version 1 of the protocol."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from turnwire.core.lenient import Unknown
from turnwire.dialects.acp.content import AcpContent
from turnwire.dialects.acp.updates import SessionUpdate, ToolCallFields

__all__ = [
    "PROTOCOL_VERSION",
    "AcpMessage",
    "Authenticate",
    "Cancel",
    "CancelRequest",
    "CreateElicitation",
    "CreateTerminal",
    "ElicitationComplete",
    "ElicitationParams",
    "EnvVariable",
    "Initialize",
    "KillTerminal",
    "LoadSession",
    "NewSession",
    "NewTerminal",
    "PermissionOption",
    "PermissionParams",
    "Prompt",
    "PromptParams",
    "ReadParams",
    "ReadTextFile",
    "ReleaseTerminal",
    "RequestId",
    "RequestPermission",
    "Response",
    "ResumeSession",
    "RpcError",
    "SetConfigOption",
    "SetMode",
    "SetModel",
    "TerminalOutput",
    "TerminalParams",
    "UnknownMessage",
    "Update",
    "UpdateParams",
    "WaitForExit",
    "WriteParams",
    "WriteTextFile",
]

PROTOCOL_VERSION = 1

RequestId: TypeAlias = int | str | None


class _Params(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    pass


class _Message(Struct, frozen=True, tag_field="method", gc=False):
    """A request, or a notification, which has no id."""


# --- from the agent -------------------------------------------------------------------------------


class UpdateParams(_Params, frozen=True):
    """The parameters of an update."""

    session_id: str
    update: SessionUpdate


class Update(_Message, frozen=True, tag="session/update"):
    """Something has happened in the session."""

    params: UpdateParams


class PermissionOption(_Params, frozen=True):
    """One decision that a person may take, as the agent offers it."""

    option_id: str
    name: str = ""  # for people
    kind: str = ""  # allow_once, allow_always, reject_once, reject_always


class PermissionParams(_Params, frozen=True):
    """The parameters of a permission request."""

    session_id: str
    tool_call: ToolCallFields
    options: list[PermissionOption] = []


class RequestPermission(_Message, frozen=True, tag="session/request_permission"):
    """The agent asks whether it may run a tool call."""

    id: RequestId
    params: PermissionParams


class ElicitationParams(_Params, frozen=True):
    """The parameters of a question."""

    message: str = ""
    session_id: str | None = None
    mode: str = "form"  # form: with a schema; url: on a web page
    requested_schema: Any = None  # JSON schema of an object; its properties are the questions
    url: str | None = None
    elicitation_id: str | None = None  # of a url, for `elicitation/complete`
    tool_call_id: str | None = None


class CreateElicitation(_Message, frozen=True, tag="elicitation/create"):
    """The agent asks a person."""

    id: RequestId
    params: ElicitationParams


class ElicitationComplete(_Message, frozen=True, tag="elicitation/complete"):
    """A person has finished on the web page of a question."""

    params: Any = None


class ReadParams(_Params, frozen=True):
    """The parameters of `fs/read_text_file`."""

    path: str
    session_id: str | None = None
    line: int | None = None  # the first line, counted from 1
    limit: int | None = None  # number of lines


class ReadTextFile(_Message, frozen=True, tag="fs/read_text_file"):
    """The agent reads a file."""

    id: RequestId
    params: ReadParams


class WriteParams(_Params, frozen=True):
    """The parameters of `fs/write_text_file`."""

    path: str
    content: str
    session_id: str | None = None


class WriteTextFile(_Message, frozen=True, tag="fs/write_text_file"):
    """The agent writes a file."""

    id: RequestId
    params: WriteParams


class EnvVariable(_Params, frozen=True):
    """An environment variable."""

    name: str
    value: str


class NewTerminal(_Params, frozen=True):
    """The parameters of `terminal/create`."""

    command: str
    session_id: str | None = None
    args: list[str] | None = None
    env: list[EnvVariable] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = None  # keep at most the last bytes of the output


class CreateTerminal(_Message, frozen=True, tag="terminal/create"):
    """The agent runs a command."""

    id: RequestId
    params: NewTerminal


class TerminalParams(_Params, frozen=True):
    """The parameters of the other requests about a terminal."""

    terminal_id: str
    session_id: str | None = None


class TerminalOutput(_Message, frozen=True, tag="terminal/output"):
    """The agent asks for the output so far, and for the exit status."""

    id: RequestId
    params: TerminalParams


class WaitForExit(_Message, frozen=True, tag="terminal/wait_for_exit"):
    """The agent waits until the command has ended."""

    id: RequestId
    params: TerminalParams


class KillTerminal(_Message, frozen=True, tag="terminal/kill"):
    """The agent ends the command; its output stays readable."""

    id: RequestId
    params: TerminalParams


class ReleaseTerminal(_Message, frozen=True, tag="terminal/release"):
    """The agent needs the terminal no longer; its command is ended."""

    id: RequestId
    params: TerminalParams


class CancelRequest(_Message, frozen=True, tag="$/cancel_request"):
    """The sender needs no answer to one of its requests any more."""

    params: Any = None


# --- from the host --------------------------------------------------------------------------------


class Initialize(_Message, frozen=True, tag="initialize"):
    """The first request."""

    id: RequestId
    params: Any = None


class Authenticate(_Message, frozen=True, tag="authenticate"):
    """Logs in, by one of the agent's methods."""

    id: RequestId
    params: Any = None


class NewSession(_Message, frozen=True, tag="session/new"):
    """Begins a session."""

    id: RequestId
    params: Any = None


class LoadSession(_Message, frozen=True, tag="session/load"):
    """Continues a session; the agent first repeats its messages as updates."""

    id: RequestId
    params: Any = None


class ResumeSession(_Message, frozen=True, tag="session/resume"):
    """Continues a session without a repetition."""

    id: RequestId
    params: Any = None


class PromptParams(_Params, frozen=True):
    """The parameters of a prompt."""

    session_id: str
    prompt: list[AcpContent]


class Prompt(_Message, frozen=True, tag="session/prompt"):
    """Begins a turn. The response ends it."""

    id: RequestId
    params: PromptParams


class Cancel(_Message, frozen=True, tag="session/cancel"):
    """Stops the turn."""

    params: Any = None


class SetMode(_Message, frozen=True, tag="session/set_mode"):
    """Changes the mode of a session."""

    id: RequestId
    params: Any = None


class SetModel(_Message, frozen=True, tag="session/set_model"):
    """Changes the model of a session."""

    id: RequestId
    params: Any = None


class SetConfigOption(_Message, frozen=True, tag="session/set_config_option"):
    """Changes an option of a session."""

    id: RequestId
    params: Any = None


# --- from both ------------------------------------------------------------------------------------


class RpcError(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why a request failed."""

    code: int = 0
    message: str = ""
    data: Any = None


class Response(Struct, frozen=True, omit_defaults=True, gc=False):
    """The answer to a request: a result or an error."""

    id: RequestId
    result: Raw | UnsetType = UNSET
    error: RpcError | None = None


class UnknownMessage(Unknown, frozen=True, tag_field="method", tag="unknown", gc=False):
    """A message that this version does not know. If `id` is set, it wants an answer."""

    id: RequestId | UnsetType = field(default=UNSET)
    reason: str | None = None


AcpMessage: TypeAlias = (
    Update
    | RequestPermission
    | CreateElicitation
    | ElicitationComplete
    | ReadTextFile
    | WriteTextFile
    | CreateTerminal
    | TerminalOutput
    | WaitForExit
    | KillTerminal
    | ReleaseTerminal
    | CancelRequest
    | Initialize
    | Authenticate
    | NewSession
    | LoadSession
    | ResumeSession
    | Prompt
    | Cancel
    | SetMode
    | SetModel
    | SetConfigOption
    | Response
    | UnknownMessage
)
