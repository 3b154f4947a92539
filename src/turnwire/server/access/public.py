"""The public address of the server, which a proxy may serve under another host and path.

A proxy may serve Turnwire below a path prefix, `https://chat.example/turnwire/`. Then the page, its
cookie and its links have to be below that prefix. Most proxies remove the prefix from the requests
that they forward, some keep it. Requests with and without the prefix reach the same routes.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Public"]


class Public:
    """The setting `public_url`, parsed."""

    def __init__(self, url: str) -> None:
        """Parses a validated URL. It is empty if there is no proxy."""
        parts = urlsplit(url)
        self.url = url.rstrip("/")
        self.prefix = parts.path.rstrip("/")
        self.hosts = [parts.hostname] if parts.hostname else []
        self.origins = [f"{parts.scheme}://{parts.netloc}"] if url else []

    def is_secure(self, host: str) -> bool:
        """Returns whether a request with this Host reached the proxy over HTTPS."""
        parts = urlsplit(self.url)
        return parts.scheme == "https" and parts.netloc.lower() == host

    def place(self, scope: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Returns the scope of a request with the prefix of the public address in its paths."""
        if not self.prefix:
            return scope
        root = scope.get("root_path", "")
        path = _below(self.prefix, _below(root, scope["path"]))
        placed = {**scope, "root_path": self.prefix, "path": self.prefix + path}
        raw = scope.get("raw_path")
        if raw is not None:
            raw_path = _below(self.prefix, _below(root, raw.decode("latin-1")))
            placed["raw_path"] = f"{self.prefix}{raw_path}".encode("latin-1")
        return placed


def _below(prefix: str, path: str) -> str:
    if prefix and (path == prefix or path.startswith(f"{prefix}/")):
        return path[len(prefix) :] or "/"
    return path
