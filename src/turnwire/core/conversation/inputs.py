"""The inputs of a conversation. The caller supplies ids and times; the rules generate none."""

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
    "ChoseAgent",
    "Controlled",
    "Controls",
    "DeadlinePassed",
    "Decided",
    "EndedProcess",
    "ForgotRule",
    "GraceOver",
    "HandedOver",
    "Input",
    "Interrupted",
    "Left",
    "Recovered",
    "Renamed",
    "Said",
    "SteerRefused",
    "StopOverdue",
]


class _Input(Struct, frozen=True, kw_only=True, gc=False):
    at: int  # milliseconds since 1970


class _Asked(_Input, frozen=True, kw_only=True):
    """Base of the inputs that a person causes."""

    by: str | None = None  # the user
    client_message_id: str | None = None


class Said(_Asked, frozen=True, kw_only=True):
    """A person sent a message for the agent."""

    content: list[Content]
    queue_id: str  # used if the message has to wait
    trace_id: str  # used by the turn of the message
    budget: UserBudget | None = None  # budget of the conversation's user; None: no limit
    steer: bool = False  # the message is for the running turn, if one runs


class ChangedQueue(_Asked, frozen=True, kw_only=True):
    """A person changed the queue."""

    action: Literal["remove", "replace", "move", "resume"]
    queue_id: str | None = None
    content: list[Content] | None = None
    before: str | None = None


class Answered(_Asked, frozen=True, kw_only=True):
    """A person answered a question."""

    question_id: str
    answer: Any
    resume_task: bool = True
    ended: Outcome | None = None  # outcome of a request that is no longer open, if the log knows it
    budget: UserBudget | None = None  # see Said


class Decided(_Asked, frozen=True, kw_only=True):
    """A person decided on a permission."""

    request_id: str
    decision: Literal["allow", "deny"]
    reason: str | None = None
    updated_input: Any = None
    remember: list[Any] = []
    ended: Outcome | None = None  # see Answered
    agent: str = ""  # the agent that speaks now; the owner of the conversation sets it


class ForgotRule(_Asked, frozen=True, kw_only=True):
    """A person took a remembered rule back."""

    rule_id: str


class Interrupted(_Asked, frozen=True, kw_only=True):
    """A person asked to stop a turn."""

    turn_id: int
    queue: Literal["hold", "continue", "clear"] = "hold"


class Renamed(_Asked, frozen=True, kw_only=True):
    """A person renamed the conversation."""

    title: str


class Chose(_Asked, frozen=True, kw_only=True):
    """A person chose a model, a permission mode or a thinking budget; absent means unchanged."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: Annotated[int, Meta(ge=0)] | UnsetType | None = UNSET  # None: the default


class ChoseAgent(_Asked, frozen=True, kw_only=True):
    """A person chose the agent that speaks from the next turn on."""

    agent: str
    current: str = ""  # the agent that speaks now; the owner of the conversation sets it


class Controls(_Asked, frozen=True, kw_only=True):
    """A person asked for a control of the agent, independent of turns."""

    control_id: str  # identifies the control until its result arrives
    control: Control


class Controlled(_Asked, frozen=True, kw_only=True):
    """A control has ended, with a result or an error."""

    control_id: str
    control: Control
    result: ControlResult | None = None
    code: ErrorCode | None = None  # why there is no result
    message: str | None = None  # explains the code


class AgentSaid(_Input, frozen=True, kw_only=True):
    """The agent emitted an event; `entries` are the log entries made from it.

    The entries have no turn yet: the rules assign them to a turn.
    """

    event: NormalizedStreamEvent
    entries: list[Message] = []
    trace_id: str = ""  # used if the agent begins a turn by itself
    inbox_item_id: str | None = None  # used if the event opens a request
    last: bool = True  # no further event was ready at the same time
    unsent: bool = False  # the starting turn was not handed to the agent yet
    choosing: bool = False  # a choice of a person has not reached the agent yet
    agent: str = ""  # the name of the agent
    # The event comes from a recording: the actions of people show only in the agent's events.
    recorded: bool = False


class AgentLost(_Input, frozen=True, kw_only=True):
    """The agent's process has ended, on request or unexpectedly."""

    reason: str = "agent_lost"
    message: str | None = None  # its last error output, or why it could not start
    forced: bool = False  # the server ended it
    unsent: bool = False  # the starting turn was not handed to this agent
    processes: list[EndedProcess] = []


class HandedOver(_Input, frozen=True, kw_only=True):
    """The agent was closed, so that the chosen one can take over."""

    agent: str  # the agent that was closed
    session: str | None = None  # its own session
    owns_session: bool = False  # it began that session for this conversation
    questions_survive: bool = False  # see Options; of the agent that takes over
    refused: str | None = None  # why the chosen agent cannot take over


class SteerRefused(_Input, frozen=True, kw_only=True):
    """The agent does not take a message into the running turn."""

    queue_id: str


class DeadlinePassed(_Input, frozen=True, kw_only=True):
    """The deadline of a request has passed."""

    request_id: str


class StopOverdue(_Input, frozen=True, kw_only=True):
    """The agent did not stop a turn within the grace period."""

    turn_id: int


class Left(_Input, frozen=True, kw_only=True):
    """The last client has left."""


class Came(_Input, frozen=True, kw_only=True):
    """The first client has connected."""


class GraceOver(_Input, frozen=True, kw_only=True):
    """The grace period after the last client left has ended."""


class Recovered(_Input, frozen=True, kw_only=True):
    """An owner takes over the conversation after a restart, or gives it up at shutdown."""

    reason: str = "server_restart"  # or server_stopped, archived, deleted
    stopping: bool = False  # at shutdown: no turn is started
    archived: bool = False  # archived: no turn is started until a person asks for it
    partials: list[Partial] = []  # saved pieces of blocks that will not be finished


Asked: TypeAlias = (
    Said
    | ChangedQueue
    | Answered
    | Decided
    | ForgotRule
    | Interrupted
    | Renamed
    | Chose
    | ChoseAgent
    | Controls
)
Input: TypeAlias = (
    Asked
    | Controlled
    | AgentSaid
    | AgentLost
    | HandedOver
    | SteerRefused
    | DeadlinePassed
    | StopOverdue
    | Left
    | Came
    | GraceOver
    | Recovered
)
