"""The messages between nodes. A node ignores messages and fields that it does not know."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from turnwire.core.conversation import inputs as i

__all__ = [
    "Announced",
    "Answered",
    "Ask",
    "Attach",
    "Batch",
    "Changed",
    "Claimed",
    "Detach",
    "Detached",
    "End",
    "Ended",
    "Keep",
    "Kept",
    "Message",
    "NotHere",
    "Position",
    "Present",
    "Presented",
    "Refusal",
    "Take",
    "Working",
    "decode",
    "encode",
    "pack_input",
    "unpack_input",
]


class _Message(Struct, frozen=True, tag_field="type", tag=str.lower, omit_defaults=True):
    sender: str  # the inbox of the node that sent it


class Position(Struct, frozen=True, array_like=True):
    """How far a conversation was published."""

    head: int  # the newest entry
    last_turn_id: int | None
    grows: bool  # a message of the agent is unfinished


# --- following: from the follower's node to the owner's -------------------------------------------


class Attach(_Message, frozen=True):
    """Asks the owner of a conversation to send all that happens in it, in these protocols."""

    attachment: str  # an id that the sender chose
    conversation_id: str
    protocols: list[str]


class Present(_Message, frozen=True):
    """Asks for the current state in one protocol, for new followers. Adds the protocol."""

    attachment: str
    protocol: str


class Keep(_Message, frozen=True):
    """Says which attachments are still needed. The owner drops those that it does not hear of."""

    attachments: list[str]


class Detach(_Message, frozen=True):
    """Ends an attachment: the sender has no followers any more."""

    attachment: str


# --- following: from the owner's node to the follower's -------------------------------------------


class Batch(_Message, frozen=True):
    """What happened in a conversation, in the messages of each protocol."""

    attachment: str
    number: int  # 1, 2, 3, ... A gap means that a message was lost.
    at: Position
    packed: dict[str, bytes]  # by protocol


class Presented(_Message, frozen=True):
    """The current state of a conversation, in some protocols. Counts as one of the batches."""

    attachment: str
    number: int
    at: Position
    packed: dict[str, bytes]
    first: bool = False  # the answer to Attach; otherwise to Present


class Kept(_Message, frozen=True):
    """The answer to Keep: the number of the last batch of each attachment that exists."""

    numbers: dict[str, int]


class Detached(_Message, frozen=True):
    """The sender does not run the conversation, or not any more, or does not know a protocol."""

    attachment: str


# --- commands -------------------------------------------------------------------------------------


class Ask(_Message, frozen=True):
    """A command for a conversation that the receiver owns. Sent again until it is answered."""

    request: str  # an id that the sender chose; a repeat is not carried out again
    conversation_id: str
    kind: str
    input: bytes  # JSON: see `pack_input`
    body: bytes  # a digest of the command as the client sent it


class End(_Message, frozen=True):
    """Asks to end the agent and the turn of a conversation, and to release it."""

    request: str
    conversation_id: str
    reason: str


class Working(_Message, frozen=True):
    """The request has arrived, and is not answered yet."""

    request: str


class Answered(_Message, frozen=True):
    """The answer to a command."""

    request: str
    ack: bytes  # JSON, as in a receipt
    duplicate: bool


class Ended(_Message, frozen=True):
    """The conversation has ended, as End asked for."""

    request: str


class Refusal(_Message, frozen=True):
    """The command was refused."""

    request: str
    code: str  # an error code; another version may know more of them
    message: str
    data: bytes  # JSON


class NotHere(_Message, frozen=True):
    """The receiver does not own the conversation. Nothing was done."""

    request: str


# --- from a node that is about to stop ------------------------------------------------------------


class Take(_Message, frozen=True):
    """The sender has released these conversations with work left. The receiver takes them over."""

    conversation_ids: list[str]


# --- to all nodes ---------------------------------------------------------------------------------


class Claimed(_Message, frozen=True):
    """The sender runs these conversations from now on."""

    conversation_ids: list[str]


class Changed(_Message, frozen=True):
    """Conversations have changed, so that lists and inboxes are out of date."""

    conversations: dict[str, str | None]  # with the user of each


class Announced(_Message, frozen=True):
    """News of the application above the engine, such as a token that was revoked."""

    topic: str
    data: Raw


Message: TypeAlias = (
    Attach
    | Present
    | Keep
    | Detach
    | Batch
    | Presented
    | Kept
    | Detached
    | Ask
    | End
    | Working
    | Answered
    | Ended
    | Refusal
    | NotHere
    | Take
    | Claimed
    | Changed
    | Announced
)

encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def decode(data: bytes) -> Message | None:
    """Returns a message. Returns None for one that this version cannot read."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError:
        return None


# --- inputs ---------------------------------------------------------------------------------------

_NOTHING: tuple[Any, ...] = (None, False, "", [], {})
_INPUTS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        i.Said,
        i.ChangedQueue,
        i.Answered,
        i.Decided,
        i.ForgotRule,
        i.Interrupted,
        i.Renamed,
        i.Chose,
        i.ChoseAgent,
        i.Controls,
    )
}


def pack_input(asked: i.Asked) -> tuple[str, bytes]:
    """Returns the name of an input, and the input as JSON, in which the log keeps it as well."""
    return type(asked).__name__, msgspec.json.encode(asked)


def unpack_input(kind: str, data: bytes) -> i.Asked | None:
    """Returns an input. Returns None for one that this version cannot read as a whole.

    A field that this version does not know may change what the person has asked for.
    """
    known = _INPUTS.get(kind)
    if known is None:
        return None
    try:
        asked: i.Asked = msgspec.json.decode(data, type=known)
        whole = msgspec.json.encode(asked)
    except msgspec.DecodeError:
        return None
    # Older versions leave new fields out, and newer ones have fields with defaults.
    if whole != data and not _is_part(msgspec.json.decode(data), msgspec.json.decode(whole)):
        return None
    return asked


def _is_part(sent: Any, read: Any) -> bool:
    """Returns whether all that was sent was read. Fields without a value count as left out."""
    if isinstance(sent, dict) and isinstance(read, dict):
        return all(
            value in _NOTHING or (key in read and _is_part(value, read[key]))
            for key, value in sent.items()
        )
    if isinstance(sent, list) and isinstance(read, list):
        return len(sent) == len(read) and all(map(_is_part, sent, read))
    return bool(sent == read)
