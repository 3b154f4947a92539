"""Payloads of the events in a conversation, in the form of the log and the protocols."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Struct, ValidationError
from msgspec.structs import force_setattr

from turnwire.core.events import Question, QuestionOption
from turnwire.core.lenient import known, salvage
from turnwire.core.message import Meta
from turnwire.core.status import Outcome

__all__ = [
    "Decision",
    "EventPayload",
    "Interrupted",
    "PermissionAsked",
    "Process",
    "QueueFate",
    "RequestInput",
    "RequestResolved",
    "event_of",
    "news_of",
]

Decision: TypeAlias = Literal["allow", "deny"]
QueueFate: TypeAlias = Literal["hold", "continue", "clear"]


class _Payload(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


class RequestInput(_Payload, frozen=True):
    """The agent asks a question. Replaces the tool call that asks."""

    question_id: str  # the tool call's id
    question: str  # the first question
    options: list[QuestionOption]  # the options of the first question
    required: bool  # an empty answer is rejected
    metadata: dict[str, Any] | None  # additional data of the agent
    inbox_item_id: str | None
    deadline_at: str | None  # ISO 8601, UTC; null: no deadline
    questions: list[Question]  # all questions
    block_id: str
    message_id: str
    index: int
    message_sequence: int
    tool_name: str
    tool_type: str | None = None
    input: Any = None  # the tool call's arguments, as the agent sent them
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asks
    agent_id: str | None = None  # the id of that sub-agent
    model: str | None = None
    announced: bool = False  # assistant.tool_call announced the call before; this adds the question


class PermissionAsked(_Payload, frozen=True):
    """The agent asks for permission to run a tool."""

    request_id: str
    tool_use_id: str  # the call that waits
    tool_name: str
    input: Any  # the exact input that would run
    message_sequence: int
    inbox_item_id: str | None = None
    deadline_at: str | None = None  # ISO 8601, UTC; the permission is then denied
    title: str | None = None
    description: str | None = None
    suggestions: list[Any] = []  # rules the agent offers to remember
    blocked_path: str | None = None  # the path that made the agent ask
    reason: str | None = None  # why the agent has to ask
    # The agent takes no `updated_input`, no reason, and one of the `suggestions`.
    decision_only: bool = False
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asks
    agent_id: str | None = None  # the id of that sub-agent


class RequestResolved(_Payload, frozen=True):
    """A question or a permission has ended. Each ends exactly once."""

    request_id: str  # a question's is its question_id
    outcome: Annotated[str, known(Outcome)]
    message_sequence: int
    by: str | None = None  # the user who answered; `agent`, `deadline`, `interrupt`, ... otherwise
    delivered_as: str | None = None  # how the agent gets it: `tool_result`, `decision`, `prompt`
    answer: Any = None  # of a question
    decision: Annotated[str, known(Decision)] | None = None  # of a permission
    reason: str | None = None  # why it was denied, or why it was cancelled
    updated_input: Any = None  # of a permission: the input that runs instead of the shown one
    remembered: list[Any] = []  # of a permission: the accepted suggestions
    # Of a permission: suggestions that hold for the session only, because the user is not the
    # owner.
    narrowed: list[Any] = []
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asked
    agent_id: str | None = None  # the id of that sub-agent


class Process(_Payload, frozen=True):
    """A process that was ended, or could not be."""

    pid: int
    name: str | None = None
    signal: str | None = None  # the signal that ended it: `SIGTERM`, `SIGKILL`
    left: bool = False  # it could not be ended, and may still be running


class Interrupted(_Payload, frozen=True):
    """The receipt of a stopped turn: the request and its effect."""

    reason: str  # `user`, `disconnect`, `agent`, `agent_lost`, `server_restart`, `server_stopped`, `archived`, `deleted`
    message_sequence: int
    by: str | None = None  # the user who stopped it
    requested_at: str | None = None  # ISO 8601, UTC
    acknowledged: bool = False  # the agent confirmed the stop
    forced: bool = False  # the agent was ended by force
    processes: list[Process] = []  # processes that were ended, or could not be
    queue: Annotated[str, known(QueueFate)] = "hold"  # what happened to the queued messages
    lost: bool = False  # the agent's process was killed, or ended, before it confirmed the stop

    def __post_init__(self) -> None:
        if self.queue == "hold":  # only the identical object counts as default
            force_setattr(self, "queue", "hold")


EventPayload: TypeAlias = RequestInput | PermissionAsked | RequestResolved | Interrupted

_EVENTS: dict[str | None, type[EventPayload]] = {
    "permission_request": PermissionAsked,
    "input_request": RequestInput,
    "request_resolved": RequestResolved,
    "interrupted": Interrupted,
}


def event_of(meta: Meta, number: int) -> EventPayload | None:
    """Returns the typed payload of an event entry. Returns None if the entry is other news.

    The fields are in `meta.data`. An entry without one of the required fields counts as news, so
    that nothing is lost.
    """
    kind, data = _EVENTS.get(meta.message_type), meta.data
    if kind is None or not isinstance(data, dict):
        return None
    value = {
        **data,
        "message_sequence": number,
        "parent_tool_use_id": meta.parent_tool_use_id,
        "agent_id": meta.agent_id,
    }
    try:
        payload: EventPayload = salvage(kind, value, [])
    except ValidationError:
        return None
    return payload


def news_of(meta: Meta) -> tuple[str, Any]:
    """Returns the subtype of other system entries, and their data: the agent's own message."""
    name, data = meta.message_type, meta.data
    if name == "system" and isinstance(data, dict) and isinstance(data.get("subtype"), str):
        subtype: str = data["subtype"]
        return subtype, data.get("data") if len(data) - ("data" in data) == 1 else data
    return name or "system", data
