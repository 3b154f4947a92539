"""A commit as rows: the caller's thread builds them, the writer thread only writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

import apsw

from turnwire.core.conversation.effects import (
    AddEntry,
    Audit,
    BeginTurn,
    ChangeAgent,
    EndRequest,
    EndTurn,
    ForgetRule,
    KeepRule,
    OpenRequestRow,
    Spend,
)
from turnwire.core.message import Message
from turnwire.core.status import OpenRequest
from turnwire.core.text import clean, json_text
from turnwire.ports import Claim, Commit, Conflict, Fenced
from turnwire.stores.blob_refs import blobs_of_content, refs_of
from turnwire.stores.commit_rows import (
    Row,
    activity_of,
    audit_row,
    check_numbers,
    entry_row,
    is_unsettled,
    item_row,
    receipt_row,
    request_row,
    rule_row,
    trace_of,
    turn_begin,
    turn_end,
)
from turnwire.stores.entry_row import LongEntry, json_of_entry
from turnwire.stores.sqlite.partials import DELETE_PARTIALS
from turnwire.stores.sqlite.pieces import ADD_PIECE, piece_row
from turnwire.stores.sqlite.shares import SETTLE
from turnwire.stores.sqlite.writer import Job
from turnwire.stores.words import indexed, text_of

__all__ = ["ADD_AUDIT", "ADD_BLOB_USE", "ADD_ENTRY", "CommitJob", "opened"]

_Other: TypeAlias = (
    BeginTurn
    | EndTurn
    | OpenRequestRow
    | EndRequest
    | KeepRule
    | ForgetRule
    | Audit
    | Spend
    | ChangeAgent
)

# The statement that moves the head also checks the fence, the owner and the entry numbers.
_MOVE = """
UPDATE conversations SET
    head = ?1, state_json = ?2, updated_at = coalesce(?3, updated_at), unsettled = ?4,
    native_session_id = coalesce(?5, native_session_id), title = ?6, activity = ?11,
    owns_session = CASE WHEN ?5 IS NULL OR ?5 IS native_session_id THEN owns_session ELSE 1 END
