"""Everything that can happen to a conversation. Ids and times come along: the machine makes none."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.budget import UserBudget
from turnwire.core.error_codes import ErrorCode
from turnwire.core.events import EndedProcess, NormalizedStreamEvent
from turnwire.core.message import Message
from turnwire.core.partials import Partial
from turnwire.core.status import Outcome

__all__ = [
    "AgentLost",
    "AgentSaid",
    "Answered",
    "Asked",
    "Came",
    "ChangedQueue",
    "Chose",
    "Controlled",
    "Controls",
    "DeadlinePassed",
    "Decided",
    "EndedProcess",
    "GraceOver",
    "Input",
    "Interrupted",
    "Left",
    "Recovered",
    "Renamed",
    "Said",
    "StopOverdue",
]


class _Input(Struct, frozen=True, kw_only=True, gc=False):
    at: int  # milliseconds since 1970


class _Asked(_Input, frozen=True, kw_only=True):
    """What a person asked for."""

    by: str | None = None  # the user
    client_message_id: str | None = None


class Said(_Asked, frozen=True, kw_only=True):
    """A message for the agent."""

    content: list[Content]
    queue_id: str  # used if it has to wait
    trace_id: str  # used by its turn
    budget: UserBudget | None = None  # of whose conversation it is; none: without a limit


class ChangedQueue(_Asked, frozen=True, kw_only=True):
    """The queue is to change."""

    action: Literal["remove", "replace", "move", "resume"]
    queue_id: str | None = None
    content: list[Content] | None = None
    before: str | None = None


class Answered(_Asked, frozen=True, kw_only=True):
    """An answer to a question."""

    question_id: str
    answer: Any
    resume_task: bool = True
    ended: Outcome | None = None  # how it ended, if the log knows it and it is not open any more
    budget: UserBudget | None = None  # as above


class Decided(_Asked, frozen=True, kw_only=True):
    """A decision on a permission."""

    request_id: str
    decision: Literal["allow", "deny"]
    reason: str | None = None
    updated_input: Any = None
    remember: list[Any] = []
    ended: Outcome | None = None  # as above


class Interrupted(_Asked, frozen=True, kw_only=True):
    """A turn is to stop."""

    turn_id: int
    queue: Literal["hold", "continue", "clear"] = "hold"


class Renamed(_Asked, frozen=True, kw_only=True):
    """The conversation has another title."""

    title: str


class Chose(_Asked, frozen=True, kw_only=True):
    """Another model, another permission mode, more or less reasoning; what is absent stays."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: Annotated[int, Meta(ge=0)] | UnsetType | None = UNSET  # none: the default


class Controls(_Asked, frozen=True, kw_only=True):
    """Something is asked of the agent beside the talk."""

    control_id: str  # names it until its answer comes
    control: Control


class Controlled(_Asked, frozen=True, kw_only=True):
    """The agent has answered that, or it could not be asked."""

    control_id: str
    control: Control
    result: ControlResult | None = None
    code: ErrorCode | None = None  # why there is no result
    message: str | None = None  # the same in words


class AgentSaid(_Input, frozen=True, kw_only=True):
    """An event of the agent, and the entries of the log that it means.

    The entries name no turn yet: which turn they belong to is the machine's to say.
    """

    event: NormalizedStreamEvent
    entries: list[Message] = []
    trace_id: str = ""  # used if the agent begins a turn by itself
    inbox_item_id: str | None = None  # used if it asks something
    last: bool = True  # nothing else was ready together with it
    unsent: bool = False  # the turn that is about to start has not been handed over yet
    # It is of a recording: what people did shows only in what the agent says.
    recorded: bool = False


class AgentLost(_Input, frozen=True, kw_only=True):
    """The agent's process is gone, whether it was told to go or not."""

    reason: str = "agent_lost"
    message: str | None = None  # what it said last, or why it could not start
    forced: bool = False  # we ended it
    unsent: bool = False  # the turn that is about to start was not handed over to it
    processes: list[EndedProcess] = []


class DeadlinePassed(_Input, frozen=True, kw_only=True):
    """A request's deadline has passed."""

    request_id: str


class StopOverdue(_Input, frozen=True, kw_only=True):
    """The agent was told to stop a turn and has not."""

    turn_id: int


class Left(_Input, frozen=True, kw_only=True):
    """The last client has left."""


class Came(_Input, frozen=True, kw_only=True):
    """The first client has come."""


class GraceOver(_Input, frozen=True, kw_only=True):
    """The last client left, and nobody came back in time."""


class Recovered(_Input, frozen=True, kw_only=True):
    """The server starts again and finds the conversation as it was left."""

    reason: str = "server_restart"  # or server_stopped, archived, deleted
    stopping: bool = False  # it is the end, not the beginning: nothing is started now
    archived: bool = False  # it is in the archive: nothing goes on until a person asks for it
    partials: list[Partial] = []  # what was saved of blocks that will not be finished


Asked: TypeAlias = (
    Said | ChangedQueue | Answered | Decided | Interrupted | Renamed | Chose | Controls
)
Input: TypeAlias = (
    Asked
    | Controlled
    | AgentSaid
    | AgentLost
    | DeadlinePassed
    | StopOverdue
    | Left
    | Came
    | GraceOver
    | Recovered
)
