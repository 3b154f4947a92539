"""A conversation as the file has it, damaged or not."""

from __future__ import annotations

from typing import Any, TypeVar

import apsw
import msgspec
from msgspec import Struct, structs

from turnwire.core.conversation.effects import Ack
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import BlobRef, Message
from turnwire.core.message_codec import decode_message
from turnwire.core.partials import Partial
from turnwire.core.status import OpenRequest, TurnEnd
from turnwire.errors import TurnwireError
from turnwire.stores.blob_refs import with_true_refs
from turnwire.stores.sqlite.partials import find_partials

__all__ = ["Case", "Entry", "Item", "Receipt", "Request", "TurnRow", "read_case"]

S = TypeVar("S")

# Compares the entries of a fork with its parent's. Entries may differ in their run id and in their
# blob references, which a repair corrects in one conversation after the other. Unreadable entries
# are damage of another kind. A deleted parent proves nothing.
_OTHER_FORK = """
SELECT EXISTS (
    SELECT 1 FROM messages AS own LEFT JOIN messages AS parents
        ON parents.conversation_id = ?2 AND parents.sequence_num = own.sequence_num
    WHERE own.conversation_id = ?1 AND own.sequence_num <= ?3 AND (
        parents.number IS NULL OR (
            json_valid(own.message_json) AND json_valid(parents.message_json)
            AND json_remove(own.message_json, '$.runId')
                <> json_remove(parents.message_json, '$.runId')
            AND NOT same_but_refs(own.message_json, parents.message_json)
        )
    )
) AND EXISTS (SELECT 1 FROM conversations WHERE conversation_id = ?2)
"""


class Entry(Struct, eq=False):
    """An entry of the log at its position."""

    message: Message | None  # None if unreadable
    turn_id: int | None
    trace_id: str | None
    number: int | None = None  # primary key of the row; None if the entry is new
    sequence: int = 0  # sequence_num in the file
    is_changed: bool = False
    is_lost: bool = False  # the entry only notes that something was lost
    unreadable: str | None = None  # the stored text, if it is not a readable message


class TurnRow(Struct, eq=False):
    """A turn from its row."""

    turn_id: int
    trace_id: str | None = None
    origin: str | None = None
    queue_id: str | None = None
    client_message_id: str | None = None
    started_at: str | None = None
    ended_at: str | None = None  # None if the turn has no end
    end: TurnEnd | None = None  # None with `ended_at` set means that the end is unreadable
    after: int | None = None  # the column after_sequence
    unreadable: str | None = None  # the stored text, if it is not a readable end
    # The last entry before the end; None if the turn ended before the first entry.
    last: Entry | None = None
    is_changed: bool = False


class Request(Struct):
    """A question or a permission from its row."""

    request_id: str
    request: OpenRequest | None  # None if unreadable
    opened_at: str
    outcome: str | None = None
    ended_at: str | None = None
    ended_by: str | None = None


class Item(Struct):
    """An inbox item."""

    source_id: str
    request_id: str
    closed_at: str | None


class Receipt(Struct):
    """A receipt of an accepted frame."""

    user: str
    client_message_id: str
    ack: Ack | None  # None if unreadable


class Case(Struct):
    """Everything that the file has about one conversation."""

    conversation_id: str
    head: int
    owner: str | None
    lease_until: int
    unsettled: bool
    updated_at: str
    title: str | None
    state: Conversation | None  # None if unreadable
    entries: list[Entry]
    turns: dict[int, TurnRow]
    requests: dict[str, Request]
    items: dict[str, Item]  # by request_id
    receipts: list[Receipt]
    said: set[str]  # queue_ids of all accepted messages, from the audit trail
    removed: set[str]  # queue_ids of messages that were removed from the queue
    blob_uses: set[str]
    partials: list[Partial]
    unreadable: str | None = None  # the stored text, if it is not a readable state
    is_other_fork: bool = False  # the fork's beginning differs from its parent's log


