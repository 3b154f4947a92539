"""The agent port: the interface of an agent and its sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import UNSET, Struct, UnsetType

from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message
from turnwire.core.offers import Setting
from turnwire.errors import TurnwireError
from turnwire.ports.lease import Lease

__all__ = [
    "Agent",
    "AgentCapabilities",
    "AgentGone",
    "AgentSession",
    "AgentUser",
    "AgentsBusy",
    "ChecksOptions",
    "DescribesItself",
    "ForgetsSessions",
    "Isolation",
    "NativeFork",
    "PreparesSessions",
    "PushesBatches",
    "ReadsHistory",
    "RunsCommands",
    "SessionPiece",
    "SessionStart",
    "SteersTurns",
    "StoredSession",
]


class AgentCapabilities(Struct, frozen=True, omit_defaults=True):
    """The abilities of an agent."""

    commands: list[str] = []  # v2 client frames, in addition to message, answer and interrupt
    images: bool = False
    # Types of files that a prompt contains with their bytes: `application/pdf`, `text/*`, `*/*`.
    files: list[str] = []
    # It reads files of its working directory: a file of any other type is put there.
    reads_files: bool = False
    models: list[str] = []
    permission_modes: list[str] = []
    # Modes that only the owner of the data may choose, over the wire.
    owner_permission_modes: list[str] = []
    options: list[str] = []  # its own options that a client may choose for a conversation
    owner_options: list[str] = []  # those that only the owner may choose, over the wire
    # Options that can only restrict a session: an import keeps them.
    narrowing_options: list[str] = []
    questions_survive: bool = False  # an answer reaches a new process as the tool's real result
    controls: list[str] = []  # the controls of `session.control`: names of `core.controls`
    # A new session can begin with a part of another one. False: a fork begins with an empty session
    # that learns what was said before from a recap, or from the log.
    forks: bool = False
    steers: bool = False  # a running turn takes further messages; see SteersTurns
    keeps_budget: bool = False  # a session stops by itself at `max_budget_usd`, within a turn
    is_free: bool = False  # its turns cost nothing: no user budget applies to them
    # It is told what was said before it took the conversation over, or in the conversation that its
    # own is a fork of, as text with its first prompt. False: it reads `SessionStart.history`, or does
    # not need to know.
    takes_recap: bool = True
    # Its sessions say themselves what they offer, with SessionOffered: models, permission modes and
    # options in addition to these. Of the permission modes and options that it does not list here,
    # only the owner may choose those that could widen what the agent may do.
    session_offers: bool = False
    reasons: bool = False  # its turns may show reasoning
    delegates: bool = False  # its turns may have sub-agents
    edits_calls: bool = False  # a person may allow a call with another input

    def modes_for(self, *, is_owner: bool) -> list[str]:
        """Returns the permission modes that a user may choose."""
        own = self.owner_permission_modes if is_owner else []
        return [*self.permission_modes, *own]


class NativeFork(Struct, frozen=True, omit_defaults=True):
    """A position in one of the agent's own sessions, after which a fork begins."""

    session_id: str
    # The ids of the last messages before the fork, newest first. The agent may not know all
    # messages of the log: it uses the first id that it knows.
    after: list[str] = []
    turn_uuid: str | None = None  # of a turn with only a prompt so far; follows those messages
    turns: int = 0  # number of turns before the fork


class SessionPiece(Struct, frozen=True):
    """A piece of an agent's own record of its session, which the store keeps with the conversation.

    Only the agent knows its content. From all pieces of a session, in their order, the agent can
    continue the session on another node.
    """

    session_id: str  # the agent's own id of the session
    name: str  # what it is a part of
    data: bytes


class ReadsHistory(Protocol):
    """Reads the log of a conversation."""

    async def __call__(self) -> list[Message]:
        """Returns all entries so far, in order."""


