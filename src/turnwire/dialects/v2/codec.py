"""Frames as bytes, in both directions."""

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
    """A frame, written once for all connections: only the number in it differs."""

    raw: bytes  # without a number

    @property
    def head(self) -> bytes:
        """What stands before the number."""
        return self.raw[: self.raw.index(_NO_NUMBER) + len(b'"sequence":')]

    @property
    def tail(self) -> bytes:
        """What stands behind it."""
        return self.raw[self.raw.index(_NO_NUMBER) + len(_NO_NUMBER) :]

    def at(self, sequence: int) -> bytes:
        """The frame as one connection gets it."""
        return self.raw.replace(_NO_NUMBER, b'"sequence":%d' % sequence, 1)

    def replayed(self) -> bytes:
        """The frame as it stands in a message.replay: without a number."""
        return self.raw


_encode = msgspec.json.Encoder().encode

# The first of these is the envelope's own: a quote inside of a text before it has a backslash.
_NO_NUMBER = b'"sequence":null'


def encode(frame: Frame | UnknownFrame) -> Encoded:
    """Write a frame. Its own `sequence` does not count: each connection has its own."""
    if isinstance(frame, UnknownFrame):
        return Encoded(encode_clean(_encode, _unnumbered(frame.data)))
    if isinstance(frame, MessageReplay) and isinstance(frame.payload.event, UnknownFrame):
        replay = structs.replace(frame.payload, event=frame.payload.event.data)  # as it came
        frame = structs.replace(frame, payload=replay)
    if frame.sequence is not None:
        frame = structs.replace(frame, sequence=None)
    return Encoded(encode_clean(_encode, frame))


def _unnumbered(frame: Any) -> Any:
    """A frame that came without being known. Its number goes first, to be found before any other."""
    if not isinstance(frame, dict):
        return frame
    return {"sequence": None} | frame | {"sequence": None}


_KNOWN: Any = Union[tuple(kind for kind in get_args(ServerFrame) if kind is not UnknownFrame)]  # noqa: UP007
_decode_known = msgspec.json.Decoder(_KNOWN).decode
_decode_any = msgspec.json.Decoder().decode


def decode(raw: bytes | str) -> ServerFrame:
    """Read a frame of the server. A type or a field that is not known is no error.

    Raises BadLine where it is not a JSON object.
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
        raise _bad(raw, "too_deep", "nested too deeply to be read") from None
    except ValidationError as error:  # an integer of thousands of digits
        raise _bad(raw, "invalid_json", f"not JSON that can be read: {error}") from None
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
    """Read a frame of a client, strictly: what is not understood is refused, not guessed.

    Raises Refused with INVALID_FORMAT, UNKNOWN_MESSAGE_TYPE or INVALID_PAYLOAD. Its data holds the
    `client_message_id`, so that the refusal reaches the frame's sender as the answer to it.
    """
    try:
        value = _decode_any(raw)
    except (ValueError, RecursionError) as error:
        raise Refused("INVALID_FORMAT", f"The frame is not JSON: {error}") from None
    return read_command(value)


def read_command(value: Any) -> ClientFrame:
    """The same from decoded JSON."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise Refused("INVALID_FORMAT", "The frame is not a JSON object with a `type`.")
    name, own_id = value["type"], value.get("client_message_id")
    known_id = own_id if isinstance(own_id, str) else None
    kind = _COMMANDS.get(name)
    if kind is None:
        said = f"There is no client frame of type {name!r}."
        raise Refused("UNKNOWN_MESSAGE_TYPE", said, client_message_id=known_id)
    try:
        command = cast("ClientFrame", msgspec.convert(value, kind))
    except (ValidationError, RecursionError) as error:
        said = f"{name}: {fault_in_words(str(error))}"
        raise Refused("INVALID_PAYLOAD", said, client_message_id=known_id) from None
    return command
