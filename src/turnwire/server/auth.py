"""Who is there: a token in a header, a page's cookie, a ticket, or a user of the application."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Any

from turnwire.core.error_codes import Refused
from turnwire.server.gate import Gate, header, headers_of
from turnwire.server.keys import OWNER, Keys, Who
from turnwire.settings import Authenticate

__all__ = ["SUBPROTOCOLS", "Auth", "cookie_name"]

SUBPROTOCOLS = ("turnwire.v2", "turnwire.rpc")
_TICKET = "ticket."
_SAFE = ("GET", "HEAD")


class Auth:
    """Lets people in, or says why not."""

    def __init__(self, gate: Gate, keys: Keys, authenticate: Authenticate | None) -> None:
        self._gate = gate
        self._keys = keys
        self._authenticate = authenticate

    async def who(self, scope: dict[str, Any], host: str) -> Who:
        """Who sent this request, or opens this WebSocket. Raises Refused."""
        who = None
        given = headers_of(scope, b"authorization")
        if given:
            who = await self._by_token(given)
            if who is not None:
                self._gate.origin(scope, host, without=True)
        elif ticket := _ticket_in(scope):
            self._gate.origin(scope, host, without=False)
            who = await self._keys.take_ticket(ticket)
        elif cookie := cookie_in(scope, cookie_name(host)):
            who = await self._keys.holder(cookie, "page")
            if who is not None:
                self._gate.origin(scope, host, without=_reads_from_here(scope))
        if who is None:
            who = await self._by_application(scope, host)
        if who is None:
            raise Refused("UNAUTHORIZED")
        return who

    async def _by_token(self, given: list[str]) -> Who | None:
        if len(given) != 1:
            raise Refused("UNAUTHORIZED", "A request has one Authorization header.")
        token = _bearer_in(given[0])
        return None if token is None else await self._keys.holder(token, "token")

    async def _by_application(self, scope: dict[str, Any], host: str) -> Who | None:
        """A user of the application that this one is a part of. It has a key of its own kind."""
        user = None if self._authenticate is None else await self._authenticate(scope)
        if user is None:
            return None
        if not isinstance(user, str):
            kind = type(user).__name__
            raise TypeError(
                f"Settings.authenticate returns a user's name, a str, or None; not {kind}"
            )
        if not user or user == OWNER:
            raise Refused("FORBIDDEN", "No user of an application is called that.")
        without = not _browser_adds(scope) or _reads_from_here(scope)
        self._gate.origin(scope, host, without=without)
        return Who(user, f"user:{user}")


def _bearer_in(given: str) -> str | None:
    scheme, _, token = given.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _browser_adds(scope: dict[str, Any]) -> bool:
    """Whether there is something that could be a key and that a browser adds by itself.

    Cookies, and a password that it has once asked for. Then it matters which page made it do so.
    """
    given = headers_of(scope, b"authorization")
    return bool(headers_of(scope, b"cookie")) or any(_bearer_in(each) is None for each in given)


def _reads_from_here(scope: dict[str, Any]) -> bool:
    """A page that reads from where it came from sends no Origin, but most say that it is so."""
    if scope["type"] != "http" or scope["method"] not in _SAFE:
        return False
    return header(scope, b"sec-fetch-site") in (None, "same-origin", "none")


def _ticket_in(scope: dict[str, Any]) -> str | None:
    if scope["type"] != "websocket":
        return None
    match scope.get("subprotocols"):
        case [first, second] if first in SUBPROTOCOLS and second.startswith(_TICKET):
            return str(second).removeprefix(_TICKET)
        case _:
            return None


def cookie_name(host: str) -> str:
    """Cookies do not know ports, but several servers may run on one machine."""
    _, _, port = host.rpartition("]")[2].partition(":")
    return f"turnwire_{port}" if port else "turnwire"


def cookie_in(scope: dict[str, Any], name: str) -> str | None:
    """The value of a cookie."""
    for line in headers_of(scope, b"cookie"):
        try:
            found = SimpleCookie(line).get(name)
        except CookieError:
            continue
        if found is not None:
            return found.value
    return None
