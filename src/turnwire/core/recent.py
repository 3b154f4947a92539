"""A bounded memory of recently seen names."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

__all__ = ["MAX_ENDED", "Recent"]

MAX_ENDED = 256  # ended messages to remember, for late or repeated events


class Recent:
    """The most recently seen names, up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # A plain dict finds its oldest key slowly after many deletions.
        self._names: OrderedDict[Any, None] = OrderedDict()

    def __contains__(self, name: Any) -> bool:
        return name in self._names

    def add(self, name: Any) -> None:
        self._names[name] = None
        if len(self._names) > self._limit:
            self._names.popitem(last=False)

    def is_new(self, name: Any) -> bool:
        """Remembers a name. Returns whether it was new."""
        if name in self._names:
            return False
        self.add(name)
        return True
