"""Names the extra of the package that brings a module which is not installed."""

from __future__ import annotations

__all__ = ["MODULES", "how_to_install"]

# `pip install turnwire` brings none of these. The command line needs all of them: it serves, too.
MODULES = {
    "click": "cli",
    "prompt_toolkit": "cli",
    "rich": "cli",
    "starlette": "server",
    "uvicorn": "server",
}


def how_to_install(extra: str) -> str:
    """Returns the command that installs an extra."""
    return f"pip install 'turnwire[{extra}]'"
