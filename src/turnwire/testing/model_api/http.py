"""As much HTTP/1.1 as a client of the Messages API needs."""

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
    """What came is nothing that could be answered; the message says why."""


class Asked(Struct, frozen=True):
    """A request, read."""

    method: str
    path: str  # without what follows the question mark
    headers: dict[str, str]  # names in small letters
    body: bytes

    @property
    def is_last(self) -> bool:
        """Whether the client wants no more on this connection."""
        return self.headers.get("connection", "").lower() == "close"


async def read_request(reader: asyncio.StreamReader) -> Asked:
    """The next one. Raises asyncio.IncompleteReadError where the client has left, or BadRequest."""
    try:
        return await _read(reader)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile, asyncio.LimitOverrunError) as bad:
        if isinstance(bad, asyncio.IncompleteReadError):
            raise
        raise BadRequest(f"This is no HTTP request: {bad}") from None


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
    """A whole answer; none: without a body."""
    body = b"" if said is None else msgspec.json.encode(said)
    about = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    writer.write(_head(status, about) + body)
    await writer.drain()


def start_stream(writer: asyncio.StreamWriter, headers: Mapping[str, str] = {}) -> None:
    """The beginning of an answer of which the end is not known yet."""
    about = {"content-type": "text/event-stream", "cache-control": "no-cache", **headers}
    writer.write(_head(200, {**about, "transfer-encoding": "chunked"}))


async def send_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """A piece of it; empty: that was all."""
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Scripted')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()
