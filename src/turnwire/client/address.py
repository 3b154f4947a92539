"""Where a server is."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["is_local"]


def is_local(url: str) -> bool:
    """Whether it is on this machine: no proxy leads there."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
