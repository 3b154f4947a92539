"""Authenticates requests: by a token, a page's cookie and key, a ticket, or the application."""

from __future__ import annotations

from typing import Any

from turnwire.core.error_codes import Refused
from turnwire.server.access.gate import Gate, header, headers_of
from turnwire.server.access.keys import OWNER, Keys, Who, page_token
from turnwire.settings import Authenticate

__all__ = ["PAGE_HEADER", "SUBPROTOCOLS", "Auth", "bearer_in", "cookie_name"]

SUBPROTOCOLS = ("turnwire.v2", "turnwire.rpc", "turnwire.chat")
_TICKET = "ticket."
_PAGE = "page."
PAGE_HEADER = "X-Turnwire-Page"
_SAFE = ("GET", "HEAD")


class Auth:
    """Finds the user of a request, or refuses the request with a reason."""

    def __init__(self, gate: Gate, keys: Keys, authenticate: Authenticate | None) -> None:
        self._gate = gate
        self._keys = keys
        self._authenticate = authenticate

    async def who(self, scope: dict[str, Any], host: str, *, ticket: str = "") -> Who:
        """Returns the user of a request or a WebSocket. Raises Refused if there is none.

        `ticket`: a ticket that its client could not offer after the subprotocol.
        """
        who = None
        given = headers_of(scope, b"authorization")
        if given:
            who = await self._by_token(given)
            if who is not None:
                self._gate.origin(scope, host, without=True)
        elif ticket := (ticket or _ticket_in(scope) or ""):
            self._gate.origin(scope, host, without=False)
            who = await self._keys.take_ticket(ticket)
        elif cookie := cookie_in(scope, cookie_name(host)):
            page_key = _page_key_in(scope)
            if page_key is not None:
                who = await self._keys.holder(page_token(cookie, page_key), "page")
            if who is not None:
                self._gate.origin(scope, host, without=_reads_from_here(scope))
        if who is None:
            who = await self._by_application(scope, host)
        if who is None:
            raise Refused("UNAUTHORIZED", *_why_not(scope, host))
        return who

    async def _by_token(self, given: list[str]) -> Who | None:
        if len(given) != 1:
            raise Refused("UNAUTHORIZED", "A request has one Authorization header.")
        token = bearer_in(given[0])
        return None if token is None else await self._keys.holder(token, "token")

    async def _by_application(self, scope: dict[str, Any], host: str) -> Who | None:
        """Returns the user that `Settings.authenticate` of the application names, or None."""
        user = None if self._authenticate is None else await self._authenticate(scope)
        if user is None:
            return None
        if not isinstance(user, str):
            kind = type(user).__name__
            raise TypeError(
                f"Settings.authenticate returns a user's name, a str, or None; not {kind}"
            )
        if not user or user == OWNER:
            raise Refused("FORBIDDEN", "The application named a user that is empty or reserved.")
        without = not _browser_adds(scope) or _reads_from_here(scope)
        self._gate.origin(scope, host, without=without)
        return Who(user, f"user:{user}")


def _why_not(scope: dict[str, Any], host: str) -> list[str]:
    """Returns a message for a cookie without its page key; nothing if the usual message fits."""
    if cookie_in(scope, cookie_name(host)) is None or _page_key_in(scope) is not None:
        return []
    said = "The page key is missing: a cookie is not enough. Open a new link: turnwire token link"
    return [said]


def bearer_in(given: str) -> str | None:
    """Returns the token of an Authorization header, or None if it has another scheme."""
    scheme, _, token = given.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _browser_adds(scope: dict[str, Any]) -> bool:
    """Returns whether a request has credentials that a browser adds by itself.

    Such credentials are cookies, and a password that the browser has asked for. Any page can make a
    browser send such a request, so its Origin has to be checked.
    """
    given = headers_of(scope, b"authorization")
    return bool(headers_of(scope, b"cookie")) or any(bearer_in(each) is None for each in given)


def _reads_from_here(scope: dict[str, Any]) -> bool:
    """Returns whether a request without Origin may be a read by our own page.

    Browsers send no Origin with a same-origin read; most of them send Sec-Fetch-Site instead.
    """
    if scope["type"] != "http" or scope["method"] not in _SAFE:
        return False
    return header(scope, b"sec-fetch-site") in (None, "same-origin", "none")


def _ticket_in(scope: dict[str, Any]) -> str | None:
    return _after_subprotocol(scope, _TICKET) if scope["type"] == "websocket" else None


def _after_subprotocol(scope: dict[str, Any], prefix: str) -> str | None:
    """Returns the value that a client offers after the subprotocol, such as a ticket, or None."""
    match scope.get("subprotocols"):
        case [first, second] if first in SUBPROTOCOLS and second.startswith(prefix):
            return str(second).removeprefix(prefix)
        case _:
            return None


def _page_key_in(scope: dict[str, Any]) -> str | None:
    """Returns the page key from a header, or of a WebSocket from a subprotocol.

    A page cannot set headers of a WebSocket.
    """
    if scope["type"] == "http":
        return header(scope, PAGE_HEADER.lower().encode())
    return _after_subprotocol(scope, _PAGE)


def cookie_name(host: str) -> str:
    """Returns a cookie name that contains the port of the server.

    Cookies ignore ports, and one host may have several servers.
    """
    _, _, port = host.rpartition("]")[2].partition(":")
    return f"turnwire_{port}" if port else "turnwire"


def cookie_in(scope: dict[str, Any], name: str) -> str | None:
    """Returns the value of a cookie, or None.

    The standard library's parser takes quadratic time.
    """
    for line in headers_of(scope, b"cookie"):
        if name not in line:
            continue
        for piece in line.split(";"):
            key, _, value = piece.partition("=")
            if key.strip() == name:
                return value.strip().strip('"')
    return None
