"""Writes a mended conversation in one transaction."""

from __future__ import annotations

import secrets
from collections import Counter

from turnwire.core.conversation import step
from turnwire.core.conversation.effects import Tell
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import needs_recovery
from turnwire.core.text import json_text
from turnwire.ports import Commit
from turnwire.stores.commit_rows import (
    Row,
    activity_of,
    audit_row,
    end_columns,
    is_unsettled,
    rule_row,
    source_id,
)
from turnwire.stores.entry_row import json_of_entry, message_type
from turnwire.stores.fsck.database import Database
from turnwire.stores.fsck.mending import Mending
from turnwire.stores.fsck.owner import is_cut_off

__all__ = ["write_mended"]

_OWNER = "fsck"
_MOST_AUDITED = 1000  # findings of a conversation with a row each in the audit trail

_DROP_RECEIPT = """
DELETE FROM receipts WHERE conversation_id = $1 AND "user" = $2 AND client_message_id = $3
"""
_DROP_PARTIAL = """
DELETE FROM partials WHERE conversation_id = $1 AND message_id = $2 AND block_index = $3
"""
_SET_ASIDE = """
INSERT INTO set_aside (conversation_id, place, at, content) VALUES ($1, $2, $3, $4)
"""
_ADD_BLOB_USE = """
INSERT INTO blob_uses (conversation_id, blob_id) VALUES ($1, $2) ON CONFLICT DO NOTHING
"""
_SET_STATE = """
UPDATE conversations SET head = $2, state_json = $3, unsettled = $4, activity = $5,
    fence = fence + 1, owner = NULL, lease_until = 0
WHERE conversation_id = $1
"""
_IS_NO_FORK = """
UPDATE conversations SET parent_id = NULL, forked_at = NULL WHERE conversation_id = $1
"""
_SET_EPOCH = "UPDATE meta SET value = $1 WHERE name = 'epoch'"
_MOVE_ENTRY = """
UPDATE messages SET sequence_num = $3 WHERE conversation_id = $1 AND sequence_num = $2
"""
# Numbers are unique at every moment: moved entries first get numbers below all others.
_BELOW = -(1 << 50)
_ARRIVE = f"""
UPDATE messages SET sequence_num = sequence_num - ({_BELOW})
WHERE conversation_id = $1 AND sequence_num < {_BELOW // 2}
"""
_ADD_ENTRY = """
INSERT INTO messages (conversation_id, sequence_num, role, message_type, message_json, turn_id,
    trace_id, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_CHANGE_ENTRY = """
UPDATE messages SET role = $3, message_type = $4, message_json = $5, turn_id = $6, trace_id = $7
WHERE conversation_id = $1 AND sequence_num = $2
"""
_TURN = (
    *("trace_id", "origin", "queue_id", "client_message_id", "started_at", "ended_at", "end_json"),
    *("after_sequence", "input_tokens", "output_tokens", "cache_creation_input_tokens"),
    *("cache_read_input_tokens", "cost_usd", "duration_ms"),
)
_WRITE_TURN = f"""
INSERT INTO turns (conversation_id, turn_id, {", ".join(_TURN)})
VALUES ($1, $2, {", ".join(f"${place}" for place, _ in enumerate(_TURN, 3))})
ON CONFLICT (conversation_id, turn_id) DO UPDATE SET
    {", ".join(f"{column} = excluded.{column}" for column in _TURN)}
