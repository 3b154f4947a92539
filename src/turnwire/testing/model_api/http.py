"""The part of HTTP/1.1 that a client of the Messages API needs."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["Asked", "BadRequest", "read_request", "send_chunk", "send_json", "start_stream"]

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}


class BadRequest(Exception):
    """Raised if a request cannot be parsed. The message says why."""


class Asked(Struct, frozen=True):
    """An HTTP request."""

    method: str
    path: str  # without the query string
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def is_last(self) -> bool:
        """Returns True if the client asks to close the connection after the response."""
        return self.headers.get("connection", "").lower() == "close"


async def read_request(reader: asyncio.StreamReader) -> Asked:
    """Reads the next request.

    Raises asyncio.IncompleteReadError if the client closed the connection, or BadRequest.
    """
    try:
        return await _read(reader)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile, asyncio.LimitOverrunError) as bad:
        if isinstance(bad, asyncio.IncompleteReadError):
            raise
        raise BadRequest(f"This is not a valid HTTP request: {bad}") from None


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    body = await _body(reader, headers)
    match headers.get("content-encoding"):
        case "gzip":
            body = gzip.decompress(body)
        case "deflate":
            body = zlib.decompress(body)
    return Asked(method, target.partition("?")[0], headers, body)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    chunks = []
    while True:
        length = int((await reader.readline()).partition(b";")[0], 16)
        chunks.append(await reader.readexactly(length))
        await reader.readline()
        if length == 0:
            return b"".join(chunks)


async def send_json(
    writer: asyncio.StreamWriter, status: int, said: Any, headers: Mapping[str, str] = {}
) -> None:
    """Sends a complete response. If `said` is None, the response has no body."""
    body = b"" if said is None else msgspec.json.encode(said)
    about = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    writer.write(_head(status, about) + body)
    await writer.drain()


def start_stream(writer: asyncio.StreamWriter, headers: Mapping[str, str] = {}) -> None:
    """Sends the head of a chunked response."""
    about = {"content-type": "text/event-stream", "cache-control": "no-cache", **headers}
    writer.write(_head(200, {**about, "transfer-encoding": "chunked"}))


async def send_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Sends a chunk of a response. An empty chunk ends the response."""
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Scripted')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()
