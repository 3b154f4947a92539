"""The records that a store writes and returns."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from turnwire.core.conversation.effects import Write
from turnwire.core.conversation.state import Conversation
from turnwire.core.message import Message
from turnwire.core.partials import BlockName
from turnwire.core.status import OpenRequest, Outcome, Rule, TurnEnd
from turnwire.ports.agent import NativeFork, SessionPiece

__all__ = [
    "Activity",
    "AuditRow",
    "BlobRow",
    "Claim",
    "Commit",
    "Connection",
    "ConversationRow",
    "ForkPlace",
    "GivenRule",
    "Hit",
    "InboxItem",
    "NewConversation",
    "NodeRow",
    "Receipt",
    "RequestRow",
    "Reserved",
    "Stored",
    "StoredEntry",
    "StoredTurn",
    "Ticket",
    "Token",
]

# The groups of conversations in a list. `working`: the agent streams, a turn is open, or background
# work goes on. `idle`: none of that.
Activity: TypeAlias = Literal["waiting_input", "working", "idle", "interrupted", "error"]


class NewConversation(Struct, frozen=True, omit_defaults=True):
    """The initial data of a conversation."""

    conversation_id: str
    agent: str
    created_at: str
    user: str | None = None  # its user
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Any] = {}  # the agent's own options
    state: Conversation | None = None  # its initial state; None: empty
    parent_id: str | None = None  # the conversation that it was forked from
    native_session_id: str | None = None  # the agent's session that it continues
    forked_at: int | None = None  # the last entry that it shares with its parent
    native_from: NativeFork | None = None  # where its own session begins, until it has one
    node: str | None = None  # the only node that can run its agent; None: every node


class ConversationRow(Struct, frozen=True, omit_defaults=True):
    """A conversation, as in lists."""

    conversation_id: str
    agent: str
    created_at: str
    updated_at: str
    head: int
    state: Conversation
    user: str | None = None
    title: str | None = None  # from the state
    cwd: str | None = None
    native_session_id: str | None = None
    options: dict[str, Any] = {}
    archived: bool = False
    pinned: bool = False  # a person keeps it at the top of the list
    labels: list[str] = []  # a person's own words for it
    parent_id: str | None = None  # the conversation that it was forked from
    forked_at: int | None = None  # the last entry that it shares with its parent
    native_from: NativeFork | None = None  # where its own session begins, until it has one
    owns_session: bool = False  # the agent began its session for this conversation
    node: str | None = None  # the only node that can run its agent; None: every node
    owner: str | None = None  # the process that claimed it last, until it releases it
    # Milliseconds since 1970, by the caller's clock: the end of its lease or of its owner's node's,
    # whichever is later. Only valid with an owner.
    lease_until: int = 0
    damage: str | None = None  # why its state cannot be read; `state` is then a placeholder


class ForkPlace(Struct, frozen=True, omit_defaults=True):
    """A position in a log, and whether a fork can begin after it.

    A fork needs a complete position: every turn that began before it has ended before it, and has
    no later entries, for example of background work.
    """

    sequence: int
    is_whole: bool
    nearest: list[int] = []  # if it is not complete: the nearest complete ones, before and after
    turns: int = 0  # the newest turn that has begun
    last: StoredTurn | None = None  # the newest turn that has ended
    # The agent's own ids of the last messages with their turns, newest first, without sub-agents.
    uuids: list[tuple[str, int | None]] = []


class Claim(Struct, frozen=True):
    """The right to write to a conversation, until another process claims it."""

    conversation_id: str
    owner: str  # a process
    fence: int  # greater than that of every earlier claim


class NodeRow(Struct, frozen=True, omit_defaults=True):
    """A node: one of the running processes that share the store."""

    owner: str  # of its conversations. Another one after each start, and after it was expelled.
    node: str  # its readable name
    inbox: str  # its address on the bus
    agents: list[str] = []  # the agents that it can run
    # `turnwire`, the `schema` of its store, and `state`: the highest level of states it can run.
    versions: dict[str, str] = {}
    started_at: str = ""
    lease_until: int = 0  # milliseconds since 1970, by the caller's clock
    renewals: int = 0  # of its lease; a live node makes more of them
    load: dict[str, int] = {}  # `conversations`, `agents`, `turns`, ...: see docs/reference/cli.md


class Receipt(Struct, frozen=True, omit_defaults=True):
    """The stored answer to a client's command, by its idempotency key."""

    user: str
    client_message_id: str
    body: bytes  # a digest of the frame: the same id with another body is a conflict
    ack: bytes  # JSON


