"""Reads and validates HTTP requests, and makes JSON responses with safe headers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnwire.core.error_codes import Refused
from turnwire.long_work import LongWork, mapped_in_slices
from turnwire.server.access.limits import check_shape
from turnwire.server.api.problems import STATUS, error_body
from turnwire.settings import Settings

__all__ = [
    "HOST",
    "SAFE_HEADERS",
    "blob_urls",
    "json_answer",
    "json_list",
    "not_allowed",
    "not_found",
    "number",
    "problem",
    "read_body",
    "read_json",
    "word",
]

T = TypeVar("T")

HOST = "turnwire.host"  # key in a scope: the checked Host of the request

# Pages may not embed a response, and browsers may not guess its type or cache it.
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_LONG = 1 << 18  # bytes of a body that is decoded in a thread, so that the event loop can run
_CHUNK = 32 * 1024  # bytes of a long response that are written to the socket at once
_encode = msgspec.json.Encoder().encode


def blob_urls(scope: Mapping[str, Any]) -> Callable[[str], str]:
    """Returns a function that makes the address of a blob, also in an application that is mounted."""
    root: str = scope.get("root_path", "")
    return (root.replace("{", "{{").replace("}", "}}") + "/api/blobs/{}").format


def json_answer(value: Any, status: int = 200) -> Response:
    """Returns a response with a value as JSON."""
    return Response(_encode(value), status, SAFE_HEADERS, "application/json")


async def json_list(name: str, items: list[T], form: Callable[[T], Any], **more: Any) -> Response:
    """Returns a response with a list under this name, and the fields of `more`.

    Long lists are encoded and sent in slices. Removes the items from the given list.
    """
    parts = await mapped_in_slices(lambda item: _encode(form(item)), items)
    begin, rest = b'{"%s":[' % name.encode(), _encode(more)[1:]
    end = b"]," + rest if more else b"]" + rest
    size = len(begin) + sum(map(len, parts)) + max(0, len(parts) - 1) + len(end)
    return _LongAnswer(chain([begin], _separated(parts), [end]), size)


def _separated(parts: list[bytes]) -> Iterator[bytes]:
    """Yields the parts with a comma between them, joined into chunks for one write each."""
    chunk: list[bytes] = []
    size = 0
    for number, part in enumerate(parts):
        chunk.append(b"," + part if number else part)
        size += len(part)
        if size >= _CHUNK:
            yield b"".join(chunk)
            chunk, size = [], 0
    yield b"".join(chunk)


class _LongAnswer(Response):
    """A response with JSON in chunks, which lets the event loop run between them."""

    def __init__(self, chunks: Iterable[bytes], size: int) -> None:
        super().__init__(None, 200, SAFE_HEADERS, "application/json")
        self._chunks = chunks
        self.headers["Content-Length"] = str(size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        work = LongWork()
        for chunk in self._chunks:
            if work.is_due:
                await work.give_way()
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def problem(refused: Refused) -> Response:
    """Returns the response for a refusal."""
    headers = dict(SAFE_HEADERS)
    if refused.code == "UNAUTHORIZED":
        headers["WWW-Authenticate"] = "Bearer"
    if "retry_after" in refused.data:
        headers["Retry-After"] = str(math.ceil(refused.data["retry_after"]))
    status = STATUS[str(refused.code)]
    return Response(error_body(refused), status, headers, "application/json")


def not_found(message: str) -> Response:
    """Returns a 404 response: it does not exist, or this user may not see it."""
    return json_answer(
        _error("NOT_FOUND", message, "Check the address: see docs/reference/http.md."), 404
    )


def not_allowed(method: str, there: list[str]) -> Response:
    """Returns a 405 response: the address exists, but has no such method."""
    known = ", ".join(there)
    said = f"This address has no method {method}. It has: {known}."
    step = "Use one of the methods that the message names."
    answer = json_answer(_error("METHOD_NOT_ALLOWED", said, step), 405)
    answer.headers["Allow"] = known
    return answer


def _error(code: str, message: str, what_to_do: str) -> dict[str, Any]:
    """Returns an error that only HTTP has, in the same form as the errors of the protocol."""
    told = {"code": code, "message": message, "retryable": False, "what_to_do": what_to_do}
    return {"error": told}


async def read_body(request: Request, most: int, setting: str, instead: str = "") -> bytes:
    """Returns the body of a request. Raises Refused if it has more than `most` bytes.

    `setting` is the name of that limit. `instead` is added to the message: what to do instead.
    """
    said = f"No more than {most} bytes ({setting}). {instead}".rstrip()
    too_much = Refused("PAYLOAD_TOO_LARGE", said, max_bytes=most)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise too_much
    read = bytearray()
    try:
        async for piece in request.stream():
            read += piece
            if len(read) > most:
                raise too_much
    except ClientDisconnect:
        raise Refused("INVALID_FORMAT", "The request ended before its body did.") from None
    return bytes(read)


async def read_json(
    request: Request, kind: type[T], settings: Settings, *, is_chat: bool = False
) -> T:
    """Returns the body of a request, decoded as JSON of this type. Raises Refused.

    `is_chat`: clients send the whole history with a message, although only the end of it counts.
    """
    # A page of another origin can send a form without a preflight, but not this content type.
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise Refused("INVALID_FORMAT", "Send JSON, with Content-Type: application/json.")
    most, setting = settings.max_body_bytes, "max_body_bytes"
    instead = "Upload large content as a blob: POST /api/blobs."
    if is_chat:
        most, setting = max(most, settings.max_chat_body_bytes), "max_chat_body_bytes"
        instead = f"Send the newest messages only: the server has the others. {instead}"
    raw = await read_body(request, most, setting, instead)
    if len(raw) > _LONG:
        return await asyncio.to_thread(_decoded, raw, kind, settings)
    return _decoded(raw, kind, settings)


def _decoded(raw: bytes, kind: type[T], settings: Settings) -> T:
    fault = check_shape(raw, settings.max_items, settings.max_depth)
    if fault is not None:
        raise Refused("INVALID_PAYLOAD", fault)
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise Refused("INVALID_PAYLOAD", f"{error}.") from None
    except (ValueError, RecursionError) as error:
        raise Refused("INVALID_FORMAT", f"The body is not JSON: {error}.") from None


def number(
    request: Request, name: str, usual: int | None, *, least: int = 0, most: int = 10**18
) -> int | None:
    """Returns a number from the query, or `usual` if it is absent.

    Raises Refused if it is invalid.
    """
    given = word(request, name)
    if given is None:
        return usual
    if not (given.isascii() and given.isdecimal() and len(given) <= 18):
        raise Refused("INVALID_PAYLOAD", f"`{name}` is {given!r}: it has to be a number.")
    if not least <= int(given) <= most:
        raise Refused("INVALID_PAYLOAD", f"`{name}` is {given}: from {least} to {most}.")
    return int(given)


def word(request: Request, name: str) -> str | None:
    """Returns a parameter of the query, or None if it is absent.

    Raises Refused if it is repeated.
    """
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise Refused("INVALID_PAYLOAD", f"`{name}` is given twice.")
    return given[0] if given else None
