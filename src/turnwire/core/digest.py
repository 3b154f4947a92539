"""Short digests of values: equal values have equal digests."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

__all__ = ["digest_of"]

_BYTES = 8  # short enough to store with every state, long enough to detect a change
_encode = msgspec.json.Encoder().encode


def digest_of(value: Any) -> str:
    """Returns the digest of a value's JSON."""
    return blake2b(_encode(value), digest_size=_BYTES).hexdigest()