WHERE conversation_id = ?7 AND fence = ?8 AND head = ?9 AND owner = ?10
"""
ADD_ENTRY = """
INSERT INTO messages (
    conversation_id, sequence_num, role, message_type, message_json, metadata_json, uuid, turn_id,
    trace_id, created_at
) VALUES (?, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?, ?)
"""
# SQLite copies a bound value, and the statement keeps the copy until its next use. So the JSON of a
# long entry is not bound: a function produces it during the write.
_ADD_LONG_ENTRY = ADD_ENTRY.replace("CAST(? AS TEXT)", "CAST(json_of_entry(?) AS TEXT)")
_LONG = 256 * 1024  # bytes of JSON
_ADD_WORDS = "INSERT INTO search (rowid, words) VALUES (?, ?)"
# A turn that continues or is handed over again keeps its first start time.
_BEGIN_TURN = """
INSERT INTO turns (
    conversation_id, turn_id, trace_id, origin, queue_id, client_message_id, started_at
) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_END_TURN = """
INSERT INTO turns (
    conversation_id, turn_id, trace_id, origin, ended_at, end_json, after_sequence, input_tokens,
    output_tokens, cache_creation_input_tokens, cache_read_input_tokens, cost_usd, duration_ms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    ended_at = excluded.ended_at, end_json = excluded.end_json,
    after_sequence = excluded.after_sequence, input_tokens = excluded.input_tokens,
    output_tokens = excluded.output_tokens,
    cache_creation_input_tokens = excluded.cache_creation_input_tokens,
    cache_read_input_tokens = excluded.cache_read_input_tokens,
    cost_usd = excluded.cost_usd, duration_ms = excluded.duration_ms
"""
# An agent may ask the same again in a new process. The request's row and inbox item are then
# reused.
_OPEN_REQUEST = """
INSERT INTO requests (conversation_id, request_id, kind, request_json, opened_at, deadline_at)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET
    kind = excluded.kind, request_json = excluded.request_json, opened_at = excluded.opened_at,
    deadline_at = excluded.deadline_at, outcome = NULL, ended_at = NULL, ended_by = NULL
"""
_OPEN_ITEM = """
INSERT INTO inbox_items (
    source_id, inbox_item_id, kind, conversation_id, request_id, created_at
) VALUES (?, ?, 'await_user_input', ?, ?, ?)
ON CONFLICT DO UPDATE SET
    inbox_item_id = excluded.inbox_item_id, created_at = excluded.created_at, closed_at = NULL
"""
_END_REQUEST = """
UPDATE requests SET outcome = ?, ended_at = ?, ended_by = ?
WHERE conversation_id = ? AND request_id = ? AND outcome IS NULL
"""
_CLOSE_ITEM = """
UPDATE inbox_items SET closed_at = ?
WHERE conversation_id = ? AND request_id = ? AND closed_at IS NULL
"""
_KEEP_RULE = """
INSERT OR REPLACE INTO rules (conversation_id, rule_id, rule_json, given_at) VALUES (?, ?, ?, ?)
"""
_FORGET_RULE = "DELETE FROM rules WHERE conversation_id = ? AND rule_id = ?"
_ADD_RECEIPT = """
INSERT INTO receipts (conversation_id, user, client_message_id, body, ack_json, created_at)
VALUES (?, ?, ?, ?, ?, ?)
"""
_ADD_TO_LEDGER = """
INSERT INTO ledger (at, conversation_id, user, turn_id, cost_usd)
VALUES (?, ?, (SELECT user FROM conversations WHERE conversation_id = ?), ?, ?)
"""
_CHANGE_AGENT = """
UPDATE conversations SET agent = ?, native_session_id = ?, owns_session = ?
WHERE conversation_id = ?
"""
ADD_BLOB_USE = "INSERT OR IGNORE INTO blob_uses (conversation_id, blob_id) VALUES (?, ?)"
ADD_AUDIT = """
INSERT INTO audit (at, action, conversation_id, by, trace_id, data_json) VALUES (?, ?, ?, ?, ?, ?)
"""


