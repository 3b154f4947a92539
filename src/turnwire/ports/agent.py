"""What an agent promises."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import UNSET, Struct, UnsetType

from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
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
    "ForgetsSessions",
    "Isolation",
    "NativeFork",
    "PreparesSessions",
    "RunsCommands",
    "SessionStart",
]


class AgentCapabilities(Struct, frozen=True, omit_defaults=True):
    """What an agent can do."""

    commands: list[str] = []  # of the v2 client frames, beyond message, answer and interrupt
    images: bool = False
    models: list[str] = []
    permission_modes: list[str] = []
    # And those that only the owner of the data may choose, over the wire.
    owner_permission_modes: list[str] = []
    options: list[str] = []  # its own options that a client may choose for a conversation
    owner_options: list[str] = []  # and those that only the owner of the data may, over the wire
    # Those of its options that can only take something away from a session: an import keeps them.
    narrowing_options: list[str] = []
    questions_survive: bool = False  # an answer reaches a new process as the tool's real result
    controls: list[str] = []  # what may be asked with `session.control`: names of `core.controls`
    forks: bool = False  # a new session can begin with a part of another one
    keeps_budget: bool = False  # a session stops by itself at `max_budget_usd`, within a turn
    is_free: bool = False  # its turns cost nothing: no budget of a user applies to them

    def modes_for(self, *, is_owner: bool) -> list[str]:
        """The permission modes that somebody may choose."""
        own = self.owner_permission_modes if is_owner else []
        return [*self.permission_modes, *own]


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
    # The directories below which this session may work, for directories that `options` name; `cwd`
    # was checked already. None: any directory.
    roots: list[str] | None = None
    # Every process of the session has ended before this has. None: no other process could take over.
    lease: Lease | None = None


class AgentGone(TurnwireError):
    """The agent's process has ended, or could not be started. The message says why."""

    code = "AGENT_UNAVAILABLE"
    retryable = True

    @classmethod
    def broken(cls, defect: BaseException) -> AgentGone:
        """One that has a defect."""
        return cls(f"The agent broke: {type(defect).__name__}: {defect}")


class AgentsBusy(AgentGone):
    """As many sessions run as may. If one of them is idle, the engine ends it and opens this again."""


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


class AgentUser(Struct, frozen=True):
    """A user of this machine as whom agents run."""

    name: str
    uid: int
    gid: int
    groups: list[int]
    home: str
    shell: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that tell a program who it runs as."""
        whose = {"USER": self.name, "LOGNAME": self.name}
        return {**whose, "HOME": self.home, "SHELL": self.shell}


class Isolation(Struct, frozen=True):
    """How the processes of agents are kept away from the server's own files."""

    by: Literal["namespaces", "landlock", "user", "none"]  # none: by the agent's own means alone
    hide: list[str]  # directories that agents cannot reach, links followed
    user: AgentUser | None = None  # with `user`: as whom they run


@runtime_checkable
class RunsCommands(Protocol):
    """An agent that has processes of its own, and can keep them away from the server's files."""

    runs_commands: bool  # people can have it run commands of their choice on this machine

    def isolate(self, isolation: Isolation | None) -> None:
        """Start every process in this isolation from now on; none: in none."""

    def exposed_credential(self) -> str | None:
        """Why commands can read the credential that the agent pays with; none: they cannot."""


@runtime_checkable
class PreparesSessions(Protocol):
    """An agent whose first session begins sooner if something was loaded before."""

    async def prepare(self) -> None:
        """Load it. Called once, in the background, soon after a server has started; never before `unavailable` was asked."""


@runtime_checkable
class ForgetsSessions(Protocol):
    """An agent that keeps a record of its sessions by itself, and can remove one."""

    async def forget(self, conversation_id: str, native_session_id: str | None) -> None:
        """Remove all that it has kept of a session that was begun for this conversation.

        The conversation is about to be deleted, and nothing runs in it. None: its session is not
        known, or is still needed elsewhere; only what was made to begin it is removed. What is not
        there is no error. Raises OSError, or whatever else says why something is left.
        """


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
