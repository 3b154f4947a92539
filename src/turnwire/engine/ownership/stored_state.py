"""The state of a stored conversation, corrected if its owner is dead."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.core.conversation import Conversation, step
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import needs_recovery
from turnwire.ports import ConversationRow

__all__ = ["as_it_is", "is_held"]


def is_held(
    row: ConversationRow, now: int, has_died: Callable[[str], bool] = lambda owner: False
) -> bool:
    """Returns whether a live owner runs the conversation; see `as_it_is`."""
    return row.owner is not None and row.lease_until > now and not has_died(row.owner)


def as_it_is(
    row: ConversationRow, now: int, has_died: Callable[[str], bool] = lambda owner: False
) -> Conversation:
    """Returns the state of a conversation. Without a live owner, no turn is shown as running.

    This is the state that the next owner will commit. `has_died` returns whether an owner is known
    to have ended; then its lease is ignored.
    """
    if is_held(row, now, has_died) or not needs_recovery(row.state):
        return row.state
    state, _ = step(row.state, Recovered(at=now, stopping=True, archived=row.archived))
    return state
