"""Opens links in the browser of the person who runs a command."""

from __future__ import annotations

import os
import sys

__all__ = ["has_browser", "open_link"]


def has_browser() -> bool:
    """Returns whether a person can see a browser here: at a terminal with a display."""
    if not sys.stdout.isatty():
        return False
    if sys.platform == "darwin":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_link(link: str) -> bool:
    """Opens a link in a browser. Returns False if there is none."""
    import webbrowser

    return webbrowser.open(link)
