"""Sessions of Claude Code into a store: each is a conversation, and what is new in it is added."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from typing import TypeAlias

from msgspec import Struct, structs

from turnwire.agents.claude.sessions.history import Session
from turnwire.agents.claude.sessions.replayer import Retelling
from turnwire.agents.claude.turn.prompts import prompt_uuid
from turnwire.core.conversation.state import Conversation, needs_recovery
from turnwire.core.times import iso
from turnwire.dialects.claude.branches import branch, story, title_of, voices_in
from turnwire.dialects.claude.history import Record
from turnwire.ports import Claim, Commit, ConversationRow, NewConversation, Owned, Store

__all__ = ["Brought", "bring", "conversation_of"]

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # none that looks like another
_PAGE = 500
_LEASE = 600_000  # milliseconds
_COUNTS = ("said", "told", "result")  # the rest comes along

_Story: TypeAlias = list[tuple[Record, str | None]]


class Brought(Struct, frozen=True):
    """What became of a session."""

    conversation_id: str
    session_id: str
    entries: int  # that are new
    is_new: bool = False
    title: str | None = None
    refused: str | None = None  # why it was left as it is
    reset: list[str] = []  # the names of what its lines say and the conversation has not


def conversation_of(session_id: str, leaf: str | None = None) -> str:
    """The id of the conversation that a session becomes, always the same; short, to be typed."""
    number = int.from_bytes(sha256(f"{session_id}:{leaf or ''}".encode()).digest())
    letters = []
    for _ in range(10):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)


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
    """Add what is new; none: there is nothing in it at all.

    `has_died` says of the owner of a conversation whether it surely is gone, so that it need not be
    waited for. `known` is the conversation that this session belongs to already, if there is one. A named `leaf`
    that is not the newest makes a conversation of its own, which Claude cannot go on with. Raises
    KeyError where there is no such leaf.
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
        claim = await _claim(store, name, owner, has_died)
    except Owned:
        return _left(row, session, "another process works on it; import again when it has ended")
    is_done = False
    try:
        row = await store.conversation(name) or row  # as it is now that nobody else can change it
        if row.state.turn is not None or row.state.queue or needs_recovery(row.state):
            return _left(row, session, "something waits in it; import again when that is over")
        retelling = await _retell(store, row, session, told, new_id)
        native = session.session_id if is_whole and row.native_session_id is None else None
        for batch in retelling.ready:
            await store.commit(
                Commit(claim, batch.state, batch.writes, batch.at, native_session_id=native)
            )
        is_done = True
    finally:
        await store.release(claim)
        if is_new and not is_done:  # stopped by Ctrl-C, as it may be: half of it is worth nothing
            await store.delete(name)
    state = retelling.state
    reset = ["cwd"] if is_new and session.places and session.cwd is None else []
    added = state.head - row.head
    return Brought(name, session.session_id, added, is_new, state.title, reset=reset)


async def _claim(store: Store, name: str, owner: str, has_died: Callable[[str], bool]) -> Claim:
    try:
        return await store.claim(name, owner, now=_now(), lease=_LEASE)
    except Owned as owned:
        before = str(owned.data.get("owner"))
        if not has_died(before):
            raise
        # In its name, so that it is let go.
        await store.release(await store.claim(name, before, now=_now(), lease=0))
    return await store.claim(name, owner, now=_now(), lease=_LEASE)


async def _create(
    store: Store, name: str, session: Session, main: list[Record], is_whole: bool
) -> ConversationRow:
    title = title_of(session.titles, session.records)
    first = next((record.at for record in main if record.at is not None), None)
    created = iso(first if first is not None else _now())
    state = Conversation(name, title=title)
    # Named from the beginning: so it is known that the session was not begun for this conversation.
    native = session.session_id if is_whole else None
    new = NewConversation(name, "claude", created, None, title, session.cwd, state=state)
    return await store.create(structs.replace(new, native_session_id=native))


async def _retell(
    store: Store, row: ConversationRow, session: Session, told: _Story, new_id: Callable[[], str]
) -> Retelling:
    """What is new, ready to be written: of each voice what comes behind the last that is known.

    What a sub-agent said before the last known word of its caller is not new: the program does not
    say everything of it aloud.
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
    """Whether the log goes on, behind what is known of this branch, with another one."""
    ours = {record.uuid for record, _ in told}
    others = (r.uuid for r in session.records if not r.is_side and r.uuid not in ours)
    return any(known.get(uuid, -1) > known.get(here or "", -1) for uuid in others)


def _left(row: ConversationRow, session: Session, why: str) -> Brought:
    return Brought(row.conversation_id, session.session_id, 0, title=row.title, refused=why)


async def _is_known(store: Store, row: ConversationRow, told: _Story) -> bool:
    """Whether the log ends with what the session ends with, as it mostly does."""
    page = await store.entries(row.conversation_id, limit=_PAGE, newest=True)
    newest = {each.entry.meta.get("uuid") for each in page}
    last = next(record for record, _ in reversed(told) if record.kind in _COUNTS)
    return last.uuid in newest


async def _known_uuids(store: Store, row: ConversationRow) -> dict[str, int]:
    """What of a session the log has, and where: also the prompts that Turnwire itself has sent."""
    name = row.conversation_id
    known = {prompt_uuid(f"{name}:{turn_id}"): 0 for turn_id in range(1, row.state.turns + 1)}
    after = 0
    while page := await store.entries(name, after=after, limit=_PAGE):
        for each in page:
            uuid = each.entry.meta.get("uuid")
            if isinstance(uuid, str):
                known[uuid] = each.sequence
        after = page[-1].sequence
    return known


def _now() -> int:
    return time.time_ns() // 1_000_000
