"""The frames of an RPC socket: calls and answers in both directions, and streams."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.faults import fault_in_words
from turnwire.core.offers import SessionOption
from turnwire.core.status import OpenRequest, Status
from turnwire.core.text import encode_clean
from turnwire.dialects.rpc.messages import RpcMessage
from turnwire.dialects.rpc.methods import METHODS, Method, PermissionReply, QuestionReply

__all__ = [
    "OURS",
    "Accepted",
    "Answer",
    "Call",
    "Cancel",
    "Capabilities",
    "Complete",
    "Connected",
    "Error",
    "Heartbeat",
    "History",
    "Kept",
    "Reply",
    "ServerCall",
    "ServerFrame",
    "SessionSummary",
    "Sessions",
    "Stopped",
    "Stream",
    "error_of",
    "read_frame",
    "read_reply",
    "stream_head",
    "stream_tail",
    "write",
]

OURS = "srv-"  # prefix of the ids of the server's own calls


class _Plain(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


# --- the server's frames ------------------------------------------------------------------------


class Error(_Plain, frozen=True):
    """Why a call failed."""

    code: str  # one of the error codes of protocol v2
    message: str  # an explanation for people
    retryable: bool  # a retry of the same call may succeed later
    what_to_do: str
    data: dict[str, Any] = {}  # details, by code


class Answer(Struct, frozen=True, gc=False):
    """The answer to a call. Either `result` or `error` is null."""

    id: str | None  # null: not about one call; the connection may be about to close
    result: Any
    error: Error | None


class _Tagged(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class Stream(_Tagged, frozen=True, tag="stream"):
    """A message in the stream of a call."""

    id: str
    data: RpcMessage
    sequence: int | None = None  # its number in the log, if it is stored
    turn_id: int | None = None  # the turn, for stored messages and for `result`


class Complete(_Tagged, frozen=True, tag="complete"):
    """The stream of this call has ended."""

    id: str


class ServerCall(Struct, frozen=True, gc=False):
    """The server calls the client: a request waits for a person."""

    id: str  # `srv-N`
    method: Literal["askUserQuestion", "requestPermission"]
    params: OpenRequest


class Cancel(_Tagged, frozen=True, tag="cancel"):
    """The server withdraws a call: another client has answered, or the request is obsolete."""

    id: str


class Heartbeat(Struct, frozen=True, tag_field="type", tag="heartbeat", gc=False):
    """The server is alive; sent after a time of silence."""

    id: None = None


ServerFrame: TypeAlias = Answer | Stream | Complete | ServerCall | Cancel | Heartbeat


# --- results of calls ---------------------------------------------------------------------------


class Capabilities(_Plain, frozen=True):
    """The available features. A front end offers only these."""

    provider: str  # the agent
    methods: list[str]  # methods that are not refused with NOT_SUPPORTED
    images: bool = False  # whether `queryWithContent` accepts images
    models: list[str] = []  # for `setModel`, if the agent lists them
    permission_modes: list[str] = []  # for `setPermissionMode`
    options: list[str] = []  # for `connect`
    steer: bool = False  # whether a query may go into the running turn
    files: list[str] = []  # types that `queryWithContent` accepts, as in an Accept header
    session_options: list[SessionOption] = []  # for `setSessionOption`
    offers: str | None = None  # the `offers` of the status that these capabilities include


class Connected(_Plain, frozen=True):
    """The result of `connect`."""

    conversation: str
    epoch: str  # identifies this incarnation of the log
    first: int  # the number of the first entry that this connection will get
    head: int  # the number of the newest entry; 0: none yet
    resumed: bool  # whether `last_sequence` was accepted: the stream continues from it
    capabilities: Capabilities
    status: Status  # the current status
    max_frame_bytes: int  # maximum size of a client's frame
    max_queue: int  # maximum length of the queue
    heartbeat_seconds: int  # the server is never silent for longer
    connection_id: str
    session_id: str | None = None  # the agent's own session id, if known
    reset: str | None = None  # why the client's copy is void and must be dropped


class Accepted(_Plain, frozen=True):
    """The result of `query` and `queryWithContent`: the message is stored."""

    turn_id: int | None = None  # the turn that it started; with `queue_id`, that it is to go into
    queue_id: str | None = None  # its id in the queue
    held: bool = False  # the queue was held, and resumes now
    duplicate: bool = False  # the call is a repeat, and was not executed again


class Stopped(_Plain, frozen=True):
    """The result of `interrupt`."""

    turn_id: int | None
    outcome: Literal["requested", "already_ended"]


class Kept(_Plain, frozen=True):
    """A message of the log."""

    data: RpcMessage
    sequence: int | None = None  # absent: the end of a turn, which has no number
    turn_id: int | None = None


class History(_Plain, frozen=True):
    """The result of `getHistory` and `loadHistory`."""

    messages: list[Kept]
    head: int  # the number of the newest entry
    epoch: str
    first: int | None  # the number of the first entry of this page; null: the page is empty
    last: int | None  # the number of the last entry of this page


class SessionSummary(_Plain, frozen=True):
    """A conversation in the list."""

    conversation: str
    provider: str
    created_at: str
    updated_at: str
    head: int
    state: str
    running: bool
    title: str | None = None
    cwd: str | None = None
    session_id: str | None = None  # the agent's own session id
    archived: bool = False


class Sessions(_Plain, frozen=True):
    """The result of `getHistorySessions`."""

    sessions: list[SessionSummary]


# --- encoding -----------------------------------------------------------------------------------

_encode = msgspec.json.Encoder().encode


def write(frame: Any) -> bytes:
    """Encodes a frame as JSON."""
    return encode_clean(_encode, frame)


# Advice in the terms of RPC, for codes whose general advice uses the terms of protocol v2.
WHAT_TO_DO = {
    "NOT_SUPPORTED": "Offer only features that the capabilities list.",
    "UNKNOWN_MESSAGE_TYPE": "Check the spelling; capabilities.methods lists the methods.",
    "INVALID_QUESTION_ID": "Answer only calls of the server that it has not cancelled.",
    "NO_PENDING_INPUT": "Call query instead.",
    "DUPLICATE_INPUT_RESPONSE": "Close the request on the screen: it is answered.",
    "INPUT_TIMEOUT": "Call query if the answer still matters.",
    "CONVERSATION_INTERRUPTED": "Call query to continue.",
}


def error_of(refused: Refused, method: str | None = None) -> Error:
    """Converts a refusal into an error; `method` is the method of the refused call, if any."""
    data = {key: value for key, value in refused.data.items() if key != "id"}
    if data.pop("type", None) is not None and method is not None:  # the name in protocol v2
        data["method"] = method
    code = str(refused.code)
    what_to_do = WHAT_TO_DO.get(code, refused.what_to_do)
    return Error(code, refused.message, refused.retryable, what_to_do, data)


def stream_head(call_id: str) -> bytes:
    """Returns the bytes of a stream frame before its message, which all connections share."""
    return b'{"id":%b,"type":"stream","data":' % write(call_id)


def stream_tail(sequence: int | None, turn_id: int | None) -> bytes:
    """Returns the bytes of a stream frame after its message."""
    number = b"" if sequence is None else b',"sequence":%d' % sequence
    turn = b"" if turn_id is None else b',"turn_id":%d' % turn_id
    return number + turn + b"}"


# --- the client's frames ------------------------------------------------------------------------


class Call(Struct, frozen=True, gc=False):
    """A call by the client."""

    id: str
    method: str
    params: Method


class Reply(Struct, frozen=True, gc=False):
    """The client's answer to a call by the server."""

    id: str
    result: Any = None
    failed: bool = False  # the client cannot or does not want to answer


