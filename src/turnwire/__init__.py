"""Turnwire: durable conversations between people and agents.

    from turnwire import ClaudeStreamAdapter, UiStreamAdapter, RpcBridge

The rooms of the house, each importing only the ones below it:

    cli       the command line, one file per command
    server    conversations over HTTP and WebSockets, for those who may; `settings` of it
    engine    runs conversations, on the ports: agents, stores, a bus, a clock
    dialects  the languages spoken at the edges: `claude` comes in, `rpc` goes out; pure
    errors    everything that is raised, or handed back where raising would end a stream
    core      the one internal language (events, blocks) and what front ends see (ui); pure
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.lazy import fetcher

# Where each public name lives. It is fetched when it is first asked for, so that `turnwire --help`
# and programs that need one room do not pay for the whole house.
if TYPE_CHECKING:
    from turnwire.core.events import NormalizedStreamEvent
    from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
    from turnwire.dialects.claude import ClaudeStreamAdapter
    from turnwire.dialects.rpc import RpcBridge, RpcMessage
    from turnwire.errors import BadLine, TurnwireError
    from turnwire.server.app import create_app
    from turnwire.settings import Settings

__all__ = [
    "BadLine",
    "ClaudeStreamAdapter",
    "NormalizedStreamEvent",
    "RpcBridge",
    "RpcMessage",
    "Settings",
    "TurnwireError",
    "UiStreamAdapter",
    "UiStreamEvent",
    "__version__",
    "create_app",
]

__version__ = "0.1.0"

_HOME = {
    "BadLine": "turnwire.errors",
    "ClaudeStreamAdapter": "turnwire.dialects.claude",
    "NormalizedStreamEvent": "turnwire.core.events",
    "RpcBridge": "turnwire.dialects.rpc",
    "RpcMessage": "turnwire.dialects.rpc",
    "Settings": "turnwire.settings",
    "TurnwireError": "turnwire.errors",
    "UiStreamAdapter": "turnwire.core.ui",
    "UiStreamEvent": "turnwire.core.ui",
    "create_app": "turnwire.server.app",
}


if not TYPE_CHECKING:  # or every misspelt name would pass for Any
    __getattr__ = fetcher(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
