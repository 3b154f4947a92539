"""Forks: finds where a log can be forked, and copies the log up to that entry."""

from __future__ import annotations

from msgspec import structs

from turnwire.core.conversation.state import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.message import run_id
from turnwire.core.message_codec import decode_message
from turnwire.core.text import clean
from turnwire.ports import Conflict, ForkPlace, NewConversation
from turnwire.stores.blob_refs import refs_of
from turnwire.stores.commit_rows import audit_row
from turnwire.stores.entry_row import json_of_entry
from turnwire.stores.new_conversation import open_turns
from turnwire.stores.postgres.changes import add_audit, add_row, add_stored
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.pieces import copy_pieces
from turnwire.stores.postgres.text import readable, storable, stored_size, stored_text
from turnwire.stores.records import request_of, state_of, turn_of

__all__ = ["find_fork_place", "fork_conversation"]

_UUIDS = 50  # maximum number of recent message ids that are returned
_TRIES = 200  # maximum number of candidate places that are checked
_PAGE = 200  # entries that are copied at once

_NEWEST_TURN = """
SELECT greatest(
    (SELECT coalesce(max(turn_id), 0) FROM messages
        WHERE conversation_id = $1 AND sequence_num <= $2),
    (SELECT coalesce(max(turn_id), 0) FROM turns
        WHERE conversation_id = $1 AND ended_at IS NOT NULL AND after_sequence <= $2)
)
"""
# A turn that has begun is incomplete at this place if it has not ended or has later entries.
_HALF_SAID = """
SELECT EXISTS (
    SELECT 1 FROM messages WHERE conversation_id = $1 AND sequence_num > $2 AND turn_id <= $3
) OR EXISTS (
    SELECT 1 FROM turns
    WHERE conversation_id = $1 AND turn_id <= $3 AND (ended_at IS NULL OR after_sequence > $2)
)
"""
_LAST_TURN = """
SELECT turn_id, trace_id, ended_at, end_json FROM turns
WHERE conversation_id = $1 AND ended_at IS NOT NULL AND after_sequence <= $2
ORDER BY after_sequence DESC, turn_id DESC LIMIT 1
"""
_LAST_UUIDS = """
SELECT uuid, turn_id, message_json FROM messages
WHERE conversation_id = $1 AND sequence_num <= $2 AND uuid IS NOT NULL AND role <> 'system'
ORDER BY sequence_num DESC LIMIT $3 OFFSET $4
"""
# Candidate places: after the end of a turn, and before a message of a person. The nearest come
# first.
_PLACES = """
SELECT DISTINCT place FROM (
    (SELECT after_sequence AS place FROM turns
        WHERE conversation_id = $1 AND ended_at IS NOT NULL AND after_sequence {side} $2
        ORDER BY place {order} LIMIT $3)
    UNION ALL
    (SELECT sequence_num - 1 AS place FROM messages
        WHERE conversation_id = $1 AND role = 'user' AND sequence_num - 1 {side} $2
        ORDER BY sequence_num {order} LIMIT $3)
) AS x ORDER BY place {order}
"""
_PLACES_BEFORE = _PLACES.format(side="<=", order="DESC")
_PLACES_AFTER = _PLACES.format(side=">", order="ASC")


async def find_fork_place(
    db: DatabaseConnection, conversation_id: str, at: int | None
) -> ForkPlace:
    """Returns whether a log can be forked at an entry.

    The result has what the fork needs, or the nearest entries where a fork is possible.
    """
    name = stored_text(conversation_id)
    found = await db.fetchrow(
        "SELECT head, state_json FROM conversations WHERE conversation_id = $1", name
    )
    if found is None:
        raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
    head, state_json = readable(found)
    state = state_of(state_json)
    place = head if at is None else at
    if 0 <= place <= head and await _is_whole(db, name, place, state):
        return await _place(db, name, place)
    near = min(max(place, 0), head)
    before = await _first_whole(db, name, state, _PLACES_BEFORE, near)
    if at is None:
        return await _place(db, name, before or 0)
    after = await _first_whole(db, name, state, _PLACES_AFTER, near)
    nearest = {before or 0, *([] if after is None else [after])}
    if near != place and await _is_whole(db, name, near, state):
        nearest = {near}
    return ForkPlace(place, False, sorted(nearest))


async def _first_whole(
    db: DatabaseConnection, name: str, state: Conversation, places: str, near: int
) -> int | None:
    for (place,) in await db.fetch(places, name, near, _TRIES):
        if await _is_whole(db, name, place, state):
            return int(place)
    return None


async def _is_whole(db: DatabaseConnection, name: str, at: int, state: Conversation) -> bool:
    newest = await db.fetchval(_NEWEST_TURN, name, at)
    if at and any(turn_id <= newest for turn_id in open_turns(state)):
        return False  # something of these turns is still open
    return not await db.fetchval(_HALF_SAID, name, at, newest)


async def _place(db: DatabaseConnection, name: str, at: int) -> ForkPlace:
    last = await db.fetchrow(_LAST_TURN, name, at)
    return ForkPlace(
        at,
        True,
        turns=await db.fetchval(_NEWEST_TURN, name, at),
        last=None if last is None else turn_of(readable(last)),
        uuids=await _last_uuids(db, name, at),
    )


