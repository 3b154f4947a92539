"""Conversations over HTTP and WebSockets, for those who may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.lazy import fetcher

# Who only wants to know where a server is (`turnwire chat`) needs a small part of this.
if TYPE_CHECKING:
    from turnwire.server.app import App, create_app
    from turnwire.settings import Settings

__all__ = ["App", "Settings", "create_app"]

_HOME = {
    "App": "turnwire.server.app",
    "Settings": "turnwire.settings",
    "create_app": "turnwire.server.app",
}

if not TYPE_CHECKING:  # or every misspelt name would pass for Any
    __getattr__ = fetcher(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
