"""A conversation of its own that begins with what another one had come to."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.forking import forked
from turnwire.core.error_codes import Refused
from turnwire.ports import ConversationRow, ForkPlace, NativeFork, NewConversation, Store

__all__ = ["check_place", "fork_of", "last_said_in", "said_in"]


async def said_in(store: Store, row: ConversationRow, sequence: int) -> str:
    """The conversation that an entry was written in: a fork has it from the one before it."""
    while row.parent_id is not None and sequence <= (row.forked_at or 0):
        before = await store.conversation(row.parent_id)
        if before is None:
            return row.parent_id
        row = before
    return row.conversation_id


async def last_said_in(store: Store, row: ConversationRow, place: ForkPlace) -> str:
    """The conversation that the last turn before a place was said in."""
    last = place.sequence if place.last is None else place.last.end.after_sequence
    return await said_in(store, row, last)


def check_place(place: ForkPlace, conversation_id: str) -> None:
    """Raises Refused where nothing can begin with what is before this place."""
    if place.is_whole:
        return
    where = " or ".join(str(each) for each in place.nearest)
    why = f"A conversation cannot be forked at {place.sequence}: it was not whole there."
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
) -> NewConversation:
    """What the new one begins with. `said_in` is the conversation that its last turn was said in."""
    last = place.last
    state = forked(
        row.state,
        conversation_id,
        head=place.sequence,
        turns=place.turns,
        last_turn_id=None if last is None else last.turn_id,
        last_turn=None if last is None else last.end,
    )
    if title is not None:
        state = structs.replace(state, title=title, title_by="person")
    return NewConversation(
        conversation_id,
        row.agent,
        now,
        row.user,
        state.title,
        row.cwd,
        options=row.options,
        state=state,
        parent_id=row.conversation_id,
        forked_at=place.sequence,
        native_from=_native(row, place, said_in),
    )


def _native(row: ConversationRow, place: ForkPlace, said_in: str) -> NativeFork | None:
    """Where the agent's own session is to be forked; none: the new one begins with nothing."""
    # One that was forked itself, and has not spoken since, has no session of its own yet.
    session = row.native_session_id
    if session is None and row.native_from is not None:
        session = row.native_from.session_id
    if session is None or not place.turns:
        return None
    uuids = place.uuids
    is_silent = (
        not uuids or uuids[0][1] != place.turns
    )  # the agent had said nothing in the last one
    turn_uuid = f"{said_in}:{place.turns}" if is_silent else None
    return NativeFork(session, [uuid for uuid, _ in uuids], turn_uuid)
