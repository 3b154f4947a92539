"""The frames of a conversation as a story: who speaks, what runs, what it came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Raw
from rich.text import Text

from turnwire.cli.live import requests
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
_BREAKS_OFF = "It breaks off here: the server died."
_CUT = f"{_BREAKS_OFF} These last words are not in the log."
_CUT_IN_PART = f"{_BREAKS_OFF} The last of these words are not in the log."
_PLAN_TOOLS = frozenset(["TodoWrite", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"])


class Painter(Protocol):
    """Shows the story: on a terminal, or as plain text."""

    def said(self, text: str) -> None:
        """What a person said."""

    def grow(self, block_id: str, voice: Voice, kind: Kind, piece: str) -> None:
        """More of a block."""

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """A block is whole, whether it has grown or not."""

    def take_back(self, block_id: str) -> None:
        """A block will never be whole."""

    def cut(self, block_id: str, why: str) -> None:
        """A block breaks off, and nobody knows how it would have gone on."""

    def run(self, call: Call) -> None:
        """A call runs: show it as it is now."""

    def close(self, call: Call) -> None:
        """A call is over, one way or the other; or, with its sub-agent at work, its head is due."""

    def forget(self, call: Call) -> None:
        """A call was never made, or is shown in another way."""

    def note(self, lines: list[Text], voice: Voice = AGENT) -> None:
        """Something that stays as it is."""

    def plan(self, items: list[Any]) -> None:
        """The plan, as it is now."""


class Others(Protocol):
    """Knows what was not done here, where several people are in a conversation."""

    def answered_elsewhere(self, request_id: str) -> bool:
        """Whether somebody else has answered this, while it was asked here."""

    def stopped_elsewhere(self, turn_id: int | None) -> bool:
        """Whether somebody else has stopped this turn."""


class Story:
    """Feed it every frame of a client, in order, over as many connections as there are."""

    def __init__(
        self, painter: Painter, *, past: bool = False, others: Others | None = None
    ) -> None:
        self._painter = painter
        self._past = past  # what people said and answered is told as well
        self._others = others
        self._calls: dict[str, Call] = {}
        self._grown: dict[str, int] = {}  # characters of each block that grows
        self._unsure: set[str] = set()  # those that nothing was heard of on a new connection
        self._began: dict[str, int] = {}  # when, by call
        self._asked: dict[str, str] = {}  # the call that waits, by request
        self._backgrounded: set[str] = set()  # tasks that outlive their turn
        self.tasks: list[str] = []  # what runs in the background, in words

    def feed(self, frame: f.Frame | f.ServerFrame) -> None:
        """One more frame."""
        if isinstance(frame, f.MessageReplay):
            self.feed(frame.payload.event)
            return
        handle = _HANDLERS.get(type(frame))
        if handle is not None:
            handle(self, frame)

    def end(self) -> None:
        """Nothing more comes: what still runs is not shown as running."""
        for call in self._calls.values():
            self._painter.forget(call)

    def _voice(self, parent: str | None) -> Voice:
        """Whose words these are. The first of a sub-agent stand below the head of its call."""
        if parent is None:
            return AGENT
        call = self._calls.get(parent)
        if call is None:  # of an earlier turn
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
            if block.aborted and is_unsure:  # a dead server had saved it, or the beginning of it
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
            kind = block.block.get("type") if isinstance(block.block, dict) else None
            words = plain(f"[{kind or 'a block that has no words'}]")
            self._painter.note([Text(words, "dim")], self._voice(block.parent_tool_use_id))

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
        if call is not None:  # it was announced as a plain tool call
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
                line.append("  answered elsewhere", "dim")
            self._painter.note([line], self._voice(ended.parent_tool_use_id))

    # --- around it ----------------------------------------------------------------------------

    def _interrupted(self, frame: f.ConversationInterrupted) -> None:
        self._cut_off()
        by_us = self._others is None or not self._others.stopped_elsewhere(frame.turn_id)
        self._painter.note([receipt(frame.payload, by_us=by_us)])

    def _complete(self, frame: f.AssistantComplete) -> None:
        self._cut_off()
        end = frame.payload
        is_told = end.interrupted and end.duration_ms is None  # the receipt has said it all
        if self._past and not is_told:
            self._painter.note(figures(end))

    def _connected(self, frame: f.SessionConnected | f.SessionResumed) -> None:
        """What grew may never be heard of again."""
        coming = (call.id for call in self._calls.values() if call.input is None)
        self._unsure = {*self._grown, *coming}

    def _reset(self, frame: f.SessionReset) -> None:
        self._unsure = {*self._grown, *self._calls}
        self._cut_off()
        self._tell("The server has another log now. This is what is in it.")

    def _state(self, frame: f.SessionState) -> None:
        if frame.payload.turn_id is None:
            self._cut_off()

    def _cut_off(self) -> None:
        """Of a turn that is over, blocks that a dead server had not written down will not come."""
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
                self._tell("Background work is over", data.get("summary") or news.text)
            case "compact_boundary":
                self._tell("The agent summed up what was said so far, to make room.")
            case subtype:
                said = in_words(subtype, data)
                if said is not None:
                    self._tell(*said)

    def _tell(self, what: str, about: Any = None) -> None:
        line = Text.assemble(("◆ ", "cyan"), plain(safe(what)))
        if about:
            line.append(f": {plain(safe(str(about)))}")
        self._painter.note([line])


def _fields(data: Any) -> dict[str, Any]:
    """What news hold; those that only pass by hold them as they came."""
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
