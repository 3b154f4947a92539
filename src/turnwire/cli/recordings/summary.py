"""The summary of a recorded stream: turns, tools, thinking, questions, cost, errors."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.usage import Usage
from turnwire.dialects.acp import content as acp_content
from turnwire.dialects.acp import messages as acp_messages
from turnwire.dialects.claude import messages
from turnwire.dialects.claude.translate import unify
from turnwire.errors import BadLine

__all__ = ["Summarizer", "Summary", "ToolSummary", "TurnSummary"]

_ABOUT = 200  # characters kept of a tool's input, of a prompt, of the final text
_BAD_LINES = 10  # bad lines kept with their details
_DEEPEST = 16  # levels of sub-agents; JSON readers limit the depth

# Fields of a tool's input that describe the call in few words, the best one first.
_TELLING = ("command", "file_path", "path", "pattern", "query", "url", "description", "subject")

Outcome: TypeAlias = Literal["completed", "interrupted", "paused", "failed", "lost"]


class ToolSummary(Struct, omit_defaults=True):
    """A tool call, with the calls of its sub-agent."""

    id: str
    name: str
    about: str  # the input, in few words
    status: Literal["ok", "failed", "open"] = "open"
    seconds: float | None = None  # from the call to its result, including the wait for a permission
    asked: Literal["permission", "question"] | None = None
    tools: list[ToolSummary] = []  # calls of its sub-agent; the last level includes deeper calls


class TurnSummary(Struct, omit_defaults=True):
    """The summary of one turn."""

    number: int
    outcome: Outcome = "lost"  # until the end of the turn is read
    reason: str | None = None  # the agent's code of a failure, or what started the turn
    prompt: str | None = None
    said: str | None = None  # the final text
    error: str | None = None
    seconds: float | None = None
    cost_usd: float | None = None  # including sub-agents
    usage: Usage | None = None  # without sub-agents
    model_calls: int = 0
    thinking_blocks: int = 0
    thinking_characters: int = 0
    tools: list[ToolSummary] = []
    questions: list[str] = []
    permissions: list[str] = []  # tool names
    retries: list[str] = []  # the reason of each retry of the model's API
    plan: list[blocks.TodoItem] = []  # the plan at the end of the turn


class Summary(Struct, omit_defaults=True):
    """The summary of a whole recording."""

    file: str
    lines: int = 0
    bytes: int = 0
    sessions: list[str] = []
    models: list[str] = []
    cwd: str | None = None
    agent_name: str | None = None  # of the program
    agent_version: str | None = None
    permission_mode: str | None = None
    turns: list[TurnSummary] = []
    unknown: dict[str, int] = {}  # unknown kinds, and their counts
    bad_lines: int = 0
    bad_line_details: list[str] = []  # the first bad lines


class Summarizer:
    """Builds a summary from the lines of a recording and their events."""

    def __init__(self, file: str) -> None:
        self.summary = Summary(file)
        self._model: str | None = None  # of the session, for agents whose messages name none
        self._last_text: str | None = None
        self._began: float | None = None  # when the turn began, by the recorder
        self._sessions: dict[str, None] = {}  # an ordered set
        self._models: dict[str, None] = {}
        self._unknown: Counter[str] = Counter()
        self._turn: TurnSummary | None = None  # the running turn, or one whose figures are to come
        self._running = False
        self._init_seen = False  # in this turn
        self._prompt: str | None = None
        self._tools: dict[str, ToolSummary] = {}
        self._said: set[tuple[str | None, str, int]] = set()  # this turn's finished blocks
        # By the id of a call: the list for the calls of its sub-agent, and the depth of that list.
        self._below: dict[str, tuple[list[ToolSummary], int]] = {}
        self._started: dict[str, float] = {}  # tool calls without a result

    def feed(
        self,
        line: Any,
        events: list[ev.NormalizedStreamEvent],
        *,
        from_host: bool = False,
        time: float | None = None,
    ) -> None:
        """Takes the next line, of any dialect, and its events."""
        summary = self.summary
        summary.lines += 1
        if isinstance(line, BadLine):
            summary.bad_lines += 1
            if len(summary.bad_line_details) < _BAD_LINES:
                summary.bad_line_details.append(line.message)
            return
        if from_host:
            self._prompt = _said_by(line.message) or self._prompt
        else:
            self._unknown.update(line.unknown)
        for event in events:
            self._event(event, time)

    def finish(self, events: list[ev.NormalizedStreamEvent]) -> Summary:
        """Takes the events of the end of the stream. Returns the summary."""
        for event in events:
            self._event(event, None)
        self.summary.sessions = list(self._sessions)
        session_model = [] if self._model is None else [self._model]
        self.summary.models = list(self._models) or session_model
        self.summary.unknown = dict(self._unknown.most_common())
        return self.summary

    # --- events -------------------------------------------------------------------------------

    def _event(self, event: ev.NormalizedStreamEvent, time: float | None) -> None:
        if event.session_id:
            self._sessions[event.session_id] = None
        match event:
            case ev.SessionInit():
                self._init(event)
            case ev.TurnStarted():
                self._start_turn()
                self._began = time
            case ev.TurnCompleted():
                self._end_turn(_outcome(event), event.origin)
            case ev.TurnFailed(code="agent_lost"):
                self._end_turn("lost", None, event.message)
            case ev.TurnFailed():
                self._end_turn("failed", event.code, event.message)
            case ev.ResultSummary():
                self._figures(event, time)
            case ev.AssistantMessage():
                self._assistant(event, time)
            case ev.UserMessage():
                self._user(event, time)
            case ev.QuestionAsked():
                self._current().questions += [_short(q.question) for q in event.questions]
                self._asked(event.tool_use_id, "question")
            case ev.PermissionRequested():
                self._current().permissions.append(event.tool_name)
                self._asked(event.tool_use_id, "permission")
            case ev.PlanUpdated():
                self._current().plan = event.items
            case ev.SystemEvent(subtype="api_retry", data=data):
                self._current().retries.append(_reason_of(data))
            case _:
                pass

    def _init(self, event: ev.SessionInit) -> None:
        summary = self.summary
        self._model = event.model or self._model
        summary.cwd = event.cwd or summary.cwd
        summary.agent_version = event.agent_version or summary.agent_version
        summary.permission_mode = event.permission_mode or summary.permission_mode
        if self._running and self._init_seen:
            # A turn has one init. A second means that the process died and another one took over.
            self._end_turn("lost", None, "another agent process continued the session")
            self._start_turn()
        self._init_seen = True

    def _start_turn(self) -> None:
        self._turn = TurnSummary(len(self.summary.turns) + 1, prompt=self._prompt)
        self.summary.turns.append(self._turn)
        self._said.clear()
        self._prompt = self._last_text = None
        self._running = True

    def _current(self) -> TurnSummary:
        """Returns the running turn, or the last one: events between turns belong to it."""
        if self._turn is None:
            self._start_turn()
            self._running = False
        assert self._turn is not None
        return self._turn

    def _end_turn(self, outcome: Outcome, reason: str | None, error: str | None = None) -> None:
        if not self._running:
            self._start_turn()  # its start was not recorded, or the turn failed before its start
        turn = self._current()
        turn.outcome, turn.reason = outcome, reason
        turn.error = None if error is None else _short(error)
        self._running = self._init_seen = False

    def _figures(self, event: ev.ResultSummary, time: float | None) -> None:
        turn = self._current()
        turn.seconds = event.duration_ms / 1000
        if not event.duration_ms:  # the agent does not measure its turns
            began = self._began
            turn.seconds = None if time is None or began is None else round(time - began, 3)
        turn.cost_usd = event.cost_usd
        turn.usage = event.usage
        turn.model_calls = event.num_turns
        said = self._last_text if event.result is None else event.result
        if said and turn.error is None:
            turn.said = _short(said)

    # --- messages -----------------------------------------------------------------------------

    def _assistant(self, event: ev.AssistantMessage, time: float | None) -> None:
        if event.model and event.model != "<synthetic>":
            self._models[event.model] = None
        for index, block in enumerate(event.content, event.index):
            place = (event.parent_tool_use_id, event.message_id, index)
            if place in self._said:
                continue  # a repeated frame
            self._said.add(place)
            match block:
                case blocks.TextBlock(text=text) if event.parent_tool_use_id is None:
                    self._last_text = text
                case blocks.ThinkingBlock():
                    turn = self._current()
                    turn.thinking_blocks += 1
                    turn.thinking_characters += len(block.thinking)
                case blocks.ToolUseBlock():
                    self._call(block, event, time)
                case blocks.ToolResultBlock():
                    self._result(block, event.timestamp, time)
                case _:
                    pass

    def _user(self, event: ev.UserMessage, time: float | None) -> None:
        if event.origin in ("user", "replay"):
            turn = self._current()
            turn.prompt = turn.prompt or _text(event.content)
        for block in event.content:
            if isinstance(block, blocks.ToolResultBlock):
                self._result(block, event.timestamp, time)

    def _call(
        self, block: blocks.ToolUseBlock, event: ev.AssistantMessage, time: float | None
    ) -> None:
        about = "" if block.is_question else _about(block.input)  # questions have their own list
        tool = ToolSummary(block.id, block.tool_name, about)
        # The calls of a background sub-agent stay under its call, even in a later turn.
        place = self._below.get(event.parent_tool_use_id or "")
        siblings, depth = place or (self._current().tools, 0)
        siblings.append(tool)
        self._tools[block.id] = tool
        self._below[block.id] = (tool.tools, depth + 1) if depth < _DEEPEST else (siblings, depth)
        at = _seconds(event.timestamp, time)
        if at is not None:
            self._started[block.id] = at

    def _result(
        self, block: blocks.ToolResultBlock, timestamp: str | None, time: float | None
    ) -> None:
        tool = self._tools.get(block.tool_use_id)
        if tool is None:
            return
        tool.status = "failed" if block.is_error else "ok"
        began, ended = self._started.pop(block.tool_use_id, None), _seconds(timestamp, time)
        if began is not None and ended is not None and ended >= began:
            tool.seconds = round(ended - began, 3)

    def _asked(self, tool_id: str, what: Literal["permission", "question"]) -> None:
        tool = self._tools.get(tool_id)
        if tool is not None:
            tool.asked = what


def _outcome(event: ev.TurnCompleted) -> Outcome:
    if event.interrupted:
        return "interrupted"
    return "paused" if event.deferred_tool_use_id else "completed"


def _seconds(timestamp: str | None, time: float | None) -> float | None:
    """Returns the time in seconds: of the recorder if known, otherwise of the agent."""
    if time is not None or timestamp is None:
        return time
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return None


def _about(arguments: Any) -> str:
    """Returns the input of a tool in few words."""
    if not isinstance(arguments, dict):
        return "" if arguments is None else _short(_json(arguments))
    for key in _TELLING:
        if isinstance(arguments.get(key), str) and arguments[key]:
            return _short(arguments[key])
    words = (f"{k}: {v if isinstance(v, str) else _json(v)}" for k, v in arguments.items())
    return _short(", ".join(words))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _ABOUT else f"{text[:_ABOUT]}…"


def _text(content: list[blocks.ContentBlock]) -> str:
    return _short(" ".join(b.text for b in content if isinstance(b, blocks.TextBlock)))


def _said_by(message: Any) -> str:
    """Returns the prompt that a message of the host is. Returns an empty text if it is none."""
    match message:
        case messages.UserMessage():
            content = message.message.content if message.message else None
            if isinstance(content, str):
                return _short(content)
            return _text([unify(block) for block in content or ()])
        case acp_messages.Prompt(params=params):
            texts = [b.text for b in params.prompt if isinstance(b, acp_content.TextContent)]
            return _short(" ".join(texts))
        case _:
            return ""


class _Retry(Struct, gc=False):
    error_status: int | None = None
    error: str | None = None


def _reason_of(data: Any) -> str:
    try:
        retry = msgspec.json.decode(data, type=_Retry)
    except (msgspec.DecodeError, TypeError):
        return "unknown"
    return " ".join(str(word) for word in (retry.error_status, retry.error) if word) or "unknown"
