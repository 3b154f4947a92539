"""Compares the totals of a conversation: tokens, turns and cost."""

from __future__ import annotations

from turnwire.core.status import Totals

__all__ = ["same_totals", "shrunk"]

_NEAR = 1e-6  # dollars: tolerance for rounding errors of sums
_COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


def same_totals(one: Totals, other: Totals) -> bool:
    """Returns whether the totals are equal, except for rounding errors."""
    return not shrunk(one, other) and not shrunk(other, one)


def shrunk(before: Totals, now: Totals) -> bool:
    """Returns whether one of the totals has become smaller."""
    less = (getattr(now, name) < getattr(before, name) for name in _COUNTED)
    return any(less) or now.cost_usd < before.cost_usd - _NEAR
