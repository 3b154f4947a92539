"""The optional extras of the package, and the modules that each of them installs."""

from __future__ import annotations

__all__ = ["MODULES", "how_to_install"]

# `pip install turnwire` installs none of these. The command line needs those of `cli` and of
# `server`, as it includes the server.
MODULES = {
    "asyncpg": "postgres",
    "click": "cli",
    "nats": "nats",
    "prompt_toolkit": "cli",
    "pydantic_ai": "pydantic-ai",
    "rich": "cli",
    "starlette": "server",
    "uvicorn": "server",
    "valkey": "valkey",
}


def how_to_install(extra: str) -> str:
    """Returns the command that installs an extra."""
    return f"pip install 'turnwire[{extra}]'"
