"""A commit as rows, by table. The event loop builds them where a commit is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

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
from turnwire.core.status import OpenRequest
from turnwire.core.text import clean, json_text
from turnwire.ports import Claim, Commit, Conflict
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
from turnwire.stores.entry_row import json_of_entry
from turnwire.stores.postgres.audit import MOST_ROWS
from turnwire.stores.postgres.text import storable, stored_size, stored_text
from turnwire.stores.words import text_of

__all__ = ["CommitRows", "Words"]


class Words:
    """The text of an entry that is to be indexed for search."""

    __slots__ = ("sequence", "text", "timestamp")

    def __init__(self, sequence: int, timestamp: str, text: str) -> None:
        self.sequence = sequence
        self.timestamp = timestamp
        self.text = text


class CommitRows:
    """The rows of one commit. Rows that a commit changes twice are folded into their last form."""

    def __init__(self, commit: Commit, *, raw_limit: int) -> None:
        state = commit.state
        self.claim: Claim = commit.claim
        self.name: str = stored_text(commit.claim.conversation_id)
        self.owner: str = stored_text(commit.claim.owner)
        self.at = commit.at
        self.head = state.head
        self.state_json: str = storable(json_text(state))
        self.state_bytes = len(self.state_json.encode())
        self.words: list[Words] = []
        self.rows: dict[str, list[Row]] = {}  # by table
        self.bytes = self.state_bytes  # of what the user stores with this commit
        self._own = clean(commit.claim.conversation_id)
        self._agent: ChangeAgent | None = None
        self._turns: dict[int, list[Any]] = {}
        self._requests: dict[str, _Request] = {}
        self._rules: dict[str, Row | None] = {}  # None: the rule was taken back
        for write in commit.writes:
            if isinstance(write, AddEntry):
                self._add_entry(write, raw_limit)
            else:
                self._add_other(write, commit)
        for waiting in state.queue:
            self._use(blobs_of_content(waiting.item.content))
        for turn in self._turns.values():
            self._add("turns", *turn)
        for request in self._requests.values():
            self._add_request(request)
        for rule_id, row in self._rules.items():
            self._add(*(("forgotten", rule_id) if row is None else ("rules", *row[1:])))
        if commit.receipt is not None:
            self._add("receipts", *receipt_row(commit.receipt, self._own, commit.at)[1:])
        if commit.settles:
            self._add("settles")
        for message_id, index in commit.ended_blocks:
            self._add("ended_blocks", clean(message_id), index)
        for piece in commit.pieces:
            self._add("pieces", clean(piece.session_id), clean(piece.name), piece.data)
            self.bytes += len(piece.data)
        self.audits = len(self.rows.get("audit", ()))
        if self.audits > MOST_ROWS:
            raise Conflict(f"A commit cannot have more than {MOST_ROWS} rows of the audit trail.")
        entries = self.rows.get("entries", ())
        self.before = check_numbers(state, [row[0] for row in entries])
        agent: ChangeAgent | None = self._agent  # set by the writes, above
        self.move: Row = (
            self.name,
            commit.claim.fence,
            self.owner,
            self.before,
            state.head,
            self.state_json,
            commit.at if commit.is_news else None,
            is_unsettled(state),
            activity_of(state),
            stored_text(agent.session if agent else commit.native_session_id),
            stored_text(state.title),
            stored_text(agent.agent) if agent else None,
            agent.owns_session if agent else None,
        )

    def _add(self, table: str, *row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def _add_entry(self, add: AddEntry, raw_limit: int) -> None:
        encoded = json_of_entry(add.entry)
        if b'"blobId"' in encoded:
            self._use(ref.blob_id for ref in refs_of(add.entry))
        text = encoded.decode()
        row = entry_row(add, self._own, text, raw_limit, self.at)
        self._add("entries", *row[1:])
        self.bytes += stored_size(text, encoded) + (stored_size(row[5]) if row[5] else 0)
        text = text_of(add.entry)
        if text:
            self.words.append(Words(add.sequence, add.entry.timestamp, clean(text)))

    def _use(self, blob_ids: Iterable[str]) -> None:
        for blob_id in blob_ids:
            self._add("blob_uses", clean(blob_id))

    def _add_other(
        self,
        write: BeginTurn
        | EndTurn
        | OpenRequestRow
        | EndRequest
        | KeepRule
        | ForgetRule
        | Audit
        | Spend
        | ChangeAgent,
        commit: Commit,
    ) -> None:
        match write:
            case BeginTurn(turn):
                _, turn_id, *begun = turn_begin(turn, self._own, self.at)
                self._turns.setdefault(turn_id, [turn_id, *begun, *[None] * len(_END)])
            case EndTurn():
                _, turn_id, trace_id, origin, *end = turn_end(write, self._own, self.at)
                row = self._turns.setdefault(
                    turn_id, [turn_id, trace_id, origin, None, None, None, *end]
                )
                row[-len(_END) :] = end
            case OpenRequestRow(request):
                self._request(request.request_id).open(request)
            case EndRequest(request_id, outcome, by):
                self._request(request_id).end(outcome, clean(by))
            case KeepRule(rule):
                self._rules[clean(rule.rule_id)] = rule_row(self._own, rule)
            case ForgetRule(rule_id):
                self._rules[clean(rule_id)] = None
            case Spend(turn_id, cost_usd):
                self._add("ledger", self.at, self.at[:10], turn_id, cost_usd)
            case Audit(action, by, data):
                at, said, _, who, trace, json = audit_row(
                    self.at, action, None, by, trace_of(commit), data
                )
                self._add("audit", at, said, who, trace, json)
            case ChangeAgent():
                self._agent = write
            case _:
                assert_never(write)

    def _request(self, request_id: str) -> _Request:
        name = clean(request_id)
        return self._requests.setdefault(name, _Request(name))

    def _add_request(self, request: _Request) -> None:
        name, ended_at = request.request_id, self.at if request.is_ended else None
        if request.must_be_open:
            is_over = request.opened is None
            self._add("ended", name, request.outcome, self.at, request.by, is_over)
        if request.has_ended:
            self._add("closed_items", name, self.at)
        if request.opened is not None:
            row = request_row(self._own, request.opened, self.at)
            self._add("opened", *row[1:], request.outcome, ended_at, request.by)
        for opened in request.items.values():
            source, item_id, _, request_id, at = item_row(self._own, opened, self.at)
            is_last = opened is request.opened
            closed_at = None if is_last and not request.is_ended else self.at
            self._add("items", source, item_id, request_id, at, closed_at)


_END = (
    *("ended_at", "end_json", "after_sequence", "input_tokens", "output_tokens"),
    *("cache_creation_input_tokens", "cache_read_input_tokens", "cost_usd", "duration_ms"),
)


class _Request:
    """What one commit does with a request: it may be opened and ended, or ended and asked again."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.must_be_open = False  # before the commit
        self.has_ended = False  # at any time during the commit
        self.opened: OpenRequest | None = None
        self.items: dict[str, OpenRequest] = {}  # by kind: each kind has an item of its own
        self.outcome: str | None = None
        self.by: str | None = None

    @property
    def is_ended(self) -> bool:
        return self.outcome is not None

    def open(self, request: OpenRequest) -> None:
        self.opened = request
        self.items[request.kind] = request
        self.outcome = self.by = None

    def end(self, outcome: str, by: str | None) -> None:
        if self.is_ended:
            raise Conflict(f"The request {self.request_id} is not open.")
        if self.opened is None:
            self.must_be_open = True
        self.outcome, self.by, self.has_ended = outcome, by, True
