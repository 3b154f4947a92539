"""A short name for a value: equal values have the same one."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

__all__ = ["digest_of"]

_BYTES = 8  # few enough to be stored with every state, enough to tell one value from the one before
_encode = msgspec.json.Encoder().encode


def digest_of(value: Any) -> str:
    """Returns the digest of a value's JSON."""
    return blake2b(_encode(value), digest_size=_BYTES).hexdigest()
