"""Starts the command line, or says which extra of the package is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from turnwire.extras import MODULES, how_to_install

__all__ = ["main"]


def main() -> None:
    """Runs `turnwire`. Ends with exit code 1 if a part of the command line is not installed."""
    needed = [name for name, extra in MODULES.items() if extra in ("cli", "server")]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        sys.exit(
            f"turnwire: the command line needs {', '.join(missing)}, which this installation "
            f"does not have. Install it: {how_to_install('cli')}"
        )
    from turnwire.cli.main import main as commands

    commands()
