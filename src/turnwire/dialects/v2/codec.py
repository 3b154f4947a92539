"""The codec of protocol v2: encodes and decodes the frames of server and client."""

from __future__ import annotations

from typing import Any, Union, cast, get_args

import msgspec
from msgspec import Struct, ValidationError, structs

from turnwire.core.error_codes import Refused
from turnwire.core.faults import fault_in_words
from turnwire.core.lenient import read_json, salvage
from turnwire.core.text import encode_clean
from turnwire.dialects.v2.commands import ClientFrame
from turnwire.dialects.v2.frames import Frame, MessageReplay, ServerFrame, UnknownFrame
from turnwire.errors import BadLine

__all__ = ["Encoded", "decode", "decode_command", "encode", "read_command"]


# --- the server's frames ------------------------------------------------------------------------


class Encoded(Struct, frozen=True, gc=False):
    """An encoded frame, shared by all connections; only its `sequence` differs between them."""

    raw: bytes  # with `sequence` null

    @property
    def head(self) -> bytes:
        """Returns the bytes before the value of `sequence`."""
        return self.raw[: self.raw.index(_NO_NUMBER) + len(b'"sequence":')]

    @property
    def tail(self) -> bytes:
        """Returns the bytes after the value of `sequence`."""
        return self.raw[self.raw.index(_NO_NUMBER) + len(_NO_NUMBER) :]

    def at(self, sequence: int) -> bytes:
        """Returns the frame for one connection, with this `sequence`."""
        return self.raw.replace(_NO_NUMBER, b'"sequence":%d' % sequence, 1)

    def replayed(self) -> bytes:
        """Returns the frame as the event of a message.replay: with `sequence` null."""
        return self.raw


_encode = msgspec.json.Encoder().encode

# The first match is the envelope's field: inside a text before it, the quotes would be escaped.
_NO_NUMBER = b'"sequence":null'


def encode(frame: Frame | UnknownFrame) -> Encoded:
    """Encodes a frame. Ignores its `sequence`, because each connection counts its own frames."""
    if isinstance(frame, UnknownFrame):
        return Encoded(encode_clean(_encode, _unnumbered(frame.data)))
    if isinstance(frame, MessageReplay) and isinstance(frame.payload.event, UnknownFrame):
        replay = structs.replace(frame.payload, event=frame.payload.event.data)  # as received
        frame = structs.replace(frame, payload=replay)
    if frame.sequence is not None:
        frame = structs.replace(frame, sequence=None)
    return Encoded(encode_clean(_encode, frame))


def _unnumbered(frame: Any) -> Any:
    """Moves the `sequence` of an unknown frame to the front, so that it is the first match."""
    if not isinstance(frame, dict):
        return frame
    return {"sequence": None} | frame | {"sequence": None}


_KNOWN: Any = Union[tuple(kind for kind in get_args(ServerFrame) if kind is not UnknownFrame)]  # noqa: UP007
_decode_known = msgspec.json.Decoder(_KNOWN).decode
_decode_any = msgspec.json.Decoder().decode


def decode(raw: bytes | str) -> ServerFrame:
    """Decodes a frame of the server. Accepts unknown types and unknown fields.

    Raises BadLine if the frame is not a JSON object.
    """
    try:
        known: ServerFrame = _decode_known(raw)
    except (ValidationError, RecursionError):
        pass
    except msgspec.DecodeError as error:
        raise _bad(raw, "invalid_json", f"not JSON: {error}") from None
    else:
        return known
    try:
        value = read_json(raw)
    except RecursionError:
        raise _bad(raw, "too_deep", "nested too deeply") from None
    except ValidationError as error:  # for example an integer of thousands of digits
        raise _bad(raw, "invalid_json", f"not readable JSON: {error}") from None
    if not isinstance(value, dict):
        raise _bad(raw, "not_an_object", "JSON, but not an object")
    read: ServerFrame = salvage(ServerFrame, value, [])
    return read


def _bad(raw: bytes | str, reason: str, detail: str) -> BadLine:
    return BadLine(reason, detail, line=1, raw=raw.encode() if isinstance(raw, str) else raw)


# --- the client's frames ------------------------------------------------------------------------

_COMMANDS: dict[Any, type[Struct]] = {
    kind.__struct_config__.tag: kind for kind in get_args(ClientFrame)
}


def decode_command(raw: bytes | str) -> ClientFrame:
    """Decodes a frame of a client strictly: rejects every unknown type and field.

    Raises Refused with INVALID_FORMAT, UNKNOWN_MESSAGE_TYPE or INVALID_PAYLOAD. Its data holds the
    `client_message_id`, so that the sender can match the refusal to its frame.
    """
    try:
        value = _decode_any(raw)
    except (ValueError, RecursionError) as error:
        raise Refused("INVALID_FORMAT", f"The frame is not JSON: {error}") from None
    return read_command(value)


def read_command(value: Any) -> ClientFrame:
    """Reads a frame of a client from decoded JSON, with the rules of `decode_command`."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise Refused("INVALID_FORMAT", "The frame is not a JSON object with a `type`.")
    name, own_id = value["type"], value.get("client_message_id")
    known_id = own_id if isinstance(own_id, str) else None
    kind = _COMMANDS.get(name)
    if kind is None:
        said = f"Unknown type of client frame: {name!r}."
        raise Refused("UNKNOWN_MESSAGE_TYPE", said, client_message_id=known_id)
    try:
        command = cast("ClientFrame", msgspec.convert(value, kind))
    except (ValidationError, RecursionError) as error:
        said = f"{name}: {fault_in_words(str(error))}"
        raise Refused("INVALID_PAYLOAD", said, client_message_id=known_id) from None
    return command