class CommitJob(Job[None]):
    """Writes all rows of one step."""

    __slots__ = (
        *("_at", "_claim", "_conversation_id", "_entries", "_long_entries", "_move", "_others"),
        "_words",
    )

    def __init__(self, commit: Commit, *, raw_limit: int) -> None:
        state = commit.state
        self.must = commit.happened
        self._claim = commit.claim
        self._conversation_id = clean(commit.claim.conversation_id)
        self._at = commit.at
        self._entries: list[tuple[str, Row, str | None]] = []
        self._long_entries: list[LongEntry] = []
        self._others: list[tuple[str, Row]] = []
        self._words: list[tuple[int, str]] | None = None
        for write in commit.writes:
            if isinstance(write, AddEntry):
                self._entries.append(self._entry(write, raw_limit))
            else:
                self._others += self._other(write, commit)
        for waiting in state.queue:
            self._use(blobs_of_content(waiting.item.content))
        if commit.receipt is not None:
            self._others.append(
                (_ADD_RECEIPT, receipt_row(commit.receipt, self._conversation_id, commit.at))
            )
        if commit.settles:
            self._others.append((SETTLE, (self._conversation_id,)))
        for message_id, index in commit.ended_blocks:
            named = (self._conversation_id, clean(message_id), index)
            self._others.append((DELETE_PARTIALS, named))
        for piece in commit.pieces:
            self._others.append((ADD_PIECE, piece_row(self._conversation_id, piece)))
        before = check_numbers(state, [row[1] for _, row, _ in self._entries])
        self._move: Row = (
            state.head,
            json_text(state),
            commit.at if commit.is_news else None,
            is_unsettled(state),
            clean(commit.native_session_id),
            clean(state.title),
            self._conversation_id,
            self._claim.fence,
            before,
            clean(self._claim.owner),
            activity_of(state),
        )

    def run(self, db: apsw.Cursor) -> None:
        connection = db.connection
        words_of = self._words = []
        db.execute(_MOVE, self._move)
        if not connection.changes():
            _say_why(db, self._claim, self._move[8])
        for sql, row, words in self._entries:
            db.execute(sql, row)
            if words:
                words_of.append((connection.last_insert_rowid(), words))
        for sql, row in self._others:
            db.execute(sql, row)
            if sql is _END_REQUEST and not connection.changes():
                raise Conflict(f"The request {row[-1]} is not open.")

    def settle(self, db: apsw.Cursor) -> None:
        for row in self._words or ():
            db.execute(_ADD_WORDS, row)

    def release(self) -> None:
        self._entries, self._others, self._words = [], [], None
        for long in self._long_entries:
            long.entry = None

    # --- rows -----------------------------------------------------------------------------------

    def _entry(self, add: AddEntry, raw_limit: int) -> tuple[str, Row, str | None]:
        entry = add.entry
        message_json = json_of_entry(entry)
        if b'"blobId"' in message_json:
            self._use(ref.blob_id for ref in refs_of(entry))
        is_long = len(message_json) > _LONG
        bound = apsw.pyobject(self._long(entry)) if is_long else message_json
        row = entry_row(add, self._conversation_id, bound, raw_limit, self._at)
        text = text_of(entry)
        sql = _ADD_LONG_ENTRY if is_long else ADD_ENTRY
        return sql, row, clean(indexed(text)) if text else None

    def _long(self, entry: Message) -> LongEntry:
        self._long_entries.append(LongEntry(entry))
        return self._long_entries[-1]

    def _use(self, blob_ids: Iterable[str]) -> None:
        for blob_id in blob_ids:
            self._others.append((ADD_BLOB_USE, (self._conversation_id, clean(blob_id))))

    def _other(self, write: _Other, commit: Commit) -> list[tuple[str, Row]]:
        match write:
            case BeginTurn(turn):
                return [(_BEGIN_TURN, turn_begin(turn, self._conversation_id, self._at))]
            case EndTurn():
                return [(_END_TURN, turn_end(write, self._conversation_id, self._at))]
            case OpenRequestRow(request):
                return opened(self._conversation_id, request, self._at)
            case EndRequest(request_id, outcome, by):
                named = (self._conversation_id, clean(request_id))
                return [
                    (_END_REQUEST, (outcome, self._at, clean(by), *named)),
                    (_CLOSE_ITEM, (self._at, *named)),
                ]
            case KeepRule(rule):
                return [(_KEEP_RULE, rule_row(self._conversation_id, rule))]
            case ForgetRule(rule_id):
                return [(_FORGET_RULE, (self._conversation_id, clean(rule_id)))]
            case Spend(turn_id, cost_usd):
                own = self._conversation_id
                return [(_ADD_TO_LEDGER, (self._at, own, own, turn_id, cost_usd))]
            case Audit(action, by, data):
                trace = trace_of(commit)
                row = audit_row(self._at, action, self._conversation_id, by, trace, data)
                return [(ADD_AUDIT, row)]
            case ChangeAgent(agent, session, owns_session):
                row = (clean(agent), clean(session), owns_session, self._conversation_id)
                return [(_CHANGE_AGENT, row)]
            case _:
                assert_never(write)


def opened(conversation_id: str, request: OpenRequest, at: str) -> list[tuple[str, Row]]:
    """Returns the statements that open a request and its inbox item."""
    return [
        (_OPEN_REQUEST, request_row(conversation_id, request, at)),
        (_OPEN_ITEM, item_row(conversation_id, request, at)),
    ]


def _say_why(db: apsw.Cursor, claim: Claim, before: int) -> None:
    """Raises why the head did not move: Fenced for an old claim, Conflict for wrong numbers."""
    conversation_id = clean(claim.conversation_id)
    found = db.execute(
        "SELECT fence, head, owner FROM conversations WHERE conversation_id = ?", (conversation_id,)
    ).fetchone()
    if found is None or (found[0], found[2]) != (claim.fence, clean(claim.owner)):
        raise Fenced(
            "Another owner has taken the conversation over, or it was deleted.",
            fence=claim.fence,
            newest=found and found[0],
        )
    raise Conflict(f"The log ends at {found[1]}, not at {before}.", head=found[1])
