"""The address of a server and the token for it: validation, and the error without an answer."""

from __future__ import annotations

from urllib.parse import urlsplit

from turnwire.core.error_codes import Refused
from turnwire.errors import TurnwireError

__all__ = ["Unreachable", "checked", "is_local"]


class Unreachable(TurnwireError):
    """The server does not answer, or what answers is not a Turnwire server."""

    code = "UNREACHABLE"
    retryable = True
    what_to_do = "Start the server with `turnwire serve`, or correct its address. Then try again."


def checked(url: str, token: str, *schemes: str) -> tuple[str, str]:
    """Returns the address and the token, without the line break that a file or a variable adds.

    Raises TurnwireError if one of them is malformed, so that no retry can help.
    """
    token = token.strip()
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        example = f"{schemes[0]}://127.0.0.1:7410"
        wrong = Unreachable(f"{url!r} is not the address of a server. Write it like {example}.")
        wrong.retryable, wrong.what_to_do = False, ""  # the message says it
        raise wrong
    if not all("!" <= letter <= "~" for letter in token):
        raise Refused(
            "UNAUTHORIZED",
            "The token contains a space, a line break or another character that no token has. "
            "Give it as `turnwire token create` printed it.",
        )
    return url, token


def is_local(url: str) -> bool:
    """Returns whether the server is on this machine, so that no proxy is used."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
