"""The address of a database: parsed once, and shown without its password."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from turnwire.errors import TurnwireError

__all__ = ["Address", "BadAddress", "is_database", "shown"]

_SCHEMES = ("postgresql", "postgres")
_OTHER = re.compile(r"[A-Za-z][\w+.-]+:/|(host|hostaddr|port|dbname|user|service)\s*=")
_HIDDEN = "***"
_SECRETS = ("password", "sslpassword")


class BadAddress(TurnwireError):
    """An address that cannot be used. The message does not repeat it, as it may have a password."""

    code = "INVALID_SETTING"


class Address:
    """`postgresql://user@host:5432/database?sslmode=verify-full`, as libpq understands it.

    The password may be in it, in PGPASSWORD, in the file that PGPASSFILE names, or in ~/.pgpass.
    """

    __slots__ = ("_url", "has_password", "shown")

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            _ = parts.port  # raises ValueError if it is not a number
            query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise BadAddress(_HOW) from None
        if parts.scheme not in _SCHEMES or parts.fragment:
            raise BadAddress(_HOW)
        self._url = url
        user, _, host = parts.netloc.rpartition("@")
        if "@" in user:  # libpq and asyncpg would take the rest of the password for the host
            raise BadAddress(_HOW)
        name, colon, _ = user.partition(":")
        self.has_password = bool(colon) or any(key in _SECRETS for key, _ in query)
        shown = f"{name}:{_HIDDEN}" if colon else name
        netloc = f"{shown}@{host}" if user else host
        query = [(key, _HIDDEN if key in _SECRETS else value) for key, value in query]
        # The address as it may be logged and shown.
        self.shown = urlunsplit((parts.scheme, netloc, parts.path, urlencode(query, safe="/*"), ""))

    @property
    def url(self) -> str:
        """Returns the address with its password, for the driver only."""
        return self._url

    def without_secrets(self, text: str) -> str:
        """Returns an error's text without the password, however it got there."""
        parts = urlsplit(self._url)
        query = dict(parse_qsl(parts.query))
        secrets = {
            *(unquote(parts.password or ""), parts.password or ""),
            *(query.get(key, "") for key in _SECRETS),
            os.environ.get("PGPASSWORD", ""),
        }
        names = {unquote(parts.username or ""), parts.hostname, unquote(parts.path[1:])}
        for secret in sorted(secrets - {""}, key=len, reverse=True):
            if secret in names:  # these words are shown anyway: only as a password it is secret
                text = text.replace(f":{secret}@", f":{_HIDDEN}@")
                text = re.sub(rf"(password\s*=\s*'?){re.escape(secret)}", rf"\1{_HIDDEN}", text)
            else:
                text = text.replace(secret, _HIDDEN)
        return text

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


_HOW = (
    "the address of the database cannot be read. It has the form"
    " postgresql://user@host:5432/database. Characters of a name or a password such as @ / : are"
    " written as %40 %2F %3A."
)


def is_database(address: str) -> bool:
    """Returns whether an address names a PostgreSQL database; otherwise it is a file.

    Raises BadAddress for an address of any other kind, which is no path that a person means.
    """
    if address.partition("://")[0] in _SCHEMES and "://" in address:
        return True
    if _OTHER.match(address):
        raise BadAddress(_HOW)
    return False


def shown(address: str) -> str:
    """Returns an address of any store as it may be logged and shown."""
    if "://" not in address:
        return _HIDDEN if "@" in address else address  # a path, or half an address
    try:
        return Address(address).shown
    except BadAddress:
        return _HIDDEN