"""
_END_REQUEST = """
UPDATE requests SET outcome = $3, ended_at = $4 WHERE conversation_id = $1 AND request_id = $2
"""
_WRITE_REQUEST = """
INSERT INTO requests (conversation_id, request_id, kind, request_json, opened_at, deadline_at,
    outcome, ended_at, ended_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (conversation_id, request_id) DO UPDATE SET request_json = excluded.request_json,
    outcome = excluded.outcome, ended_at = excluded.ended_at, ended_by = excluded.ended_by
"""
_DROP_RULES = "DELETE FROM rules WHERE conversation_id = $1"
_WRITE_RULE = """
INSERT INTO rules (conversation_id, rule_id, rule_json, given_at) VALUES ($1, $2, $3, $4)
"""
_WRITE_ITEM = """
INSERT INTO inbox_items (source_id, inbox_item_id, kind, conversation_id, request_id, created_at,
    closed_at)
VALUES ($1, $2, 'await_user_input', $3, $4, $5, $6)
ON CONFLICT (source_id) DO UPDATE SET closed_at = excluded.closed_at
"""


async def write_mended(db: Database, m: Mending, now: int) -> None:
    """Writes the conversation, and fences off its previous owner."""
    name = m.case.conversation_id
    has_changed = await _write_entries(db, m)
    await _write_turns(db, m)
    await _write_requests(db, m)
    await db.run(_DROP_RULES, [(name,)])
    await db.run(_WRITE_RULE, [rule_row(name, rule) for rule in m.state.rules])
    await db.run(_DROP_RECEIPT, [(name, *receipt) for receipt in m.dropped_receipts])
    await db.run(_DROP_PARTIAL, [(name, *block) for block in m.dropped_partials])
    await db.run(_SET_ASIDE, [(name, place, m.now, content) for place, content in m.aside])
    await db.run(_ADD_BLOB_USE, [(name, blob_id) for blob_id in sorted(m.blob_uses)])
    m.remember(head=len(m.entries))
    state = (len(m.entries), json_text(m.state), is_unsettled(m.state), activity_of(m.state))
    await db.run(_SET_STATE, [(name, *state)])
    if m.case.is_other_fork:
        await db.run(_IS_NO_FORK, [(name,)])
    if has_changed:  # clients may have read other entries under these numbers
        await db.run(_SET_EPOCH, [(secrets.token_hex(8),)])
    await db.written(name)
    await db.add_audit(_audited(m))
    if needs_recovery(m.state) and is_cut_off(m.state, now):
        await _recover(db, m, now)


def _audited(m: Mending) -> list[Row]:
    """Returns rows for the audit trail; of very many findings only their number, by kind."""
    told = [
        {"kind": finding.kind, "what": finding.what, "place": finding.place}
        for finding in m.findings[:_MOST_AUDITED]
    ]
    more = Counter(finding.kind for finding in m.findings[_MOST_AUDITED:])
    told += [
        {"kind": kind, "what": f"{count:,} more of this kind.", "place": None}
        for kind, count in more.items()
    ]
    name = m.case.conversation_id
    return [audit_row(m.now, "repaired", name, _OWNER, None, each) for each in told]


async def _recover(db: Database, m: Mending, now: int) -> None:
    """Ends work of a dead process as an engine would. Starts nothing."""
    partials = m.case.partials
    after, effects = step(m.state, Recovered(at=now, stopping=True, partials=partials))
    writes = [write for write in effects.writes if not isinstance(write, Tell)]
    ended = [partial.block for partial in partials]
    await db.commit(
        m.case.conversation_id,
        _OWNER,
        lambda claim: Commit(claim, after, writes, m.now, ended_blocks=ended),
    )


# --- the log ------------------------------------------------------------------------------------


async def _write_entries(db: Database, m: Mending) -> bool:
    """Writes new, changed and moved entries. Returns whether there were any."""
    name = m.case.conversation_id
    moves: list[Row] = []
    added: list[Row] = []
    replaced: list[Row] = []
    for number, entry in enumerate(m.entries, 1):
        if not entry.is_new and entry.sequence != number:
            moves.append((name, entry.sequence, _BELOW + number))
        if entry.is_changed:
            message = entry.message
            assert message is not None
            text = json_of_entry(message).decode()
            row = (name, number, message.role, message_type(message), text)
            turn = (entry.turn_id, entry.trace_id)
            if entry.is_new:
                added.append((*row, *turn, m.now))
            else:
                replaced.append((*row, *turn))
    if not moves and not added and not replaced:
        return False
    if moves:
        await db.run(_MOVE_ENTRY, moves)
        await db.run(_ARRIVE, [(name,)])
    await db.run(_ADD_ENTRY, added)
    await db.run(_CHANGE_ENTRY, replaced)
    changed = sorted(row[1] for row in (*added, *replaced))
    await db.entries_changed(name, changed, moved=bool(moves))
    return True


async def _write_turns(db: Database, m: Mending) -> None:
    name = m.case.conversation_id
    rows = []
    for turn in m.turns.values():
        if turn.is_changed:
            begun = (turn.origin, turn.queue_id, turn.client_message_id, turn.started_at)
            ends = end_columns(turn.end) if turn.end is not None else (None,) * 8
            trace = m.trace_of(turn.turn_id)
            rows.append((name, turn.turn_id, trace, *begun, turn.ended_at, *ends))
    await db.run(_WRITE_TURN, rows)


async def _write_requests(db: Database, m: Mending) -> None:
    name = m.case.conversation_id
    placed = {request.request_id: request for request in m.state.requests}
    ended, requests, items = [], [], []
    for row in m.case.requests.values():
        request = placed.get(row.request_id, row.request)
        if request is None:  # unreadable, and no other source has the request
            ended.append((name, row.request_id, row.outcome, row.ended_at))
            continue
        asked = (name, row.request_id, request.kind, json_text(request), row.opened_at)
        requests.append((*asked, request.deadline_at, row.outcome, row.ended_at, row.ended_by))
        item = m.case.items.get(row.request_id)
        if item is not None:
            source = item.source_id or source_id(name, request)
            named = (source, request.inbox_item_id or source, name, row.request_id)
            items.append((*named, row.opened_at, item.closed_at))
    await db.run(_END_REQUEST, ended)
    await db.run(_WRITE_REQUEST, requests)
    await db.run(_WRITE_ITEM, items)
