"""Normalized events: the internal format that every agent's stream is translated into."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.blocks import ContentBlock, TodoItem
from turnwire.core.offers import Offers, Setting
from turnwire.core.question_names import asked_by_name
from turnwire.core.usage import ModelUsage, Usage

__all__ = [
    "SYSTEM_EVENTS",
    "AgentIdle",
    "AnswerDelivered",
    "AssistantMessage",
    "Choice",
    "ChoiceRefused",
    "ContentCompleted",
    "ContentDelta",
    "ContentStarted",
    "DeltaKind",
    "EndedProcess",
    "HookRan",
    "HookRun",
    "MessageCompleted",
    "MessageDiscarded",
    "MessageStarted",
    "ModelChanged",
    "NormalizedStreamEvent",
    "PermissionModeChanged",
    "PermissionRequested",
    "PlanUpdated",
    "Question",
    "QuestionAsked",
    "QuestionOption",
    "RequestWithdrawn",
    "ResultSummary",
    "SessionInit",
    "SessionOffered",
    "SystemEvent",
    "Task",
    "TaskChanged",
    "TaskEnded",
    "TasksListed",
    "TitleProposed",
    "ToolProgress",
    "TurnCompleted",
    "TurnFailed",
    "TurnStarted",
    "UnknownEvent",
    "UsageUpdated",
    "UserMessage",
    "UserOrigin",
]

DeltaKind: TypeAlias = Literal["text", "thinking", "tool_input", "tool_output"]

UserOrigin: TypeAlias = Literal["user", "tool", "synthetic", "replay", "interrupt", "agent"]


def _tag(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class Event(Struct, frozen=True, omit_defaults=True, tag_field="type", tag=_tag, gc=False):
    """The fields that every event has."""

    provider: str  # the agent's name: `claude`, `codex`, ...
    session_id: str  # the agent's own session
    parent_tool_use_id: str | None  # the sub-agent's tool call; null: the agent itself
    agent_id: str | None  # the id of that sub-agent


# --- a turn ---------------------------------------------------------------------------------


class SessionInit(Event, frozen=True):
    """The agent reports its settings and abilities. Claude repeats it at every turn.

    The log contains it once, and again when it differs.
    """

    model: str | None = None
    cwd: str | None = None
    permission_mode: str | None = None
    tools: list[str] = []
    agent_version: str | None = None  # of the agent program
    raw: Raw | UnsetType = UNSET  # the agent's own message, unchanged
    digest: str | None = None  # of all that it reports; None: of the fields before `raw`


class TurnStarted(Event, frozen=True):
    """The agent began a turn."""

    by_itself: bool = False  # started by the end of background work, not by a message


class EndedProcess(Struct, frozen=True, omit_defaults=True, gc=False):
    """A process that was ended, or could not be."""

    pid: int
    name: str | None = None
    signal: str | None = None  # the signal that ended it, if known
    left: bool = False  # it could not be ended


class TurnCompleted(Event, frozen=True):
    """A turn ended: finished, interrupted by a person, or paused at a deferred tool call."""

    stop_reason: str | None = None  # why the model stopped: `end_turn`, `tool_use`, ...
    interrupted: bool = False  # stopped by a person
    deferred_tool_use_id: str | None = None  # the call at which the turn is paused
    # what started it, if not a person, in the agent's words: `task-notification`, ...
    origin: str | None = None
    processes: list[EndedProcess] = []  # ended because the turn was stopped


class TurnFailed(Event, frozen=True):
    """A turn failed."""

    code: str  # the agent's error code: `api_error`, `max_turns`, `budget_exhausted`, ...
    message: str
    origin: str | None = None


class ResultSummary(Event, frozen=True):
    """Usage, cost and duration of a turn.

    Figures without `total` in their name are for this turn only.
    """

    subtype: str  # the agent's name for it: `success`, `error_max_turns`, ...
    is_error: bool
    duration_ms: int = 0
    duration_api_ms: int = 0  # the part of it that was spent waiting for the model
    num_turns: int = 0  # model calls, as the agent counts them
    cost_usd: float | None = None  # this turn
    total_cost_usd: float | None = None  # since the agent process started
    usage: Usage | None = None  # this turn
    model_usage: dict[str, ModelUsage] | None = None  # this turn, by model
    result: str | None = None  # the agent's final text
    structured_output: Any = None
    stop_reason: str | None = None  # why the model stopped: `end_turn`, `tool_use`, ...
    terminal_reason: str | None = None  # a more detailed reason, from the agent
    errors: list[str] | None = None
    raw: Raw | UnsetType = UNSET  # the agent's own message, unchanged


# --- streamed messages --------------------------------------------------------------------------


class MessageStarted(Event, frozen=True):
    """A model message begins."""

    message_id: str
    model: str | None = None


class ContentStarted(Event, frozen=True):
    """A block begins; `block` is its form before its first delta."""

    message_id: str
    index: int  # the block's position in its message
    block: ContentBlock


class ContentDelta(Event, frozen=True):
    """A piece of an unfinished block."""

    message_id: str
    index: int
    kind: DeltaKind  # the kind of text that is added
    text: str
    tool_use_id: str | None = None  # the call, if the block is a tool call


class ContentCompleted(Event, frozen=True):
    """A streamed block has ended. Until its message ends, MessageDiscarded may still discard it."""

    message_id: str
    index: int
    block: ContentBlock


class UsageUpdated(Event, frozen=True):
    """Tokens so far; for a message, the running total of that message."""

    usage: Usage
    message_id: str | None = None


class MessageCompleted(Event, frozen=True):
    """A streamed message has ended."""

    message_id: str
    stop_reason: str | None = None  # why the model stopped: `end_turn`, `tool_use`, ...
    usage: Usage | None = None


class MessageDiscarded(Event, frozen=True):
    """The agent abandoned a partial message: it ends, and blocks from `from_index` on are void."""

    message_id: str
    from_index: int  # the first void block
    reason: str  # abandoned, restarted, replaced, turn_ended, stream_ended


# --- finished messages ------------------------------------------------------------------------


class AssistantMessage(Event, frozen=True):
    """Finished blocks of a model message.

    Several events may share one message id, one block each.
    """

    message_id: str
    index: int  # the position of the first of these blocks in the message
    content: list[ContentBlock]
    model: str | None = None
    stop_reason: str | None = None  # why the model stopped, if it is known already
    usage: Usage | None = None
    error: str | None = None  # the API failed and the text says so: `rate_limit`, ...
    aborted: bool = False  # cut off by an interrupt
    uuid: str | None = None  # the agent's id of this frame
    timestamp: str | None = None
    raw: Raw | UnsetType = UNSET  # the agent's own message, unchanged


class UserMessage(Event, frozen=True):
    """A message to the model: from a person, from a tool (its result), or from the agent itself."""

    content: list[ContentBlock]
    origin: UserOrigin  # the author
    uuid: str | None = None  # the agent's id of this frame
    timestamp: str | None = None
    raw: Raw | UnsetType = UNSET  # the agent's own message, unchanged
    message_id: str | None = (
        None  # the id under which the agent was given the message, if it says so
    )


# --- requests of the agent ------------------------------------------------------------------------


class QuestionOption(Struct, frozen=True, omit_defaults=True, gc=False):
    """One option of a question."""

    label: str
    description: str | None = None


class Question(Struct, frozen=True, omit_defaults=True, gc=False):
    """One question of a request, which may have several."""

    id: str  # the key of its answer
    question: str
    options: list[QuestionOption] = []
    multi: bool = False  # several options may be chosen
    free_text: bool = True  # free text is allowed; otherwise the answer is one of the options
    header: str | None = None  # a short label
    required: bool = False  # of several questions: the others can be left out


class QuestionAsked(Event, frozen=True):
    """The agent asks a person and waits. The answer becomes the result of that tool call."""

    request_id: str  # the agent's id of the request, for the answer on the wire
    tool_use_id: str  # the id of the question
    tool_name: str
    questions: list[Question]
    input: Any = None  # the tool's input, as the agent sent it
    raw: Raw | UnsetType = UNSET  # the agent's own message, unchanged
    asks: bool | None = None  # the call is itself a question; null: if the tool is `request_input`

    @property
    def is_question(self) -> bool:
        """Returns whether the call is itself a question, with the questions in its input."""
        return asked_by_name(self.tool_name) if self.asks is None else self.asks


class PermissionRequested(Event, frozen=True):
    """The agent asks for permission to run a tool, and waits."""

    request_id: str  # the agent's id of the request, for the answer on the wire
    tool_use_id: str  # the call that waits
    tool_name: str
    input: Any  # the exact input that would run
    title: str | None = None
    description: str | None = None
    suggestions: list[Any] = []  # rules the agent offers to remember
    blocked_path: str | None = None  # the path that made the agent ask
    reason: str | None = None  # why the agent has to ask
    raw: Raw | UnsetType = UNSET  # the agent's own message, unchanged
    # The agent takes no `updated_input`, no reason, and one of the `suggestions`.
    decision_only: bool = False


class RequestWithdrawn(Event, frozen=True):
    """The agent withdrew a question or permission, which is no longer open."""

    request_id: str  # the withdrawn request


# --- progress, news and unknown events ------------------------------------------------------------


class ToolProgress(Event, frozen=True):
    """A tool is still running."""

    tool_use_id: str
    tool_name: str | None = None
    elapsed_seconds: float | None = None
    output: str | None = None  # new output, if the agent streams it
    heartbeat: bool = False  # only a heartbeat, no output


class PlanUpdated(Event, frozen=True):
    """The complete plan of the agent, after a change."""

    items: list[TodoItem]


class SystemEvent(Event, frozen=True):
    """News about the session. The subclasses below have typed fields that the rules use.

    `subtype`, `data` and `text` are only passed on.
    """

    subtype: str  # the agent's name for it
    data: Raw | UnsetType = UNSET  # the agent's own message, unchanged
    ephemeral: bool = False  # published live, but not stored in the log
    text: str | None = None  # what it says to people; None: no more than `subtype`


class ModelChanged(SystemEvent, frozen=True, kw_only=True):
    """The agent changed its model by itself."""

    model: str  # as a person would choose it


class PermissionModeChanged(SystemEvent, frozen=True, kw_only=True):
    """The agent changed its permission mode, for example after its plan was accepted."""

    permission_mode: str


class Choice(Struct, frozen=True, omit_defaults=True, gc=False):
    """Settings that a person can choose. A field that is not part of the choice is absent."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | UnsetType | None = UNSET


