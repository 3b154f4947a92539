"""The small state of a conversation: what every front end shows beside the messages."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from turnwire.core.content import Content
from turnwire.core.events import Question
from turnwire.core.lenient import known
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
    "RunState",
    "Status",
    "Totals",
    "TurnEnd",
    "TurnError",
    "TurnOrigin",
    "with_turn",
]

# Words from these lists come from a server, which may be newer than whoever reads them: the fields
# that hold them take any word. Whoever writes one has to write one of these.
RunState: TypeAlias = Literal["active", "streaming", "waiting_input", "interrupted", "error"]
TurnOrigin: TypeAlias = Literal["user", "agent", "resume"]
RequestKind: TypeAlias = Literal["question", "permission"]
Outcome: TypeAlias = Literal["answered", "expired", "cancelled"]
ResetReason: TypeAlias = Literal["epoch", "beyond_head", "tail"]


class _Plain(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


class QueueItem(_Plain, frozen=True):
    """Input that waits for its turn."""

    queue_id: str
    content: list[Content]
    client_message_id: str | None = None  # what its sender calls it
    by: str | None = None  # the user who sent it
    created_at: str | None = None  # ISO 8601, UTC


class OpenRequest(_Plain, frozen=True):
    """A question or a permission that waits for a person."""

    request_id: str  # a question's is its question_id
    kind: Annotated[str, known(RequestKind)]
    tool_use_id: str  # the tool call that waits
    tool_name: str
    input: Any = None  # exactly what the agent sent, or wants to run
    turn_id: int | None = None  # the turn that waits
    message_sequence: int | None = None  # where the log tells of it
    inbox_item_id: str | None = None
    deadline_at: str | None = None  # ISO 8601, UTC; absent: it waits for as long as it takes
    questions: list[Question] = []  # of a question
    required: bool = True  # of a question: an empty answer is refused
    metadata: dict[str, Any] | None = None  # of a question: whatever the agent added
    title: str | None = None  # of a permission
    description: str | None = None  # of a permission
    suggestions: list[Any] = []  # of a permission: rules the agent offers to remember
    blocked_path: str | None = None  # of a permission: the path that made the agent ask
    reason: str | None = None  # of a permission: why the agent has to ask
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asks
    agent_id: str | None = None  # that sub-agent's id


class BackgroundTask(_Plain, frozen=True):
    """Work that goes on after the turn that started it."""

    task_id: str
    turn_id: int | None = None  # the turn that started it
    tool_use_id: str | None = None  # the call that started it
    kind: str | None = None  # the agent's word: `agent`, `command`, ...
    description: str | None = None
    status: str | None = None  # the agent's word: `running`, ...


class TurnError(_Plain, frozen=True):
    """Why a turn failed."""

    code: str  # `api_error`, `max_turns`, `agent_lost`, ...
    message: str


class TurnEnd(_Plain, frozen=True):
    """How a turn ended, and what it took."""

    is_error: bool
    interrupted: bool
    stop_reason: str | None = None  # why the model stopped: `end_turn`, `tool_use`, ...
    error: TurnError | None = None  # where is_error
    origin: Annotated[str, known(TurnOrigin)] = "user"  # what had started it
    usage: Usage | None = None  # this turn's tokens
    cost_usd: float | None = None  # this turn's
    duration_ms: int | None = None
    after_sequence: int = 0  # the last number in the log when the turn ended
    structured_output: Any = None  # its result, where one of a certain form was asked for

    def __post_init__(self) -> None:
        if self.origin == "user":  # a default is known by identity: one that was read is another
            force_setattr(self, "origin", "user")


_NO_COST = 0.0


class Totals(_Plain, frozen=True):
    """What a conversation has consumed in all."""

    input_tokens: int = 0  # tokens read, without what came from a cache
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cost_usd: float = _NO_COST

    def __post_init__(self) -> None:
        if not self.cost_usd:  # the same: a zero that was read or summed is another
            force_setattr(self, "cost_usd", _NO_COST)


def with_turn(totals: Totals, end: TurnEnd) -> Totals:
    """The totals, with one more turn."""
    more = end.usage or Usage()
    return Totals(
        totals.input_tokens + (more.input_tokens or 0),
        totals.output_tokens + (more.output_tokens or 0),
        totals.cache_creation_input_tokens + (more.cache_creation_input_tokens or 0),
        totals.cache_read_input_tokens + (more.cache_read_input_tokens or 0),
        totals.cost_usd + (end.cost_usd or 0.0),
    )


class Budget(_Plain, frozen=True):
    """What may be spent, and what is."""

    spent: float  # dollars
    limit: float


class Status(Struct, frozen=True, omit_defaults=True, gc=False):
    """All of it, small enough to be sent whole whenever it changes."""

    state: Annotated[str, known(RunState)]
    running: bool  # a live agent works on turn_id
    queue: list[QueueItem]  # in the order in which they will run
    requests: list[OpenRequest]  # oldest first
    reason: str | None = None  # why it is in this state, where that needs saying
    turn_id: int | None = None  # the turn that runs or waits
    queue_held: bool = False  # nothing starts until a person continues it
    background_tasks: list[BackgroundTask] = []
    model: str | None = None
    permission_mode: str | None = None
    last_turn: TurnEnd | None = None
    last_turn_id: int | None = None  # which turn that was
    title: str | None = None  # empty: it has none any more; absent: as it was told before
    totals: Totals | None = None
    max_thinking_tokens: int | None = None  # absent: as the agent is used to
    budget: Budget | None = None  # absent: it may cost whatever it takes


# --- what a connection is offered ---------------------------------------------------------------


class Capabilities(_Plain, frozen=True):
    """What this connection may ask for. A front end offers nothing else."""

    agent: str  # the agent's name: `claude`, `demo`, ...
    commands: list[str]  # the client frames that will not be refused with NOT_SUPPORTED
    images: bool = False  # a user.message may hold pictures
    models: list[str] = []  # for session.set_model, where the agent lists them
    permission_modes: list[str] = []  # for session.set_permission_mode
    controls: list[str] = []  # for session.control
    fork: bool = False  # POST /api/conversations/{id}/fork will not be refused with NOT_SUPPORTED


class Limits(_Plain, frozen=True):
    """How much is too much."""

    max_frame_bytes: int  # of a client frame
    max_queue: int  # messages that may wait
    heartbeat_seconds: int  # a client that is silent for longer than twice this is cut off
