"""Validation of a server's address and of the token for it."""

from __future__ import annotations

from urllib.parse import urlsplit

from turnwire.errors import TurnwireError

__all__ = ["check", "is_local"]


def check(url: str, token: str, *schemes: str) -> None:
    """Raises TurnwireError if the address or the token is malformed, so that no retry can help."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        example = f"{schemes[0]}://127.0.0.1:7410"
        raise TurnwireError(f"{url!r} is not the address of a server. Write it like {example}.")
    if not all("!" <= letter <= "~" for letter in token):
        raise TurnwireError(
            "The token contains a space, a line break or another character that no token has. "
            "Give it as `turnwire token create` printed it, without the line break."
        )


def is_local(url: str) -> bool:
    """Returns whether the server is on this machine, so that no proxy is used."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
