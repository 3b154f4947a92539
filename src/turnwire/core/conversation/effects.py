"""The effects of a step.

Order of execution: write, publish, acknowledge, command the agent, set timers.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.state import Reply, Turn
from turnwire.core.message import Message
from turnwire.core.status import OpenRequest, Outcome, QueueItem, Rule, Status, TurnEnd

__all__ = [
    "Ack",
    "AddEntry",
    "AskAgent",
    "Audit",
    "BeginTurn",
    "CancelTimer",
    "ChangeAgent",
    "Choose",
    "CloseAgent",
    "Command",
    "Deliver",
    "Effects",
    "EndRequest",
    "EndTurn",
    "ForgetRule",
    "HandOver",
    "KeepRule",
    "Moment",
    "OpenRequestRow",
    "Prompt",
    "SetTimer",
    "Spend",
    "Steer",
    "StopAgent",
    "Tell",
    "Write",
]


class _Effect(Struct, frozen=True, gc=False):
    pass


# --- writes, committed in one transaction ---------------------------------------------------------


class AddEntry(_Effect, frozen=True):
    """Adds an entry to the log. Published as its frame."""

    sequence: int  # number of the entry; the store rejects any other number
    entry: Message
    turn_id: int | None
    trace_id: str | None
    raw: Raw | None = None  # the agent's original message


class BeginTurn(_Effect, frozen=True):
    """Begins or resumes a turn. Published as turn.started."""

    turn: Turn


class EndTurn(_Effect, frozen=True):
    """Ends a turn. Published as assistant.complete."""

    turn_id: int
    trace_id: str
    end: TurnEnd


class OpenRequestRow(_Effect, frozen=True):
    """Stores a request and its inbox item."""

    request: OpenRequest


class EndRequest(_Effect, frozen=True):
    """Ends a request and its inbox item."""

    request_id: str
    outcome: Outcome
    by: str | None


class KeepRule(_Effect, frozen=True):
    """Stores a remembered rule."""

    rule: Rule


class ForgetRule(_Effect, frozen=True):
    """Removes a remembered rule."""

    rule_id: str


class Audit(_Effect, frozen=True):
    """Adds a record to the audit trail: the action and the user."""

    action: str  # asked, answered, decided, interrupted, ...
    by: str | None
    data: dict[str, Any]


class Spend(_Effect, frozen=True):
    """Adds a cost of the agent to the ledger."""

    turn_id: int | None  # None if the cost belongs to no open turn
    cost_usd: float


class ChangeAgent(_Effect, frozen=True):
    """Makes another agent that of the conversation, with the session that it resumes."""

    agent: str
    session: str | None
    owns_session: bool


Write: TypeAlias = (
    AddEntry
    | BeginTurn
    | EndTurn
    | OpenRequestRow
    | EndRequest
    | KeepRule
    | ForgetRule
    | Audit
    | Spend
    | ChangeAgent
)


class Tell(_Effect, frozen=True):
    """Publishes, without a write, the status in the middle of a step."""

    status: Status


Moment: TypeAlias = Write | Tell


# --- commands to the agent ------------------------------------------------------------------------


class Prompt(_Effect, frozen=True):
    """Begins a turn with this content."""

    turn: Turn
    content: list[Content]


class Steer(_Effect, frozen=True):
    """Hands a message to the running turn. Its event, or SteerRefused, says what became of it."""

    turn_id: int
    item: QueueItem


class Deliver(_Effect, frozen=True):
    """Delivers a person's answers. With `resume` the agent is first started again for them."""

    turn: Turn | None
    replies: list[Reply]
    resume: bool


class Choose(_Effect, frozen=True):
    """Changes the model, permission mode or thinking budget.

    An agent that is not open applies the change when it is opened.
    """

    model: str | None
    permission_mode: str | None
    max_thinking_tokens: int | UnsetType | None = UNSET


class AskAgent(_Effect, frozen=True):
    """Runs a control, independent of turns, and reports its result.

    Opens the agent if necessary.
    """

    control_id: str
    control: Control


class StopAgent(_Effect, frozen=True):
    """Stops the agent's turn. With `force` ends its process and every process it started."""

    turn_id: int
    force: bool


class CloseAgent(_Effect, frozen=True):
    """Closes the agent, which is not needed for now."""


class HandOver(_Effect, frozen=True):
    """Closes the agent, so that another one can take over, and reports it with HandedOver."""


Command: TypeAlias = (
    Prompt | Steer | Deliver | Choose | AskAgent | StopAgent | CloseAgent | HandOver
)


def hands_over(command: Command | None) -> bool:
    """Returns whether a command gives the agent a turn, either a new one or a resumed one."""
    return isinstance(command, Prompt) or (isinstance(command, Deliver) and command.resume)


# --- acknowledgement and timers -------------------------------------------------------------------


class Ack(_Effect, frozen=True):
    """The reply to the client's command."""

    turn_id: int | None = None
    queue_id: str | None = None
    held: bool = False
    request_id: str | None = None
    delivered_as: str | None = None
    outcome: Literal["requested", "already_ended"] | None = None
    model: str | None = None
    mode: str | None = None
    max_thinking_tokens: int | None = None
    files: list[str] | None = None  # files that were restored, or would be
    failed: list[str] | None = None  # files that could not be restored
    result: ControlResult | None = None  # result of any other control
    agent: str | None = None
    rule_id: str | None = None


class SetTimer(_Effect, frozen=True):
    """Delivers the input of this name at this time. Replaces a timer of the same name."""

    name: str  # `deadline:REQUEST`, `stop:TURN`, `grace`
    at: int  # milliseconds since 1970


class CancelTimer(_Effect, frozen=True):
    """Cancels a timer."""

    name: str


class Effects(Struct, frozen=True, gc=False):
    """The effects that one step asks for."""

    writes: list[Moment] = []
    ack: Ack | None = None
    commands: list[Command] = []
    timers: list[SetTimer | CancelTimer] = []
    is_news: bool = False  # moves the conversation to the top of the lists; see `recency`
