"""Translates the frames of a conversation into calls of a painter: texts, tool calls, notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Raw
from rich.text import Text

from turnwire.cli.live import requests
from turnwire.cli.live.blocks import block_lines
from turnwire.cli.live.cards import Call, Voice
from turnwire.cli.live.ending import figures, receipt
from turnwire.cli.live.news import in_words
from turnwire.cli.terminal.visible import safe
from turnwire.cli.terminal.words import plain
from turnwire.core.content import TextContent
from turnwire.core.times import ms_of
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["Kind", "Others", "Painter", "Story"]

Kind: TypeAlias = Literal["text", "thinking"]

AGENT = Voice()
_BREAKS_OFF = "The text ends here: the server died."
_CUT = f"{_BREAKS_OFF} This text is not in the log."
_CUT_IN_PART = f"{_BREAKS_OFF} The last part of this text is not in the log."
_PLAN_TOOLS = frozenset(["TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"])


class Painter(Protocol):
    """Shows the story: on a terminal, or as plain text."""

    def said(self, text: str) -> None:
        """Shows a person's message."""

    def grow(self, block_id: str, voice: Voice, kind: Kind, piece: str) -> None:
        """Adds a piece to a block."""

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """Finishes a block with its final text, also one that did not stream."""

    def take_back(self, block_id: str) -> None:
        """Removes a block that was discarded."""

    def cut(self, block_id: str, why: str) -> None:
        """Ends a block whose rest was lost."""

    def run(self, call: Call) -> None:
        """Shows a running call in its current state."""

    def close(self, call: Call) -> None:
        """Shows a call for good: at its end, or its head when its sub-agent begins to speak."""

    def forget(self, call: Call) -> None:
        """Removes a running call that was discarded, or that is shown in another way."""

    def note(self, lines: list[Text], voice: Voice = AGENT) -> None:
        """Adds finished lines."""

    def plan(self, items: list[Any]) -> None:
        """Shows the current plan."""


class Others(Protocol):
    """Tells the actions of other people in the conversation from those of this person."""

    def answered_elsewhere(self, request_id: str) -> bool:
        """Returns whether another person has answered the request while it was asked here."""

    def stopped_elsewhere(self, turn_id: int | None) -> bool:
        """Returns whether another person has stopped the turn."""


