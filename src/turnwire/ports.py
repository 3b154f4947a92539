"""The promises that the engine is built on: what an agent, a store, a bus and a clock must do.

Each port says what it promises about order, about all-or-nothing, and about loss. Whoever implements
one can run the checks in `turnwire.testing` against it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from msgspec import UNSET, Struct, UnsetType

from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.effects import Write
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Conversation, Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message
from turnwire.core.status import OpenRequest, Outcome, TurnEnd
from turnwire.errors import TurnwireError

__all__ = [
    "Agent",
    "AgentCapabilities",
    "AgentGone",
    "AgentSession",
    "AuditRow",
    "BlobRow",
    "Bus",
    "ChecksOptions",
    "Claim",
    "Clock",
    "Commit",
    "Conflict",
    "Connection",
    "ConversationRow",
    "Damaged",
    "Fenced",
    "ForkPlace",
    "Hit",
    "InboxItem",
    "NativeFork",
    "NewConversation",
    "OverQuota",
    "Owned",
    "Receipt",
    "RequestRow",
    "SessionStart",
    "StorageUnavailable",
    "Store",
    "StoredEntry",
    "StoredTurn",
    "Ticket",
    "Timer",
    "Token",
]


# --- the agent ----------------------------------------------------------------------------------


class AgentCapabilities(Struct, frozen=True, omit_defaults=True):
    """What an agent can do."""

    commands: list[str] = []  # of the v2 client frames, beyond message, answer and interrupt
    images: bool = False
    models: list[str] = []
    permission_modes: list[str] = []
    options: list[str] = []  # its own options that a client may choose for a conversation
    owner_options: list[str] = []  # and those that only the owner of the data may, over the wire
    questions_survive: bool = False  # an answer reaches a new process as the tool's real result
    controls: list[str] = []  # what may be asked with `session.control`: names of `core.controls`
    forks: bool = False  # a new session can begin with a part of another one


class NativeFork(Struct, frozen=True, omit_defaults=True):
    """A place in one of the agent's own sessions, behind which another one is to begin."""

    session_id: str
    # The ids of the last messages that belong to it, the newest first. Not all that the log knows
    # is known to the agent: it goes by the first one that is.
    after: list[str] = []
    turn_uuid: str | None = None  # of a turn of which nothing but its prompt is known; behind those


class SessionStart(Struct, frozen=True, omit_defaults=True):
    """How a session of an agent is opened."""

    conversation_id: str
    native_session_id: str | None = None  # resume this one of the agent's own sessions
    cwd: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Any] = {}  # the agent's own
    max_thinking_tokens: int | None = None  # what a person chose, whatever the options say
    fork: NativeFork | None = None  # begin one that knows a part of another; where none is resumed
    # Dollars that this session may cost; then it stops by itself, with `budget_exhausted`. One that
    # cannot tell what it costs need not.
    max_budget_usd: float | None = None
    mcp_off: list[str] = []  # MCP servers that a person has switched off in this conversation


class AgentGone(TurnwireError):
    """The agent's process has ended, or could not be started. The message says why."""

    code = "AGENT_UNAVAILABLE"
    retryable = True


class Agent(Protocol):
    """Something that can hold a conversation: Claude, Codex, the demo, a recording."""

    name: str

    @property
    def capabilities(self) -> AgentCapabilities:
        """What its sessions can do. Constant."""

    def unavailable(self) -> str | None:
        """Why it cannot be used on this machine, and what to do about it; none: it is ready."""

    async def open(self, start: SessionStart) -> AgentSession:
        """Start it. Raises AgentGone if it cannot be started.

        A session that was resumed knows what was said before. Opening says nothing to the model.
        """


@runtime_checkable
class ChecksOptions(Protocol):
    """An agent that can say of options whether they make sense, before a conversation has them."""

    def check_options(self, options: Any) -> dict[str, Any]:
        """The options as they are to be kept, in plain JSON. Raises Refused, which names what is wrong."""


class AgentSession(Protocol):
    """One running agent, which belongs to one conversation.

    Order: events come in the order in which they happened; the events of one turn lie between its
    TurnStarted and its TurnCompleted or TurnFailed, which ResultSummary follows in the same batch.
    A turn that no prompt asked for is a turn like any other. A sub-agent's events may come at any
    time, also after the turn that started it.

    Ids: those of messages and tool calls are unique in the conversation, over all processes. Those
    of requests have to be so in one process only: the engine tells processes apart.

    Loss: what was not handed out when the process dies is lost; the engine ends the turn truthfully.
    Nothing is said twice.
    """

    @property
    def native_session_id(self) -> str | None:
        """The agent's own name for this session, once it is known: to resume it later."""

    def events(self) -> AsyncIterator[list[NormalizedStreamEvent]]:
        """What happens, in batches of what is ready together. Ends when the agent has ended.

        Raises AgentGone if it ended by itself. There is one reader, and it always reads on: an
        agent never waits for a slow client.
        """

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begin a turn. The engine has one prompt in flight, never two.

        `turn_uuid` is the same if the same turn is handed over again after a crash: an agent that
        can tell a repeat by it works on it once.
        """

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """A person's answers. With `resumed`, this session was opened for them: the question was
        asked by a process that is gone. Where the agent can, an answer is that tool's result; where
        it cannot, it is told in words. Either way its turn goes on.
        """

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Go on with another model, or ask or think more, or less; none: as it was, but of thinking:
        as the session began. It does nothing where the agent has no choice: then its capabilities do
        not name the command. What it does not take it tells of, with `choice_refused`.
        """

    async def control(self, control: Control) -> ControlResult:
        """Do this beside the talk, in the middle of a turn as well, and say what came of it.

        Raises Refused where it cannot be done: NOT_SUPPORTED for what its capabilities do not name,
        INVALID_PAYLOAD for what is not there. Raises AgentGone if the agent ends meanwhile. Several
        may be under way at once, but nothing is said to the agent while a `RewindFiles` is.
        """

    async def interrupt(self) -> None:
        """Stop the turn. It is a wish: whether it is obeyed shows in the events, or it does not."""

    async def close(self) -> list[EndedProcess]:
        """End the agent with every process that it started, within seconds, by force if need be.

        Returns what had to be ended. May be called again, and while `events` is being read.
        """


