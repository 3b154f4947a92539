"""Pages from elsewhere: a browser lets them read an answer only if the answer names them.

Which ones may is the gate's to say; here is how a browser is told. A page that is not named can
read nothing, and what it may not send without asking first, the browser does not send.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Scope, Send

from turnwire.server.access.auth import PAGE_HEADER
from turnwire.server.access.gate import header
from turnwire.server.api.responses import SAFE_HEADERS

__all__ = ["is_preflight", "preflight_answer", "telling"]

_ALLOWED = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers": f"Authorization, Content-Type, {PAGE_HEADER}",
    "Access-Control-Max-Age": "600",
}


def is_preflight(scope: Scope) -> bool:
    """Whether a browser asks what a page may do, before it does it."""
    asked = header(scope, b"access-control-request-method")
    return scope["method"] == "OPTIONS" and asked is not None


def preflight_answer() -> Response:
    """What a page on the list may do; whether it also has a key is seen when it does it."""
    return Response(status_code=204, headers={**SAFE_HEADERS, **_ALLOWED})


def telling(page: str | None, send: Send) -> Send:
    """The same `send`, whose answers name this page: itself, never all, as it may have a cookie."""

    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.add_vary_header("Origin")  # whatever keeps an answer keeps one for each page
            if page is not None:
                headers["Access-Control-Allow-Origin"] = page
                headers["Access-Control-Allow-Credentials"] = "true"
                headers["Access-Control-Expose-Headers"] = "Content-Disposition, Retry-After"
        await send(message)

    return tell