class Story:
    """Follows every frame of a client, in order and over reconnects, and calls the painter."""

    def __init__(
        self, painter: Painter, *, past: bool = False, others: Others | None = None
    ) -> None:
        self._painter = painter
        self._past = past  # also show the messages and answers of people
        self._others = others
        self._calls: dict[str, Call] = {}
        self._grown: dict[str, int] = {}  # characters of each streaming block
        self._unsure: set[str] = set()  # streaming blocks not mentioned since the reconnect
        self._began: dict[str, int] = {}  # start times, by call
        self._asked: dict[str, str] = {}  # the waiting call, by request
        self._backgrounded: set[str] = set()  # tasks that continue after their turn
        self.tasks: list[str] = []  # descriptions of the background tasks

    def feed(self, frame: f.Frame | f.ServerFrame) -> None:
        """Takes the next frame."""
        if isinstance(frame, f.MessageReplay):
            self.feed(frame.payload.event)
            return
        handle = _HANDLERS.get(type(frame))
        if handle is not None:
            handle(self, frame)

    def end(self) -> None:
        """Ends the story: running calls are no longer shown."""
        for call in self._calls.values():
            self._painter.forget(call)

    def _voice(self, parent: str | None) -> Voice:
        """Returns the voice of a parent call. Shows the head of that call before its first text."""
        if parent is None:
            return AGENT
        call = self._calls.get(parent)
        if call is None:  # the call is from an earlier turn
            return Voice(parent, 1, "sub-agent")
        if not call.is_shown and not call.is_over:
            self._painter.close(call)
            call.is_shown = True
        return Voice(parent, call.voice.depth + 1, call.about or plain(call.name))

    # --- words --------------------------------------------------------------------------------

    def _words(self, frame: f.AssistantChunk | f.AssistantThinking) -> None:
        block = frame.payload
        is_unsure = block.block_id in self._unsure
        self._unsure.discard(block.block_id)
        kind: Kind = "text" if isinstance(block, p.Chunk) else "thinking"
        voice = self._voice(block.parent_tool_use_id)
        if not block.partial:
            grown = self._grown.pop(block.block_id, 0)
            if block.aborted and is_unsure:  # a dead server had stored the block or its beginning
                self._painter.grow(block.block_id, voice, kind, safe(block.text[grown:]))
                is_all = grown <= len(block.text)
                self._painter.cut(block.block_id, _BREAKS_OFF if is_all else _CUT_IN_PART)
                return
            self._painter.finish(block.block_id, voice, kind, safe(block.text))
            return
        known = self._grown.get(block.block_id, 0)
        piece = block.text[known:] if block.snapshot else block.text
        self._grown[block.block_id] = known + len(piece)
        self._painter.grow(block.block_id, voice, kind, safe(piece))

    def _other(self, frame: f.AssistantBlock) -> None:
        block = frame.payload
        if not block.partial:
            lines = block_lines(block.block)
            if lines:
                self._painter.note(lines, self._voice(block.parent_tool_use_id))

    def _discarded(self, frame: f.AssistantDiscarded) -> None:
        for block_id in frame.payload.block_ids:
            call = self._calls.pop(block_id, None)
            if call is not None:
                self._painter.forget(call)
            else:
                self._grown.pop(block_id, None)
                self._painter.take_back(block_id)

    def _user(self, frame: f.UserMessage) -> None:
        said = frame.payload
        if self._past and said.origin == "user" and said.parent_tool_use_id is None:
            words = [safe(c.text) for c in said.content if isinstance(c, TextContent)]
            rest = len(said.content) - len(words)
            words += ["[into the running turn]"] if said.steered_as else []
            self._painter.said("\n".join([*words, *([f"[and {rest} more]"] if rest else [])]))

    # --- tools --------------------------------------------------------------------------------

    def _tool_call(self, frame: f.AssistantToolCall) -> None:
        told = frame.payload
        self._unsure.discard(told.tool_use_id)
        call = self._calls.get(told.tool_use_id)
        if call is None:
            voice = self._voice(told.parent_tool_use_id)
            call = self._calls[told.tool_use_id] = Call(told.tool_use_id, told.tool_name, voice)
        if told.partial:
            before = "" if told.snapshot else call.input_text
            call.input_text = before + (told.input_text or "")
        else:
            call.input, call.input_text = told.input, told.input_text or ""
            self._began[call.id] = ms_of(frame.timestamp)
        self._show(call)

    def _progress(self, frame: f.AssistantToolProgress) -> None:
        told = frame.payload
        call = self._calls.get(told.tool_use_id)
        if call is not None:
            call.printed += told.output or ""
            call.elapsed = told.elapsed_seconds
            self._show(call)

    def _result(self, frame: f.AssistantToolResult) -> None:
        told = frame.payload
        call = self._calls.get(told.tool_use_id)
        if call is None or call.is_over:
            return
        call.result, call.is_error, call.is_over = told.content, told.is_error, True
        began = self._began.get(call.id)
        call.elapsed = None if began is None else max(0, ms_of(frame.timestamp) - began) / 1000
        if call.name in _PLAN_TOOLS and not call.is_error:
            self._painter.forget(call)
        else:
            self._painter.close(call)

    def _show(self, call: Call) -> None:
        if (
            not call.is_over
            and call.name not in _PLAN_TOOLS
            and call.id not in self._asked.values()
        ):
            self._painter.run(call)

    # --- questions and permissions --------------------------------------------------------------

    def _request_input(self, frame: f.AssistantRequestInput) -> None:
        asked = frame.payload
        call = self._calls.get(asked.question_id)
        if call is not None:  # the question was announced as a tool call
            self._asked[asked.question_id] = asked.question_id
            self._painter.forget(call)
        if self._past:
            lines = requests.question_lines(asked.questions, asked.input)
            self._painter.note(lines, self._voice(asked.parent_tool_use_id))

    def _permission(self, frame: f.AssistantPermissionRequest) -> None:
        asked = frame.payload
        self._asked[asked.request_id] = asked.tool_use_id
        call = self._calls.get(asked.tool_use_id)
        if call is not None:
            self._painter.forget(call)
        if self._past:
            lines = requests.permission_lines(asked)
            self._painter.note(lines, self._voice(asked.parent_tool_use_id))

    def _resolved(self, frame: f.AssistantRequestResolved) -> None:
        ended = frame.payload
        call = self._calls.get(self._asked.pop(ended.request_id, ""))
        if call is not None:
            if ended.updated_input is not None:
                call.input = ended.updated_input
            self._show(call)
        if self._past:
            line = requests.resolved_line(ended)
            if (
                self._others is not None
                and ended.outcome == "answered"
                and self._others.answered_elsewhere(ended.request_id)
            ):
                line.append("  answered by another client", "dim")
            self._painter.note([line], self._voice(ended.parent_tool_use_id))

    # --- turns and the connection -------------------------------------------------------------

    def _interrupted(self, frame: f.ConversationInterrupted) -> None:
        self._cut_off()
        by_us = self._others is None or not self._others.stopped_elsewhere(frame.turn_id)
        self._painter.note([receipt(frame.payload, by_us=by_us)])

    def _complete(self, frame: f.AssistantComplete) -> None:
        self._cut_off()
        end = frame.payload
        is_told = end.interrupted and end.duration_ms is None  # the receipt has shown everything
        if self._past and not is_told:
            self._painter.note(figures(end))

    def _connected(self, frame: f.SessionConnected | f.SessionResumed) -> None:
        """Marks the streaming blocks as unsure: the server may have lost them."""
        coming = (call.id for call in self._calls.values() if call.input is None)
        self._unsure = {*self._grown, *coming}

    def _reset(self, frame: f.SessionReset) -> None:
        self._unsure = {*self._grown, *self._calls}
        self._cut_off()
        self._tell("The server has another log now. Its content follows.")

    def _state(self, frame: f.SessionState) -> None:
        if frame.payload.turn_id is None:
            self._cut_off()

    def _cut_off(self) -> None:
        """Ends the unsure blocks of an ended turn: a dead server did not store them."""
        for block_id in self._unsure:
            call = self._calls.pop(block_id, None)
            if call is not None:
                self._painter.forget(call)
            elif self._grown.pop(block_id, None) is not None:
                self._painter.cut(block_id, _CUT)
        self._unsure.clear()

    def _news(self, frame: f.SessionSystemEvent) -> None:
        news = frame.payload
        data = _fields(news.data)
        match news.subtype:
            case "plan" if isinstance(items := data.get("items"), list):
                self._painter.plan(items)
            case "background_tasks_changed":
                tasks = data.get("tasks")
                known = [task for task in tasks or [] if isinstance(task, dict)]
                self.tasks = [plain(safe(str(t.get("description") or "work"))) for t in known]
            case "task_started" if data.get("is_backgrounded"):
                self._backgrounded.add(str(data.get("task_id")))
                self._tell("In the background", data.get("description"))
            case "task_notification" if str(data.get("task_id")) in self._backgrounded:
                self._tell("Background work has ended", data.get("summary") or news.text)
            case "compact_boundary":
                self._tell("The agent summarized the conversation so far, to save context.")
            case subtype:
                said = in_words(subtype, data, news.text)
                if said is not None:
                    self._tell(*said)

    def _tell(self, what: str, about: Any = None) -> None:
        line = Text.assemble(("◆ ", "cyan"), plain(safe(what)))
        if about:
            line.append(f": {plain(safe(str(about)))}")
        self._painter.note([line])


def _fields(data: Any) -> dict[str, Any]:
    """Returns the fields of a system event. The data of an event that is not stored is raw JSON."""
    value = msgspec.json.decode(data) if isinstance(data, Raw) else data
    return value if isinstance(value, dict) else {}


_HANDLERS: dict[type, Callable[[Story, Any], None]] = {
    f.AssistantChunk: Story._words,
    f.AssistantThinking: Story._words,
    f.AssistantBlock: Story._other,
    f.AssistantDiscarded: Story._discarded,
    f.UserMessage: Story._user,
    f.AssistantToolCall: Story._tool_call,
    f.AssistantToolProgress: Story._progress,
    f.AssistantToolResult: Story._result,
    f.AssistantRequestInput: Story._request_input,
    f.AssistantPermissionRequest: Story._permission,
    f.AssistantRequestResolved: Story._resolved,
    f.ConversationInterrupted: Story._interrupted,
    f.AssistantComplete: Story._complete,
    f.SessionConnected: Story._connected,
    f.SessionResumed: Story._connected,
    f.SessionReset: Story._reset,
    f.SessionState: Story._state,
    f.SessionSystemEvent: Story._news,
}
