"""Forks: finds where a log can be forked, and copies the log up to that entry."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from turnwire.core.conversation.state import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.status import TurnEnd
from turnwire.core.text import clean
from turnwire.ports import Conflict, ForkPlace, NewConversation, StoredTurn
from turnwire.stores.commit_rows import audit_row
from turnwire.stores.new_conversation import open_turns
from turnwire.stores.sqlite.changes import add_row
from turnwire.stores.sqlite.commit import ADD_AUDIT
from turnwire.stores.sqlite.pieces import COPY_PIECES

__all__ = ["find_fork_place", "fork_conversation"]

_UUIDS = 50  # maximum number of recent message ids that are returned
_TRIES = 200  # maximum number of candidate places that are checked

_state = msgspec.json.Decoder(Conversation).decode
_end = msgspec.json.Decoder(TurnEnd).decode

# --- where a log can be forked --------------------------------------------------------------------

_NEWEST_TURN = """
SELECT max(
    coalesce((SELECT max(turn_id) FROM messages WHERE conversation_id = ?1 AND sequence_num <= ?2), 0),
    coalesce((SELECT max(turn_id) FROM turns
        WHERE conversation_id = ?1 AND ended_at IS NOT NULL AND after_sequence <= ?2), 0)
)
"""
# A turn that has begun is incomplete at this place if it has not ended or has later entries.
_HALF_SAID = """
SELECT EXISTS (
    SELECT 1 FROM messages
    WHERE conversation_id = ?1 AND sequence_num > ?2 AND turn_id <= ?3
) OR EXISTS (
    SELECT 1 FROM turns
    WHERE conversation_id = ?1 AND turn_id <= ?3 AND (ended_at IS NULL OR after_sequence > ?2)
)
"""
_LAST_TURN = """
SELECT turn_id, trace_id, ended_at, end_json FROM turns
WHERE conversation_id = ?1 AND ended_at IS NOT NULL AND after_sequence <= ?2
ORDER BY after_sequence DESC, turn_id DESC LIMIT 1
"""
_LAST_UUIDS = """
SELECT uuid, turn_id FROM messages
WHERE conversation_id = ?1 AND sequence_num <= ?2 AND uuid IS NOT NULL
    AND role <> 'system' AND message_json ->> '$.meta.parentToolUseId' IS NULL
ORDER BY sequence_num DESC LIMIT ?3
"""
# Candidate places: after the end of a turn, and before a message of a person. The nearest come
# first.
_PLACES_BEFORE = """
SELECT DISTINCT place FROM (
    SELECT * FROM (
        SELECT after_sequence AS place FROM turns
        WHERE conversation_id = ?1 AND ended_at IS NOT NULL AND after_sequence <= ?2
        ORDER BY place DESC LIMIT ?3
    ) UNION ALL SELECT * FROM (
        SELECT sequence_num - 1 AS place FROM messages
        WHERE conversation_id = ?1 AND role = 'user' AND sequence_num - 1 <= ?2
        ORDER BY sequence_num DESC LIMIT ?3
    )
) ORDER BY place DESC
"""
_PLACES_AFTER = """
SELECT DISTINCT place FROM (
    SELECT * FROM (
        SELECT after_sequence AS place FROM turns
        WHERE conversation_id = ?1 AND ended_at IS NOT NULL AND after_sequence > ?2
        ORDER BY place LIMIT ?3
    ) UNION ALL SELECT * FROM (
        SELECT sequence_num - 1 AS place FROM messages
        WHERE conversation_id = ?1 AND role = 'user' AND sequence_num - 1 > ?2
        ORDER BY sequence_num LIMIT ?3
    )
) ORDER BY place
"""


def find_fork_place(db: apsw.Connection, conversation_id: str, at: int | None) -> ForkPlace:
    """Returns whether a log can be forked at an entry.

    The result has what the fork needs, or the nearest entries where a fork is possible.
    """
    name = clean(conversation_id)
    found = db.execute(
        "SELECT head, state_json FROM conversations WHERE conversation_id = ?", (name,)
    ).fetchone()
    if found is None:
        raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
    head, state = found[0], _state(found[1])
    place = head if at is None else at
    if 0 <= place <= head and _is_whole(db, name, place, state):
        return _place(db, name, place)
    near = min(max(place, 0), head)
    before = _first_whole(db, name, state, _PLACES_BEFORE, near)
    if at is None:
        return _place(db, name, before or 0)
    after = _first_whole(db, name, state, _PLACES_AFTER, near)
    nearest = {before or 0, *([] if after is None else [after])}
    if near != place and _is_whole(db, name, near, state):
        nearest = {near}
    return ForkPlace(place, False, sorted(nearest))


def _first_whole(
    db: apsw.Connection, name: str, state: Conversation, places: str, near: int
) -> int | None:
    found: list[Any] = db.execute(places, (name, near, _TRIES)).fetchall()
    return next((place for (place,) in found if _is_whole(db, name, place, state)), None)


def _is_whole(db: apsw.Connection, name: str, at: int, state: Conversation) -> bool:
    newest: int = db.execute(_NEWEST_TURN, (name, at)).get
    if at and any(turn_id <= newest for turn_id in open_turns(state)):
        return False  # something of these turns is still open
    return not db.execute(_HALF_SAID, (name, at, newest)).get


def _place(db: apsw.Connection, name: str, at: int) -> ForkPlace:
    last: Any = db.execute(_LAST_TURN, (name, at)).fetchone()
    uuids: list[Any] = db.execute(_LAST_UUIDS, (name, at, _UUIDS)).fetchall()
    return ForkPlace(
        at,
        True,
        turns=db.execute(_NEWEST_TURN, (name, at)).get,
        last=None if last is None else StoredTurn(last[0], last[1], last[2], _end(last[3])),
        uuids=uuids,
    )


# --- how the log is copied ------------------------------------------------------------------------

# Everything is copied inside SQLite, so a long log needs no memory. Each entry begins with the name
# of its run, which contains the conversation's id; the copy gets the new id.
_ENTRIES = """
INSERT INTO messages (
    conversation_id, sequence_num, role, message_type, message_json, metadata_json, uuid, turn_id,
    trace_id, created_at
)
SELECT ?1, sequence_num, role, message_type,
    CASE WHEN substr(message_json, 1, length(old_run)) = old_run
        THEN new_run || substr(message_json, length(old_run) + 1)
        ELSE json_set(message_json, '$.runId', ?1 || ':' || coalesce(turn_id, '')) END,
    metadata_json, uuid, turn_id, trace_id, created_at