class ChoiceRefused(SystemEvent, frozen=True, kw_only=True):
    """The agent refused a choice, and keeps its former setting."""

    wanted: Choice
    stays: Choice


class SessionOffered(SystemEvent, frozen=True, kw_only=True):
    """The session says what it offers, and its current settings; again after each change."""

    offers: Offers
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Setting] = {}


class TitleProposed(SystemEvent, frozen=True, kw_only=True):
    """The agent proposes a title for the conversation."""

    title: str


class AnswerDelivered(SystemEvent, frozen=True, kw_only=True):
    """An answer reached the agent in another way than its sender was told."""

    request_id: str
    in_words: bool  # as a message; otherwise as the result of the call that asked


class AgentIdle(SystemEvent, frozen=True):
    """The agent has no work left."""


class Task(Struct, frozen=True, omit_defaults=True, gc=False):
    """Work that an agent has started."""

    task_id: str
    tool_use_id: str | None = None  # the call that started it
    kind: str | None = None  # the agent's name for it
    description: str | None = None


class TasksListed(SystemEvent, frozen=True, kw_only=True):
    """The complete list of background tasks."""

    tasks: list[Task]


class TaskChanged(SystemEvent, frozen=True, kw_only=True):
    """A task has begun or changed."""

    task: Task
    in_background: bool = False  # it continues after its turn; false: unchanged


