"""Computes the cost of one turn from Claude's figures, which count the whole session."""

from __future__ import annotations

from turnwire.core.usage import ModelUsage
from turnwire.dialects.claude.messages import ModelFigures, ResultMessage

__all__ = ["CostMeter"]


class CostMeter:
    """Converts cumulative figures into figures of one turn.

    The program reports what came since its last result. An older version does not. If that version
    resumed a session, the earlier cost is counted again, because it cannot be told apart.
    """

    def __init__(self) -> None:
        self._cost = 0.0
        self._models: dict[str, ModelFigures] = {}

    def turn(self, result: ResultMessage) -> tuple[float | None, dict[str, ModelUsage] | None]:
        """Returns the cost of this turn, in total and by model."""
        total, since = result.total_cost_usd, result.model_usage_since_last_result
        if since is not None and total is not None:
            self._cost, self._models = total, result.modelUsage or {}
            spent = round(sum((figures.cost_usd for figures in since.values()), 0.0), 12)
            return spent, {model: _difference(figures, None) for model, figures in since.items()}
        if result.result_index == 0 or (total is not None and total < self._cost):
            self._cost, self._models = 0.0, {}
        cost = None
        if total is not None:
            cost = round(total - self._cost, 12)  # removes rounding errors of decimal fractions
            self._cost = total
        by_model = None
        if result.modelUsage is not None:
            before = self._models
            by_model = {
                model: _difference(figures, before.get(model))
                for model, figures in result.modelUsage.items()
                if figures != before.get(model)
            }
            self._models = result.modelUsage
        return cost, by_model


def _difference(now: ModelFigures, before: ModelFigures | None) -> ModelUsage:
    if before is None:
        return ModelUsage(
            now.input_tokens,
            now.output_tokens,
            now.cache_creation_input_tokens,
            now.cache_read_input_tokens,
            now.web_search_requests,
            round(now.cost_usd, 12),
        )
    return ModelUsage(
        now.input_tokens - before.input_tokens,
        now.output_tokens - before.output_tokens,
        now.cache_creation_input_tokens - before.cache_creation_input_tokens,
        now.cache_read_input_tokens - before.cache_read_input_tokens,
        now.web_search_requests - before.web_search_requests,
        round(now.cost_usd - before.cost_usd, 12),
    )
