"""Normalized events: the one internal language. Every agent's stream is translated into these."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.blocks import ContentBlock, TodoItem
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
    """What every event carries."""

    provider: str  # the agent that speaks: `claude`, `codex`, ...
    session_id: str  # the agent's own session
    parent_tool_use_id: str | None  # the tool call whose sub-agent speaks; null: the agent itself
    agent_id: str | None  # that sub-agent's id


# --- a turn ---------------------------------------------------------------------------------


class SessionInit(Event, frozen=True):
    """The agent says what it is and what it can do. Claude says it again at every turn.

    The log has it once, and again when it differs.
    """

    model: str | None = None
    cwd: str | None = None
    permission_mode: str | None = None
    tools: list[str] = []
    agent_version: str | None = None  # of the agent program
    raw: Raw | UnsetType = UNSET  # the agent's own message, untouched
    digest: str | None = None  # of all it says about the agent; None: of the fields before `raw`


class TurnStarted(Event, frozen=True):
    """The agent began to work on something."""

    by_itself: bool = False  # no message began it, but the end of background work


class EndedProcess(Struct, frozen=True, omit_defaults=True, gc=False):
    """A process that was ended, or was to be."""

    pid: int
    name: str | None = None
    signal: str | None = None  # what ended it, where that is known
    left: bool = False  # it could not be ended


class TurnCompleted(Event, frozen=True):
    """A turn came to its end: finished, interrupted by a person, or paused at a deferred tool."""

    stop_reason: str | None = None  # why the model stopped: `end_turn`, `tool_use`, ...
    interrupted: bool = False  # stopped by a person
    deferred_tool_use_id: str | None = None  # the call the turn is paused at
    # what started it, in the agent's word, where that was no person: `task-notification`, ...
    origin: str | None = None
    processes: list[EndedProcess] = []  # that were ended because it was stopped


class TurnFailed(Event, frozen=True):
    """A turn came to a bad end."""

    code: str  # the agent's word for it: `api_error`, `max_turns`, `budget_exhausted`, ...
    message: str
    origin: str | None = None


class ResultSummary(Event, frozen=True):
    """The figures of a turn. Those without `total` in their name are this turn's alone."""

    subtype: str  # the agent's word: `success`, `error_max_turns`, ...
    is_error: bool
    duration_ms: int = 0
    duration_api_ms: int = 0  # of which waiting for the model
    num_turns: int = 0  # model calls the agent counts
    cost_usd: float | None = None  # this turn
    total_cost_usd: float | None = None  # since the agent process started
    usage: Usage | None = None  # this turn
    model_usage: dict[str, ModelUsage] | None = None  # this turn, by model
    result: str | None = None  # the agent's closing words
    structured_output: Any = None
    stop_reason: str | None = None  # why the model stopped: `end_turn`, `tool_use`, ...
    terminal_reason: str | None = None  # why the agent stopped, in a finer word
    errors: list[str] | None = None
    raw: Raw | UnsetType = UNSET  # the agent's own message, untouched


# --- a model message, as it grows -------------------------------------------------------------


class MessageStarted(Event, frozen=True):
    """A model message begins."""

    message_id: str
    model: str | None = None


class ContentStarted(Event, frozen=True):
    """A block begins; `block` is how it looks before its first delta."""

    message_id: str
    index: int  # the block's place in its message
    block: ContentBlock


class ContentDelta(Event, frozen=True):
    """A piece of a block that still grows."""

    message_id: str
    index: int
    kind: DeltaKind  # what grows
    text: str
    tool_use_id: str | None = None  # the call, where the block is a tool's


class ContentCompleted(Event, frozen=True):
    """A streamed block has ended. Until its message ends, MessageDiscarded may still void it."""

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
    """The agent abandoned a partial message: it has ended, and its blocks from here on are void."""

    message_id: str
    from_index: int  # the first void block
    reason: str  # abandoned, restarted, replaced, turn_ended, stream_ended


# --- finished messages ------------------------------------------------------------------------


class AssistantMessage(Event, frozen=True):
    """Finished blocks of a model message. Several may share one message id, one block each."""

    message_id: str
    index: int  # the place of the first of these blocks in the message
    content: list[ContentBlock]
    model: str | None = None
    stop_reason: str | None = None  # why the model stopped, where it is known already
    usage: Usage | None = None
    error: str | None = None  # the API failed and these words say so: `rate_limit`, ...
    aborted: bool = False  # cut short by an interrupt
    uuid: str | None = None  # the agent's id of this very frame
    timestamp: str | None = None
    raw: Raw | UnsetType = UNSET  # the agent's own message, untouched


class UserMessage(Event, frozen=True):
    """Something said to the model: by a person, by a tool (its result), or by the agent itself."""

    content: list[ContentBlock]
    origin: UserOrigin  # whose words these are
    uuid: str | None = None  # the agent's id of this very frame
    timestamp: str | None = None
    raw: Raw | UnsetType = UNSET  # the agent's own message, untouched


# --- what the agent asks ----------------------------------------------------------------------


class QuestionOption(Struct, frozen=True, omit_defaults=True, gc=False):
    """One answer a person may choose."""

    label: str
    description: str | None = None


class Question(Struct, frozen=True, omit_defaults=True, gc=False):
    """One question of possibly several."""

    id: str  # the key its answer goes back under
    question: str
    options: list[QuestionOption] = []
    multi: bool = False  # several options may be chosen
    free_text: bool = True  # an answer in own words is welcome; else it is one of the options
    header: str | None = None  # a word or two to label it