def read_frame(value: Any) -> Call | Reply:
    """Reads a frame of a client from decoded JSON, strictly.

    Raises Refused. Its data holds the `id`, so that the refusal is the answer to that call.
    """
    if not isinstance(value, dict):
        raise Refused("INVALID_FORMAT", "The frame is not a JSON object.")
    own_id = value.get("id")
    if not isinstance(own_id, str) or not own_id:
        said = 'A frame needs an `id`, a string: {"id": "1", "method": "connect"}.'
        raise Refused("INVALID_FORMAT", said)
    for key in value:
        if key not in _KEYS:
            said = f"`{key}` is not known: a call has id, method and params"
            raise Refused(
                "INVALID_FORMAT", f"{said}, an answer id and result, or error.", id=own_id
            )
    if own_id.startswith(OURS):
        return _reply(own_id, value)
    method = value.get("method")
    if not isinstance(method, str):
        raise Refused("INVALID_FORMAT", "A call needs a `method`, a string.", id=own_id)
    kind = METHODS.get(method)
    if kind is None:
        said = f"There is no method {method!r}. The methods are: {', '.join(METHODS)}."
        raise Refused("UNKNOWN_MESSAGE_TYPE", said, id=own_id)
    given = value.get("params")
    try:
        params = msgspec.convert({} if given is None else given, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        said = f"{method}: {fault_in_words(str(error))}."
        raise Refused("INVALID_PAYLOAD", said, id=own_id) from None
    return Call(own_id, method, params)


_KEYS = {"id", "method", "params", "result", "error"}


def _reply(own_id: str, value: dict[str, Any]) -> Reply:
    if "method" in value:
        said = f"Ids that start with {OURS} are reserved for the server. Choose another one."
        raise Refused("INVALID_FORMAT", said, id=own_id)
    failed = value.get("error") is not None
    if not failed and value.get("result") is None:
        said = "An answer needs a `result` or an `error`."
        raise Refused("INVALID_FORMAT", said, id=own_id)
    return Reply(own_id, value.get("result"), failed)


def read_reply(reply: Reply, request: OpenRequest) -> QuestionReply | PermissionReply:
    """Returns the content of a client's answer. Raises Refused, with the `id`."""
    kind: Any = QuestionReply if request.kind == "question" else PermissionReply
    try:
        read: QuestionReply | PermissionReply = msgspec.convert(reply.result, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        said = f"result: {fault_in_words(str(error))}."
        raise Refused("INVALID_PAYLOAD", said, id=reply.id) from None
    return read
