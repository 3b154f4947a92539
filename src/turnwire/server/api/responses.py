"""Requests and answers of the HTTP interface: read strictly, written once, safe in a browser."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
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
    "SAFE_HEADERS",
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

# No page may show what comes from here, guess its type, or keep it.
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_CHUNK = 32 * 1024  # bytes of a long answer that are written to the socket at once
_encode = msgspec.json.Encoder().encode


def json_answer(value: Any, status: int = 200) -> Response:
    """This, as JSON."""
    return Response(_encode(value), status, SAFE_HEADERS, "application/json")


async def json_list(name: str, items: list[T], form: Callable[[T], Any], **more: Any) -> Response:
    """An object with a list under this name and `more` behind it. Long lists are made and sent in slices.

    Takes the items out of their list.
    """
    parts = await mapped_in_slices(lambda item: _encode(form(item)), items)
    begin, rest = b'{"%s":[' % name.encode(), _encode(more)[1:]
    end = b"]," + rest if more else b"]" + rest
    size = len(begin) + sum(map(len, parts)) + max(0, len(parts) - 1) + len(end)
    return _LongAnswer(chain([begin], _separated(parts), [end]), size)


def _separated(parts: list[bytes]) -> Iterator[bytes]:
    """Yields the parts with a comma between them, joined to chunks that a socket takes at once."""
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
    """JSON in chunks, which are sent in slices of the event loop."""

    def __init__(self, chunks: Iterable[bytes], size: int) -> None:
        super().__init__(None, 200, SAFE_HEADERS, "application/json")
        self._chunks = chunks
        self.headers["Content-Length"] = str(size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        work = LongWork()
        for chunk in self._chunks:
            if work.is_due:
                await work.give_way()
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def problem(refused: Refused) -> Response:
    """Why not."""
    headers = dict(SAFE_HEADERS)
    if refused.code == "UNAUTHORIZED":
        headers["WWW-Authenticate"] = "Bearer"
    if "retry_after" in refused.data:
        headers["Retry-After"] = str(math.ceil(refused.data["retry_after"]))
    status = STATUS[str(refused.code)]
    return Response(error_body(refused), status, headers, "application/json")


def not_found(message: str) -> Response:
    """There is no such thing, or not for this user."""
    return json_answer(_error("NOT_FOUND", message, "Check the address: see docs/http.md."), 404)


def not_allowed(method: str, there: list[str]) -> Response:
    """There is such a thing, but that cannot be done with it."""
    known = ", ".join(there)
    said = f"{method} cannot be done at this address. There is: {known}."
    step = "Use one of the methods that the message names."
    answer = json_answer(_error("METHOD_NOT_ALLOWED", said, step), 405)
    answer.headers["Allow"] = known
    return answer


def _error(code: str, message: str, what_to_do: str) -> dict[str, Any]:
    """What only an address can be told, in the same form as the protocol's errors."""
    told = {"code": code, "message": message, "retryable": False, "what_to_do": what_to_do}
    return {"error": told}


async def read_body(request: Request, most: int, setting: str, instead: str = "") -> bytes:
    """All of it, unless it is too much: then what to do `instead`. Raises Refused.

    `setting`: the name of the one that says how much is too much.
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


async def read_json(request: Request, kind: type[T], settings: Settings) -> T:
    """The body, which must be JSON of this kind. Raises Refused."""
    # A page from elsewhere can send a form without being asked, but nothing that says it is JSON.
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise Refused("INVALID_FORMAT", "Send JSON, with Content-Type: application/json.")
    raw = await read_body(
        request,
        settings.max_body_bytes,
        "max_body_bytes",
        "Upload large content as a blob: POST /api/blobs.",
    )
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
    """A number in the address. Raises Refused if it is none, or comes twice."""
    given = word(request, name)
    if given is None:
        return usual
    if not (given.isascii() and given.isdecimal() and len(given) <= 18):
        raise Refused("INVALID_PAYLOAD", f"`{name}` is {given!r}: it has to be a number.")
    if not least <= int(given) <= most:
        raise Refused("INVALID_PAYLOAD", f"`{name}` is {given}: from {least} to {most}.")
    return int(given)


def word(request: Request, name: str) -> str | None:
    """A parameter of the address. Raises Refused if it comes twice."""
    given = request.query_params.getlist(name)
    if len(given) > 1:
        raise Refused("INVALID_PAYLOAD", f"`{name}` comes twice.")
    return given[0] if given else None
