"""Sums of usage and cost, for turns and conversations."""

from __future__ import annotations

from turnwire.core import events as ev
from turnwire.core.conversation.state import Spent
from turnwire.core.status import Totals
from turnwire.core.usage import Usage

__all__ = ["add_to_totals", "add_to_turn"]


def add_to_totals(totals: Totals, result: ev.ResultSummary) -> Totals:
    """Returns the totals of a conversation with a result added."""
    usage = result.usage or Usage()
    return Totals(
        totals.input_tokens + (usage.input_tokens or 0),
        totals.output_tokens + (usage.output_tokens or 0),
        totals.cache_creation_input_tokens + (usage.cache_creation_input_tokens or 0),
        totals.cache_read_input_tokens + (usage.cache_read_input_tokens or 0),
        totals.cost_usd + (result.cost_usd or 0.0),
    )


def add_to_turn(spent: Spent, result: ev.ResultSummary) -> Spent:
    """Returns the usage of a turn with a result added. Unknown figures stay None, not zero."""
    usage = spent.usage
    if usage is None:
        usage = result.usage
    elif result.usage is not None:
        more = result.usage
        usage = Usage(
            _sum(usage.input_tokens, more.input_tokens),
            _sum(usage.output_tokens, more.output_tokens),
            _sum(usage.cache_creation_input_tokens, more.cache_creation_input_tokens),
            _sum(usage.cache_read_input_tokens, more.cache_read_input_tokens),
        )
    cost = spent.cost_usd
    if result.cost_usd is not None:
        cost = result.cost_usd + (cost or 0.0)
    output = spent.structured_output
    if result.structured_output is not None:
        output = result.structured_output
    return Spent(usage, cost, (spent.duration_ms or 0) + result.duration_ms, output)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)