class SessionStart(Struct, frozen=True, omit_defaults=True):
    """The parameters of an agent session to open."""

    conversation_id: str
    native_session_id: str | None = None  # resume this session of the agent
    cwd: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Any] = {}  # the agent's own options
    max_thinking_tokens: int | None = None  # a person's choice, which overrides the options
    fork: NativeFork | None = None  # begin with a part of another session, if none is resumed
    # Maximum cost of this session in dollars; it then stops by itself, with `budget_exhausted`. An
    # agent that does not know its cost may ignore it.
    max_budget_usd: float | None = None
    mcp_off: list[str] = []  # MCP servers that a person has switched off in this conversation
    # Options of the session that a person has chosen: the names and values of its own offers.
    session_options: dict[str, Setting] = {}
    # The directories below which this session may work, for directories in `options`; `cwd` was
    # checked already. None: any directory.
    roots: list[str] | None = None
    # Every process of the session must end before the lease does. None: there are no other owners.
    lease: Lease | None = None
    pieces: list[SessionPiece] = []  # of the resumed or forked session, as the store keeps them

    # For an agent that keeps no session of its own. None: the log cannot be read.
    history: ReadsHistory | None = None


class AgentGone(TurnwireError):
    """The agent's process has ended, or could not be started. The message says why."""

    code = "AGENT_UNAVAILABLE"
    retryable = True

    @classmethod
    def broken(cls, defect: BaseException) -> AgentGone:
        """Returns the error for an agent that raised an unexpected exception."""
        return cls(f"The agent failed: {type(defect).__name__}: {defect}")


class AgentsBusy(AgentGone):
    """The maximum number of sessions is running.

    The engine closes an idle one, if any, and retries.
    """


class Agent(Protocol):
    """A program that can hold a conversation: Claude, Codex, the demo, a recording."""

    name: str

    @property
    def capabilities(self) -> AgentCapabilities:
        """Returns the abilities of its sessions. Constant."""

    def unavailable(self) -> str | None:
        """Returns why it cannot be used on this machine, with the next step.

        Returns None if it is ready.
        """

    async def open(self, start: SessionStart) -> AgentSession:
        """Opens a session. Raises AgentGone if it cannot be started.

        A resumed session knows the earlier messages. Opening a session sends nothing to the model.
        """


@runtime_checkable
class ChecksOptions(Protocol):
    """An agent that can validate options before a conversation uses them."""

    def check_options(self, options: Any) -> dict[str, Any]:
        """Returns the options to store, as plain JSON. Raises Refused with the invalid option."""


@runtime_checkable
class DescribesItself(Protocol):
    """An agent that people can read about before they choose it."""

    @property
    def description(self) -> str:
        """Returns one line that says what the agent is."""

    async def version(self) -> str | None:
        """Returns the version of its program or package. Returns None if it is not known."""


class AgentUser(Struct, frozen=True):
    """An operating system user that agents run as."""

    name: str
    uid: int
    gid: int
    groups: list[int]
    home: str
    shell: str

    @property
    def environment(self) -> dict[str, str]:
        """Returns the environment variables that identify the user to a program."""
        whose = {"USER": self.name, "LOGNAME": self.name}
        return {**whose, "HOME": self.home, "SHELL": self.shell}


class Isolation(Struct, frozen=True):
    """The isolation of agent processes from the server's own files."""

    by: Literal["namespaces", "landlock", "user", "none"]  # none: only the agent's own means
    hide: list[str]  # directories that agents cannot access, with links resolved
    user: AgentUser | None = None  # with `user`: the user that agents run as


@runtime_checkable
class RunsCommands(Protocol):
    """An agent with processes of its own, which it can isolate from the server's files."""

    runs_commands: bool  # people can make it run commands of their choice on this machine

    def isolate(self, isolation: Isolation | None) -> None:
        """Starts every further process in this isolation; None: without isolation."""

    def exposed_credential(self) -> str | None:
        """Returns why commands can read the agent's credential. Returns None if they cannot."""


@runtime_checkable
class PreparesSessions(Protocol):
    """An agent whose first session starts faster after some preparation."""

    async def prepare(self) -> None:
        """Prepares the agent.

        The engine calls it once, in the background, soon after the start, and after `unavailable`.
        """


@runtime_checkable
class ForgetsSessions(Protocol):
    """An agent that stores records of its sessions, and can delete one."""

    async def forget(self, conversation_id: str, native_session_id: str | None) -> None:
        """Deletes everything stored about a session that was begun for this conversation.

        The conversation is about to be deleted, and no turn is running. With None its session is
        unknown or still in use by another conversation; then only preparations for it are deleted.
        A missing record is no error. Raises OSError or another exception if something could not be
        deleted.
        """


