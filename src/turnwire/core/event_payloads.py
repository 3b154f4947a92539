"""What happened around the words of a conversation, as its log keeps it and protocols tell it."""

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
    """The agent asks something. It takes the place of the tool call that asks."""

    question_id: str  # the tool call's id
    question: str  # the first question
    options: list[QuestionOption]  # the first question's
    required: bool  # an empty answer is refused
    metadata: dict[str, Any] | None  # whatever the agent added
    inbox_item_id: str | None
    deadline_at: str | None  # ISO 8601, UTC; null: it waits for as long as it takes
    questions: list[Question]  # all of them
    block_id: str
    message_id: str
    index: int
    message_sequence: int
    tool_name: str
    tool_type: str | None = None
    input: Any = None  # the tool call's arguments, as the agent sent them
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asks
    agent_id: str | None = None  # that sub-agent's id
    model: str | None = None
    announced: bool = False  # assistant.tool_call told the call before: this adds that it asks


class PermissionAsked(_Payload, frozen=True):
    """The agent wants to run a tool and waits for leave."""

    request_id: str
    tool_use_id: str  # the call that waits
    tool_name: str
    input: Any  # exactly what would run
    message_sequence: int
    inbox_item_id: str | None = None
    deadline_at: str | None = None  # ISO 8601, UTC; then it is denied
    title: str | None = None
    description: str | None = None
    suggestions: list[Any] = []  # rules the agent offers to remember
    blocked_path: str | None = None  # the path that made the agent ask
    reason: str | None = None  # why the agent has to ask
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asks
    agent_id: str | None = None  # that sub-agent's id


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
    updated_input: Any = None  # of a permission: what runs instead of what was shown
    remembered: list[Any] = []  # of a permission: the suggestions that were taken
    # Of a permission: suggestions that hold for the session only, because the user is not the owner.
    narrowed: list[Any] = []
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent asked
    agent_id: str | None = None  # that sub-agent's id


class Process(_Payload, frozen=True):
    """A process that was ended, or was to be."""

    pid: int
    name: str | None = None
    signal: str | None = None  # what ended it: `SIGTERM`, `SIGKILL`
    left: bool = False  # it could not be ended, and may still run


class Interrupted(_Payload, frozen=True):
    """A turn was stopped: what was asked for, and what came of it."""

    reason: str  # `user`, `disconnect`, `agent`, `agent_lost`, `server_restart`, `server_stopped`, `archived`, `deleted`
    message_sequence: int
    by: str | None = None  # the user who stopped it
    requested_at: str | None = None  # ISO 8601, UTC
    acknowledged: bool = False  # the agent said that it stopped
    forced: bool = False  # it had to be ended
    processes: list[Process] = []  # those that were ended, or could not be
    queue: Annotated[str, known(QueueFate)] = "hold"  # what became of the messages that waited
    lost: bool = False  # its process was killed, or ended by itself, before it said that it stopped

    def __post_init__(self) -> None:
        if self.queue == "hold":  # a default is known by identity: one that was read is another
            force_setattr(self, "queue", "hold")


EventPayload: TypeAlias = RequestInput | PermissionAsked | RequestResolved | Interrupted

_EVENTS: dict[str | None, type[EventPayload]] = {
    "permission_request": PermissionAsked,
    "input_request": RequestInput,
    "request_resolved": RequestResolved,
    "interrupted": Interrupted,
}


def event_of(meta: Meta, number: int) -> EventPayload | None:
    """The particulars of an entry that tells an event, typed. None: the entry is other news.

    They are in `meta.data` under the names of the fields. An entry that lacks one of them is news,
    so that nothing is lost.
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
    """The subtype of any other system entry, and its data: the agent's own message, if it has one."""
    name, data = meta.message_type, meta.data
    if name == "system" and isinstance(data, dict) and isinstance(data.get("subtype"), str):
        subtype: str = data["subtype"]
        return subtype, data.get("data") if len(data) - ("data" in data) == 1 else data
    return name or "system", data
