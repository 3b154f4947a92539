"""Decodes lines of the stream into typed messages. Unknown types and fields are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Union, get_args

import msgspec
from msgspec import Raw, Struct

from turnwire.core.lenient import salvage
from turnwire.core.text import repair_json
from turnwire.dialects.claude.messages import ClaudeMessage, StreamEvent, UnknownMessage
from turnwire.dialects.claude.system import SystemMessage, UnknownSystemMessage
from turnwire.errors import BadLine

__all__ = ["Line", "decode", "encode", "read"]


class Line(Struct, frozen=True, gc=False):
    """A decoded line of the stream."""

    message: ClaudeMessage
    raw: bytes  # as received, except for repaired surrogates; so no field is lost
    number: int  # from 1
    unknown: tuple[str, ...] = ()  # the names of unknown types in it


class _Head(Struct, gc=False):
    type: Raw = Raw(b'""')


# System messages have a second tag, so they need their own decoder. Stream events have one for
# speed, because they are the most frequent.
_SYSTEM_TYPES = get_args(SystemMessage)
_TAGGED = [t for t in get_args(ClaudeMessage) if t not in _SYSTEM_TYPES and t is not UnknownMessage]
_BY_TYPE: dict[Any, type[Struct]] = {t.__struct_config__.tag: t for t in _TAGGED}

_decode_message = msgspec.json.Decoder(Union[tuple(_TAGGED)]).decode  # noqa: UP007
_decode_stream_event = msgspec.json.Decoder(StreamEvent).decode
_decode_system = msgspec.json.Decoder(SystemMessage).decode
_decode_any = msgspec.json.Decoder().decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_head = msgspec.json.Decoder(_Head).decode
_encode = msgspec.json.Encoder().encode


def decode(raw: bytes, number: int = 1) -> Line:
    """Decodes one line. Raises BadLine only if it is not a JSON object."""
    try:
        if raw.startswith(b'{"type":"stream_event"'):
            return Line(_decode_stream_event(raw), raw, number)
        system = raw.startswith(b'{"type":"system"')
        message = _decode_system(raw) if system else _decode_message(raw)
        # msgspec does not validate fields that it skips, but the raw line is used later.
        if not raw.isascii():
            raw.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_carefully(raw, number)
    return Line(message, raw, number)


def read(lines: Iterable[bytes]) -> Iterator[Line | BadLine]:
    """Decodes line after line; yields a BadLine for a bad one. Skips empty lines."""
    for number, line in enumerate(lines, 1):
        raw = line.strip(b" \t\r\n")
        if raw:
            try:
                yield decode(raw, number)
            except BadLine as bad:
                yield bad


def encode(message: Struct) -> bytes:
    """Encodes a message for the agent's standard input or a file, without the newline.

    Writes a Line and an unknown message as received.
    """
    match message:
        case Line(raw=raw):
            return raw
        case UnknownMessage(data=data) | UnknownSystemMessage(data=data):
            return _encode(data)
        case _ if isinstance(message, _SYSTEM_TYPES):
            return b'{"type":"system",' + _encode(message)[1:]  # the subtype always follows
        case _:
            return _encode(message)


# --- decoding of irregular lines --------------------------------------------------------------


def _decode_carefully(raw: bytes, number: int) -> Line:
    def bad(reason: str, detail: str) -> BadLine:
        return BadLine(reason, detail, line=number, raw=raw)

    try:
        raw.decode()
        _decode_raw(raw)  # raises if it is not JSON at all
    except UnicodeDecodeError as error:
        raise bad("invalid_utf8", f"not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise bad("too_deep", "nested too deeply") from None
    except msgspec.DecodeError as error:
        repaired = repair_json(raw)
        if repaired != raw:  # a lone surrogate, as JavaScript writes it, is still JSON
            line = decode(repaired, number)
            return Line(line.message, repaired, number, (*line.unknown, "lone surrogate"))
        if "truncated" in str(error):
            raise bad("truncated", "the line is cut off") from None
        raise bad("invalid_json", f"not JSON: {error}") from None
    if not raw.startswith(b"{"):
        raise bad("not_an_object", "JSON, but not an object")

    kind = ""
    issues: list[str] = []
    try:
        kind = _kind_of(raw)
        if kind == "system":  # never fails: the union has an Unknown
            message = salvage(SystemMessage, _decode_any(raw), issues, name="system")
        elif kind in _BY_TYPE:
            message = salvage(_BY_TYPE[kind], _decode_any(raw), issues)
            if f"{kind}.message" in issues:  # the message could not be read
                return _unknown(kind, raw, number, "message is not an object")
        else:
            return _unknown(kind, raw, number, None)
    except msgspec.ValidationError as error:  # a missing field, or a number beyond float
        return _unknown(kind, raw, number, str(error))
    return Line(message, raw, number, tuple(issues))


def _unknown(kind: str, raw: bytes, number: int, reason: str | None) -> Line:
    message = UnknownMessage(kind, Raw(raw), reason)
    return Line(message, raw, number, (kind or "(no type)",))


def _kind_of(raw: bytes) -> str:
    kind = _decode_any(_decode_head(raw).type)
    return kind if isinstance(kind, str) else ""
