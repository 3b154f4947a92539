"""Where a server is, and who comes to it."""

from __future__ import annotations

from urllib.parse import urlsplit

from turnwire.errors import TurnwireError

__all__ = ["check", "is_local"]


def check(url: str, token: str, *schemes: str) -> None:
    """Raises TurnwireError for what can lead nowhere, however often it is tried."""
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
            "The token has a space, the end of a line or another letter that no token has. "
            "Give it as `turnwire token create` printed it, without the end of the line."
        )


def is_local(url: str) -> bool:
    """Whether it is on this machine: no proxy leads there."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
