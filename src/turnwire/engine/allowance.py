"""What an agent may spend in its next turn."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent

__all__ = ["NO_LIMIT", "Allowance", "not_begun"]

_NEAR = 1e-9  # dollars: sums of fractions are not exact


class Allowance(Struct, frozen=True):
    """As the log has it at a moment."""

    left: float | None = None  # dollars; none: whatever it takes
    ceiling: float | None = None  # what the conversation will have cost in all when that is spent
    refused: Refused | None = None  # why nothing may be spent
    is_busy: bool = False  # work goes on in the background

    def is_another_than(self, before: Allowance) -> bool:
        """Whether somebody else has spent some of what was allowed before, or there is more now.

        There is more in a new period. While work goes on in the background it does not count:
        that would end with its agent.
        """
        if self.is_busy or self.ceiling is before.ceiling is None:
            return False
        if self.ceiling is None or before.ceiling is None:
            return True
        return abs(self.ceiling - before.ceiling) > _NEAR


NO_LIMIT = Allowance()


def not_begun(provider: str, refused: Refused) -> list[NormalizedStreamEvent]:
    """A turn that ends before the agent hears of it."""
    who = (provider, "", None, None)
    failed = ev.TurnFailed(*who, str(refused.code), refused.message)
    return [ev.TurnStarted(*who), failed, ev.ResultSummary(*who, "error", True)]