class TaskEnded(SystemEvent, frozen=True, kw_only=True):
    """A task has ended."""

    task: Task


class HookRun(Struct, frozen=True, omit_defaults=True, gc=False):
    """One run of an application's hook."""

    hook: str
    event: str  # the agent's name of the event that the hook was called for
    decision: str  # allow, deny, ask, stop, or none (no decision)
    duration_ms: int
    reason: str | None = None
    input: dict[str, Any] | None = None  # the changed input
    context: str | None = None  # text that the hook added for the model
    tool_name: str | None = None
    tool_use_id: str | None = None
    agent_id: str | None = None
    failure: str | None = None  # raised, timeout, nonsense, cancelled
    message: str | None = None  # the error message
    on_failure: str | None = None  # the configured behaviour for failures


class HookRan(SystemEvent, frozen=True, kw_only=True):
    """A hook of the application was called, and decided."""

    run: HookRun


class UnknownEvent(Event, frozen=True):
    """An event that this version does not know, kept unchanged."""

    original_type: str  # its position: `message_type`, `stream_event/x`, `delta/x`, ...
    data: Raw | UnsetType = UNSET  # the agent's own message, unchanged
    reason: str | None = None  # why it could not be read, if not only because of its name


NormalizedStreamEvent: TypeAlias = (
    SessionInit
    | TurnStarted
    | TurnCompleted
    | TurnFailed
    | ResultSummary
    | MessageStarted
    | ContentStarted
    | ContentDelta
    | ContentCompleted
    | UsageUpdated
    | MessageCompleted
    | MessageDiscarded
    | AssistantMessage
    | UserMessage
    | QuestionAsked
    | PermissionRequested
    | RequestWithdrawn
    | ToolProgress
    | PlanUpdated
    | SystemEvent
    | ModelChanged
    | PermissionModeChanged
    | ChoiceRefused
    | SessionOffered
    | TitleProposed
    | AnswerDelivered
    | AgentIdle
    | TasksListed
    | TaskChanged
    | TaskEnded
    | HookRan
    | UnknownEvent
)

# All types that are published like a SystemEvent.
SYSTEM_EVENTS: tuple[type[SystemEvent], ...] = (SystemEvent, *SystemEvent.__subclasses__())
