"""What a store promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from turnwire.core.partials import Partial
from turnwire.ports.rows import (
    AuditRow,
    BlobRow,
    Claim,
    Commit,
    Connection,
    ConversationRow,
    ForkPlace,
    Hit,
    InboxItem,
    NewConversation,
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
    """The log, and everything that is kept beside it.

    All or nothing: a commit is on disk, whole, when `commit` returns; if it raises, nothing of it
    is there. Commits of different conversations may be gathered into one write to the disk, but
    each succeeds or fails for itself.

    Order: the commits of one conversation are written in the order in which they were called.
    Numbers are given out without a gap: an entry's sequence must be the log's head plus one, and a
    commit whose numbers are others is refused as a whole (Conflict). So is one that ends a request
    which is not open, or brings a receipt which is there already.

    Fencing: every write carries its claim. One whose fence is not the newest, or whose owner is not
    the owner any more, raises Fenced and writes nothing, however late it comes.

    Reads see everything that was committed before they began. They do not wait for writers.
    """

    @property
    def epoch(self) -> str:
        """The name of this incarnation of the log. A restored copy has another one."""

    async def create(self, conversation: NewConversation) -> ConversationRow:
        """Begin one. Raises Conflict if there is one of this name."""

    async def conversation(self, conversation_id: str) -> ConversationRow | None:
        """One. Raises Damaged if it is there and cannot be read."""

    async def conversations(
        self, *, user: str | None = None, archived: bool = False, limit: int = 100, offset: int = 0
    ) -> list[ConversationRow]:
        """The newest first; `user`: only theirs. One that cannot be read has its `damage`."""

    async def fork_place(self, conversation_id: str, at: int | None = None) -> ForkPlace:
        """What is known of a place; none: the newest whole one. Raises CONVERSATION_NOT_FOUND."""

    async def fork(self, new: NewConversation, *, by: str | None = None) -> ConversationRow:
        """Begin one with the entries of `new.parent_id` up to and with `new.forked_at`, in one go.

        They keep their numbers, turns and times, and so do requests that have ended. What the new
        one needs of the blobs is noted. Receipts and whatever is open stay behind. Nothing counts
        as spent again. Raises Conflict if there is one of this name, or its log would be another.
        """

    async def users_of_session(self, native_session_id: str) -> list[str]:
        """The conversations whose agent goes on with this session, or is yet to begin with it."""

    async def unsettled(self) -> list[str]:
        """The conversations that a crash may have left with a running turn, a queue or a request."""

    async def abandoned(self, *, now: int) -> list[str]:
        """All that have an owner whose lease has run out: it has died, or hangs."""

    async def change(self, conversation_id: str, *, archived: bool) -> None:
        """Change what is not the engine's. A title is: `Talk.rename` gives another one."""

    async def delete(
        self, conversation_id: str, *, at: str | None = None, by: str | None = None
    ) -> None:
        """Everything of it. The audit trail stays, and says so: `at`, or now, and by whom."""

    async def claim(self, conversation_id: str, owner: str, *, now: int, lease: int) -> Claim:
        """Take a conversation over for `lease` milliseconds. Raises Owned while another's lease runs,
        and Refused (CONVERSATION_NOT_FOUND) if there is none.
        """

    async def renew(self, claims: Sequence[Claim], *, now: int, lease: int) -> list[Claim]:
        """Hold on to them. Returns those that still hold: not taken over, not let go of."""

    async def release(self, claim: Claim) -> None:
        """Let go of it, so that the next owner need not wait."""

    async def commit(self, commit: Commit) -> None: ...

    async def save_partials(self, claim: Claim, partials: Sequence[Partial]) -> None:
        """Save what has grown of blocks since it was last saved. Raises Fenced.

        The pieces are on disk when it returns, and outlive the process. They have no number in the
        log. A piece with the place and start of an earlier one replaces that. Saves and commits of
        a conversation are written in the order in which they were called. A commit deletes what was
        saved of its `ended_blocks`. A save may be refused on a full disk; nothing depends on it.
        """

    async def partials(self, conversation_id: str) -> list[Partial]:
        """Returns each block that is not finished with all that was saved of it, in their order."""

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
        """Entries in order, between two numbers; `newest`: the last ones of them, not the first.

        `size`: about how many bytes they may have together. The first of them is returned, however
        large it is.
        """

    async def raw_event(self, conversation_id: str, sequence: int) -> str | None:
        """The agent's own message that an entry came of, as JSON without its secrets, if it is kept."""

    async def turns(
        self, conversation_id: str, *, since: int = 0, before: int | None = None
    ) -> list[StoredTurn]:
        """Returns the turns that ended at or after the entry `since` and before the entry `before`, in order."""

    async def spent(self, user: str | None, *, since: str | None = None) -> float:
        """Dollars that the conversations of a user have cost, from a time on.

        Every Spend of a commit counts once, and goes on counting when its conversation is deleted.
        """

    async def reserve(
        self,
        claim: Claim,
        choose: Callable[[float, float], float],
        *,
        since: str | None = None,
        now: int,
    ) -> Reserved:
        """Reserve a part of what the conversation's user may spend, for its next turn.

        `choose` is told what the user has spent from a time on, and what is reserved for turns of
        their other conversations, and returns the amount. It is pure. No other reservation of this
        user is made meanwhile, in any process. A conversation has one reservation: the newest. It
        counts until a commit settles it, or its owner loses the claim or lets its lease run out.
        Raises Fenced.
        """

    async def stored(self, user: str) -> Stored:
        """How much a user has stored. It costs the same however much that is."""

    async def receipt(
        self, conversation_id: str, user: str, client_message_id: str
    ) -> Receipt | None: ...
    async def request(self, conversation_id: str, request_id: str) -> RequestRow | None: ...
    async def inbox(self, *, user: str | None = None, open_only: bool = True) -> list[InboxItem]:
        """What waits for a person; `open_only=False`: what is closed or archived, too.

        In an archived conversation nothing can be answered, so it is not listed until it is taken
        out of the archive.
        """

    async def inbox_item(self, inbox_item_id: str, *, user: str | None = None) -> InboxItem | None:
        """One of them, open or not. It costs the same however many there are."""

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
        """Add to the audit trail what is no step of a conversation: a connection, a backup, ..."""

    async def connected(self, connections: Sequence[Connection]) -> None:
        """These follow, or follow still. One whose conversation is gone is left out."""

    async def disconnected(self, connection_ids: Sequence[str]) -> None:
        """These do not any more. One that is not known is passed over."""

    async def connections(self, conversation_id: str | None = None) -> list[Connection]:
        """Who follows this one, or any; the oldest first."""

    async def search(self, words: str, *, user: str | None = None, limit: int = 50) -> list[Hit]:
        """Returns the entries that have all the words, the newest first.

        What one search costs is bounded. One with more than 1,000 characters raises Refused
        (INVALID_PAYLOAD); of more than 50 different words the first 50 count. If the hits are long,
        the older ones may have an empty snippet.
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
        """Keep it. With a `quota`, all that this user has stored has no more bytes than that, however
        many blobs come at once. Raises OverQuota.
        """

    async def get_blob(self, blob_id: str) -> tuple[bytes, str] | None: ...
    async def blob(self, blob_id: str) -> BlobRow | None:
        """The same without its bytes."""

    async def add_token(self, token: Token, digest: bytes) -> None:
        """Keep one, by the digest of what its holder has. Raises Conflict if there is one."""

    async def token(self, digest: bytes) -> Token | None:
        """The one with this digest, revoked or not."""

    async def tokens(self) -> list[Token]:
        """All of them, the oldest first."""

    async def revoke_token(self, token_id: str, *, at: str) -> bool:
        """It opens nothing any more, nor do its tickets. False: there was none that did."""

    async def forget_tokens(self, *, before: int) -> None:
        """Delete tokens and tickets whose time was over then, and tokens that were revoked then."""

    async def add_ticket(
        self, ticket: Ticket, digest: bytes, *, now: int, most: int | None = None
    ) -> bool:
        """Keep one. False: the token that it would be had with opens nothing any more.

        Raises OverQuota if that token has `most` open ones.
        """

    async def take_ticket(self, digest: bytes, kind: str, *, now: int) -> Ticket | None:
        """The first who asks gets it; nobody gets it twice, or after its time."""

    async def void_tickets(self, user: str) -> None:
        """The tickets of this user open nothing any more."""

    async def check_writable(self) -> None:
        """Writes something small and commits it. Raises StorageUnavailable, which says what to do.

        However often it is called, the store does not grow by it.
        """

    async def backup(self, path: str) -> str:
        """Copy everything while it is in use; the copy has a new epoch, which is returned."""

    async def close(self) -> None: ...