class QuestionAsked(Event, frozen=True):
    """The agent asks a person something and waits. The answer becomes that tool call's result."""

    request_id: str  # the agent's id of the request, for the answer on the wire
    tool_use_id: str  # the id of the question
    tool_name: str
    questions: list[Question]
    input: Any = None  # the tool's input, as the agent sent it
    raw: Raw | UnsetType = UNSET  # the agent's own message, untouched
    asks: bool | None = None  # its call is a question itself; null: if the tool is `request_input`

    @property
    def is_question(self) -> bool:
        """Whether its call is a question itself, with the questions in its input."""
        return asked_by_name(self.tool_name) if self.asks is None else self.asks


class PermissionRequested(Event, frozen=True):
    """The agent wants to run a tool and waits for leave."""

    request_id: str  # the agent's id of the request, for the answer on the wire
    tool_use_id: str  # the call that waits
    tool_name: str
    input: Any  # exactly what would run
    title: str | None = None
    description: str | None = None
    suggestions: list[Any] = []  # rules the agent offers to remember
    blocked_path: str | None = None  # the path that made it ask
    reason: str | None = None  # why the agent has to ask
    raw: Raw | UnsetType = UNSET  # the agent's own message, untouched


class RequestWithdrawn(Event, frozen=True):
    """A question or permission is no longer open: the agent took it back."""

    request_id: str  # the request that no longer waits


# --- everything around it ---------------------------------------------------------------------


class ToolProgress(Event, frozen=True):
    """A tool still runs."""

    tool_use_id: str
    tool_name: str | None = None
    elapsed_seconds: float | None = None
    output: str | None = None  # new output, where the agent streams it
    heartbeat: bool = False  # only a sign of life


class PlanUpdated(Event, frozen=True):
    """The agent's plan, whole, after a change."""

    items: list[TodoItem]


class SystemEvent(Event, frozen=True):
    """Something about the session rather than in it. What follows from the ones below it is told by
    their own fields; `subtype` and `data` are only passed on.
    """

    subtype: str  # the agent's word for it
    data: Raw | UnsetType = UNSET  # the agent's own message, untouched
    ephemeral: bool = False  # worth telling live, not worth keeping


class PermissionModeChanged(SystemEvent, frozen=True, kw_only=True):
    """The agent goes on in another permission mode, as when its plan was accepted."""

    permission_mode: str


class Choice(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a person can choose. A field that is not part of the choice is absent."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | UnsetType | None = UNSET


class ChoiceRefused(SystemEvent, frozen=True, kw_only=True):
    """The agent did not take a choice, and goes on with what it had."""

    wanted: Choice
    stays: Choice


class TitleProposed(SystemEvent, frozen=True, kw_only=True):
    """The agent knows a better title than the first words of the conversation."""

    title: str


class AnswerDelivered(SystemEvent, frozen=True, kw_only=True):
    """An answer reached the agent in another way than its sender was told."""

    request_id: str
    in_words: bool  # as a message; else as the result of the call that asked


class AgentIdle(SystemEvent, frozen=True):
    """The agent has nothing left to do."""


class Task(Struct, frozen=True, omit_defaults=True, gc=False):
    """Work that an agent has started."""

    task_id: str
    tool_use_id: str | None = None  # the call that started it
    kind: str | None = None  # the agent's word
    description: str | None = None


class TasksListed(SystemEvent, frozen=True, kw_only=True):
    """All work in the background there is now."""

    tasks: list[Task]


class TaskChanged(SystemEvent, frozen=True, kw_only=True):
    """Work has begun, or there is news of it."""

    task: Task
    in_background: bool = False  # it goes on after its turn; false: as far as was known before


class TaskEnded(SystemEvent, frozen=True, kw_only=True):
    """Work has ended."""

    task: Task


class HookRun(Struct, frozen=True, omit_defaults=True, gc=False):
    """One run of a hook of the application."""

    hook: str
    event: str  # what it was asked about, in the agent's word
    decision: str  # allow, deny, ask, stop, or none: it had nothing to say
    duration_ms: int
    reason: str | None = None
    input: dict[str, Any] | None = None  # what it changed the input to
    context: str | None = None  # what it told the model
    tool_name: str | None = None
    tool_use_id: str | None = None
    agent_id: str | None = None
    failure: str | None = None  # raised, timeout, nonsense, cancelled
    message: str | None = None  # how it failed
    on_failure: str | None = None  # what was to be done then


class HookRan(SystemEvent, frozen=True, kw_only=True):
    """A hook of the application was asked, and decided."""

    run: HookRun


class UnknownEvent(Event, frozen=True):
    """Something this version does not know, kept as it came."""

    original_type: str  # where it stood: `message_type`, `stream_event/x`, `delta/x`, ...
    data: Raw | UnsetType = UNSET  # the agent's own message, untouched
    reason: str | None = None  # why it could not be read, where that is not just its name


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
    | PermissionModeChanged
    | ChoiceRefused
    | TitleProposed
    | AnswerDelivered
    | AgentIdle
    | TasksListed
    | TaskChanged
    | TaskEnded
    | HookRan
    | UnknownEvent
)

# All that are told to people as a SystemEvent is.
SYSTEM_EVENTS: tuple[type[SystemEvent], ...] = (SystemEvent, *SystemEvent.__subclasses__())
