"""Which names this server answers to, and which pages may use it.

A browser sends whatever page is open to any address, with the cookies of that address. So every
request has to name this server by a name of its own (Host), and a page has to be one of ours
(Origin).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from turnwire.core.error_codes import Refused
from turnwire.settings_check import is_number

__all__ = ["Gate", "header", "headers_of", "is_loopback"]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Gate:
    """The two lists, and the rules for them."""

    def __init__(
        self,
        *,
        address: str,
        hosts: Iterable[str],
        origins: Iterable[str],
        is_secure: Callable[[str], bool] = lambda host: False,
    ) -> None:
        """`is_secure`: whether people reach the server over HTTPS by this name, through a proxy."""
        self._names = {name.lower().strip("[]") for name in (*_LOOPBACK, address, *hosts)}
        # A page can give itself a name that leads here, but not a number: so any number will do.
        self._numbers = not is_loopback(address)
        self._origins = {origin.rstrip("/").lower() for origin in origins}
        self._is_secure = is_secure

    def host(self, scope: Mapping[str, Any]) -> str:
        """The name that this request calls us by. Raises Refused if it is none of ours."""
        given = headers_of(scope, b"host")
        if len(given) != 1:
            raise Refused("FORBIDDEN", "A request has one Host header.")
        host = given[0].lower()
        name = _name_of(host)
        if name is None or not (name in self._names or (self._numbers and is_number(name))):
            said = f"This server is not called {given[0]!r}. Add the name to its setting `hosts`."
            raise Refused("FORBIDDEN", said)
        return host

    def origin(self, scope: Mapping[str, Any], host: str, *, without: bool) -> None:
        """Whether the page that asks is ours. `without`: what is no page may ask, too.

        Raises Refused.
        """
        given = headers_of(scope, b"origin")
        if not given:
            if without:
                return
            raise Refused("FORBIDDEN", "A page has to say where it is from: there is no Origin.")
        origin = given[0].lower()
        if len(given) == 1:
            if origin == "null" and without:
                return
            scheme = self._scheme(scope, host)
            if origin == f"{scheme}://{host}" or origin in self._origins:
                return
            if origin.partition("://")[2] == host:
                said = (
                    f"This server is reached over {scheme}, but the page is from {given[0]!r}. "
                    "Open the page at the address of the server. If that is the address of a "
                    "proxy, set `public_url` to it."
                )
                raise Refused("FORBIDDEN", said)
        said = f"Pages from {given[0]!r} may not use this server. Add it to the setting `origins`."
        raise Refused("FORBIDDEN", said)

    def _scheme(self, scope: Mapping[str, Any], host: str) -> str:
        """`https` if a browser reached this host over TLS, else `http`."""
        is_tls = scope.get("scheme") in ("https", "wss") or self._is_secure(host)
        return "https" if is_tls else "http"

    @property
    def knows_pages(self) -> bool:
        """Whether pages from elsewhere may use this server at all."""
        return bool(self._origins)

    def page(self, scope: Mapping[str, Any]) -> str | None:
        """The origin of a page from elsewhere that is on the list; none: it is not, or is no page."""
        given = header(scope, b"origin")
        return given if given is not None and given.lower() in self._origins else None


def _name_of(host: str) -> str | None:
    """The name without its port, and without the brackets of a number."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.username is not None or parts.path or parts.query or parts.fragment:
            return None
        _ = parts.port  # raises where it is none
        return parts.hostname
    except ValueError:
        return None


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach it."""
    if address.lower() == "localhost":
        return True
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def headers_of(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """Every value of a header."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def header(scope: Mapping[str, Any], name: bytes) -> str | None:
    """The value of a header that comes once; none: it is not there, or comes twice."""
    values = headers_of(scope, name)
    return values[0] if len(values) == 1 else None
