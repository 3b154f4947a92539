"""The address of a bus: shown without its password."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from turnwire.errors import TurnwireError

__all__ = ["BadBusAddress", "BusAddress"]

_HIDDEN = "***"
_SECRETS = ("password", "sslpassword", "token")


class BadBusAddress(TurnwireError):
    """An address that cannot be used. The message does not repeat it, as it may have a password."""

    code = "INVALID_SETTING"


class BusAddress:
    """An address such as `nats://user:password@host:4222`."""

    def __init__(self, url: str, schemes: tuple[str, ...]) -> None:
        """Raises BadBusAddress if the address has none of these schemes, or cannot be read."""
        try:
            parts = urlsplit(url)
            _ = parts.port  # raises ValueError if it is not a number
            query = parse_qsl(parts.query, keep_blank_values=True)
        except ValueError:
            parts, query = urlsplit(""), []
        if parts.scheme not in schemes:
            forms = ", ".join(f"{scheme}://" for scheme in schemes)
            raise BadBusAddress(f"The address of the bus cannot be read. It begins with {forms}.")
        self.url = url  # with the password, for the driver only
        login, at, host = parts.netloc.rpartition("@")
        name, colon, password = login.partition(":")
        # A login without a colon is the token of a NATS server, but the user of PostgreSQL.
        is_token = bool(login) and not colon and parts.scheme in ("nats", "tls")
        shown = f"{name}:{_HIDDEN}" if colon else _HIDDEN if is_token else name
        hidden = [(key, _HIDDEN if key in _SECRETS else value) for key, value in query]
        # The address as it may be logged and shown.
        options = f"?{urlencode(hidden, safe='/*')}" if hidden else ""
        self.shown = f"{parts.scheme}://{shown}{at}{host}{parts.path}{options}"
        secrets = {password, login if is_token else ""}
        secrets |= {value for key, value in query if key in _SECRETS}
        secrets |= {form(secret) for secret in secrets for form in (unquote, quote)}
        self._secrets = sorted(secrets - {""}, key=len, reverse=True)

    @property
    def has_secret(self) -> bool:
        """Whether the address has a password or a token."""
        return bool(self._secrets)

    def without_secrets(self, text: str) -> str:
        """Returns the text of an error without the password."""
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return f"BusAddress({self.shown!r})"
