"""Imports sessions of Claude Code into a store: one conversation each; adds only new records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import structs

from turnwire.agents.claude.sessions.history import Session
from turnwire.agents.claude.sessions.replayer import Retelling
from turnwire.agents.claude.turn.prompts import prompt_uuid
from turnwire.agents.imports import PAGE, Brought, NotNow, claimed, now_ms, short_id
from turnwire.core.conversation.state import Conversation
from turnwire.core.times import iso
from turnwire.dialects.claude.branches import branch, story, title_of, voices_in
from turnwire.dialects.claude.history import Record
from turnwire.ports import Commit, ConversationRow, NewConversation, Store

__all__ = ["bring", "conversation_of"]

_COUNTS = ("said", "told", "result")  # kinds that make a session new; others are added with them

_Story: TypeAlias = list[tuple[Record, str | None]]


def conversation_of(session_id: str, leaf: str | None = None) -> str:
    """Returns the conversation id of a session: always the same, and short enough to type."""
    return short_id(f"{session_id}:{leaf or ''}")


async def bring(
    store: Store,
    session: Session,
    *,
    owner: str,
    new_id: Callable[[], str],
    has_died: Callable[[str], bool],
    known: str | None = None,
    leaf: str | None = None,
) -> Brought | None:
    """Adds the new records of a session to its conversation. Returns None if the session is empty.

    - `has_died`: whether an owner has surely ended, so that its lease can be released.
    - `known`: the conversation that this session already belongs to, if there is one.
    - `leaf`: the last record of a branch. A branch that is not the newest becomes a conversation of
      its own, which Claude cannot continue. Raises KeyError if the leaf does not exist.
    """
    newest = branch(session.records)
    main = newest if leaf is None else branch(session.records, leaf)
    is_whole = main == newest
    voices = voices_in(session.records, session.agents, session.calls)
    told = story(session.records, main, voices)
    if not any(record.kind in _COUNTS for record, _ in told):
        return None
    name = conversation_of(session.session_id, None if is_whole else leaf)
    if is_whole and known is not None:
        name = known
    row = await store.conversation(name)
    is_new = row is None
    if row is None:
        row = await _create(store, name, session, main, is_whole)
    elif await _is_known(store, row, told):
        return Brought(name, session.session_id, 0, title=row.title)
    try:
        async with claimed(store, row, owner, has_died, is_new=is_new) as (claim, current):
            row = current
            retelling = await _retell(store, row, session, told, new_id)
            native = session.session_id if is_whole and row.native_session_id is None else None
            for batch in retelling.ready:
                await store.commit(
                    Commit(claim, batch.state, batch.writes, batch.at, native_session_id=native)
                )
    except NotNow as why:
        return Brought(name, session.session_id, 0, title=row.title, refused=str(why))
    state = retelling.state
    reset = ["cwd"] if is_new and session.places and session.cwd is None else []
    added = state.head - row.head
    return Brought(name, session.session_id, added, is_new, state.title, reset=reset)


async def _create(
    store: Store, name: str, session: Session, main: list[Record], is_whole: bool
) -> ConversationRow:
    title = title_of(session.titles, session.records)
    first = next((record.at for record in main if record.at is not None), None)
    created = iso(first if first is not None else now_ms())
    state = Conversation(name, title=title)
    # Set at creation, which shows that the session was not started for this conversation.
    native = session.session_id if is_whole else None
    new = NewConversation(name, "claude", created, None, title, session.cwd, state=state)
    return await store.create(structs.replace(new, native_session_id=native))


async def _retell(
    store: Store, row: ConversationRow, session: Session, told: _Story, new_id: Callable[[], str]
) -> Retelling:
    """Replays the new records: of Claude and each sub-agent, those after the last known record.

    Records of a sub-agent before the last known record of its caller are not new: the program's
    output does not contain all of them.
    """
    known = await _known_uuids(store, row)
    places: dict[str | None, int] = {}
    for place, (record, call) in enumerate(told):
        if record.uuid in known:
            places[call] = place
    main = places.get(None, -1)
    news = [place > max(places.get(call, -1), main) for place, (_, call) in enumerate(told)]
    retelling = Retelling(row.state, session.session_id, new_id)
    if not any(new and record.kind in _COUNTS for new, (record, _) in zip(news, told, strict=True)):
        return retelling
    here = told[main][0].uuid if None in places else None
    if _left_branch(session, told, known, here):
        retelling.went_back(here)
    for new, (record, call) in zip(news, told, strict=True):
        (retelling.tell if new else retelling.know)(record, call)
    retelling.finish()
    return retelling


def _left_branch(session: Session, told: _Story, known: dict[str, int], here: str | None) -> bool:
    """Whether the log continues with another branch after the known records of this one."""
    ours = {record.uuid for record, _ in told}
    others = (r.uuid for r in session.records if not r.is_side and r.uuid not in ours)
    return any(known.get(uuid, -1) > known.get(here or "", -1) for uuid in others)


async def _is_known(store: Store, row: ConversationRow, told: _Story) -> bool:
    """Whether the log already contains the last record of the session, the usual case."""
    page = await store.entries(row.conversation_id, limit=PAGE, newest=True)
    newest = {each.entry.meta.get("uuid") for each in page}
    last = next(record for record, _ in reversed(told) if record.kind in _COUNTS)
    return last.uuid in newest


async def _known_uuids(store: Store, row: ConversationRow) -> dict[str, int]:
    """Returns the sequence of each known record by uuid, including prompts that Turnwire sent."""
    name = row.conversation_id
    known = {prompt_uuid(f"{name}:{turn_id}"): 0 for turn_id in range(1, row.state.turns + 1)}
    after = 0
    while page := await store.entries(name, after=after, limit=PAGE):
        for each in page:
            uuid = each.entry.meta.get("uuid")
            if isinstance(uuid, str):
                known[uuid] = each.sequence
        after = page[-1].sequence
    return known
