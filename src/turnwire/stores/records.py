"""The columns of rows, and decoders: each makes a record of the port from a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from turnwire.core.conversation.state import STATE_LEVEL, Conversation
from turnwire.core.message_codec import decode_message
from turnwire.core.status import OpenRequest, Rule, TurnEnd
from turnwire.ports import (
    AuditRow,
    ConversationRow,
    GivenRule,
    Hit,
    InboxItem,
    NativeFork,
    NodeRow,
    StoredEntry,
    StoredTurn,
)
from turnwire.stores.query import Query
from turnwire.stores.snippet import snippet
from turnwire.stores.words import text_of

__all__ = [
    "AUDIT",
    "CONVERSATION",
    "ENTRY",
    "HIT",
    "INBOX_ITEM",
    "LAST",
    "MOST_READ",
    "RULE",
    "TURN",
    "Kinds",
    "audit_of",
    "conversation_of",
    "entry_of",
    "hit_of",
    "inbox_item_of",
    "level_of",
    "native_of",
    "node_of",
    "request_of",
    "rule_of",
    "state_of",
    "text",
    "turn_of",
]

LAST = 2**62  # larger than any sequence number
MOST_READ = 4 * 1024 * 1024  # maximum bytes of messages that one search reads for its snippets

state_of = msgspec.json.Decoder(Conversation).decode
request_of = msgspec.json.Decoder(OpenRequest).decode
_rule = msgspec.json.Decoder(Rule).decode
_end = msgspec.json.Decoder(TurnEnd).decode
native_of = msgspec.json.Decoder(NativeFork).decode
_json = msgspec.json.Decoder().decode

# Maps a column to the function that decodes the column's bytes; `bytes` for JSON.
Kinds: TypeAlias = Mapping[str, Callable[[bytes], Any]]

text = bytes.decode

# Columns of each kind of row, in the order in which its decoder expects them.
CONVERSATION: Kinds = {
    "conversation_id": text,
    "agent": text,
    "created_at": text,
    "updated_at": text,
    "head": int,
    "state_json": bytes,
    "user": text,
    "title": text,
    "cwd": text,
    "native_session_id": text,
    "options": bytes,
    "archived": int,
    "parent_id": text,
    "owner": text,
    "lease_until": int,
    "forked_at": int,
    "native_from": bytes,
    "owns_session": int,
    "node": text,
    "pinned": int,
    "labels": bytes,
}
ENTRY: Kinds = {"sequence_num": int, "message_json": bytes, "turn_id": int, "trace_id": text}
TURN: Kinds = {"turn_id": int, "trace_id": text, "ended_at": text, "end_json": bytes}
INBOX_ITEM: Kinds = {
    "inbox_item_id": text,
    "conversation_id": text,
    "kind": text,
    "source_id": text,
    "request_json": bytes,
    "created_at": text,
    "title": text,
    "closed_at": text,
}
RULE: Kinds = {"conversation_id": text, "rule_json": bytes, "title": text}
AUDIT: Kinds = {
    "number": int,
    "at": text,
    "action": text,
    "conversation_id": text,
    "by": text,
    "data_json": bytes,
    "trace_id": text,
}
HIT: Kinds = {
    "conversation_id": text,
    "sequence_num": int,
    "title": text,
    "message_json": bytes,
    "timestamp": text,
}


class _Level(msgspec.Struct):
    level: int = 0


def level_of(state_json: str | bytes) -> int:
    """Returns the level of a stored state, also of one that this version cannot read."""
    try:
        return msgspec.json.decode(state_json, type=_Level).level
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return 0


def conversation_of(row: Any) -> ConversationRow:
    """Decodes a row of `find_conversations`. A row that cannot be read has `damage` set."""
    damage, state, options = None, Conversation(row[0], state="error", reason="damaged"), {}
    native_from, labels = None, []
    try:
        state, options = state_of(row[5]), _json(row[10])
        labels = _json(row[20])
        native_from = native_of(row[16]) if row[16] is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        damage = str(error)
        if level_of(row[5]) > STATE_LEVEL:
            damage = "a newer Turnwire has written it, so update this one"
    return ConversationRow(
        conversation_id=row[0],
        agent=row[1],
        created_at=row[2],
        updated_at=row[3],
        head=row[4],
        state=state,
        user=row[6],
        title=row[7],
        cwd=row[8],
        native_session_id=row[9],
        options=options,
        archived=bool(row[11]),
        pinned=bool(row[19]),
        labels=labels,
        parent_id=row[12],
        forked_at=row[15],
        native_from=native_from,
        owns_session=bool(row[17]),
        node=row[18],
        owner=row[13],
        lease_until=row[14],
        damage=damage,
    )


def node_of(row: Any) -> NodeRow:
    """Decodes a row of `find_nodes`."""
    owner, node, inbox, agents, versions, started_at, lease_until, renewals, load = row
    rest = (started_at, lease_until, renewals, _json(load))
    return NodeRow(owner, node, inbox, _json(agents), _json(versions), *rest)


def entry_of(row: Any) -> StoredEntry:
    """Decodes a row of `find_entries`."""
    sequence, message, turn_id, trace_id = row
    return StoredEntry(sequence, decode_message(message), turn_id, trace_id)


def turn_of(row: Any) -> StoredTurn:
    """Decodes a row of `find_turns`."""
    turn_id, trace_id, ended_at, end = row
    return StoredTurn(turn_id, trace_id, ended_at, _end(end))


def inbox_item_of(row: Any) -> InboxItem:
    """Decodes a row of `find_inbox`."""
    item, about, kind, source, request, *rest = row
    return InboxItem(item, about, kind, source, request_of(request), *rest)


def rule_of(row: Any) -> GivenRule:
    """Decodes a row of `find_rules`."""
    about, rule, title = row
    return GivenRule(about, _rule(rule), title)


def audit_of(row: Any) -> AuditRow:
    """Decodes a row of `find_audit`."""
    number, at, action, about, by, data, trace_id = row
    return AuditRow(number, at, action, about, by, _json(data), trace_id)


def hit_of(row: Any, query: Query) -> Hit:
    """Decodes a row of `find_words`, and cuts its snippet."""
    conversation_id, sequence, title, message, timestamp = row
    shown = "" if message is None else snippet(text_of(decode_message(message)), query.terms)
    return Hit(conversation_id, sequence, title, shown, timestamp)
