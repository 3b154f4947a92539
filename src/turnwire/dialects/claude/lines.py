"""A line in, a typed message out. Nothing unknown is fatal and nothing unknown is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Union, get_args

import msgspec
from msgspec import Raw, Struct

from turnwire.core.lenient import salvage
from turnwire.dialects.claude.messages import ClaudeMessage, StreamEvent, UnknownMessage
from turnwire.dialects.claude.system import SystemMessage, UnknownSystemMessage
from turnwire.errors import BadLine

__all__ = ["Line", "decode", "encode", "read"]


class Line(Struct, frozen=True, gc=False):
    """One line of the stream, read."""

    message: ClaudeMessage
    raw: bytes  # as it came, but for halves of characters; so no field is ever lost
    number: int  # from 1
    unknown: tuple[str, ...] = ()  # kinds in it that this version does not know, by name


class _Head(Struct, gc=False):
    type: Raw = Raw(b'""')


# System messages are told apart by a second tag, so they have a decoder of their own; so do
# stream events, because there are so many of them.
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
    """Read one line. Raises BadLine only where it is not a JSON object."""
    try:
        if raw.startswith(b'{"type":"stream_event"'):
            return Line(_decode_stream_event(raw), raw, number)
        system = raw.startswith(b'{"type":"system"')
        message = _decode_system(raw) if system else _decode_message(raw)
        # msgspec does not look into fields it skips, but the line goes on as it is.
        if not raw.isascii():
            raw.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_carefully(raw, number)
    return Line(message, raw, number)


def read(lines: Iterable[bytes]) -> Iterator[Line | BadLine]:
    """Read line after line; a bad one is handed over in its place. Empty lines are passed by."""
    for number, line in enumerate(lines, 1):
        raw = line.strip(b" \t\r\n")
        if raw:
            try:
                yield decode(raw, number)
            except BadLine as bad:
                yield bad


def encode(message: Struct) -> bytes:
    """Write a message, for the agent's standard input or a file, without the newline.

    A Line is written as it came. A message that is not known is written as it came, too.
    """
    match message:
        case Line(raw=raw):
            return raw
        case UnknownMessage(data=data) | UnknownSystemMessage(data=data):
            return _encode(data)
        case _ if isinstance(message, _SYSTEM_TYPES):
            return b'{"type":"system",' + _encode(message)[1:]  # always followed by its subtype
        case _:
            return _encode(message)


# --- the careful way --------------------------------------------------------------------------

_LONE_SURROGATE = re.compile(
    rb"(?<!\\)((?:\\\\)*)"  # an even number of backslashes before it: a real escape
    rb"(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"  # a pair, left alone
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def _decode_carefully(raw: bytes, number: int) -> Line:
    def bad(reason: str, detail: str) -> BadLine:
        return BadLine(reason, detail, line=number, raw=raw)

    try:
        raw.decode()
        _decode_raw(raw)  # is it JSON at all?
    except UnicodeDecodeError as error:
        raise bad("invalid_utf8", f"not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise bad("too_deep", "nested too deeply to be read") from None
    except msgspec.DecodeError as error:
        repaired = _LONE_SURROGATE.sub(_keep_pairs, raw)
        if repaired != raw:  # half a character, as JavaScript cuts them: JSON all the same
            line = decode(repaired, number)
            return Line(line.message, repaired, number, (*line.unknown, "lone surrogate"))
        if "truncated" in str(error):
            raise bad("truncated", "the line breaks off before its end") from None
        raise bad("invalid_json", f"not JSON: {error}") from None
    if not raw.startswith(b"{"):
        raise bad("not_an_object", "JSON, but not an object")

    kind = ""
    issues: list[str] = []
    try:
        kind = _kind_of(raw)
        if kind == "system":  # every object fits: the union has an Unknown
            message = salvage(SystemMessage, _decode_any(raw), issues, name="system")
        elif kind in _BY_TYPE:
            message = salvage(_BY_TYPE[kind], _decode_any(raw), issues)
            if f"{kind}.message" in issues:  # what was said could not be read
                return _unknown(kind, raw, number, "message is not an object")
        else:
            return _unknown(kind, raw, number, None)
    except msgspec.ValidationError as error:  # its heart is missing, or a number no float holds
        return _unknown(kind, raw, number, str(error))
    return Line(message, raw, number, tuple(issues))


def _keep_pairs(match: re.Match[bytes]) -> bytes:
    return match[0] if match[2] else match[1] + rb"\ufffd"


def _unknown(kind: str, raw: bytes, number: int, reason: str | None) -> Line:
    message = UnknownMessage(kind, Raw(raw), reason)
    return Line(message, raw, number, (kind or "(no type)",))


def _kind_of(raw: bytes) -> str:
    kind = _decode_any(_decode_head(raw).type)
    return kind if isinstance(kind, str) else ""
