"""What is to be done after a step, in this order: write, publish, answer, tell the agent, set timers."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.state import Reply, Turn
from turnwire.core.message import Message
from turnwire.core.status import OpenRequest, Outcome, Status, TurnEnd

__all__ = [
    "Ack",
    "AddEntry",
    "AskAgent",
    "Audit",
    "BeginTurn",
    "CancelTimer",
    "Choose",
    "CloseAgent",
    "Command",
    "Deliver",
    "Effects",
    "EndRequest",
    "EndTurn",
    "Moment",
    "OpenRequestRow",
    "Prompt",
    "SetTimer",
    "Spend",
    "StopAgent",
    "Tell",
    "Write",
]


class _Effect(Struct, frozen=True, gc=False):
    pass


# --- what is written, all or nothing ------------------------------------------------------------


class AddEntry(_Effect, frozen=True):
    """An entry of the log. Published as its frame."""

    sequence: int  # its number; the store refuses another
    entry: Message
    turn_id: int | None
    trace_id: str | None
    raw: Raw | None = None  # the agent's own message


class BeginTurn(_Effect, frozen=True):
    """A turn begins, or goes on. Published as turn.started."""

    turn: Turn


class EndTurn(_Effect, frozen=True):
    """A turn is over. Published as assistant.complete."""

    turn_id: int
    trace_id: str
    end: TurnEnd


class OpenRequestRow(_Effect, frozen=True):
    """A request, and its item in the inbox."""

    request: OpenRequest


class EndRequest(_Effect, frozen=True):
    """A request has ended, and its item in the inbox with it."""

    request_id: str
    outcome: Outcome
    by: str | None


class Audit(_Effect, frozen=True):
    """Who did what."""

    action: str  # asked, answered, decided, interrupted, ...
    by: str | None
    data: dict[str, Any]


class Spend(_Effect, frozen=True):
    """The agent has cost something, which goes into the ledger."""

    turn_id: int | None  # none: of no turn that is open
    cost_usd: float


Write: TypeAlias = AddEntry | BeginTurn | EndTurn | OpenRequestRow | EndRequest | Audit | Spend


class Tell(_Effect, frozen=True):
    """Only published: the state in the midst of a step that ends one thing and begins another."""

    status: Status


Moment: TypeAlias = Write | Tell


# --- what the agent is told ---------------------------------------------------------------------


class Prompt(_Effect, frozen=True):
    """Begin a turn with this."""

    turn: Turn
    content: list[Content]


class Deliver(_Effect, frozen=True):
    """A person's answers. `resume`: the agent has to be woken up for them."""

    turn: Turn | None
    replies: list[Reply]
    resume: bool


class Choose(_Effect, frozen=True):
    """Go on with another model, or ask or think more, or less. One that is not open hears it when it is."""

    model: str | None
    permission_mode: str | None
    max_thinking_tokens: int | UnsetType | None = UNSET


class AskAgent(_Effect, frozen=True):
    """Do this beside the talk, and say what came of it. One that is not open is opened for it."""

    control_id: str
    control: Control


class StopAgent(_Effect, frozen=True):
    """Stop what you are doing. `force`: end it with everything it started."""

    turn_id: int
    force: bool


class CloseAgent(_Effect, frozen=True):
    """The agent is not needed for now."""


Command: TypeAlias = Prompt | Deliver | Choose | AskAgent | StopAgent | CloseAgent


def hands_over(command: Command | None) -> bool:
    """Whether the agent gets a turn with it: one that begins, or goes on."""
    return isinstance(command, Prompt) or (isinstance(command, Deliver) and command.resume)


# --- the rest -----------------------------------------------------------------------------------


class Ack(_Effect, frozen=True):
    """What the one who asked is told."""

    turn_id: int | None = None
    queue_id: str | None = None
    held: bool = False
    request_id: str | None = None
    delivered_as: str | None = None
    outcome: Literal["requested", "already_ended"] | None = None
    model: str | None = None
    mode: str | None = None
    max_thinking_tokens: int | None = None
    files: list[str] | None = None  # that were put back, or would be
    failed: list[str] | None = None  # that could not be put back
    result: ControlResult | None = None  # of any other control


class SetTimer(_Effect, frozen=True):
    """Come back with this name's input at this time. Replaces one of the same name."""

    name: str  # `deadline:REQUEST`, `stop:TURN`, `grace`
    at: int  # milliseconds since 1970


class CancelTimer(_Effect, frozen=True):
    """Not needed any more."""

    name: str


class Effects(Struct, frozen=True, gc=False):
    """What one step asks for."""

    writes: list[Moment] = []
    ack: Ack | None = None
    commands: list[Command] = []
    timers: list[SetTimer | CancelTimer] = []
    is_news: bool = False  # the conversation goes to the top of the lists; see `recency`
