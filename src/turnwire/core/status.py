"""The status of a conversation: everything that a front end shows except the messages."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from turnwire.core.content import Content
from turnwire.core.events import Question
from turnwire.core.lenient import known
from turnwire.core.offers import SessionOption, Setting
from turnwire.core.usage import Usage

__all__ = [
    "BackgroundTask",
    "Budget",
    "Capabilities",
    "Limits",
    "OpenRequest",
    "Outcome",
    "QueueItem",
    "RequestKind",
    "ResetReason",
    "Rule",
    "RuleKeeper",
    "RunState",
    "Status",
    "Totals",
    "TurnEnd",
    "TurnError",
    "TurnOrigin",
    "with_turn",
]

# These values come from a server, which may be newer than the reader: the fields accept any string.
# A writer has to use one of these.
RunState: TypeAlias = Literal["active", "streaming", "waiting_input", "interrupted", "error"]
TurnOrigin: TypeAlias = Literal["user", "agent", "resume"]
RequestKind: TypeAlias = Literal["question", "permission"]
Outcome: TypeAlias = Literal["answered", "expired", "cancelled"]
RuleKeeper: TypeAlias = Literal["turnwire", "agent"]
ResetReason: TypeAlias = Literal["epoch", "beyond_head", "tail"]


class _Plain(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


class QueueItem(_Plain, frozen=True):
    """A message in the queue."""

    queue_id: str
    content: list[Content]
    client_message_id: str | None = None  # the sender's own id of the message
    by: str | None = None  # the user who sent it
    created_at: str | None = None  # ISO 8601, UTC
    steers: int | None = None  # the running turn that it is to go into; absent: it has its own turn


class OpenRequest(_Plain, frozen=True):
    """A question or a permission that waits for a person."""

    request_id: str  # a question's is its question_id
    kind: Annotated[str, known(RequestKind)]
    tool_use_id: str  # the tool call that waits
    tool_name: str
    input: Any = None  # the input that the agent sent, or wants to run, unchanged
    turn_id: int | None = None  # the turn that waits
    message_sequence: int | None = None  # its entry in the log
    inbox_item_id: str | None = None
    deadline_at: str | None = None  # ISO 8601, UTC; absent: no deadline
    questions: list[Question] = []  # of a question
    required: bool = True  # of a question: an empty answer is rejected
    metadata: dict[str, Any] | None = None  # of a question: additional data of the agent
    title: str | None = None  # of a permission
    description: str | None = None  # of a permission
    suggestions: list[Any] = []  # of a permission: rules the agent offers to remember
    blocked_path: str | None = None  # of a permission: the path that made the agent ask
    reason: str | None = None  # of a permission: why the agent has to ask
    # Of a permission: the agent takes no `updated_input`, no reason, and one of the `suggestions`.
    decision_only: bool = False
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asks
    agent_id: str | None = None  # the id of that sub-agent


class Rule(_Plain, frozen=True):
    """A permission rule that a person gave with "Always"."""

    rule_id: str  # unique in the conversation
    agent: str  # the agent that offered the rule; it holds for no other one
    tool_name: str  # the tool that asked; the rule holds for no other one
    rule: Any  # as the agent offered it
    given_at: str  # ISO 8601, UTC
    by: str | None = None  # the user who gave it
    # `turnwire` applies the rule itself. A rule that the `agent` keeps cannot be taken back here.
    kept_by: Annotated[str, known(RuleKeeper)] = "turnwire"
    input_digest: str | None = None  # set if the rule holds for the same input only


class BackgroundTask(_Plain, frozen=True):
    """Work that continues after the turn that started it."""

    task_id: str
    turn_id: int | None = None  # the turn that started it
    tool_use_id: str | None = None  # the call that started it
    kind: str | None = None  # the agent's name for it: `agent`, `command`, ...
    description: str | None = None
    status: str | None = None  # the agent's name for it: `running`, ...


class TurnError(_Plain, frozen=True):
    """Why a turn failed."""

    code: str  # `api_error`, `max_turns`, `agent_lost`, ...
    message: str


class TurnEnd(_Plain, frozen=True):
    """The end of a turn, with its usage and cost."""

    is_error: bool
    interrupted: bool
    stop_reason: str | None = None  # why the model stopped: `end_turn`, `tool_use`, ...
    error: TurnError | None = None  # if is_error
    origin: Annotated[str, known(TurnOrigin)] = "user"  # what started the turn
    usage: Usage | None = None  # tokens of this turn
    cost_usd: float | None = None  # cost of this turn
    duration_ms: int | None = None
    after_sequence: int = 0  # the last number in the log when the turn ended
    structured_output: Any = None  # its result, if a certain format was asked for

    def __post_init__(self) -> None:
        if self.origin == "user":  # only the identical object counts as default
            force_setattr(self, "origin", "user")


_NO_COST = 0.0


class Totals(_Plain, frozen=True):
    """The total usage and cost of a conversation."""

    input_tokens: int = 0  # tokens read, without those from a cache
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cost_usd: float = _NO_COST

    def __post_init__(self) -> None:
        if not self.cost_usd:  # likewise: a decoded zero is another object
            force_setattr(self, "cost_usd", _NO_COST)


def with_turn(totals: Totals, end: TurnEnd) -> Totals:
    """Returns the totals with one more turn added."""
    more = end.usage or Usage()
    return Totals(
        totals.input_tokens + (more.input_tokens or 0),
        totals.output_tokens + (more.output_tokens or 0),
        totals.cache_creation_input_tokens + (more.cache_creation_input_tokens or 0),
        totals.cache_read_input_tokens + (more.cache_read_input_tokens or 0),
        totals.cost_usd + (end.cost_usd or 0.0),
    )


class Budget(_Plain, frozen=True):
    """A budget: the amount spent and the limit."""

    spent: float  # dollars
    limit: float


class Status(Struct, frozen=True, omit_defaults=True, gc=False):
    """The complete status, small enough to be sent as a whole after every change."""

    state: Annotated[str, known(RunState)]
    running: bool  # a live agent works on turn_id
    queue: list[QueueItem]  # in the order in which they will run
    requests: list[OpenRequest]  # oldest first
    reason: str | None = None  # why it is in this state, if a reason is known
    turn_id: int | None = None  # the turn that is running or suspended
    queue_held: bool = False  # no queued message starts until a person releases the queue
    background_tasks: list[BackgroundTask] = []
    model: str | None = None
    permission_mode: str | None = None
    last_turn: TurnEnd | None = None
    last_turn_id: int | None = None  # the id of that turn
    title: str | None = None  # empty: the title was removed; absent: unchanged
    totals: Totals | None = None
    max_thinking_tokens: int | None = None  # absent: the agent's default
    budget: Budget | None = None  # absent: no limit
    agent: str | None = None  # the agent that speaks now; absent: there was never another one
    next_agent: str | None = None  # the agent that was chosen for the next turn
    rules: int = 0  # the number of remembered rules; a change of it means a new list
    # Changes with what the agent's session offers: connect again for the new capabilities. Absent:
    # no session has said what it offers.
    offers: str | None = None
    session_options: dict[str, Setting] = {}  # the current values of the session's own options


# --- capabilities and limits ----------------------------------------------------------------------


class Capabilities(_Plain, frozen=True):
    """The commands and options of this connection. A front end offers nothing else."""

    agent: str  # the agent's name: `claude`, `demo`, ...
    commands: list[str]  # the client frames that are not rejected with NOT_SUPPORTED
    images: bool = False  # a user.message may contain images
    models: list[str] = []  # for session.set_model, if the agent lists them
    permission_modes: list[str] = []  # for session.set_permission_mode
    controls: list[str] = []  # for session.control
    fork: bool = False  # the conversation can be forked; false only if its agent is not installed
    steer: bool = False  # a user.message may go into the running turn
    files: list[str] = []  # types of files that a user.message may contain, as in an Accept header
    # Further options of the agent's session, for the control `set_session_option`.
    session_options: list[SessionOption] = []
    offers: str | None = None  # the `offers` of the status that these capabilities include


class Limits(_Plain, frozen=True):
    """Limits of this connection."""

    max_frame_bytes: int  # of a client frame
    max_queue: int  # maximum number of queued messages
    heartbeat_seconds: int  # a client that is silent for more than twice this is disconnected
