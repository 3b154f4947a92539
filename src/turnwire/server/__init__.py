"""The server: conversations over HTTP and WebSockets, for authenticated users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.lazy import fetcher

# Lazy imports: a command that only looks for a running server (`turnwire chat`) needs few modules.
if TYPE_CHECKING:
    from turnwire.server.app import App, create_app
    from turnwire.settings import Settings

__all__ = ["App", "Settings", "create_app"]

_HOME = {
    "App": "turnwire.server.app",
    "Settings": "turnwire.settings",
    "create_app": "turnwire.server.app",
}

if not TYPE_CHECKING:  # a type checker would otherwise accept every misspelt name as Any
    __getattr__ = fetcher(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
