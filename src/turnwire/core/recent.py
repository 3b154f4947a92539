"""A memory of what was seen last, which never grows beyond its limit."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

__all__ = ["MAX_ENDED", "Recent"]

MAX_ENDED = 256  # messages remembered after their end, for words that come late or twice


class Recent:
    """The names that were seen last, up to a number of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # A plain dict is slow to say which name is its oldest, once many have gone.
        self._names: OrderedDict[Any, None] = OrderedDict()

    def __contains__(self, name: Any) -> bool:
        return name in self._names

    def add(self, name: Any) -> None:
        self._names[name] = None
        if len(self._names) > self._limit:
            self._names.popitem(last=False)

    def is_new(self, name: Any) -> bool:
        """Whether the name was not seen before. It is now."""
        if name in self._names:
            return False
        self.add(name)
        return True
