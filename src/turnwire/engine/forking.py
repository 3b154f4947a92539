"""Forks: new conversations that begin with the log of another one."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.forking import forked
from turnwire.core.error_codes import Refused
from turnwire.ports import (
    AgentCapabilities,
    ConversationRow,
    ForkPlace,
    NativeFork,
    NewConversation,
    Store,
)

__all__ = ["agent_at", "check_place", "fork_of", "last_said_in", "said_in"]


async def said_in(store: Store, row: ConversationRow, sequence: int) -> str:
    """Returns the id of the conversation in which an entry was first written, before any fork."""
    while row.parent_id is not None and sequence <= (row.forked_at or 0):
        before = await store.conversation(row.parent_id)
        if before is None:
            return row.parent_id
        row = before
    return row.conversation_id


async def last_said_in(store: Store, row: ConversationRow, place: ForkPlace) -> str:
    """Returns the id of the conversation in which the last turn before a fork place took place."""
    last = place.sequence if place.last is None else place.last.end.after_sequence
    return await said_in(store, row, last)


async def agent_at(store: Store, row: ConversationRow, sequence: int) -> str:
    """Returns the agent of the conversation after an entry: another one may have taken over."""
    if row.state.handover is None:
        return row.agent
    after = sequence
    while page := await store.entries(row.conversation_id, after=after):
        for stored in page:
            match stored.entry.meta:
                case {"data": {"subtype": "agent", "data": {"from": str(agent)}}}:
                    return agent
        after = page[-1].sequence
    return row.agent


def check_place(place: ForkPlace, conversation_id: str) -> None:
    """Raises Refused if a conversation cannot be forked at this place."""
    if place.is_whole:
        return
    where = " or ".join(str(each) for each in place.nearest)
    why = (
        f"The conversation cannot be forked at {place.sequence}:"
        " a turn or a request is open there, or the log is shorter."
    )
    raise Refused(
        "NOT_A_FORK_POINT",
        f"{why} Fork it at {where}.",
        conversation_id=conversation_id,
        at_sequence=place.sequence,
        nearest=place.nearest,
    )


def fork_of(
    row: ConversationRow,
    place: ForkPlace,
    conversation_id: str,
    *,
    said_in: str,
    title: str | None,
    now: str,
    agent: str,
    able: AgentCapabilities,
) -> NewConversation:
    """Returns the new conversation. `said_in`: the conversation in which its last turn ran.

    `agent`: the agent that spoke there, with its capabilities. If it cannot fork its session, it
    begins a new one: it is told what was said before, or reads it in the log.
    """
    last = place.last
    state = forked(
        row.state,
        conversation_id,
        head=place.sequence,
        turns=place.turns,
        last_turn_id=None if last is None else last.turn_id,
        last_turn=None if last is None else last.end,
        agent=agent,
        is_told=not able.forks and able.takes_recap,
    )
    rules = structs.replace(state.options, questions_survive=able.questions_survive)
    state = structs.replace(state, options=rules)
    if title is not None:
        state = structs.replace(state, title=title, title_by="person")
    has_own_memory = able.forks and row.state.handover is None
    return NewConversation(
        conversation_id,
        agent,
        now,
        row.user,
        state.title,
        row.cwd,
        options=row.options,
        state=state,
        parent_id=row.conversation_id,
        forked_at=place.sequence,
        native_from=_native(row, place, said_in) if has_own_memory else None,
        node=row.node,
    )


def _native(row: ConversationRow, place: ForkPlace, said_in: str) -> NativeFork | None:
    """Returns where the agent's session is forked. Returns None if the fork gets a new one."""
    # A fork without a turn of its own has no session yet; the session of its parent is used.
    session = row.native_session_id
    if session is None and row.native_from is not None:
        session = row.native_from.session_id
    if session is None or not place.turns:
        return None
    uuids = place.uuids
    # Whether the agent had written nothing in the last turn.
    is_silent = not uuids or uuids[0][1] != place.turns
    turn_uuid = f"{said_in}:{place.turns}" if is_silent else None
    return NativeFork(session, [uuid for uuid, _ in uuids], turn_uuid, place.turns)