@runtime_checkable
class StoredSession(Protocol):
    """A session of an agent that keeps records of its sessions on this machine."""

    @property
    def is_mirrored(self) -> bool:
        """Whether it hands over its record in pieces.

        Otherwise only the machine with the record can continue the session.
        """

    @property
    def has_pieces(self) -> bool:
        """Whether `take_pieces` has something to return."""

    async def take_pieces(self) -> list[SessionPiece]:
        """Returns the pieces since the last call, in order, each once.

        When an event is yielded, the pieces about it are ready: the engine takes them and commits
        them with the event. The engine also takes the last ones after `close`.
        """


@runtime_checkable
class SteersTurns(Protocol):
    """A session whose running turn takes further messages: `AgentCapabilities.steers`."""

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        """Hands a message to the running turn. Returns False if the turn cannot take it.

        After True the agent takes the message later in this turn, or the turn ends without it. The
        agent reports that it has taken the message with a UserMessage that has this `message_id`.
        """

    async def has_taken(self, message_id: str) -> bool:
        """Returns whether the session's own record has a message that was handed to it by `steer`.

        The process that got the message has ended before it reported what became of it. With True
        the message is not sent again: the next `prompt` may then have no content.
        """


@runtime_checkable
class PushesBatches(Protocol):
    """A session that can hand over a batch of events without a pass of the event loop."""

    def push_batches(self, take: Callable[[list[NormalizedStreamEvent]], bool]) -> None:
        """Offers each batch to `take` as soon as it comes, if all earlier ones were yielded.

        `take` returns False if it does not take the batch, which then comes through `events`.
        """


class AgentSession(Protocol):
    """One running agent, which belongs to one conversation.

    Order: events come in the order in which they happened. The events of one turn are between its
    TurnStarted and its TurnCompleted or TurnFailed, which ResultSummary follows in the same batch.
    The same holds for a turn that the agent starts without a prompt. A sub-agent's events may come
    at any time, even after the turn that started it.

    Ids: the ids of messages and tool calls are unique in the conversation, over all processes. The
    ids of requests need to be unique in one process only, because the engine distinguishes
    processes.

    Loss: events that were not yielded when the process dies are lost; the engine ends the turn
    accordingly. No event is repeated.
    """

    @property
    def native_session_id(self) -> str | None:
        """Returns the agent's own id of this session, to resume it later.

        Returns None if not known yet.
        """

    def events(self) -> AsyncIterator[list[NormalizedStreamEvent]]:
        """Yields events in batches of those that are ready together. Ends when the agent has ended.

        Raises AgentGone if the agent ended unexpectedly. The only reader always continues to read,
        so an agent never waits for a slow client.
        """

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begins a turn. The engine has at most one prompt in progress.

        `turn_uuid` is the same if the same turn is handed over again after a crash. An agent that
        can detect a repeat by it processes the turn once.
        """

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Delivers a person's answers; the turn continues.

        With `resumed` this session was opened for the answers: the process that asked has ended. If
        possible the agent takes an answer as the tool's result, otherwise as text.
        """

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Changes the model, the permission mode or the thinking budget.

        None leaves a setting unchanged; for thinking, None restores the value of the session's
        start. Does nothing if the agent has no such setting; its capabilities then lack the
        command. The agent reports a refused change with `choice_refused`.
        """

    async def control(self, control: Control) -> ControlResult:
        """Runs a control, also during a turn, and returns its result.

        Raises Refused if it is impossible: NOT_SUPPORTED if the capabilities do not list it,
        INVALID_PAYLOAD if its target does not exist. Raises AgentGone if the agent ends meanwhile.
        Several controls may run concurrently, but the engine sends nothing else during a
        `RewindFiles`.
        """

    async def interrupt(self) -> None:
        """Asks the agent to stop the turn. The events show whether it does."""

    async def close(self) -> list[EndedProcess]:
        """Ends the agent and every process that it started, within seconds, by force if necessary.

        Returns the processes that had to be ended. May be called repeatedly, and while `events` is
        read.
        """
