"""Conversations over HTTP and WebSockets, for those who may."""

from turnwire.server.app import App, create_app
from turnwire.settings import Settings

__all__ = ["App", "Settings", "create_app"]
