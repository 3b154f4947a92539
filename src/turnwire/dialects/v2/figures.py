"""How a turn ended, and what it took."""

from __future__ import annotations

from turnwire.core import events as ev
from turnwire.core.status import TurnEnd, TurnError, TurnOrigin
from turnwire.core.usage import Usage

__all__ = ["turn_end"]


def turn_end(
    e: ev.TurnCompleted | ev.TurnFailed,
    figures: list[ev.ResultSummary],
    origin: TurnOrigin,
    after_sequence: int,
) -> TurnEnd:
    """How a turn ended. It has several figures where it paused in between, or none."""
    usage, cost, duration = _sum(figures)
    outputs = [f.structured_output for f in figures if f.structured_output is not None]
    output = outputs[-1] if outputs else None
    if e.origin is not None and origin == "user":  # the agent knows better what had started it
        origin = "agent"
    if isinstance(e, ev.TurnFailed):
        error = TurnError(e.code, e.message)
        return TurnEnd(
            True, False, None, error, origin, usage, cost, duration, after_sequence, output
        )
    return TurnEnd(
        False,
        e.interrupted,
        e.stop_reason,
        None,
        origin,
        usage,
        cost,
        duration,
        after_sequence,
        output,
    )


def _sum(figures: list[ev.ResultSummary]) -> tuple[Usage | None, float | None, int | None]:
    if len(figures) == 1:  # almost always
        return figures[0].usage, figures[0].cost_usd, figures[0].duration_ms
    usages = [each.usage for each in figures if each.usage is not None]
    costs = [each.cost_usd for each in figures if each.cost_usd is not None]
    tokens = {
        name: sum(getattr(usage, name) or 0 for usage in usages)
        for name in Usage.__struct_fields__
        if any(getattr(usage, name) is not None for usage in usages)
    }
    return (
        Usage(**tokens) if usages else None,
        sum(costs) if costs else None,
        sum(each.duration_ms for each in figures) if figures else None,
    )
