"""What is true of a conversation in the store, whoever worked on it last."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.core.conversation import Conversation, step
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import needs_recovery
from turnwire.ports import ConversationRow

__all__ = ["as_it_is"]


def as_it_is(
    row: ConversationRow, now: int, has_died: Callable[[str], bool] = lambda owner: False
) -> Conversation:
    """Its state; without a live owner, as the next one will make it: nothing seems to run.

    `has_died` says of an owner that it is surely gone, so that its lease need not be waited for.
    """
    is_held = row.owner is not None and row.lease_until > now and not has_died(row.owner)
    if is_held or not needs_recovery(row.state):
        return row.state
    state, _ = step(row.state, Recovered(at=now, stopping=True, archived=row.archived))
    return state
