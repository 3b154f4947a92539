"""Checks the Host and the Origin of requests.

A browser lets any open page send requests to any address, with the cookies of that address. So
every request has to use a known name of this server (Host), and a page has to have a known Origin.
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
    """The known hosts and origins, and the checks against them."""

    def __init__(
        self,
        *,
        address: str,
        hosts: Iterable[str],
        origins: Iterable[str],
        is_secure: Callable[[str], bool] = lambda host: False,
    ) -> None:
        """`is_secure` tells whether browsers reach a host name over HTTPS, through a proxy."""
        self._names = {name.lower().strip("[]") for name in (*_LOOPBACK, address, *hosts)}
        # DNS rebinding needs a name. An IP address cannot be forged that way, so any is accepted.
        self._numbers = not is_loopback(address)
        self._origins = {origin.rstrip("/").lower() for origin in origins}
        self._is_secure = is_secure

    def host(self, scope: Mapping[str, Any]) -> str:
        """Returns the Host of a request.

        Raises Refused if it is not a known name of this server.
        """
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
        """Raises Refused if the Origin of a request is not known.

        `without`: a request without Origin passes, which a program sends, not a page.
        """
        given = headers_of(scope, b"origin")
        if not given:
            if without:
                return
            raise Refused("FORBIDDEN", "A page has to send its Origin; this request has none.")
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
        """Returns `https` if a browser reached this host over TLS, else `http`."""
        is_tls = scope.get("scheme") in ("https", "wss") or self._is_secure(host)
        return "https" if is_tls else "http"

    @property
    def knows_pages(self) -> bool:
        """Returns whether pages of any other origin may use this server."""
        return bool(self._origins)

    def page(self, scope: Mapping[str, Any]) -> str | None:
        """Returns the Origin of a request if it is one of the allowed other origins, else None."""
        given = header(scope, b"origin")
        return given if given is not None and given.lower() in self._origins else None


def _name_of(host: str) -> str | None:
    """Returns a host without its port and brackets, or None if it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.username is not None or parts.path or parts.query or parts.fragment:
            return None
        _ = parts.port  # raises ValueError if it is not a number
        return parts.hostname
    except ValueError:
        return None


def is_loopback(address: str) -> bool:
    """Returns whether only this machine can reach an address."""
    if address.lower() == "localhost":
        return True
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def headers_of(scope: Mapping[str, Any], name: bytes) -> list[str]:
    """Returns every value of a header."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def header(scope: Mapping[str, Any], name: bytes) -> str | None:
    """Returns the value of a header, or None if it is absent or repeated."""
    values = headers_of(scope, name)
    return values[0] if len(values) == 1 else None
