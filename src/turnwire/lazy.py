"""Lazy imports: public names of a package that are imported at their first access.

A program that needs one part of a package does not load the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from turnwire.extras import MODULES, how_to_install

__all__ = ["fetcher"]


def fetcher(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a package; `homes` has the module of each name.

    It raises ImportError, with the extra to install, if the module needs one that is missing.
    """

    def fetch(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(home)
            # A public module, such as `frames`, is an attribute of its package after its import.
            value = getattr(module, name, None) or import_module(f"{home}.{name}")
        except ModuleNotFoundError as error:
            extra = MODULES.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            needs = f"{package}.{name} needs {error.name}, which is not installed"
            raise ImportError(f"{needs}. Install it: {how_to_install(extra)}") from error
        setattr(sys.modules[package], name, value)
        return value

    return fetch
