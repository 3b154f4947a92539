"""The recording of a session, one line for each frame (section 13 of the protocol)."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, ValidationError

from turnwire.core.lenient import read_json
from turnwire.errors import BadLine

__all__ = ["ClientLine", "ClosedLine", "ConnectLine", "RecordedLine", "ServerLine", "read_line"]


class ConnectLine(Struct, frozen=True, gc=False):
    """The client connects."""

    address: str


class ClientLine(Struct, frozen=True, gc=False):
    """A frame of the client."""

    raw: bytes
    bare: bool = False  # the line holds only a frame: connections were not recorded


class ServerLine(Struct, frozen=True, gc=False):
    """A frame of the server."""

    raw: bytes
    value: Any  # the decoded frame
    bare: bool = False  # the line holds only a frame: connections were not recorded


class ClosedLine(Struct, frozen=True, gc=False):
    """The connection ends."""

    code: int


RecordedLine: TypeAlias = ConnectLine | ClientLine | ServerLine | ClosedLine


class _Line(Struct, gc=False):
    connect: str | UnsetType = UNSET
    client: Raw | UnsetType = UNSET
    server: Raw | UnsetType = UNSET
    close: int | UnsetType = UNSET
    type: Any = UNSET
    sequence: Any = UNSET


_decode_line = msgspec.json.Decoder(_Line).decode
_NO_FRAME = "neither a frame nor one of connect, client, server and close"


def read_line(raw: bytes, number: int = 1) -> RecordedLine:
    """Reads a line. A bare frame is the server's if it has a `sequence`, else the client's.

    Raises BadLine if the line is not valid.
    """
    try:
        line = _decode_line(raw)
        read = _read(line, raw)
    except ValidationError as error:
        reason = "not_an_object" if str(error).startswith("Expected `object`") else "no_frame"
        raise BadLine(reason, f"{_NO_FRAME}: {error}", line=number, raw=raw) from None
    except RecursionError:
        detail = "nested too deeply"
        raise BadLine("too_deep", detail, line=number, raw=raw) from None
    except ValueError as error:  # msgspec's error, or that of invalid UTF-8
        raise BadLine("invalid_json", f"not JSON: {error}", line=number, raw=raw) from None
    if read is None:
        raise BadLine("no_frame", _NO_FRAME, line=number, raw=raw)
    return read


def _read(line: _Line, raw: bytes) -> RecordedLine | None:
    if line.type is not UNSET:
        if line.sequence is UNSET:
            return ClientLine(raw, bare=True)
        return ServerLine(raw, read_json(raw), bare=True)
    match line:
        case _Line(connect=str(address), client=UnsetType(), server=UnsetType(), close=UnsetType()):
            return ConnectLine(address)
        case _Line(connect=UnsetType(), client=Raw() as inner, server=UnsetType()):
            return ClientLine(bytes(inner)) if line.close is UNSET else None
        case _Line(connect=UnsetType(), client=UnsetType(), server=Raw() as inner):
            return ServerLine(bytes(inner), read_json(inner)) if line.close is UNSET else None
        case _Line(connect=UnsetType(), client=UnsetType(), server=UnsetType(), close=int(code)):
            return ClosedLine(code)
        case _:
            return None
