"""The store port: the interface of durable storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from turnwire.core.partials import Partial
from turnwire.ports.agent import SessionPiece
from turnwire.ports.rows import (
    Activity,
    AuditRow,
    BlobRow,
    Claim,
    Commit,
    Connection,
    ConversationRow,
    ForkPlace,
    GivenRule,
    Hit,
    InboxItem,
    NewConversation,
    NodeRow,
    Receipt,
    RequestRow,
    Reserved,
    Stored,
    StoredEntry,
    StoredTurn,
    Ticket,
    Token,
)

__all__ = ["Store"]


class Store(Protocol):
    """The log, and all other durable data.

    Atomicity: a commit is completely on disk when `commit` returns; if it raises, nothing of it is
    stored. Commits of different conversations may share one write to the disk, but each succeeds or
    fails on its own.

    Order: the commits of one conversation are written in the order of the calls. Numbers have no
    gaps: an entry's sequence must be the log's head plus one. A commit with other numbers is
    rejected as a whole (Conflict). So is a commit that ends a request which is not open, or adds a
    receipt which exists already.

    Fencing: every write carries its claim. A write whose fence is not the newest, or whose owner
    has lost the conversation, raises Fenced and writes nothing, however late it arrives.

    Leases: an owner holds a conversation while the lease of its claim runs, or the lease of its
    node. A node renews only its own lease, whatever the number of its conversations. A claim that
    takes a conversation over expels the node of its former owner in the same transaction. A store
    that several machines share uses its own clock for leases, not `now`.

    Reads see everything that was committed before they began. They do not wait for writers.
    """

    @property
    def epoch(self) -> str:
        """Returns the id of this incarnation of the log. A restored copy has another one."""

    async def create(self, conversation: NewConversation) -> ConversationRow:
        """Creates a conversation. Raises Conflict if the id exists already."""

    async def conversation(self, conversation_id: str) -> ConversationRow | None:
        """Returns a conversation, or None if it does not exist.

        Raises Damaged if it cannot be read.
        """

    async def versions(self, conversation_ids: Sequence[str]) -> dict[str, int]:
        """Returns a number for each of these conversations that exists, in one query.

        It changes with the state of the conversation, with its owner, and when it is archived or
        restored. Compare it only with numbers that this process has got.
        """

    async def conversations(
        self,
        *,
        user: str | None = None,
        archived: bool = False,
        pinned: bool = False,
        label: str | None = None,
        agent: str | None = None,
        activity: Activity | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[ConversationRow]:
        """Returns conversations, newest first; `user` limits them to one user.

        `pinned` limits them to pinned ones, `label` to those with this label, `agent` to one agent.
        `activity` limits them to those whose stored state is in this group. A conversation that
        cannot be read has its `damage` set, and stays in the group of its last state.
        """

    async def fork_place(self, conversation_id: str, at: int | None = None) -> ForkPlace:
        """Returns a position to fork at; None: the newest complete one.

        Raises CONVERSATION_NOT_FOUND.
        """

    async def fork(self, new: NewConversation, *, by: str | None = None) -> ConversationRow:
        """Creates a fork with the entries of `new.parent_id` up to `new.forked_at`, atomically.

        The entries keep their numbers, turns and times, as do ended requests. References to blobs
        are recorded. Receipts and open items are not copied, and no cost counts again. The pieces
        of the agent's session in `new.native_from` are copied. Raises Conflict if the id exists
        already, or if the entries do not match the new state.
        """

    async def session_pieces(self, conversation_id: str, session_id: str) -> list[SessionPiece]:
        """Returns the pieces of one of the agent's sessions, in the order of their commits."""

    async def forget_pieces(self, claim: Claim, *, keep: str) -> None:
        """Deletes the pieces of all sessions but `keep`. Raises Fenced."""

    async def pin(self, claim: Claim, node: str) -> None:
        """Makes a node the only one that can run the conversation's agent. Raises Fenced."""

    async def users_of_session(self, native_session_id: str) -> list[str]:
        """Returns the conversations whose agent continues this session, or will begin with it."""

    async def unsettled(self) -> list[str]:
        """Returns the conversations that may have an open turn, queue or request after a crash."""

    async def abandoned(
        self, *, now: int, except_agents: Sequence[str] = (), after: str = "", limit: int = 1000
    ) -> list[str]:
        """Returns conversations whose leases have expired: the owner has died, or hangs.

        Returns the first ones after the id `after`, in the order of ids. Leaves out conversations
        with `except_agents`. The cost depends on the number of owners, not of conversations.
        """

    async def overdue(
        self, *, now: int, agents: Sequence[str], after: str = "", limit: int = 1000
    ) -> list[tuple[str, str]]:
        """Returns open requests whose deadline has passed, and whose conversation no owner holds.

        Each is a conversation's id and a request's id. Returns those of the first conversations
        after the id `after`, in the order of ids. Leaves out archived conversations, other agents,
        and deadlines that are done.
        """

    async def deadlines_done(self, requests: Sequence[tuple[str, str]]) -> None:
        """Records that deadlines were handled, so that `overdue` does not return them again.

        A request may stay open after its deadline. A new deadline of the request counts again.
        """

    async def change(
        self,
        conversation_id: str,
        *,
        archived: bool | None = None,
        pinned: bool | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Changes fields that the engine does not own; None leaves a field as it is.

        Use `Talk.rename` for the title. Raises CONVERSATION_NOT_FOUND.
        """

    async def delete(
        self, conversation_id: str, *, at: str | None = None, by: str | None = None
    ) -> None:
        """Deletes a conversation.

        The audit trail stays, with a record of the deletion (`at` or now, `by`).
        """

    async def claim(self, conversation_id: str, owner: str, *, now: int, lease: int) -> Claim:
        """Claims a conversation for `lease` milliseconds, and longer while the owner's node lives.

        Raises Owned while another owner holds the conversation. Otherwise expels the node of that
        owner first. Raises Refused (CONVERSATION_NOT_FOUND) if the conversation does not exist.
        """

    async def owned(self, owner: str) -> dict[str, bool]:
        """Returns the conversations that this owner has claimed, and neither released nor lost.

        The value says whether the conversation is archived.
        """

    async def release(self, claim: Claim) -> None:
        """Releases a claim, so that the next owner need not wait."""

    async def join(self, node: NodeRow, *, now: int, lease: int) -> None:
        """Adds a node with a lease of `lease` milliseconds. May be repeated."""

    async def renew_node(
        self, owner: str, *, now: int, lease: int, load: dict[str, int] | None = None
    ) -> bool:
        """Renews the lease of a node, and with it that of all conversations of this owner.

        Returns False if the node was expelled: its conversations may have other owners, and it has
        to join again under another name.
        """

    async def leave(self, owner: str) -> None:
        """Removes a node. An unknown owner is ignored."""

    async def nodes(self) -> list[NodeRow]:
        """Returns the nodes, oldest first, also those whose lease has expired."""

    async def commit(self, commit: Commit) -> None: ...

    async def save_partials(self, claim: Claim, partials: Sequence[Partial]) -> None:
        """Saves the text added to unfinished blocks since the last save. Raises Fenced.

        The pieces are on disk when it returns, and survive the process. They have no number in the
        log. A piece with the place and start of an earlier one replaces that. Saves and commits of
        a conversation are written in the order of the calls. A commit deletes the partials of its
        `ended_blocks`. A save may fail on a full disk; nothing depends on it.
        """

    async def partials(self, conversation_id: str) -> list[Partial]:
        """Returns each unfinished block with its saved text, in order."""

    async def entries(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        newest: bool = False,
        size: int | None = None,
    ) -> list[StoredEntry]:
        """Returns entries in order, between two numbers; the first ones, or with `newest` the last.

        `size` is their approximate maximum in bytes together. The first entry is always returned,
        whatever its size.
        """

    async def raw_event(self, conversation_id: str, sequence: int) -> str | None:
        """Returns the agent's own message of an entry, as redacted JSON.

        Returns None if it is not stored.
        """

    async def turns(
        self, conversation_id: str, *, since: int = 0, before: int | None = None
    ) -> list[StoredTurn]:
        """Returns the turns that ended at entry `since` or later and before `before`, in order."""

    async def spent(self, user: str | None, *, since: str | None = None) -> float:
        """Returns the cost in dollars of a user's conversations since a time.

        Every Spend of a commit counts once, even after its conversation is deleted.
        """

    async def reserve(
        self,
        claim: Claim,
        choose: Callable[[float, float], float],
        *,
        since: str | None = None,
        now: int,
    ) -> Reserved:
        """Reserves a part of the user's budget for the conversation's next turn.

        `choose` gets the user's cost since a time, and the reservations of the user's other
        conversations; it returns the amount. `choose` is pure. No other reservation of this user is
        made meanwhile, in any process. A conversation has one reservation: the newest. It counts
        until a commit settles it, or its owner loses the claim, or the lease expires. Raises
        Fenced.
        """

    async def stored(self, user: str) -> Stored:
        """Returns the size of a user's stored data, in constant time."""

    async def receipt(
        self, conversation_id: str, user: str, client_message_id: str
    ) -> Receipt | None: ...
    async def request(self, conversation_id: str, request_id: str) -> RequestRow | None: ...
    async def inbox(self, *, user: str | None = None, open_only: bool = True) -> list[InboxItem]:
        """Returns the open requests; with `open_only=False` also ended and archived ones.

        Requests of an archived conversation cannot be answered, so they are hidden until it is
        unarchived.
        """

    async def inbox_item(self, inbox_item_id: str, *, user: str | None = None) -> InboxItem | None:
        """Returns one inbox item, open or not, in constant time.

        Returns None if it does not exist.
        """

    async def rules(
        self, *, user: str | None = None, limit: int = 100, offset: int = 0
    ) -> list[GivenRule]:
        """Returns the remembered permission rules of all conversations, the newest first.

        The time does not depend on the number of conversations.
        """

    async def audit(
        self, *, conversation_id: str | None = None, after: int = 0, limit: int = 500
    ) -> list[AuditRow]: ...
    async def note(
        self,
        action: str,
        *,
        at: str,
        by: str | None = None,
        conversation_id: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Adds an audit record that is not a step of a conversation: a connection, a backup, ..."""

    async def connected(self, connections: Sequence[Connection]) -> None:
        """Records connections as active. A connection of a deleted conversation is ignored."""

    async def disconnected(self, connection_ids: Sequence[str]) -> None:
        """Removes connections. An unknown id is ignored."""

    async def connections(self, conversation_id: str | None = None) -> list[Connection]:
        """Returns the connections of a conversation, or of all, oldest first."""

    async def search(
        self,
        words: str,
        *,
        user: str | None = None,
        conversation_id: str | None = None,
        limit: int = 50,
    ) -> list[Hit]:
        """Returns the entries that contain all the words, newest first; of one conversation or of all.

        The cost of a search is bounded. More than 1,000 characters raise Refused (INVALID_PAYLOAD).
        Only the first 50 different words count. If the hits are long, older ones may have an empty
        snippet.
        """

    async def put_blob(
        self,
        blob_id: str,
        data: bytes,
        mime_type: str,
        *,
        at: str,
        user: str | None = None,
        conversation_id: str | None = None,
        quota: int | None = None,
    ) -> None:
        """Stores a blob. Raises OverQuota.

        With a `quota` the user's stored bytes never exceed it, even with concurrent calls.
        """

    async def get_blob(self, blob_id: str) -> tuple[bytes, str] | None: ...
    async def blob(self, blob_id: str) -> BlobRow | None:
        """Returns the metadata of a blob. Returns None if it does not exist."""

    async def add_token(self, token: Token, digest: bytes) -> None:
        """Stores a token by the digest of its secret. Raises Conflict if it exists already."""

    async def token(self, digest: bytes) -> Token | None:
        """Returns the token with this digest, revoked or not. Returns None if it does not exist."""

    async def tokens(self) -> list[Token]:
        """Returns all tokens, oldest first."""

    async def revoke_token(self, token_id: str, *, at: str) -> bool:
        """Revokes a token and its tickets.

        Returns False if there was no valid token with this id.
        """

    async def forget_tokens(self, *, before: int) -> None:
        """Deletes tokens and tickets that expired before this time, and tokens revoked by then."""

    async def add_ticket(
        self, ticket: Ticket, digest: bytes, *, now: int, most: int | None = None
    ) -> bool:
        """Stores a ticket. Returns False if the token that it is issued for is not valid any more.

        Raises OverQuota if that token has `most` open tickets.
        """

    async def take_ticket(self, digest: bytes, kind: str, *, now: int) -> Ticket | None:
        """Removes and returns a ticket, once.

        Returns None if it was used, has expired or is unknown.
        """

    async def void_tickets(self, user: str) -> None:
        """Invalidates the tickets of this user."""

    async def shared_secret(self) -> bytes:
        """Returns a secret of 32 bytes that all processes which share this store know.

        It is made at the first call. A copy of the store has another one.
        """

    async def check_writable(self) -> None:
        """Commits a small write. Raises StorageUnavailable, with the next step, if that fails.

        Repeated calls do not make the store grow.
        """

    async def backup(self, path: str) -> str:
        """Copies the store while it is in use. Returns the new epoch of the copy."""

    async def close(self) -> None: ...
