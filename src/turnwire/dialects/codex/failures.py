"""Names the errors of Codex."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from turnwire.dialects.codex.messages import TurnError

__all__ = ["code_of", "message_of", "snake"]

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_BY_STATUS = {401: "unauthorized", 403: "unauthorized", 429: "rate_limit_exceeded"}


@lru_cache(maxsize=512)
def snake(name: str) -> str:
    """Returns a name in the style of Turnwire: `thread/rateLimits` becomes `thread_rate_limits`."""
    return _HUMP.sub("_", name).lower()


def code_of(error: TurnError | None) -> str:
    """Returns the code of an error, from `codexErrorInfo`."""
    info: Any = error.codex_error_info if error else None
    match info:
        case str():
            return snake(info)
        case {**named} if named:
            kind, about = next(iter(named.items()))
            status = about.get("httpStatusCode") if isinstance(about, dict) else None
            return _BY_STATUS.get(status, snake(kind)) if isinstance(status, int) else snake(kind)
        case _:
            return "codex_error"


def message_of(error: TurnError | None) -> str:
    """Returns the text of an error."""
    if error is None:
        return "The turn failed."
    details = error.additional_details
    return f"{error.message} ({details})" if details else error.message
