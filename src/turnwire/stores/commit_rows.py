"""The rows of a commit: columns in the same order for every store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from turnwire.core.conversation.effects import AddEntry, EndTurn
from turnwire.core.conversation.state import Conversation, Turn
from turnwire.core.status import OpenRequest, Rule, TurnEnd
from turnwire.core.text import clean, json_text
from turnwire.ports import Activity, Commit, Conflict, Receipt
from turnwire.stores.entry_row import message_type, metadata_json

__all__ = [
    "Row",
    "activity_of",
    "audit_row",
    "check_numbers",
    "end_columns",
    "entry_row",
    "is_unsettled",
    "item_row",
    "receipt_row",
    "request_row",
    "rule_row",
    "source_id",
    "trace_of",
    "turn_begin",
    "turn_end",
]

Row: TypeAlias = tuple[Any, ...]


def entry_row(
    add: AddEntry, conversation_id: str, message_json: Any, raw_limit: int, at: str
) -> Row:
    """Returns the row of an entry, with its JSON as the caller binds it."""
    uuid = add.entry.meta.get("uuid")
    return (
        conversation_id,
        add.sequence,
        add.entry.role,
        message_type(add.entry),
        message_json,
        metadata_json(add, raw_limit),
        clean(uuid) if isinstance(uuid, str) else None,
        add.turn_id,
        clean(add.trace_id),
        at,
    )


def check_numbers(state: Conversation, numbers: Sequence[int]) -> int:
    """Returns the head before a commit. Raises Conflict if the numbers of its entries have a gap."""
    before = state.head - len(numbers)
    for should, number in enumerate(numbers, before + 1):
        if number != should:
            raise Conflict(f"An entry is number {number} and should be {should}.")
    return before


def turn_begin(turn: Turn, conversation_id: str, at: str) -> Row:
    """Returns the row of a turn that begins."""
    item = turn.item
    queue_id = clean(item.queue_id) if item else None
    message_id = clean(item.client_message_id) if item else None
    name = (conversation_id, turn.turn_id, clean(turn.trace_id))
    return (*name, turn.origin, queue_id, message_id, at)


def turn_end(write: EndTurn, conversation_id: str, at: str) -> Row:
    """Returns the row of a turn that ends."""
    name = (conversation_id, write.turn_id, clean(write.trace_id))
    return (*name, write.end.origin, at, *end_columns(write.end))


def request_row(conversation_id: str, request: OpenRequest, at: str) -> Row:
    """Returns the row of a request that is opened."""
    deadline_at = clean(request.deadline_at)
    name = (conversation_id, clean(request.request_id), request.kind)
    return (*name, json_text(request), at, deadline_at)


def item_row(conversation_id: str, request: OpenRequest, at: str) -> Row:
    """Returns the row of the inbox item of a request that is opened."""
    source = source_id(conversation_id, request)
    item_id = clean(request.inbox_item_id) or source
    return (source, item_id, conversation_id, clean(request.request_id), at)


def rule_row(conversation_id: str, rule: Rule) -> Row:
    """Returns the row of a remembered rule."""
    return (conversation_id, clean(rule.rule_id), json_text(rule), rule.given_at)


def receipt_row(receipt: Receipt, conversation_id: str, at: str) -> Row:
    """Returns the row of a receipt."""
    named = (conversation_id, clean(receipt.user), clean(receipt.client_message_id))
    return (*named, receipt.body, receipt.ack.decode(), at)


def end_columns(end: TurnEnd) -> Row:
    """Returns the columns of a turn's end, from `end_json` on."""
    usage = end.usage
    return (
        json_text(end),
        end.after_sequence,
        usage and usage.input_tokens,
        usage and usage.output_tokens,
        usage and usage.cache_creation_input_tokens,
        usage and usage.cache_read_input_tokens,
        end.cost_usd,
        end.duration_ms,
    )


def source_id(conversation_id: str, request: OpenRequest) -> str:
    """Returns the source of an inbox item: the conversation and the question."""
    return f"conversation:{conversation_id}:{request.kind}:{clean(request.request_id)}"


def audit_row(
    at: str,
    action: str,
    conversation_id: str | None,
    by: str | None,
    trace_id: str | None,
    data: dict[str, Any] | None,
) -> Row:
    """Returns a row of the audit trail."""
    return at, clean(action), conversation_id, clean(by), clean(trace_id), json_text(data or {})


def is_unsettled(state: Conversation) -> bool:
    """Returns whether the conversation needs recovery when the server starts again."""
    going_on = state.turn or state.tools or state.background
    waits = state.queue or state.requests or state.replies or state.next_agent
    return bool(going_on or waits)


def activity_of(state: Conversation) -> Activity:
    """Returns the group of a conversation in lists."""
    if state.state == "streaming":
        return "working"
    if state.state == "active":
        return "working" if state.turn or state.background else "idle"
    return state.state


def trace_of(commit: Commit) -> str | None:
    """Returns the trace of the turn that runs after the commit, or that the commit ends."""
    if commit.state.turn is not None:
        return commit.state.turn.trace_id
    return next((w.trace_id for w in commit.writes if isinstance(w, EndTurn)), None)
