"""Decodes lines into typed messages. Unknown methods, updates and fields are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Union, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.lenient import read_json, salvage
from turnwire.core.text import repair_json
from turnwire.dialects.acp.messages import (
    AcpMessage,
    RequestId,
    Response,
    RpcError,
    UnknownMessage,
    Update,
)
from turnwire.errors import BadLine

__all__ = ["Line", "decode", "encode", "read"]


class Line(Struct, frozen=True, gc=False):
    """A decoded line of the stream."""

    message: AcpMessage
    raw: bytes  # as received; so no field is lost
    number: int  # from 1
    unknown: tuple[str, ...] = ()  # the names of unknown types in it


_TAGGED = [t for t in get_args(AcpMessage) if t not in (Response, UnknownMessage)]
_BY_METHOD: dict[Any, type[Struct]] = {t.__struct_config__.tag: t for t in _TAGGED}

_decode_update = msgspec.json.Decoder(Update).decode
_decode_message = msgspec.json.Decoder(Union[tuple(_TAGGED)]).decode  # noqa: UP007
_decode_response = msgspec.json.Decoder(Response).decode
_encode = msgspec.json.Encoder().encode
_HEAD = 64  # bytes in which an update, the most frequent message, names its method


def decode(raw: bytes, number: int = 1) -> Line:
    """Decodes one line. Raises BadLine only if it is not a JSON object."""
    try:
        if raw.find(b'"session/update"', 0, _HEAD) > 0:
            message: AcpMessage = _decode_update(raw)
        elif b'"method"' in raw:
            message = _decode_message(raw)
        else:
            message = _decode_response(raw)
            if message.error is None and isinstance(message.result, UnsetType):
                return _decode_carefully(raw, number)
        if not raw.isascii():  # msgspec does not validate fields that it skips
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


def encode(message: AcpMessage) -> bytes:
    """Encodes a message for the other side, without the newline."""
    if isinstance(message, UnknownMessage):
        return _encode(message.data)
    return b'{"jsonrpc":"2.0",' + _encode(message)[1:]


def _decode_carefully(raw: bytes, number: int) -> Line:
    def bad(reason: str, detail: str) -> BadLine:
        return BadLine(reason, detail, line=number, raw=raw)

    try:
        raw.decode()
        value = read_json(raw)
    except UnicodeDecodeError as error:
        raise bad("invalid_utf8", f"not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise bad("too_deep", "nested too deeply") from None
    except msgspec.DecodeError as error:
        repaired = repair_json(raw)
        if repaired != raw:  # a lone surrogate, as JavaScript writes it, is still JSON
            line = decode(repaired, number)
            return Line(line.message, repaired, number, (*line.unknown, "lone surrogate"))
        raise bad("invalid_json", f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise bad("not_an_object", "JSON, but not an object")
    method = value.get("method")
    if isinstance(method, str) and method in _BY_METHOD:
        issues: list[str] = []
        try:
            message = salvage(_BY_METHOD[method], value, issues)
        except msgspec.ValidationError as error:
            return _unknown(method, value, raw, number, str(error))
        return Line(message, raw, number, tuple(issues))
    if method is None and ("result" in value or "error" in value):
        return _response(value, raw, number)
    return _unknown(method if isinstance(method, str) else "", value, raw, number)


def _response(value: dict[str, Any], raw: bytes, number: int) -> Line:
    """Reads a response with an id or an error of the wrong type."""
    error = None
    if "error" in value:
        given = value["error"]
        plain = given if isinstance(given, dict) else {"message": str(given)}
        error = salvage(RpcError, plain, [])
    result = Raw(_encode(value["result"])) if "result" in value else UNSET
    return Line(Response(_id(value), result, error), raw, number, ("response",))


def _unknown(
    method: str, value: dict[str, Any], raw: bytes, number: int, reason: str | None = None
) -> Line:
    wanted = _id(value) if "id" in value else UNSET
    message = UnknownMessage(method, value, wanted, reason)
    return Line(message, raw, number, (method or "(no method)",))


def _id(value: dict[str, Any]) -> RequestId:
    given = value.get("id")
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None