# --- the store ----------------------------------------------------------------------------------


class StorageUnavailable(TurnwireError):
    """The log cannot be written: a full disk, a broken one. Nothing of the commit was kept."""

    code = "STORAGE_UNAVAILABLE"
    retryable = True


class Fenced(TurnwireError):
    """Another owner has taken the conversation over. The one that gets this must write no more."""

    code = "STORAGE_UNAVAILABLE"


class Conflict(TurnwireError):
    """It contradicts what is stored: numbers with a gap, a name that is taken, a request that has
    ended. Nothing of it was kept, and it would be refused again.
    """


class OverQuota(TurnwireError):
    """A user would keep more than may be kept. Nothing was; `data` has what is `kept` already."""


class Damaged(TurnwireError):
    """What is stored of this conversation cannot be read. Others are not touched by that."""

    def __init__(self, conversation_id: str, why: str) -> None:
        super().__init__(
            f"Conversation {conversation_id} is damaged and cannot be read: {why}."
            " `turnwire fsck` shows the damage, `turnwire fsck --repair` repairs it.",
            conversation_id=conversation_id,
        )


class Owned(TurnwireError):
    """Another live process owns the conversation. `data` says which, and until when."""

    code = "CONVERSATION_CLOSED"


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


class Store(Protocol):
    """The log, and everything that is kept beside it.

    All or nothing: a commit is on disk, whole, when `commit` returns; if it raises, nothing of it
    is there. Commits of different conversations may be gathered into one write to the disk, but
    each succeeds or fails for itself.

    Order: the commits of one conversation are written in the order in which they were called.
    Numbers are given out without a gap: an entry's sequence must be the log's head plus one, and a
    commit whose numbers are others is refused as a whole (Conflict). So is one that ends a request
    which is not open, or brings a receipt which is there already.

    Fencing: every write carries its claim. One whose fence is not the newest raises Fenced and
    writes nothing, however late it comes.

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

    async def entries(
        self,
        conversation_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        newest: bool = False,
    ) -> list[StoredEntry]:
        """Entries in order, between two numbers; `newest`: the last ones of them, not the first."""

    async def raw_event(self, conversation_id: str, sequence: int) -> str | None:
        """The agent's own message that an entry came of, as JSON without its secrets, if it is kept."""

    async def turns(self, conversation_id: str, *, since: int = 0) -> list[StoredTurn]:
        """The turns that ended at or after this number of the log, in order."""

    async def spent(self, user: str | None, *, since: str | None = None) -> float:
        """Dollars that the conversations of a user have cost, from a time on.

        Every Spend of a commit counts once, and goes on counting when its conversation is deleted.
        """

    async def receipt(
        self, conversation_id: str, user: str, client_message_id: str
    ) -> Receipt | None: ...
    async def request(self, conversation_id: str, request_id: str) -> RequestRow | None: ...
    async def inbox(
        self, *, user: str | None = None, open_only: bool = True
    ) -> list[InboxItem]: ...
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

    async def search(
        self, words: str, *, user: str | None = None, limit: int = 50
    ) -> list[Hit]: ...
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
        """Keep it. With a `quota`, all blobs of this user together have no more bytes than that,
        however many come at once. Raises OverQuota.
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

    async def add_ticket(self, ticket: Ticket, digest: bytes, *, now: int) -> None: ...
    async def take_ticket(self, digest: bytes, kind: str, *, now: int) -> Ticket | None:
        """The first who asks gets it; nobody gets it twice, or after its time."""

    async def backup(self, path: str) -> str:
        """Copy everything while it is in use; the copy has a new epoch, which is returned."""

    async def close(self) -> None: ...


# --- the bus ------------------------------------------------------------------------------------


class Bus(Protocol):
    """Tells whoever follows a conversation that something happened.

    Loss is allowed: a subscriber that hears nothing looks at the log after a while by itself, so a
    lost message delays delivery and never loses it. Order within one conversation holds for what
    arrives.
    """

    def publish(self, conversation_id: str, message: Any) -> None:
        """To everyone who subscribes to this conversation now. Never waits."""

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        """From now on; returns what ends it. `receive` must not wait."""


# --- the clock ----------------------------------------------------------------------------------


Timer: TypeAlias = Callable[[], None]


class Clock(Protocol):
    """Time, so that tests need not wait for it."""

    def now(self) -> int:
        """Milliseconds since 1970. It may jump, in both directions."""

    def call_at(self, at: int, run: Callable[[], None]) -> Timer:
        """Run this when `now` has reached `at`; at once if it has. Returns what cancels it."""

    def call_after(self, milliseconds: int, run: Callable[[], None]) -> Timer:
        """Run this when so much time has passed, wherever `now` has jumped meanwhile."""
