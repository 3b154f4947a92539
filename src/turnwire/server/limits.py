"""How much is too much: frames in a while, and things in things."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["MOST_ID", "Bucket", "Buckets", "is_too_deep"]

MOST_ID = 200  # characters of a client_message_id: everyone is sent it, again and again

_MOST_NAMES = 10_000


class Bucket:
    """So many at once, and so many a second in the long run."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, rate: float, most: int) -> None:
        self._rate = rate
        self._most = self._left = float(most)
        self._at: float | None = None

    def take(self, now: float) -> float:
        """0: there was one. Otherwise the seconds until there will be."""
        if self._at is not None:
            self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate if self._rate else 60.0


class Buckets:
    """A bucket for each name."""

    def __init__(self, rate: float, most: int) -> None:
        self._rate = rate
        self._most = most
        self._buckets: dict[str, Bucket] = {}

    def take(self, name: str, now: float) -> float:
        """As `Bucket.take`."""
        bucket = self._buckets.get(name)
        if bucket is None:
            if len(self._buckets) >= _MOST_NAMES:  # they are full again soon anyway
                self._buckets.clear()
            bucket = self._buckets[name] = Bucket(self._rate, self._most)
        return bucket.take(now)


def is_too_deep(raw: str | bytes, value: Callable[[], Any], most: int) -> bool:
    """Whether more objects and lists than this are in one another."""
    text = raw if isinstance(raw, str) else raw.decode("latin-1")  # JSON's brackets are the same
    if text.count("{") + text.count("[") <= most:  # almost always
        return False
    level = [value()]
    for _ in range(most + 1):
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return False
        level = [
            inner for each in level for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return True
