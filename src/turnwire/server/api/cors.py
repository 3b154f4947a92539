"""CORS: the headers that let pages of other origins use the HTTP interface.

The gate decides which origins are allowed. A browser lets a page of another origin read a response
only if the response names that origin, and sends other than simple requests only after a preflight.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Scope, Send

from turnwire.server.access.auth import PAGE_HEADER
from turnwire.server.access.gate import header
from turnwire.server.api.responses import SAFE_HEADERS

__all__ = ["is_preflight", "preflight_answer", "with_cors_headers"]

_ALLOWED = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers": (
        f"Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Prefer, {PAGE_HEADER}"
    ),
    "Access-Control-Max-Age": "600",
}
# Headers of responses that a page of another origin may read.
_EXPOSED = "Content-Disposition, Location, Preference-Applied, Retry-After"


def is_preflight(scope: Scope) -> bool:
    """Returns whether a request is a preflight of a browser."""
    asked = header(scope, b"access-control-request-method")
    return scope["method"] == "OPTIONS" and asked is not None


def preflight_answer() -> Response:
    """Returns the response to a preflight of an allowed page.

    The request itself is authenticated.
    """
    return Response(status_code=204, headers={**SAFE_HEADERS, **_ALLOWED})


def with_cors_headers(page: str | None, send: Send) -> Send:
    """Returns a `send` that names the allowed origin in responses. `*` is invalid with cookies."""

    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Origin")  # caches keep one response for each origin
            if page is not None:
                headers["Access-Control-Allow-Origin"] = page
                headers["Access-Control-Allow-Credentials"] = "true"
                headers["Access-Control-Expose-Headers"] = _EXPOSED
        await send(message)

    return tell
