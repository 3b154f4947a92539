"""Infers the actions of people from a recording, which has only the agent's events."""

from __future__ import annotations

from msgspec import structs

from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import BeginTurn
from turnwire.core.conversation.requests import cancel_requests, of_turn
from turnwire.core.conversation.state import Stopping
from turnwire.core.conversation.turns import is_suspended

__all__ = ["recorded", "waits_for_a_person"]

_SIGNS = (ev.TurnStarted, ev.TurnCompleted, ev.TurnFailed)


def recorded(d: Draft, said: i.AgentSaid) -> None:
    """Infers, before an event is applied, that a person began the turn, answered, or stopped it."""
    event = said.event
    if event.parent_tool_use_id is not None:
        return
    is_said = isinstance(event, ev.UserMessage) and event.origin == "user"
    if not isinstance(event, _SIGNS) and not is_said:
        return
    if is_suspended(d):
        assert d.turn is not None
        d.turn = structs.replace(d.turn, origin="resume", phase="running", deferred=False)
        d.writes.append(BeginTurn(d.turn))
        d.move("turn_started")
    elif d.turn is None and not (isinstance(event, ev.TurnStarted) and event.by_itself):
        d.begin_turn("user", said.trace_id)
        d.phase("running")
    if d.turn is None:
        return
    if isinstance(event, ev.TurnCompleted | ev.TurnFailed) and event.origin not in (None, "user"):
        d.turn = structs.replace(d.turn, origin="agent")  # the origin is known only at the end
    if isinstance(event, ev.TurnCompleted) and event.interrupted:
        cancel_requests(d, "interrupt", lambda request: of_turn(d, request))
        d.turn = structs.replace(d.turn, stopping=Stopping("user", d.now))


def waits_for_a_person(d: Draft, end: ev.TurnCompleted | ev.TurnFailed) -> bool:
    """Suspends a turn at a call that a person has to answer. Returns whether it did."""
    if not isinstance(end, ev.TurnCompleted) or end.deferred_tool_use_id is None:
        return False
    assert d.turn is not None  # begun by this event at the latest
    d.turn = structs.replace(d.turn, phase="suspended", deferred=True)
    d.move("turn_suspended")
    return True
