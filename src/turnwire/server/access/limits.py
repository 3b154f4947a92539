"""How much is too much: the rate of frames, and the number and depth of values in JSON."""

from __future__ import annotations

from itertools import accumulate

__all__ = ["MOST_ID", "MOST_PAGE", "MOST_PATH", "MOST_PATHS", "Bucket", "Buckets", "check_shape"]

MOST_ID = 200  # characters of a client_message_id: everyone is sent it, again and again
# Characters of a path, and of all paths in one message. To follow links takes time for each name in a path,
# and much more for names in a path that is too long for the operating system.
MOST_PATH = 4096
MOST_PATHS = 65_536
MOST_PAGE = 1_048_576  # bytes, about, of the messages in one answer; the first one may be larger

_MOST_NAMES = 10_000
_NEVER = 60.0  # seconds to wait for a bucket that is not filled again
_SOON = 0.01  # seconds: the shortest wait that is told


class Bucket:
    """So many at once, and so many a second in the long run."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, rate: float, most: float) -> None:
        self._rate = rate
        self._most = self._left = float(most)
        self._at: float | None = None

    def take(self, now: float) -> float:
        """0: there was one. Otherwise the seconds until there will be."""
        self._fill(now)
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return self._seconds_until(1)

    def wait(self, now: float) -> float:
        """Seconds until the bucket is out of debt; 0 if it has something left."""
        self._fill(now)
        return 0.0 if self._left > 0 else max(self._seconds_until(0), _SOON)

    def charge(self, now: float, amount: float) -> None:
        """Takes what something has cost, which is known only afterwards; the rest is a debt.

        The debt is at most one full bucket, so that the wait for its end is bounded.
        """
        self._fill(now)
        self._left = max(self._left - amount, -self._most)

    def _fill(self, now: float) -> None:
        if self._at is not None:
            self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now

    def _seconds_until(self, left: float) -> float:
        return (left - self._left) / self._rate if self._rate else _NEVER


class Buckets:
    """A bucket for each name."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate = rate
        self._most = most
        self._buckets: dict[str, Bucket] = {}

    def take(self, name: str, now: float) -> float:
        """As `Bucket.take`."""
        bucket = self._buckets.get(name)
        if bucket is None:
            if len(self._buckets) >= _MOST_NAMES:  # the oldest is the most likely to be full again
                del self._buckets[next(iter(self._buckets))]
            bucket = self._buckets[name] = Bucket(self._rate, self._most)
        return bucket.take(now)


def check_shape(raw: str | bytes, most_items: int, most_depth: int) -> str | None:
    """Return what is wrong with JSON that has too many values or too many levels, before it is decoded.

    Decoded values cost many times their bytes. This check is linear and made of operations on whole texts.
    Brackets and commas inside of texts do not count: a person may paste any amount of code. What is no JSON
    at all may pass, or be called too large: the decoder refuses it anyway.
    """
    if isinstance(raw, str):
        opened, commas = raw.count("[") + raw.count("{"), raw.count(",")
    else:
        opened, commas = raw.count(b"[") + raw.count(b"{"), raw.count(b",")
    if opened + commas <= most_items and opened <= most_depth:  # almost always
        return None
    too_many = f"No more than {most_items} objects, lists and entries of them in all (max_items)."
    data = raw.encode(errors="replace") if isinstance(raw, str) else raw
    pieces = data.replace(b"\\\\", b"").replace(b'\\"', b"")  # from here on a quote ends a text
    # Before each text stands a colon, a comma or a bracket, and behind a colon stands one value.
    if pieces.count(b'"') // 2 > 2 * most_items + 1:
        return too_many
    outside = b"".join(pieces.split(b'"')[::2])
    brackets = outside.translate(_BRACKETS, _NO_BRACKETS)
    if brackets.count(_OPEN) + outside.count(b",") > most_items:
        return too_many
    if max(accumulate(memoryview(brackets).cast("b")), default=0) > most_depth:
        return f"No more than {most_depth} objects and lists in one another (max_depth)."
    return None


# Each bracket as a signed byte: 1 opens a level, -1 closes one.
_OPEN, _CLOSE = b"\x01", b"\xff"
_BRACKETS = bytes.maketrans(b"[{]}", _OPEN * 2 + _CLOSE * 2)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))
