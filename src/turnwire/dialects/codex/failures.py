"""Names the errors of Codex."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from turnwire.dialects.codex.messages import TurnError

__all__ = ["code_of", "explained", "message_of", "snake"]

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_BY_STATUS = {401: "unauthorized", 403: "unauthorized", 429: "rate_limit_exceeded"}

_NETWORK = (
    "Check the network, and the address of the model's provider in config.toml. "
    "Then send the message again."
)
# What a person can do, by the code of the error.
_WAYS_OUT = {
    "bad_request": (
        "Choose another model or effort, or compare the provider in config.toml with what it takes."
    ),
    "context_window_exceeded": "Say /compact, or start another conversation.",
    "cyber_policy": "Say it differently, or start another conversation.",
    "flex_unavailable": "Try again later, or choose another service_tier in config.toml.",
    "http_connection_failed": _NETWORK,
    "internal_server_error": "Try again in some minutes.",
    "misalignment_policy_violation": "Say it differently, or start another conversation.",
    "rate_limit_exceeded": "Try again in some minutes, or choose another model.",
    "response_stream_connection_failed": _NETWORK,
    "response_stream_disconnected": _NETWORK,
    "response_too_many_failed_attempts": _NETWORK,
    "sandbox_error": (
        "Mend Codex's sandbox on this machine, or have the owner choose the permission mode"
        " full-access."
    ),
    "server_overloaded": "Try again in some minutes, or choose another model.",
    "session_budget_exceeded": "Start another conversation, or raise the budget of the session.",
    "too_many_denials": "Say how to go on, or choose another permission mode.",
    "unauthorized": (
        "Give Codex a credential that is valid: `codex login`, OPENAI_API_KEY, or the env_key of the"
        " provider in config.toml."
    ),
    "usage_limit_exceeded": (
        "Wait until the limit resets, raise it in the settings of the account, or use an API key"
        " (OPENAI_API_KEY)."
    ),
}


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


def explained(error: TurnError | None) -> str:
    """Returns the text of an error, with what a person can do about it."""
    said, way_out = message_of(error), _WAYS_OUT.get(code_of(error))
    return f"{said.rstrip('.')}. {way_out}" if way_out else said