FROM (
    SELECT *, '{"runId":' || json_quote(?2 || ':' || coalesce(turn_id, '')) || ',' AS old_run,
        '{"runId":' || json_quote(?1 || ':' || coalesce(turn_id, '')) || ',' AS new_run
    FROM messages WHERE conversation_id = ?2 AND sequence_num <= ?3
)
ORDER BY sequence_num
"""
# The SQL functions search_words and blob_ids are defined in schema.py.
_WORDS = """
INSERT INTO search (rowid, words)
SELECT number, words
FROM (
    SELECT number, search_words(message_json) AS words FROM messages WHERE conversation_id = ?1
)
WHERE words IS NOT NULL
"""
_BLOB_USES = """
INSERT OR IGNORE INTO blob_uses (conversation_id, blob_id)
SELECT ?1, value FROM messages, json_each(blob_ids(message_json))
WHERE conversation_id = ?1 AND instr(message_json, '"blobId"')
"""
# Token counts and costs stay with the original turn, so that sums over the columns count them once.
_TURNS = """
INSERT INTO turns (
    conversation_id, turn_id, trace_id, origin, client_message_id, started_at, ended_at, end_json,
    after_sequence
)
SELECT ?1, turn_id, trace_id, origin, client_message_id, started_at, ended_at, end_json,
    after_sequence
FROM turns
WHERE conversation_id = ?2 AND ended_at IS NOT NULL AND after_sequence <= ?3
"""
# Ended requests are copied with their outcome, so that a late answer gets it as a reply.
_REQUESTS = """
INSERT INTO requests (
    conversation_id, request_id, kind, request_json, opened_at, deadline_at, outcome, ended_at,
    ended_by
)
SELECT ?1, request_id, kind, request_json, opened_at, deadline_at, outcome, ended_at, ended_by
FROM requests
WHERE conversation_id = ?2 AND outcome IS NOT NULL
    AND request_json ->> '$.message_sequence' <= ?3
"""


def fork_conversation(db: apsw.Cursor, new: NewConversation, by: str | None) -> None:
    """Creates a fork in the open transaction."""
    name, parent, at = clean(new.conversation_id), clean(new.parent_id), new.forked_at
    if parent is None or at is None or new.state is None or new.state.head != at:
        raise Conflict(
            "A fork needs a parent, and its head must be the sequence number it is forked at."
        )
    head: Any = db.execute(
        "SELECT head FROM conversations WHERE conversation_id = ?", (parent,)
    ).get
    if head is None:
        raise Refused("CONVERSATION_NOT_FOUND", conversation_id=new.parent_id)
    if not 0 <= at <= head:
        raise Conflict(f"The log ends at {head}. It cannot be forked at {at}.", head=head)
    add_row(db, new, new.state)
    for sql in (_ENTRIES, _TURNS, _REQUESTS):
        db.execute(sql, (name, parent, at))
    for sql in (_WORDS, _BLOB_USES):
        db.execute(sql, (name,))
    if new.native_from is not None:
        db.execute(COPY_PIECES, (name, parent, clean(new.native_from.session_id)))
    place = {"from": new.parent_id, "at_sequence": at}
    db.execute(ADD_AUDIT, audit_row(new.created_at, "forked", name, by, None, place))
    place = {"to": new.conversation_id, "at_sequence": at}
    db.execute(ADD_AUDIT, audit_row(new.created_at, "forked", parent, by, None, place))
