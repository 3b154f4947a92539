"""The state of a conversation that the rules keep. It is stored as a whole with every change."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from turnwire.core.events import EndedProcess, Question
from turnwire.core.offers import Offers, Setting
from turnwire.core.status import (
    BackgroundTask,
    Budget,
    OpenRequest,
    QueueItem,
    Rule,
    RunState,
    Status,
    Totals,
    TurnEnd,
    TurnError,
    TurnOrigin,
)
from turnwire.core.usage import Usage

__all__ = [
    "HANDOVER_LEVEL",
    "RULES_LEVEL",
    "STATE_LEVEL",
    "AgentPast",
    "Conversation",
    "DeadlinePolicy",
    "Handover",
    "Offered",
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

# The highest level of the states that this version writes. It rises with each field or value of the
# state that an older version would drop: a node does not run a conversation whose state is of a
# higher level than its own. A state without such a field keeps the lower level. Level 1: `handover`
# and `next_agent`. Level 2: `rules`. Level 3: options of the session that a person
# chose. See docs/how-to/several-nodes.md.
STATE_LEVEL = 3
HANDOVER_LEVEL = 1
RULES_LEVEL = 2

# starting:  handed to the agent, which has not reacted yet
# running:   the agent works on the turn
# stopping:  the agent was told to stop
# suspended: waits for an answer, or to be handed over; needs no agent meanwhile
Phase: TypeAlias = Literal["starting", "running", "stopping", "suspended"]

# At a question's deadline: the turn fails, a default answers the question, or it keeps waiting.
DeadlinePolicy: TypeAlias = Literal["fail", "default", "wait"]
# Author of the title. A title that a person gave is never replaced by the agent.
TitleBy: TypeAlias = Literal["person", "agent"]
OnDisconnect: TypeAlias = Literal["converge", "continue"]
Dollars: TypeAlias = Annotated[float, Meta(gt=0, le=1e9)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]  # keeps dates in a valid range


class _State(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


class Options(_State, frozen=True):
    """The configurable behaviour of a conversation."""

    max_queue: Annotated[int, Meta(ge=0, le=1_000_000)] = 16
    on_disconnect: OnDisconnect = "converge"
    disconnect_grace: Seconds = 30.0  # seconds after the last client left
    interrupt_grace: Seconds = 5.0  # seconds until an agent that does not stop is ended by force
    question_seconds: Seconds | None = None  # until a question's deadline; None: no deadline
    question_policy: DeadlinePolicy = "fail"
    question_default: str | None = None  # the answer that the policy `default` gives
    permission_seconds: Seconds | None = None  # until a permission is denied; None: no deadline
    max_budget_usd: Dollars | None = None  # limit of the total cost; None: no limit
    questions_survive: bool = False  # a new process of the agent accepts an answer as a tool result


class Offered(_State, frozen=True):
    """What the agent's session offers, and its further options."""

    offers: Offers = Offers()
    options: dict[str, Setting] = {}  # the current values of the session's options
    chosen: dict[str, Setting] = {}  # those that a person chose: the next session gets them


class AgentPast(_State, frozen=True):
    """An agent that spoke in the conversation before, as it is resumed if it is chosen again."""

    session: str | None = None  # its own session; None: it has none
    owns_session: bool = False  # the agent began that session for this conversation
    seen: int = 0  # the newest entry of the log that it knows
    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | None = None
    mcp_off: list[str] = []
    offered: Offered | None = None


class Handover(_State, frozen=True):
    """The agents of a conversation in which another agent was chosen."""

    agent: str  # the agent that speaks now
    first: str  # the agent of the first turn: the options of the conversation are its own
    past: dict[str, AgentPast] = {}  # the other agents that spoke
    # The newest entry that the agent knows. It is told the later ones with its next prompt. None:
    # it knows all of them.
    heard: int | None = None


class Waiting(_State, frozen=True):
    """A message in the queue."""

    item: QueueItem
    trace_id: str
    in_doubt: bool = False  # an agent that has ended may have taken it into its turn


class Stopping(_State, frozen=True):
    """Why a turn is being stopped, for the receipt."""

    reason: str  # user, disconnect, deadline
    requested_at: str
    queue: Literal["hold", "continue", "clear"] = "hold"
    by: str | None = None
    error: TurnError | None = None  # set if the turn fails instead of being interrupted
    # Messages on their way to the agent that `clear` removes, unless the agent takes them.
    clears: list[str] = []


class Spent(_State, frozen=True):
    """Usage and cost of a turn so far. A suspended turn adds to it each time it resumes."""

    usage: Usage | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None
    structured_output: Any = None  # the latest one


