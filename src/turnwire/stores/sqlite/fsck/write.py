"""Writes a mended conversation in one transaction."""

from __future__ import annotations

import apsw

from turnwire.core.conversation import step
from turnwire.core.conversation.effects import AddEntry, Tell
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import needs_recovery
from turnwire.core.message_codec import encode
from turnwire.core.text import encode_clean, json_text
from turnwire.ports import Commit
from turnwire.stores.entry_row import message_type
from turnwire.stores.sqlite.changes import claim_conversation, release_claim
from turnwire.stores.sqlite.commit import (
    ADD_AUDIT,
    ADD_BLOB_USE,
    ADD_ENTRY,
    CommitJob,
    audit_row,
    end_columns,
    is_unsettled,
    source_id,
)
from turnwire.stores.sqlite.fsck.beside import is_cut_off
from turnwire.stores.sqlite.fsck.mending import Mending
from turnwire.stores.sqlite.fsck.search import index_again
from turnwire.stores.sqlite.partials import DELETE_PARTIALS
from turnwire.stores.sqlite.schema import new_epoch

__all__ = ["write_mended"]

_OWNER = "fsck"


def write_mended(db: apsw.Cursor, m: Mending, now: int) -> None:
    """Writes the conversation, and fences off its previous owner."""
    name = m.case.conversation_id
    moved = _write_entries(db, m)
    _write_turns(db, m)
    _write_requests(db, m)
    for user, client_message_id in m.dropped_receipts:
        db.execute(
            "DELETE FROM receipts WHERE conversation_id = ? AND user = ? AND client_message_id = ?",
            (name, user, client_message_id),
        )
    for message_id, index in m.dropped_partials:
        db.execute(DELETE_PARTIALS, (name, message_id, index))
    for place, content in m.aside:
        db.execute("INSERT INTO set_aside VALUES (?, ?, ?, ?)", (name, place, m.now, content))
    for blob_id in sorted(m.blob_uses):
        db.execute(ADD_BLOB_USE, (name, blob_id))
    m.remember(head=len(m.entries))
    db.execute(
        "UPDATE conversations SET head = ?, state_json = ?, unsettled = ?, fence = fence + 1,"
        " owner = NULL, lease_until = 0 WHERE conversation_id = ?",
        (len(m.entries), json_text(m.state), is_unsettled(m.state), name),
    )
    if m.case.is_other_fork:
        db.execute(
            "UPDATE conversations SET parent_id = NULL, forked_at = NULL WHERE conversation_id = ?",
            (name,),
        )
    for finding in m.findings:
        told = {"kind": finding.kind, "what": finding.what, "place": finding.place}
        db.execute(ADD_AUDIT, audit_row(m.now, "repaired", name, _OWNER, None, told))
    if moved:  # clients may have read other entries under these numbers
        db.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (new_epoch(),))
    if needs_recovery(m.state) and is_cut_off(m.state, now):
        _recover(db, m, now)


def _recover(db: apsw.Cursor, m: Mending, now: int) -> None:
    """Ends work of a dead process as an engine would. Starts nothing."""
    partials = m.case.partials
    after, effects = step(m.state, Recovered(at=now, stopping=True, partials=partials))
    claim = claim_conversation(db, m.case.conversation_id, _OWNER, now, 0)
    writes = [write for write in effects.writes if not isinstance(write, Tell)]
    ended = [partial.block for partial in partials]
    job = CommitJob(Commit(claim, after, writes, m.now, ended_blocks=ended), raw_limit=0)
    job.run(db)
    job.settle(db)
    release_claim(db, claim)


# --- the log ------------------------------------------------------------------------------------


def _write_entries(db: apsw.Cursor, m: Mending) -> bool:
    """Writes new, changed and moved entries. Returns whether there were any."""
    name = m.case.conversation_id
    moves = [
        (-number, entry.number)
        for number, entry in enumerate(m.entries, 1)
        if entry.number is not None and entry.sequence != number
    ]
    # Numbers are unique at every moment: moved entries first get negative numbers.
    db.executemany("UPDATE messages SET sequence_num = ? WHERE number = ?", moves)
    db.execute(
        "UPDATE messages SET sequence_num = -sequence_num"
        " WHERE conversation_id = ? AND sequence_num < 0",
        (name,),
    )
    changed = [(n, e) for n, e in enumerate(m.entries, 1) if e.is_changed]
    for number, entry in changed:
        message = entry.message
        assert message is not None
        text = encode_clean(encode, message).decode()
        if entry.number is None:
            add = AddEntry(number, message, entry.turn_id, entry.trace_id)
            row = (name, number, message.role, message_type(message), text, None, None)
            db.execute(ADD_ENTRY, (*row, add.turn_id, add.trace_id, m.now))
            entry.number = db.connection.last_insert_rowid()
        else:
            db.execute(
                "UPDATE messages SET role = ?, message_type = ?, message_json = ?, turn_id = ?,"
                " trace_id = ? WHERE number = ?",
                (
                    *(message.role, message_type(message), text),
                    *(entry.turn_id, entry.trace_id, entry.number),
                ),
            )
        index_again(db.connection, entry.number)
    return bool(moves or changed)


def _write_turns(db: apsw.Cursor, m: Mending) -> None:
    for turn in m.turns.values():
        if not turn.is_changed:
            continue
        trace = m.trace_of(turn.turn_id)
        ends = end_columns(turn.end) if turn.end is not None else (None,) * 8
        db.execute(
            "INSERT OR REPLACE INTO turns (conversation_id, turn_id, trace_id, origin, queue_id,"
            " client_message_id, started_at, ended_at, end_json, after_sequence, input_tokens,"
            " output_tokens, cache_creation_input_tokens, cache_read_input_tokens, cost_usd,"
            " duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(m.case.conversation_id, turn.turn_id, trace, turn.origin, turn.queue_id),
                *(turn.client_message_id, turn.started_at, turn.ended_at),
                *ends,
            ),
        )


def _write_requests(db: apsw.Cursor, m: Mending) -> None:
    name = m.case.conversation_id
    placed = {request.request_id: request for request in m.state.requests}
    for row in m.case.requests.values():
        request = placed.get(row.request_id, row.request)
        if request is None:  # unreadable, and no other source has the request
            db.execute(
                "UPDATE requests SET outcome = ?, ended_at = ?"
                " WHERE conversation_id = ? AND request_id = ?",
                (row.outcome, row.ended_at, name, row.request_id),
            )
            continue
        db.execute(
            "INSERT INTO requests (conversation_id, request_id, kind, request_json, opened_at,"
            " deadline_at, outcome, ended_at, ended_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET request_json = excluded.request_json,"
            " outcome = excluded.outcome, ended_at = excluded.ended_at,"
            " ended_by = excluded.ended_by",
            (
                *(name, row.request_id, request.kind, json_text(request), row.opened_at),
                *(request.deadline_at, row.outcome, row.ended_at, row.ended_by),
            ),
        )
        item = m.case.items.get(row.request_id)
        if item is None:
            continue
        source = item.source_id or source_id(name, request)
        db.execute(
            "INSERT INTO inbox_items (source_id, inbox_item_id, kind, conversation_id, request_id,"
            " created_at, closed_at) VALUES (?, ?, 'await_user_input', ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET closed_at = excluded.closed_at",
            (
                *(source, request.inbox_item_id or source, name, row.request_id),
                *(row.opened_at, item.closed_at),
            ),
        )