class Commit(Struct, frozen=True, omit_defaults=True):
    """Everything that one step writes, atomically."""

    claim: Claim
    state: Conversation  # after the step; its head is the number of the last entry
    writes: list[Write]
    at: str
    receipt: Receipt | None = None
    native_session_id: str | None = None  # absent: unchanged
    happened: bool = False  # must not be rejected: written even on a full disk if possible
    settles: bool = False  # releases the reservation of its turn
    is_news: bool = True  # sets `updated_at` to `at`; otherwise unchanged
    # Blocks that are finished or discarded: their partials are deleted.
    ended_blocks: list[BlockName] = []
    # Pieces of the agent's own record, about what happened in this step and before.
    pieces: list[SessionPiece] = []


class Reserved(Struct, frozen=True):
    """A reservation of a user's budget for a turn, and the amounts that it was based on."""

    amount: float  # dollars; 0: nothing was reserved
    spent: float  # by this user, since the requested time
    held: float  # reserved for other turns of this user


class Stored(Struct, frozen=True):
    """The size of everything that a user has stored."""

    bytes: int = 0  # of conversations, with their logs and queues, and of blobs
    conversations: int = 0


class StoredEntry(Struct, frozen=True):
    """A stored entry of the log."""

    sequence: int
    entry: Message
    turn_id: int | None
    trace_id: str | None


class StoredTurn(Struct, frozen=True, omit_defaults=True):
    """A turn that has ended."""

    turn_id: int
    trace_id: str
    ended_at: str
    end: TurnEnd


class RequestRow(Struct, frozen=True, omit_defaults=True):
    """A question or a permission, open or ended."""

    conversation_id: str
    request: OpenRequest
    opened_at: str
    outcome: Outcome | None = None  # None: open
    ended_at: str | None = None
    by: str | None = None


class InboxItem(Struct, frozen=True, omit_defaults=True):
    """A request that waits for a person, in any conversation."""

    inbox_item_id: str
    conversation_id: str
    kind: str  # `await_user_input`
    source_id: str  # `conversation:{id}:question:{question_id}`
    request: OpenRequest
    created_at: str
    title: str | None = None  # of the conversation
    closed_at: str | None = None


class GivenRule(Struct, frozen=True, omit_defaults=True):
    """A remembered permission rule, in any conversation."""

    conversation_id: str
    rule: Rule
    title: str | None = None  # of the conversation


class AuditRow(Struct, frozen=True, omit_defaults=True):
    """A record of the audit trail: user, action and time."""

    number: int
    at: str
    action: str
    conversation_id: str | None = None
    by: str | None = None
    data: dict[str, Any] = {}
    trace_id: str | None = None  # of the turn, if the action was a step of one


class Connection(Struct, frozen=True, omit_defaults=True):
    """A client that follows a conversation now."""

    connection_id: str
    conversation_id: str
    owner: str  # the process that the client is connected to
    client_id: str
    opened_at: str
    seen_at: str  # when that process last confirmed it; a dead process does not
    user: str | None = None
    protocol: str = "v2"
    last_sequence: int = 0  # the newest entry that was sent


class Hit(Struct, frozen=True):
    """A search result: an entry that contains the words."""

    conversation_id: str
    sequence: int
    title: str | None
    snippet: str  # the words are marked with \x02 and \x03
    timestamp: str


class BlobRow(Struct, frozen=True):
    """The metadata of a blob."""

    blob_id: str
    mime_type: str
    size: int
    user: str | None  # its user; None: the owner of the data
    conversation_id: str | None  # a user who may see this conversation may see the blob


class Token(Struct, frozen=True, omit_defaults=True):
    """An access token. The store has only the digest of its secret."""

    token_id: str
    name: str  # of a share link: JSON, see `server.access.share_links`
    kind: str  # `token` for a program, `page` for a browser's cookie, `share` for a share link
    user: str | None  # None: the owner of the data
    created_at: str
    expires_at: int | None = None  # milliseconds since 1970; None: never
    revoked_at: str | None = None


class Ticket(Struct, frozen=True):
    """A single-use credential with a short lifetime."""

    kind: str  # `link` becomes a cookie, `socket` opens a WebSocket
    user: str | None
    token_id: str  # the token that it was issued for
    expires_at: int  # milliseconds since 1970
