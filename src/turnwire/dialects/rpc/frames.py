"""The frames on an RPC socket: calls and their answers, in both directions, and streams."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.faults import fault_in_words
from turnwire.core.status import OpenRequest, Status
from turnwire.core.text import encode_clean
from turnwire.dialects.rpc.messages import RpcMessage
from turnwire.dialects.rpc.methods import METHODS, Method, PermissionReply, QuestionReply

__all__ = [
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

_OURS = "srv-"  # how the ids of the server's own calls begin


class _Plain(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


# --- the server's frames ------------------------------------------------------------------------


class Error(_Plain, frozen=True):
    """Why not."""

    code: str  # one of the error codes of protocol v2
    message: str  # what happened, in words
    retryable: bool  # the same call, made again later, may succeed
    what_to_do: str
    data: dict[str, Any] = {}  # particulars, by code


class Answer(Struct, frozen=True, gc=False):
    """The one answer to a call. The one of the two that is not used is null."""

    id: str | None  # null: no call in particular; the connection may be about to close
    result: Any
    error: Error | None


class _Tagged(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class Stream(_Tagged, frozen=True, tag="stream"):
    """A message that a call led to."""

    id: str
    data: RpcMessage
    sequence: int | None = None  # its number in the log, where it is kept there
    turn_id: int | None = None  # on what is kept, and on a `result`: the turn that it is of


class Complete(_Tagged, frozen=True, tag="complete"):
    """No more comes under this id."""

    id: str


class ServerCall(Struct, frozen=True, gc=False):
    """The server calls the client: something waits for a person."""

    id: str  # `srv-N`
    method: Literal["askUserQuestion", "requestPermission"]
    params: OpenRequest


class Cancel(_Tagged, frozen=True, tag="cancel"):
    """A call is taken back: somebody else has answered, or it does not matter any more."""

    id: str


class Heartbeat(Struct, frozen=True, tag_field="type", tag="heartbeat", gc=False):
    """The server is there; it says so when it has been silent."""

    id: None = None


ServerFrame: TypeAlias = Answer | Stream | Complete | ServerCall | Cancel | Heartbeat


# --- what calls are answered with ---------------------------------------------------------------


class Capabilities(_Plain, frozen=True):
    """What may be asked for. A front end offers nothing else."""

    provider: str  # the agent
    methods: list[str]  # those that will not be refused with NOT_SUPPORTED
    images: bool = False  # `queryWithContent` may hold pictures
    models: list[str] = []  # for `setModel`, where the agent lists them
    permission_modes: list[str] = []  # for `setPermissionMode`
    options: list[str] = []  # for `connect`


class Connected(_Plain, frozen=True):
    """The result of `connect`."""

    conversation: str
    epoch: str  # this incarnation of the log
    first: int  # the number of the first entry that this connection will get
    head: int  # the number of the newest entry; 0: none yet
    resumed: bool  # `last_sequence` was accepted: what follows goes on from there
    capabilities: Capabilities
    status: Status  # as it is now
    max_frame_bytes: int  # of a client's frame
    max_queue: int  # messages that may wait
    heartbeat_seconds: int  # the server is never silent for longer
    connection_id: str
    session_id: str | None = None  # the agent's own session, where it is known
    reset: str | None = None  # why what the client has is void: drop all of it


class Accepted(_Plain, frozen=True):
    """The result of `query` and `queryWithContent`: what was said is safe."""

    turn_id: int | None = None  # the turn that it started
    queue_id: str | None = None  # it waits under this id
    held: bool = False  # the queue had been held, and goes on now
    duplicate: bool = False  # this query came before, and was not taken twice


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
    first: int | None  # the number of the first entry of this page; null: it is empty
    last: int | None  # that of the last one


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
    session_id: str | None = None  # the agent's own session
    archived: bool = False


class Sessions(_Plain, frozen=True):
    """The result of `getHistorySessions`."""

    sessions: list[SessionSummary]


# --- writing ------------------------------------------------------------------------------------

_encode = msgspec.json.Encoder().encode


def write(frame: Any) -> bytes:
    """A frame as JSON bytes."""
    return encode_clean(_encode, frame)


# What to do, where the registry says it in the words of the other door.
WHAT_TO_DO = {
    "NOT_SUPPORTED": "Offer only what the capabilities list.",
    "UNKNOWN_MESSAGE_TYPE": "Check the spelling; capabilities.methods has the methods.",
    "INVALID_QUESTION_ID": "Answer only calls of the server's that it has not taken back.",
    "NO_PENDING_INPUT": "Call query instead.",
    "DUPLICATE_INPUT_RESPONSE": "Take the call back from the person: it is answered.",
    "INPUT_TIMEOUT": "Call query if it still matters.",
    "CONVERSATION_INTERRUPTED": "Call query to go on.",
}


def error_of(refused: Refused, method: str | None = None) -> Error:
    """A refusal, as a client is told; of the call of this method, if it is the answer to one."""
    data = {key: value for key, value in refused.data.items() if key != "id"}
    if data.pop("type", None) is not None and method is not None:  # the other door's name for it
        data["method"] = method
    code = str(refused.code)
    what_to_do = WHAT_TO_DO.get(code, refused.what_to_do)
    return Error(code, refused.message, refused.retryable, what_to_do, data)


def stream_head(call_id: str) -> bytes:
    """What stands before a message. Messages are written once for all; only this differs."""
    return b'{"id":%b,"type":"stream","data":' % write(call_id)


def stream_tail(sequence: int | None, turn_id: int | None) -> bytes:
    """What stands behind it."""
    number = b"" if sequence is None else b',"sequence":%d' % sequence
    turn = b"" if turn_id is None else b',"turn_id":%d' % turn_id
    return number + turn + b"}"


# --- reading ------------------------------------------------------------------------------------


class Call(Struct, frozen=True, gc=False):
    """A client calls the server."""

    id: str
    method: str
    params: Method


class Reply(Struct, frozen=True, gc=False):
    """A client answers a call of the server."""

    id: str
    result: Any = None
    failed: bool = False  # it said that it cannot, or will not, answer


def read_frame(value: Any) -> Call | Reply:
    """Read a frame of a client from decoded JSON, strictly.

    Raises Refused. Its data holds the `id`, so that the refusal is the answer to that call.
    """
    if not isinstance(value, dict):
        raise Refused("INVALID_FORMAT", "The frame is not a JSON object.")
    own_id = value.get("id")
    if not isinstance(own_id, str) or not own_id:
        said = 'A frame has an `id`, which is a text: {"id": "1", "method": "connect"}.'
        raise Refused("INVALID_FORMAT", said)
    for key in value:
        if key not in _KEYS:
            said = f"`{key}` is not known: a call has id, method and params"
            raise Refused(
                "INVALID_FORMAT", f"{said}, an answer id and result, or error.", id=own_id
            )
    if own_id.startswith(_OURS):
        return _reply(own_id, value)
    method = value.get("method")
    if not isinstance(method, str):
        raise Refused("INVALID_FORMAT", "A call has a `method`, which is a text.", id=own_id)
    kind = METHODS.get(method)
    if kind is None:
        said = f"There is no method {method!r}; there is: {', '.join(METHODS)}."
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
        said = f"Ids that begin with {_OURS} are the server's. Choose another one."
        raise Refused("INVALID_FORMAT", said, id=own_id)
    failed = value.get("error") is not None
    if not failed and value.get("result") is None:
        said = "An answer has a `result`, or an `error`."
        raise Refused("INVALID_FORMAT", said, id=own_id)
    return Reply(own_id, value.get("result"), failed)


def read_reply(reply: Reply, request: OpenRequest) -> QuestionReply | PermissionReply:
    """What a client's answer says. Raises Refused, with the `id`."""
    kind: Any = QuestionReply if request.kind == "question" else PermissionReply
    try:
        read: QuestionReply | PermissionReply = msgspec.convert(reply.result, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        said = f"result: {fault_in_words(str(error))}."
        raise Refused("INVALID_PAYLOAD", said, id=reply.id) from None
    return read
