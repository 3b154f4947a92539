"""Reads a conversation, damaged or not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from turnwire.core.conversation.effects import Ack
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import BlobRef, Message
from turnwire.core.message_codec import decode_message
from turnwire.core.partials import Partial
from turnwire.core.status import OpenRequest, TurnEnd
from turnwire.errors import TurnwireError
from turnwire.stores.blob_refs import blobs_of_content, refs_of, with_true_refs
from turnwire.stores.fsck.case import Case, Entry, Item, Receipt, Request, TurnRow
from turnwire.stores.fsck.database import Database
from turnwire.stores.partial_rows import joined
from turnwire.stores.records import level_of

__all__ = ["read_case"]

S = TypeVar("S")

_PAGE = 1000  # entries whose text is in memory at the same time
# The lease of a claim, or that of the owner's node, whichever ends later.
_LEASE = """
CASE WHEN n.lease_until > c.lease_until THEN n.lease_until ELSE c.lease_until END
"""
_CONVERSATION = f"""
SELECT head, c.owner, {_LEASE}, unsettled, activity, updated_at, title, state_json, parent_id,
    forked_at
FROM conversations AS c LEFT JOIN nodes AS n ON n.owner = c.owner
WHERE conversation_id = $1
"""
_ENTRIES = f"""
SELECT sequence_num, message_json, turn_id, trace_id FROM messages
WHERE conversation_id = $1 AND sequence_num > $2 ORDER BY sequence_num LIMIT {_PAGE}
"""
_TURNS = """
SELECT turn_id, trace_id, origin, queue_id, client_message_id, started_at, ended_at, end_json,
    after_sequence
FROM turns WHERE conversation_id = $1
"""
_REQUESTS = """
SELECT request_id, request_json, opened_at, outcome, ended_at, ended_by FROM requests
WHERE conversation_id = $1
"""
_ITEMS = "SELECT source_id, request_id, closed_at FROM inbox_items WHERE conversation_id = $1"
_RECEIPTS = 'SELECT "user", client_message_id, ack_json FROM receipts WHERE conversation_id = $1'
_AUDIT = """
SELECT action, data_json FROM audit
WHERE conversation_id = $1 AND action IN ('said', 'queue_remove')
"""
_RULES = "SELECT rule_id, rule_json FROM rules WHERE conversation_id = $1"
_BLOB_USES = "SELECT blob_id FROM blob_uses WHERE conversation_id = $1"
_BLOB = "SELECT blob_id, mime_type, length(data) FROM blobs WHERE blob_id = $1"
_PARTIALS = """
SELECT message_id, block_index, kind, text, start, place, parent_tool_use_id, agent_id, provider,
    model
