"""What the state machine remembers of a conversation. It is stored whole with every change."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from turnwire.core.events import EndedProcess
from turnwire.core.status import (
    BackgroundTask,
    Budget,
    OpenRequest,
    QueueItem,
    RunState,
    Status,
    Totals,
    TurnEnd,
    TurnError,
    TurnOrigin,
)
from turnwire.core.usage import Usage

__all__ = [
    "Conversation",
    "DeadlinePolicy",
    "OpenTool",
    "Options",
    "Phase",
    "Reply",
    "Spent",
    "Stopping",
    "TitleBy",
    "Turn",
    "Waiting",
    "budget_of",
    "needs_recovery",
    "spent_by",
    "status_of",
]

# starting:  handed to the agent, which has given no sign of it yet
# running:   the agent works on it
# stopping:  the agent was told to stop
# suspended: it waits for an answer, or to be handed over, and no agent is needed for that
Phase: TypeAlias = Literal["starting", "running", "stopping", "suspended"]

# What becomes of a question at its deadline: its turn fails, a default answers it, or it waits on.
DeadlinePolicy: TypeAlias = Literal["fail", "default", "wait"]
# Whose words a title are. A person's stay.
TitleBy: TypeAlias = Literal["person", "agent"]
OnDisconnect: TypeAlias = Literal["converge", "continue"]
Dollars: TypeAlias = Annotated[float, Meta(gt=0, le=1e9)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]  # what a calendar can still hold


class _State(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


class Options(_State, frozen=True):
    """How this conversation behaves where there is a choice."""

    max_queue: Annotated[int, Meta(ge=0, le=1_000_000)] = 16
    on_disconnect: OnDisconnect = "converge"
    disconnect_grace: Seconds = 30.0  # seconds after the last client left
    interrupt_grace: Seconds = 5.0  # seconds an agent has to obey before it is ended by force
    question_seconds: Seconds | None = None  # until a question's deadline; none: it waits for ever
    question_policy: DeadlinePolicy = "fail"
    question_default: str | None = None  # the answer of the policy `default`
    permission_seconds: Seconds | None = None  # until a permission is denied; none: it waits
    max_budget_usd: Dollars | None = None  # that it may cost in all; none: whatever it takes
    questions_survive: bool = False  # the agent takes an answer as a tool's result in a new process


class Waiting(_State, frozen=True):
    """A message in the queue."""

    item: QueueItem
    trace_id: str


class Stopping(_State, frozen=True):
    """Why a turn is being stopped, for the receipt."""

    reason: str  # user, disconnect, deadline
    requested_at: str
    queue: Literal["hold", "continue", "clear"] = "hold"
    by: str | None = None
    error: TurnError | None = None  # the turn fails rather than being interrupted


class Spent(_State, frozen=True):
    """What a turn has taken so far: one that was suspended takes in several goes."""

    usage: Usage | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None
    structured_output: Any = None  # the last one


class Turn(_State, frozen=True):
    """The turn that runs or waits."""

    turn_id: int
    trace_id: str
    origin: TurnOrigin
    phase: Phase
    item: QueueItem | None = None  # what a person said to start it
    stopping: Stopping | None = None
    ending: TurnEnd | None = None  # the agent said how it ended; its figures may follow
    processes: list[EndedProcess] = []  # that the agent ended when it was stopped
    unheard: bool = False  # suspended, because the server fell before the agent knew of it
    deferred: bool = False  # the agent itself put its question aside, and will know the answer
    meanwhile: TurnEnd | None = None  # the agent was at something else first: how that ended
    spent: Spent = Spent()
    died_with: list[str] = []  # the answers that an agent had not shown to have when it died


class OpenTool(_State, frozen=True):
    """A tool call without a result."""

    tool_use_id: str
    turn_id: int | None = None
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    background: bool = False  # it goes on without its turn
    # The place of the call in its message, for a question that the call asks later.
    message_id: str | None = None
    index: int = 0


class Reply(_State, frozen=True):
    """An answer that a person gave, until the agent has it.

    A question with the decision `deny` has no answer and will have none: it was cancelled.
    """

    request_id: str
    kind: str  # `question` or `permission`
    answer: Any = None
    decision: Literal["allow", "deny"] | None = None
    reason: str | None = None
    updated_input: Any = None
    remember: list[Any] = []
    wake: bool = True  # the agent is to be woken up for it
    in_words: bool = False  # its call has its result in the log: the agent is told it in words
    parent_tool_use_id: str | None = None  # the sub-agent that asked
    shown: bool = False  # the agent has told the call's result, and has not gone on since


class Conversation(_State, frozen=True):
    """All of it."""

    conversation_id: str
    options: Options = Options()
    state: RunState = "active"
    reason: str | None = None
    head: int = 0  # the newest number in the log
    turns: int = 0  # the newest turn's id
    traces: dict[int, str] = {}  # the trace of each turn that something still belongs to
    turn: Turn | None = None
    queue: list[Waiting] = []
    held: bool = False
    requests: list[OpenRequest] = []  # open ones, oldest first
    # To this turn's questions, until the agent shows that it has them: it has gone on after their
    # results. Those of a turn that has ended without that go with the next prompt, in words.
    replies: list[Reply] = []
    asked: dict[str, str] = {}  # by the agent's own id of a request: our request_id
    tools: dict[str, OpenTool] = {}
    closed: list[str] = []  # the latest calls that got their result from us, not from the agent
    voices: dict[str, int] = {}  # by the tool call that a sub-agent works for: its turn
    background: list[BackgroundTask] = []
    model: str | None = None
    permission_mode: str | None = None
    last_turn: TurnEnd | None = None
    last_turn_id: int | None = None
    totals: Totals = Totals()
    title: str | None = None
    max_thinking_tokens: int | None = None  # none: as the agent is used to
    title_by: TitleBy | None = None  # none: it is the beginning of the first message
    mcp_off: list[str] = []  # MCP servers that a person has switched off
    overdue: list[str] = []  # requests that wait on beyond their deadline
    closed_turns: dict[str, int | None] = {}  # by each call of `closed`: the turn that made it
    init_digest: str | None = None  # of the latest SessionInit in the log


def needs_recovery(c: Conversation) -> bool:
    """Whether something in it cannot be true any more, or has to go on, without a live owner."""
    if c.turn is None:
        # Whatever belongs to no turn belonged to an agent that is gone.
        return bool(c.tools or c.requests or c.background or (c.queue and not c.held))
    if c.turn.phase != "suspended":
        return True
    open_questions = {r.request_id for r in c.requests}
    answered = {reply.request_id for reply in c.replies}
    return (
        (c.turn.unheard and c.options.on_disconnect == "continue")
        or bool(c.background)
        or any(r.kind == "permission" or r.turn_id != c.turn.turn_id for r in c.requests)
        or not c.tools.keys() <= open_questions | answered
        or (not open_questions and any(reply.wake for reply in c.replies))
    )


def status_of(c: Conversation) -> Status:
    """What front ends are told."""
    running = c.turn is not None and c.turn.phase != "suspended"
    return Status(
        c.state,
        running,
        [waiting.item for waiting in c.queue],
        c.requests,
        c.reason,
        c.turn.turn_id if c.turn else None,
        c.held,
        c.background,
        c.model,
        c.permission_mode,
        c.last_turn,
        c.last_turn_id,
        c.title,
        c.totals,
        c.max_thinking_tokens,
        budget_of(c),
    )


def spent_by(c: Conversation) -> float:
    """What a conversation has spent, with the turn that runs or waits."""
    return c.totals.cost_usd + ((c.turn.spent.cost_usd or 0.0) if c.turn else 0.0)


def budget_of(c: Conversation) -> Budget | None:
    """A conversation's own; none: it may spend whatever it takes."""
    limit = c.options.max_budget_usd
    return None if limit is None else Budget(spent_by(c), limit)
