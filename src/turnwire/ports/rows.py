"""What a store is given to keep, and gives back."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from turnwire.core.conversation.effects import Write
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import Message
from turnwire.core.partials import BlockName
from turnwire.core.status import OpenRequest, Outcome, TurnEnd
from turnwire.ports.agent import NativeFork

__all__ = [
    "AuditRow",
    "BlobRow",
    "Claim",
    "Commit",
    "Connection",
    "ConversationRow",
    "ForkPlace",
    "Hit",
    "InboxItem",
    "NewConversation",
    "Receipt",
    "RequestRow",
    "Reserved",
    "Stored",
    "StoredEntry",
    "StoredTurn",
    "Ticket",
    "Token",
]


class NewConversation(Struct, frozen=True, omit_defaults=True):
    """What a conversation begins with."""

    conversation_id: str
    agent: str
    created_at: str
    user: str | None = None  # whose it is
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Any] = {}  # the agent's own
    state: Conversation | None = None  # what it begins with; none: an empty one
    parent_id: str | None = None  # the conversation that it was forked from
    native_session_id: str | None = None  # the session of the agent's own that it goes on with
    forked_at: int | None = None  # the last entry that it has of its parent
    native_from: NativeFork | None = None  # what its own session begins with, until it has one


class ConversationRow(Struct, frozen=True, omit_defaults=True):
    """A conversation, as lists show it."""

    conversation_id: str
    agent: str
    created_at: str
    updated_at: str
    head: int
    state: Conversation
    user: str | None = None
    title: str | None = None  # the state's
    cwd: str | None = None
    native_session_id: str | None = None
    options: dict[str, Any] = {}
    archived: bool = False
    parent_id: str | None = None  # the conversation that it was forked from
    forked_at: int | None = None  # the last entry that it has of its parent
    native_from: NativeFork | None = None  # what its own session begins with, until it has one
    owns_session: bool = False  # the agent began its session for this conversation
    owner: str | None = None  # the process that claimed it last, until it lets go
    lease_until: int = 0  # milliseconds since 1970; without an owner it means nothing
    damage: str | None = None  # why its state cannot be read, which is then only a stand-in


class ForkPlace(Struct, frozen=True, omit_defaults=True):
    """A place in a log, and whether another conversation can begin with what is before it.

    It can where nothing is half said: every turn that has begun there has ended there, and nothing
    of it comes later, such as work in the background.
    """

    sequence: int
    is_whole: bool
    nearest: list[int] = []  # where it is not: the whole places on both sides, as far as there are
    turns: int = 0  # the newest turn that has begun
    last: StoredTurn | None = None  # the newest that has ended
    # The agent's own ids of the last messages, without its sub-agents', and their turns; newest first.
    uuids: list[tuple[str, int | None]] = []


class Claim(Struct, frozen=True):
    """The right to write to a conversation, until somebody else claims it."""

    conversation_id: str
    owner: str  # a process
    fence: int  # greater than that of every earlier claim


class Receipt(Struct, frozen=True, omit_defaults=True):
    """That a client's frame was taken, and what it was told."""

    user: str
    client_message_id: str
    body: bytes  # a digest of the frame: the same id with another body is a conflict
    ack: bytes  # JSON


class Commit(Struct, frozen=True, omit_defaults=True):
    """Everything that one step writes: all of it, or nothing."""

    claim: Claim
    state: Conversation  # after the step; its head is the number of the last entry
    writes: list[Write]
    at: str
    receipt: Receipt | None = None
    native_session_id: str | None = None  # absent: as it was
    happened: bool = False  # it cannot be refused: written if there is any way, on a full disk, too
    settles: bool = False  # what was reserved for its turn is given back
    is_news: bool = True  # it moves `updated_at` to `at`; else that stays
    # Blocks that are finished or discarded: what was saved of them is deleted.
    ended_blocks: list[BlockName] = []


class Reserved(Struct, frozen=True):
    """What a turn may spend of its user's budget, and what was left of that before."""

    amount: float  # dollars; 0: nothing was reserved
    spent: float  # by this user, from the time that was asked for on
    held: float  # reserved for other turns of this user


class Stored(Struct, frozen=True):
    """How much a user has stored."""

    bytes: int = 0  # of conversations, with their logs and queues, and of blobs
    conversations: int = 0


class StoredEntry(Struct, frozen=True):
    """An entry of the log, as it was written."""

    sequence: int
    entry: Message
    turn_id: int | None
    trace_id: str | None


class StoredTurn(Struct, frozen=True, omit_defaults=True):
    """A turn that is over."""

    turn_id: int
    trace_id: str
    ended_at: str
    end: TurnEnd


class RequestRow(Struct, frozen=True, omit_defaults=True):
    """A question or a permission, open or not."""

    conversation_id: str
    request: OpenRequest
    opened_at: str
    outcome: Outcome | None = None  # none: open
    ended_at: str | None = None
    by: str | None = None


class InboxItem(Struct, frozen=True, omit_defaults=True):
    """Something that waits for a person, in whatever conversation."""

    inbox_item_id: str
    conversation_id: str
    kind: str  # `await_user_input`
    source_id: str  # `conversation:{id}:question:{question_id}`
    request: OpenRequest
    created_at: str
    title: str | None = None  # the conversation's
    closed_at: str | None = None


class AuditRow(Struct, frozen=True, omit_defaults=True):
    """Who did what, and when."""

    number: int
    at: str
    action: str
    conversation_id: str | None = None
    by: str | None = None
    data: dict[str, Any] = {}
    trace_id: str | None = None  # the turn's, where it was a step of one


class Connection(Struct, frozen=True, omit_defaults=True):
    """Somebody who follows a conversation now."""

    connection_id: str
    conversation_id: str
    owner: str  # the process that they are connected to
    client_id: str
    opened_at: str
    seen_at: str  # when that process said so last: one that has died says nothing
    user: str | None = None
    protocol: str = "v2"
    last_sequence: int = 0  # the newest entry that was sent


class Hit(Struct, frozen=True):
    """An entry that has the words that were looked for."""

    conversation_id: str
    sequence: int
    title: str | None
    snippet: str  # the words marked with \x02 and \x03
    timestamp: str


class BlobRow(Struct, frozen=True):
    """Large content, without its bytes."""

    blob_id: str
    mime_type: str
    size: int
    user: str | None  # whose it is; none: the owner's of the data
    conversation_id: str | None  # whoever may see this one may see the blob


class Token(Struct, frozen=True, omit_defaults=True):
    """What somebody comes in with. The token itself is known to them alone."""

    token_id: str
    name: str
    kind: str  # `token`, of a program; `page`, a browser's cookie
    user: str | None  # none: the owner of the data
    created_at: str
    expires_at: int | None = None  # milliseconds since 1970; none: never
    revoked_at: str | None = None


class Ticket(Struct, frozen=True):
    """What is good once, for a short time."""

    kind: str  # `link` becomes a cookie, `socket` opens a WebSocket
    user: str | None
    token_id: str  # what it was had with
    expires_at: int  # milliseconds since 1970