def read_case(db: apsw.Connection, conversation_id: str) -> Case | None:
    """Reads a conversation; returns None if it does not exist. The caller holds a transaction."""
    name = (conversation_id,)
    db.create_scalar_function("same_but_refs", _same_but_refs, 2, deterministic=True)
    found = db.execute(
        "SELECT head, owner, lease_until, unsettled, updated_at, title, state_json,"
        " parent_id, forked_at FROM conversations WHERE conversation_id = ?",
        name,
    ).fetchone()
    if found is None:
        return None
    head, owner, lease_until, unsettled, updated_at, title, state_json, *fork = found
    state = _read(Conversation, state_json)
    if state is not None and state.conversation_id != conversation_id:
        state = None
    return Case(
        conversation_id=conversation_id,
        head=head,
        owner=owner,
        lease_until=lease_until,
        unsettled=bool(unsettled),
        updated_at=updated_at,
        title=title,
        state=state,
        entries=_entries(db, name),
        turns={turn.turn_id: turn for turn in _turns(db, name)},
        requests={request.request_id: request for request in _requests(db, name)},
        items={
            request: Item(source, request, closed)
            for source, request, closed in db.execute(
                "SELECT source_id, request_id, closed_at FROM inbox_items"
                " WHERE conversation_id = ?",
                name,
            )
        },
        receipts=[
            Receipt(user, client_message_id, _read(Ack, ack))
            for user, client_message_id, ack in db.execute(
                "SELECT user, client_message_id, ack_json FROM receipts WHERE conversation_id = ?",
                name,
            )
        ],
        said=_queue_ids(db, conversation_id, "said"),
        removed=_queue_ids(db, conversation_id, "queue_remove"),
        blob_uses={
            blob_id
            for (blob_id,) in db.execute(
                "SELECT blob_id FROM blob_uses WHERE conversation_id = ?", name
            )
        },
        partials=find_partials(db, conversation_id),
        unreadable=state_json if state is None else None,
        is_other_fork=bool(db.execute(_OTHER_FORK, (conversation_id, *fork)).get),
    )


def _same_but_refs(*texts: Any) -> bool:
    """Returns whether two entries differ only in their run ids and blob references."""
    if any('"blobId"' not in text for text in texts):
        return False
    own, other = (_message(text) for text in texts)
    if own is None or other is None:
        return False
    own, other = (with_true_refs(each, _any_ref) for each in (own, other))
    return structs.replace(own, run_id=other.run_id) == other


def _any_ref(blob_id: str) -> BlobRef:
    return BlobRef(blob_id, "image/png", 0)


def _entries(db: apsw.Connection, name: tuple[str]) -> list[Entry]:
    found = db.execute(
        "SELECT number, sequence_num, message_json, turn_id, trace_id FROM messages"
        " WHERE conversation_id = ? ORDER BY sequence_num",
        name,
    )
    entries = []
    for number, sequence, text, turn_id, trace_id in found:
        entry = Entry(_message(text), turn_id, trace_id, number, sequence)
        entry.unreadable = text if entry.message is None else None
        entries.append(entry)
    return entries


def _turns(db: apsw.Connection, name: tuple[str]) -> list[TurnRow]:
    found = db.execute(
        "SELECT turn_id, trace_id, origin, queue_id, client_message_id, started_at, ended_at,"
        " end_json, after_sequence FROM turns WHERE conversation_id = ?",
        name,
    )
    out = []
    for *begun, ended_at, end_json, after in found:
        turn = TurnRow(*begun)
        turn.ended_at, turn.after = ended_at, after
        turn.end = _read(TurnEnd, end_json) if end_json else None
        turn.unreadable = end_json if turn.end is None else None
        out.append(turn)
    return out


def _requests(db: apsw.Connection, name: tuple[str]) -> list[Request]:
    found = db.execute(
        "SELECT request_id, request_json, opened_at, outcome, ended_at, ended_by FROM requests"
        " WHERE conversation_id = ?",
        name,
    )
    return [Request(row[0], _read(OpenRequest, row[1]), *row[2:]) for row in found]


def _queue_ids(db: apsw.Connection, conversation_id: str, action: str) -> set[str]:
    found = db.execute(
        "SELECT json_extract(data_json, '$.queue_id') FROM audit"
        " WHERE conversation_id = ? AND action = ? AND json_valid(data_json)",
        (conversation_id, action),
    )
    return {queue_id for (queue_id,) in found}


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
