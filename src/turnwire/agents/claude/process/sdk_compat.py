"""Everything that is used of the SDK and that it does not document. Only this module knows those names.

The SDK may change them in any version: pyproject.toml has an upper bound. Before that is raised,
`tests/test_compat.py` says which names are gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["QUERY", "USED", "command_of", "drop_log_of_ends", "patient", "send_control_request"]

QUERY = "claude_agent_sdk._internal.query"  # takes long to import
_TRANSPORT = "claude_agent_sdk._internal.transport.subprocess_cli"

# The names that are called, read or set, by their module and class.
USED = {
    "claude_agent_sdk.client:ClaudeSDKClient": "_query",
    f"{QUERY}:Query": "_initialize_timeout _send_control_request",
    f"{_TRANSPORT}:SubprocessCLITransport": "_build_command",
}


def patient(client: Any, seconds: float) -> Callable[..., Any]:
    """The SDK's client, which waits so long for the first answer; by itself it waits a minute."""

    class Patient(client):  # type: ignore[misc]  # whatever it is
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "_query" and value is not None:
                value._initialize_timeout = seconds
            super().__setattr__(name, value)

    return Patient


async def send_control_request(client: Any, request: dict[str, Any], seconds: float) -> Any:
    """Returns the answer to a control request, which the SDK's own methods send the same way."""
    return await client._query._send_control_request(request, timeout=seconds)


def command_of(options: Any) -> list[str]:
    """Returns the command line that the SDK's own transport would start.

    Raises ImportError, AttributeError or TypeError if this version of the SDK has another one, and
    ValueError if the options cannot be said.
    """
    transport = import_module(_TRANSPORT).SubprocessCLITransport
    command: list[str] = transport(prompt="", options=options)._build_command()
    return command


class _Ends(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Fatal error in message reader")


def drop_log_of_ends() -> None:
    """The SDK logs every end of the program as an error; here it is told by the end of its turn."""
    logging.getLogger(QUERY).addFilter(_Ends())