FROM partials WHERE conversation_id = $1 ORDER BY place, start
"""


class _Audited(Struct):
    queue_id: str | None = None


async def read_case(db: Database, name: str) -> Case | None:
    """Reads a conversation; returns None if it does not exist. The caller holds a snapshot."""
    found = await db.rows(_CONVERSATION, name)
    if not found:
        return None
    [row] = found
    head, owner, lease_until, unsettled, activity, updated_at, title, state_json, *of = row
    parent, forked_at = of
    state = _read(Conversation, state_json)
    if state is not None and state.conversation_id != name:
        state = None
    entries = await _entries(db, name)
    audited = [(action, _read(_Audited, data)) for action, data in await db.rows(_AUDIT, name)]
    return Case(
        conversation_id=name,
        head=head,
        owner=owner,
        lease_until=lease_until,
        unsettled=bool(unsettled),
        activity=activity,
        updated_at=updated_at,
        title=title,
        state=state,
        entries=entries,
        turns={turn.turn_id: turn for turn in map(_turn, await db.rows(_TURNS, name))},
        requests={
            row[0]: Request(row[0], _read(OpenRequest, row[1]), *row[2:])
            for row in await db.rows(_REQUESTS, name)
        },
        items={row[1]: Item(*row) for row in await db.rows(_ITEMS, name)},
        receipts=[
            Receipt(user, client_message_id, _read(Ack, ack))
            for user, client_message_id, ack in await db.rows(_RECEIPTS, name)
        ],
        said=_queue_ids(audited, "said"),
        removed=_queue_ids(audited, "queue_remove"),
        blob_uses={blob_id for (blob_id,) in await db.rows(_BLOB_USES, name)},
        blobs=await _blobs(db, entries, state),
        partials=joined([Partial(*row) for row in await db.rows(_PARTIALS, name)]),
        rules={row[0]: row[1] for row in await db.rows(_RULES, name)},
        level=level_of(state_json),
        unreadable=state_json if state is None else None,
        is_other_fork=await _is_other_fork(db, entries, parent, forked_at),
    )


async def _entries(db: Database, name: str) -> list[Entry]:
    entries: list[Entry] = []
    after = _LOWEST
    while page := await db.rows(_ENTRIES, name, after):
        for sequence, text, turn_id, trace_id in page:
            entry = Entry(_message(text), turn_id, trace_id, sequence)
            if entry.message is None:
                entry.unreadable = text
            else:
                entry.has_blobs = '"blobId"' in text
            entries.append(entry)
        after = page[-1][0]
        if len(page) < _PAGE:
            break
    return entries


_LOWEST = -(1 << 62)  # damage may have made any number of a sequence number


def _turn(row: Any) -> TurnRow:
    *begun, ended_at, end_json, after = row
    turn = TurnRow(*begun)
    turn.ended_at, turn.after = ended_at, after
    turn.end = _read(TurnEnd, end_json) if end_json else None
    turn.unreadable = end_json if turn.end is None else None
    return turn


def _queue_ids(audited: Iterable[tuple[str, _Audited | None]], action: str) -> set[str]:
    return {data.queue_id for did, data in audited if did == action and data and data.queue_id}


async def _blobs(
    db: Database, entries: list[Entry], state: Conversation | None
) -> dict[str, BlobRef]:
    wanted = {
        ref.blob_id
        for entry in entries
        if entry.has_blobs and entry.message is not None
        for ref in refs_of(entry.message)
    }
    for waiting in state.queue if state is not None else ():
        wanted.update(blobs_of_content(waiting.item.content))
    found = [row for blob_id in sorted(wanted) for row in await db.rows(_BLOB, blob_id)]
    return {row[0]: BlobRef(*row) for row in found}


# --- forks ----------------------------------------------------------------------------------------


async def _is_other_fork(
    db: Database, entries: list[Entry], parent: str | None, forked_at: int | None
) -> bool:
    """Returns whether a fork does not begin with its parent's log. A deleted parent proves nothing.

    Entries may differ in their run id and in their blob references, which a repair corrects in one
    conversation after the other. Unreadable entries are damage of another kind.
    """
    if parent is None or forked_at is None or not await db.rows(_CONVERSATION, parent):
        return False
    own = {entry.sequence: entry for entry in entries if entry.sequence <= forked_at}
    after = _LOWEST
    while page := await db.rows(_ENTRIES, parent, after):
        for sequence, text, _, _ in page:
            entry = own.pop(sequence, None)
            if entry is not None and entry.message is not None:
                parents = _message(text)
                if parents is not None and not _is_copy(entry.message, parents):
                    return True
        after = page[-1][0]
        if after >= forked_at or len(page) < _PAGE:
            break
    return bool(own)


def _is_copy(own: Message, parents: Message) -> bool:
    if structs.replace(own, run_id=parents.run_id) == parents:
        return True
    own, parents = (with_true_refs(each, _any_ref) for each in (own, parents))
    return structs.replace(own, run_id=parents.run_id) == parents


def _any_ref(blob_id: str) -> BlobRef:
    return BlobRef(blob_id, "image/png", 0)


# --- decoding -------------------------------------------------------------------------------------


def _message(text: Any) -> Message | None:
    try:
        return decode_message(text)
    except (msgspec.MsgspecError, TurnwireError, ValueError, RecursionError):
        return None


def _read(kind: type[S], text: Any) -> S | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
