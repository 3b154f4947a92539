"""All uses of undocumented names of the SDK. No other module uses such names.

The SDK may change them in any version, so pyproject.toml has an upper bound. Before that bound is
raised, `tests/test_compat.py` shows which names are missing.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = [
    "MIRROR",
    "QUERY",
    "USED",
    "can_mirror",
    "command_of",
    "drop_log_of_ends",
    "patient",
    "rejects_mirror",
    "send_control_request",
]

QUERY = "claude_agent_sdk._internal.query"  # slow to import
_TRANSPORT = "claude_agent_sdk._internal.transport.subprocess_cli"

# An undocumented flag of the program: it repeats the lines of its transcripts on its output.
MIRROR = "--session-mirror"

# The undocumented names that are called, read or set, by module and class.
USED = {
    "claude_agent_sdk.client:ClaudeSDKClient": "_query",
    f"{QUERY}:Query": "_initialize_timeout _send_control_request",
    f"{_TRANSPORT}:SubprocessCLITransport": "_build_command",
}


def patient(client: Any, seconds: float) -> Callable[..., Any]:
    """Returns the SDK's client class with this handshake timeout instead of 60 seconds."""

    class Patient(client):  # type: ignore[misc]  # the class is known only at run time
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "_query" and value is not None:
                value._initialize_timeout = seconds
            super().__setattr__(name, value)

    return Patient


async def send_control_request(client: Any, request: dict[str, Any], seconds: float) -> Any:
    """Sends a control request as the SDK's own methods do, and returns the answer."""
    return await client._query._send_control_request(request, timeout=seconds)


def command_of(options: Any) -> list[str]:
    """Returns the command line that the SDK's own transport would start.

    Raises ImportError, AttributeError or TypeError if this version of the SDK is not compatible,
    and ValueError if the options cannot be expressed as flags.
    """
    transport = import_module(_TRANSPORT).SubprocessCLITransport
    command: list[str] = transport(prompt="", options=options)._build_command()
    return command


def can_mirror() -> bool:
    """Returns whether this version of the SDK, and so its own program, knows the flag MIRROR."""
    try:
        transport = import_module(_TRANSPORT).SubprocessCLITransport
        return f'"{MIRROR}"' in inspect.getsource(transport._build_command)
    except (ImportError, AttributeError, OSError, TypeError):
        return False


def rejects_mirror(said: str) -> bool:
    """Returns whether a program has ended because it does not know the flag MIRROR."""
    return "unknown option" in said and MIRROR in said


class _Ends(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Fatal error in message reader")


def drop_log_of_ends() -> None:
    """Drops what the SDK logs when the program ends: the end of the turn says it."""
    logging.getLogger(QUERY).addFilter(_Ends())
