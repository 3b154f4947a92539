"""Behind a proxy: the address that people open, which need not be the one that it listens on.

A proxy may give the server a part of its own addresses, `https://chat.example/turnwire/`. Then the
page, its cookie and its links have to be below that part. Most proxies take it off what they pass
on, some leave it there, and whoever comes straight to the server may use it or not: all of them
find the same thing.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Public"]


class Public:
    """The setting `public_url`, in parts."""

    def __init__(self, url: str) -> None:
        """One that was checked; empty: nothing stands before the server."""
        parts = urlsplit(url)
        self.url = url.rstrip("/")
        self.prefix = parts.path.rstrip("/")
        self.hosts = [parts.hostname] if parts.hostname else []
        self.origins = [f"{parts.scheme}://{parts.netloc}"] if url else []

    def is_secure(self, host: str) -> bool:
        """Whether a request that calls us by this name came over HTTPS, to the proxy at least."""
        parts = urlsplit(self.url)
        return parts.scheme == "https" and parts.netloc.lower() == host

    def place(self, scope: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """The same request, at the address that people know it by."""
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