async def _last_uuids(db: DatabaseConnection, name: str, at: int) -> list[tuple[str, int | None]]:
    """Returns the last messages' own ids, without those of sub-agents."""
    found: list[tuple[str, int | None]] = []
    offset = 0
    while len(found) < _UUIDS:
        rows = await db.fetch(_LAST_UUIDS, name, at, _UUIDS, offset)
        for row in rows:
            uuid, turn_id, message_json = readable(row)
            if decode_message(message_json).meta.get("parentToolUseId") is None:
                found.append((uuid, turn_id))
        if len(rows) < _UUIDS:
            break
        offset += _UUIDS
    return found[:_UUIDS]


# --- how the log is copied ------------------------------------------------------------------------

_READ = """
SELECT sequence_num, role, message_type, message_json, metadata_json, uuid, turn_id, trace_id,
    created_at
FROM messages WHERE conversation_id = $1 AND sequence_num > $2 AND sequence_num <= $3
ORDER BY sequence_num LIMIT $4
"""
_WRITE = """
INSERT INTO messages (conversation_id, sequence_num, role, message_type, message_json, metadata_json,
    uuid, turn_id, trace_id, created_at)
SELECT $1, x.* FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::bigint[], $9::text[], $10::text[]) AS x
"""
_USE = """
INSERT INTO blob_uses (conversation_id, blob_id) SELECT $1, x FROM unnest($2::text[]) AS x
ON CONFLICT DO NOTHING
"""
# Token counts and costs stay with the original turn, so that sums over the columns count them once.
_TURNS = """
INSERT INTO turns (conversation_id, turn_id, trace_id, origin, client_message_id, started_at,
    ended_at, end_json, after_sequence)
SELECT $1, turn_id, trace_id, origin, client_message_id, started_at, ended_at, end_json,
    after_sequence
FROM turns WHERE conversation_id = $2 AND ended_at IS NOT NULL AND after_sequence <= $3
"""
_ENDED = """
SELECT request_id, request_json FROM requests WHERE conversation_id = $1 AND outcome IS NOT NULL
"""
# Ended requests are copied with their outcome, so that a late answer gets it as a reply.
_REQUESTS = """
INSERT INTO requests (conversation_id, request_id, kind, request_json, opened_at, deadline_at,
    outcome, ended_at, ended_by)
SELECT $1, request_id, kind, request_json, opened_at, deadline_at, outcome, ended_at, ended_by
FROM requests WHERE conversation_id = $2 AND request_id = ANY($3::text[])
"""


async def fork_conversation(
    db: DatabaseConnection, new: NewConversation, by: str | None, audit_base: int
) -> None:
    """Creates a fork in the open transaction."""
    at = new.forked_at
    if new.parent_id is None or at is None or new.state is None or new.state.head != at:
        raise Conflict(
            "A fork needs a parent, and its head must be the sequence number it is forked at."
        )
    parent = stored_text(new.parent_id)
    # The parent cannot be deleted while it is copied.
    head = await db.fetchval(
        "SELECT head FROM conversations WHERE conversation_id = $1 FOR KEY SHARE", parent
    )
    if head is None:
        raise Refused("CONVERSATION_NOT_FOUND", conversation_id=new.parent_id)
    if not 0 <= at <= head:
        raise Conflict(f"The log ends at {head}. It cannot be forked at {at}.", head=head)
    name = await add_row(db, new, new.state)
    size = await _copy_entries(db, parent, name, clean(new.conversation_id), at)
    if new.native_from is not None:
        size += await copy_pieces(db, name, parent, new.native_from.session_id)
    if new.user is not None:
        await add_stored(db, stored_text(new.user), size, 0)
    await db.execute(_TURNS, name, parent, at)
    ended = [
        request_id
        for request_id, request_json in await db.fetch(_ENDED, parent)
        if (request_of(readable([request_json])[0]).message_sequence or 0) <= at
    ]
    await db.execute(_REQUESTS, name, parent, ended)
    trail = [
        (new.conversation_id, {"from": new.parent_id, "at_sequence": at}),
        (new.parent_id, {"to": new.conversation_id, "at_sequence": at}),
    ]
    rows = [audit_row(new.created_at, "forked", clean(of), by, None, place) for of, place in trail]
    await add_audit(db, audit_base, *rows)


async def _copy_entries(
    db: DatabaseConnection, parent: str, name: str, conversation_id: str, at: int
) -> int:
    """Copies the entries, with the name of their new run. Returns their bytes."""
    done = size = 0
    while rows := await db.fetch(_READ, parent, done, at, _PAGE):
        copies, blob_ids = [], []
        for row in rows:
            sequence, role, kind, message_json, metadata, uuid, turn_id, trace, created = row
            entry = decode_message(readable([message_json])[0])
            entry = structs.replace(entry, run_id=run_id(conversation_id, turn_id))
            blob_ids += [stored_text(ref.blob_id) for ref in refs_of(entry)]
            encoded = json_of_entry(entry)
            text = encoded.decode()
            size += stored_size(text, encoded) + len((metadata or "").encode())
            copies.append(
                (sequence, role, kind, storable(text), metadata, uuid, turn_id, trace, created)
            )
        await db.execute(_WRITE, name, *(list(column) for column in zip(*copies, strict=True)))
        if blob_ids:
            await db.execute(_USE, name, blob_ids)
        done = rows[-1][0]
    return size
