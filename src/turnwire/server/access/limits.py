"""Rate limits, and maximum sizes of ids, paths, pages and JSON."""

from __future__ import annotations

from itertools import accumulate

__all__ = ["MOST_ID", "MOST_PAGE", "MOST_PATH", "MOST_PATHS", "Bucket", "Buckets", "check_shape"]

MOST_ID = 200  # characters of a client_message_id: it is sent to every follower, in many frames
# Characters of a path, and of all paths in one message. Resolving links takes time for each name in
# a path, and much more if the path is too long for the operating system.
MOST_PATH = 4096
MOST_PATHS = 65_536
MOST_PAGE = 1_048_576  # approximate bytes of messages in a response; one message may be larger

_MOST_NAMES = 10_000
_NEVER = 60.0  # seconds to wait for a bucket that is not filled again
_SOON = 0.01  # seconds: the shortest wait that is returned


class Bucket:
    """A token bucket: allows bursts of `most`, and `rate` per second on average."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, rate: float, most: float) -> None:
        self._rate = rate
        self._most = self._left = float(most)
        self._at: float | None = None

    def take(self, now: float) -> float:
        """Takes one. Returns 0 if that is allowed, else the seconds until it will be."""
        self._fill(now)
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return self._seconds_until(1)

    def wait(self, now: float) -> float:
        """Returns the seconds until the bucket is out of debt, or 0 if it has something left."""
        self._fill(now)
        return 0.0 if self._left > 0 else max(self._seconds_until(0), _SOON)

    def charge(self, now: float, amount: float) -> None:
        """Takes an amount that is known only afterwards. If the bucket has less, it goes into debt.

        The debt is at most one full bucket, so that the wait is bounded.
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
    """Buckets by name, made when they are first used."""

    def __init__(self, rate: float, most: float) -> None:
        self._rate = rate
        self._most = most
        self._buckets: dict[str, Bucket] = {}

    def take(self, name: str, now: float) -> float:
        """Takes one from the bucket of this name, like `Bucket.take`."""
        bucket = self._buckets.get(name)
        if bucket is None:
            if len(self._buckets) >= _MOST_NAMES:  # the oldest is the most likely to be full again
                del self._buckets[next(iter(self._buckets))]
            bucket = self._buckets[name] = Bucket(self._rate, self._most)
        return bucket.take(now)


def check_shape(raw: str | bytes, most_items: int, most_depth: int) -> str | None:
    """Returns an error message if JSON has too many values or levels, else None.

    Decoded values need many times the memory of their bytes. This check takes linear time, and uses
    only operations on whole strings. Brackets and commas in JSON strings do not count, because a
    person may paste any amount of code. Invalid JSON may pass or fail: it is decoded afterwards,
    and the decoder refuses it.
    """
    if isinstance(raw, str):
        opened, commas = raw.count("[") + raw.count("{"), raw.count(",")
    else:
        opened, commas = raw.count(b"[") + raw.count(b"{"), raw.count(b",")
    if opened + commas <= most_items and opened <= most_depth:  # almost always
        return None
    too_many = f"No more than {most_items} objects, lists and entries of them in all (max_items)."
    data = raw.encode(errors="replace") if isinstance(raw, str) else raw
    pieces = data.replace(b"\\\\", b"").replace(b'\\"', b"")  # each quote now delimits a string
    # A colon, a comma or a bracket comes before each string, and one value follows each colon.
    if pieces.count(b'"') // 2 > 2 * most_items + 1:
        return too_many
    outside = b"".join(pieces.split(b'"')[::2])
    brackets = outside.translate(_BRACKETS, _NO_BRACKETS)
    if brackets.count(_OPEN) + outside.count(b",") > most_items:
        return too_many
    if max(accumulate(memoryview(brackets).cast("b")), default=0) > most_depth:
        return f"No more than {most_depth} levels of objects and lists in one another (max_depth)."
    return None


# Each bracket as a signed byte: 1 opens a level, -1 closes one.
_OPEN, _CLOSE = b"\x01", b"\xff"
_BRACKETS = bytes.maketrans(b"[{]}", _OPEN * 2 + _CLOSE * 2)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))
