"""What a conversation has consumed: whether it is the same, or has become less."""

from __future__ import annotations

from turnwire.core.status import Totals

__all__ = ["same_totals", "shrunk"]

_NEAR = 1e-6  # dollars: sums of fractions are not exact
_COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


def same_totals(one: Totals, other: Totals) -> bool:
    """Whether they are the same, up to what adding fractions costs."""
    return not shrunk(one, other) and not shrunk(other, one)


def shrunk(before: Totals, now: Totals) -> bool:
    """Whether one of them has become less."""
    less = (getattr(now, name) < getattr(before, name) for name in _COUNTED)
    return any(less) or now.cost_usd < before.cost_usd - _NEAR
