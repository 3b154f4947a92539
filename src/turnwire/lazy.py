"""Public names of a package that are fetched when they are first asked for.

So whoever needs one part of a package, or only its name, does not pay for all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from turnwire.extras import MODULES, how_to_install

__all__ = ["fetcher"]


def fetcher(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package; `homes` says in which module each name lives.

    Raises ImportError, which names the extra to install, if that module needs one that is missing.
    """

    def fetch(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(home), name)
        except ModuleNotFoundError as error:
            extra = MODULES.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            needs = f"{package}.{name} needs {error.name}, which is not installed"
            raise ImportError(f"{needs}. Install it: {how_to_install(extra)}") from error
        setattr(sys.modules[package], name, value)
        return value

    return fetch