class Turn(_State, frozen=True):
    """The turn that is running or suspended."""

    turn_id: int
    trace_id: str
    origin: TurnOrigin
    phase: Phase
    item: QueueItem | None = None  # the message that started the turn
    stopping: Stopping | None = None
    ending: TurnEnd | None = None  # how the agent said it ended; its usage may follow
    processes: list[EndedProcess] = []  # processes that the agent ended when it was stopped
    unheard: bool = False  # suspended because the server failed before the agent received the turn
    deferred: bool = False  # the agent deferred its question and accepts the answer later
    meanwhile: TurnEnd | None = None  # end of the agent's own work before this turn
    spent: Spent = Spent()
    in_doubt: bool = False  # the agent may know its message already; see Waiting
    died_with: list[str] = []  # request ids of answers not confirmed when the last agent died


class OpenTool(_State, frozen=True):
    """A tool call without a result."""

    tool_use_id: str
    turn_id: int | None = None
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    background: bool = False  # continues after its turn has ended
    # The position of the call in its message, for a question that the call asks later.
    message_id: str | None = None
    index: int = 0


class Reply(_State, frozen=True):
    """An answer of a person, kept until the agent has it.

    A question with the decision `deny` was cancelled and has no answer.
    """

    request_id: str
    kind: str  # `question` or `permission`
    answer: Any = None
    decision: Literal["allow", "deny"] | None = None
    reason: str | None = None
    updated_input: Any = None
    remember: list[Any] = []
    wake: bool = True  # the agent is to be started for it
    in_words: bool = False  # the call has its result already: the answer goes to the agent as text
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that asked
    shown: bool = False  # the agent has emitted the call's result, but has not continued since
    questions: list[Question] = []  # what was asked, to be quoted if the answer goes as text


class Conversation(_State, frozen=True):
    """The complete state of a conversation."""

    conversation_id: str
    options: Options = Options()
    state: RunState = "active"
    reason: str | None = None
    head: int = 0  # number of the newest entry
    turns: int = 0  # id of the newest turn
    traces: dict[int, str] = {}  # trace id of each turn that is still referred to
    turn: Turn | None = None
    queue: list[Waiting] = []
    held: bool = False
    requests: list[OpenRequest] = []  # the open requests, oldest first
    # Answers to this turn's questions, until the agent continues after their results. Answers of a
    # turn that ended earlier go with the next prompt, as text.
    replies: list[Reply] = []
    asked: dict[str, str] = {}  # the agent's own request id -> our request_id
    tools: dict[str, OpenTool] = {}
    closed: list[str] = []  # the latest calls whose result the server gave, not the agent
    voices: dict[str, int] = {}  # tool call that started a sub-agent -> its turn
    background: list[BackgroundTask] = []
    model: str | None = None
    permission_mode: str | None = None
    last_turn: TurnEnd | None = None
    last_turn_id: int | None = None
    totals: Totals = Totals()
    title: str | None = None
    max_thinking_tokens: int | None = None  # None: the agent's default
    title_by: TitleBy | None = None  # None: the title is the beginning of the first message
    mcp_off: list[str] = []  # MCP servers that a person has switched off
    overdue: list[str] = []  # requests that keep waiting after their deadline
    closed_turns: dict[str, int | None] = {}  # call id in `closed` -> the turn that made the call
    init_digest: str | None = None  # of the latest SessionInit in the log
    level: int = 0  # the STATE_LEVEL that a version needs to run it
    handover: Handover | None = None  # None: the conversation has had one agent only
    next_agent: str | None = None  # speaks from the next turn on; None: no other one was chosen
    rules: list[Rule] = []  # the remembered permission rules, oldest first
    offered: Offered | None = None  # None: no session has said what it offers


def needs_recovery(c: Conversation) -> bool:
    """Returns whether a conversation without an owner has outdated state or a turn to start."""
    if c.turn is None and c.next_agent is not None:
        return True
    if c.turn is None:
        # Open items outside of a turn belonged to an agent that has ended.
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
    """Returns the status that front ends receive."""
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
        c.handover.agent if c.handover else None,
        c.next_agent,
        len(c.rules),
        c.offered.offers.id if c.offered else None,
        c.offered.options if c.offered else {},
    )


def spent_by(c: Conversation) -> float:
    """Returns the cost of a conversation in dollars, including the open turn."""
    return c.totals.cost_usd + ((c.turn.spent.cost_usd or 0.0) if c.turn else 0.0)


def budget_of(c: Conversation) -> Budget | None:
    """Returns the conversation's own budget. Returns None if it has no limit."""
    limit = c.options.max_budget_usd
    return None if limit is None else Budget(spent_by(c), limit)
