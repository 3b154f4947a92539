"""Checks of the owner: it lives, or no work is left of it."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.core.conversation import step
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import STATE_LEVEL, Conversation, needs_recovery
from turnwire.stores.commit_rows import activity_of, is_unsettled
from turnwire.stores.fsck.case import Case
from turnwire.stores.fsck.mending import Mending

__all__ = ["is_cut_off", "is_held", "mend_owner"]


def is_held(case: Case, now: int, has_died: Callable[[str], bool]) -> bool:
    """Returns whether a live process owns the conversation, or only a newer version can repair it.

    This version would drop what it does not know of a state of a higher level.
    """
    if case.level > STATE_LEVEL:
        return True
    return case.owner is not None and case.lease_until > now and not has_died(case.owner)


def is_cut_off(state: Conversation, now: int) -> bool:
    """Returns whether the state has running work that cannot continue without an owner."""
    if not needs_recovery(state):
        return False
    after, _ = step(state, Recovered(at=now, stopping=True))
    return (state.turn, state.tools, state.requests, state.background) != (
        after.turn,
        after.tools,
        after.requests,
        after.background,
    )


def mend_owner(m: Mending, now: int, held: bool) -> None:
    """Reports an owner that has died, work without an owner, and marks that do not match the state."""
    if not held:
        if m.case.owner is not None:
            m.say(
                "stale_owner",
                f"The owner {m.case.owner} has died without releasing the conversation.",
            )
        elif is_cut_off(m.state, now):
            m.say("stale_owner", "The state has running work, but the conversation has no owner.")
    if m.case.state is None:
        return
    if m.case.unsettled is not is_unsettled(m.case.state):
        marked = "settled" if not m.case.unsettled else "unsettled"
        m.say("unsettled_wrong", f"The conversation is marked as {marked}, but it is not.")
    if m.case.activity != (activity := activity_of(m.case.state)):
        m.say("activity_wrong", f"Lists have it as {m.case.activity}, but it is {activity}.")
