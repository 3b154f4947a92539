"""A conversation as the database has it, damaged or not."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.conversation.effects import Ack
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import BlobRef, Message
from turnwire.core.partials import Partial
from turnwire.core.status import OpenRequest, TurnEnd

__all__ = ["Case", "Entry", "Item", "Receipt", "Request", "TurnRow"]


class Entry(Struct, eq=False):
    """An entry of the log at its position."""

    message: Message | None  # None if unreadable
    turn_id: int | None
    trace_id: str | None
    sequence: int = 0  # sequence_num in the database
    is_new: bool = False  # has no row
    has_blobs: bool = False  # refers to blobs
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
    """Everything that the database has about one conversation."""

    conversation_id: str
    head: int
    owner: str | None
    lease_until: int
    unsettled: bool
    activity: str
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
    blobs: dict[str, BlobRef]  # of the blobs that entries and the queue refer to: those that exist
    partials: list[Partial]
    rules: dict[str, str] = {}  # remembered rules as JSON, by rule_id
    level: int = 0  # of the state
    unreadable: str | None = None  # the stored text, if it is not a readable state
    is_other_fork: bool = False  # the fork's beginning differs from its parent's log
