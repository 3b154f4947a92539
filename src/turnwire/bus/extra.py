"""The optional packages that a bus needs."""

from __future__ import annotations

from importlib.util import find_spec

from turnwire.errors import TurnwireError
from turnwire.extras import MODULES, how_to_install

__all__ = ["need"]


def need(module: str, what: str) -> None:
    """Raises TurnwireError, with the command to run, if a module is not installed."""
    if find_spec(module) is None:
        raise TurnwireError(
            f"{what} needs {module}, which is not installed. Install it:"
            f" {how_to_install(MODULES[module])}"
        )
