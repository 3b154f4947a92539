"""Checks the order of an agent's events."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.blocks import (
    ContentBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.question_rules import BadQuestion, QuestionRules

__all__ = ["EventOrder"]

_BROKE_OFF = ("agent_lost", "agent_error")  # failures without a result_summary

# Events that the main agent may emit between turns.
_BETWEEN_TURNS = (
    ev.SessionInit,
    ev.SystemEvent,
    ev.UnknownEvent,
    ev.RequestWithdrawn,
    ev.PlanUpdated,
    ev.TurnStarted,
)


class _Message(Struct):
    """A message that is being streamed, with the indexes of its blocks."""

    message_id: str
    open: dict[int, str]  # the text so far
    ended: set[int]


class EventOrder:
    """Checks all batches of a session in order. `problems` has a message for each violation."""

    def __init__(self, known_calls: Iterable[str] = ()) -> None:
        """Takes as `known_calls` the tool calls without a result of an earlier session."""
        self.problems: list[str] = []
        self.in_turn = False
        self.turns_ended = 0
        self.calls = set(known_calls)
        self.results: set[str] = set()
        self._requests: set[str] = set()
        self._questions = QuestionRules()
        self._growing: dict[str | None, _Message] = {}  # by the sub-agent's tool call

    def feed(self, batch: list[NormalizedStreamEvent]) -> None:
        """Checks one batch."""
        if not batch:
            self._wrong("a batch is empty: an agent yields only batches with events")
            return
        for event, following in zip(batch, [*batch[1:], None], strict=True):
            if not event.provider:
                self._wrong(f"{_name(event)} does not name its agent: provider is empty")
            self._turn(event, following)
            self._message(event)
            self._tools(event)
            try:
                self._questions.feed(event)
            except BadQuestion as bad:
                self._wrong(bad.message)

    # --- turns --------------------------------------------------------------------------------

    def _turn(self, event: NormalizedStreamEvent, following: NormalizedStreamEvent | None) -> None:
        match event:
            case ev.TurnStarted():
                if self.in_turn:
                    self._wrong("turn_started in a turn: the one before it has not ended")
                self.in_turn = True
            case ev.TurnCompleted() | ev.TurnFailed():
                if not self.in_turn:
                    self._wrong(f"{_name(event)} without a turn: turn_started is missing")
                self.in_turn = False
                self.turns_ended += 1
                if (growing := self._growing.pop(None, None)) is not None:
                    self._wrong(f"the turn ended and message {growing.message_id} did not")
                broke_off = isinstance(event, ev.TurnFailed) and event.code in _BROKE_OFF
                if not isinstance(following, ev.ResultSummary) and not broke_off:
                    self._wrong(f"{_name(event)} has no result_summary after it in its batch")
            case ev.ResultSummary():
                if self.in_turn:
                    self._wrong("result_summary in a turn: it belongs directly after the end")
            case _:
                self._between_turns(event)

    def _between_turns(self, event: NormalizedStreamEvent) -> None:
        if self.in_turn or event.parent_tool_use_id is not None:
            return
        if isinstance(event, _BETWEEN_TURNS):
            return
        if isinstance(event, ev.UserMessage) and event.origin in ("replay", "synthetic"):
            return
        self._wrong(f"{_name(event)} of the main agent outside of a turn")

    # --- messages -----------------------------------------------------------------------------

    def _message(self, event: NormalizedStreamEvent) -> None:
        voice = event.parent_tool_use_id
        match event:
            case ev.MessageStarted(message_id=message_id):
                if voice in self._growing:
                    self._wrong(f"message {message_id} began and the one before it has not ended")
                self._growing[voice] = _Message(message_id, {}, set())
            case ev.ContentStarted(message_id=message_id, index=index, block=block):
                message = self._of(event, message_id)
                if message is None:
                    return
                if index in message.open or index in message.ended:
                    self._wrong(f"block {index} of message {message_id} began twice")
                message.open[index] = _text_of(block) or ""
            case ev.ContentDelta(message_id=message_id, index=index, kind=kind):
                if kind == "tool_output":
                    return  # a tool may print after its message has ended
                message = self._of(event, message_id)
                if message is None:
                    return
                if index not in message.open:
                    self._wrong(f"a piece of block {index} of message {message_id}: it is not open")
                else:
                    message.open[index] += event.text
            case ev.ContentCompleted(message_id=message_id, index=index, block=block):
                message = self._of(event, message_id)
                if message is None:
                    return
                if index not in message.open:
                    self._wrong(f"block {index} of message {message_id} ended: it was not open")
                streamed, whole = message.open.pop(index, ""), _text_of(block)
                if whole is not None and streamed and streamed != whole:
                    self._wrong(f"block {index} of message {message_id} ended with another text")
                message.ended.add(index)
            case ev.MessageCompleted(message_id=message_id):
                message = self._of(event, message_id)
                if message is None:
                    return
                if message.open:
                    named = ", ".join(str(index) for index in sorted(message.open))
                    self._wrong(f"message {message_id} ended with open blocks: {named}")
                del self._growing[voice]
            case ev.MessageDiscarded(message_id=message_id):
                if self._of(event, message_id) is not None:
                    del self._growing[voice]
            case _:
                pass

    def _of(self, event: NormalizedStreamEvent, message_id: str) -> _Message | None:
        message = self._growing.get(event.parent_tool_use_id)
        if message is not None and message.message_id == message_id:
            return message
        self._wrong(f"{_name(event)} of message {message_id}, which has not begun or has ended")
        return None

    # --- tools --------------------------------------------------------------------------------

    def _tools(self, event: NormalizedStreamEvent) -> None:
        match event:
            case ev.AssistantMessage(content=content):
                self._called(content)
            case ev.ContentCompleted(block=block):
                self._called([block])
            case ev.UserMessage(content=content):
                for block in content:
                    if isinstance(block, ToolResultBlock):
                        self._result(block.tool_use_id)
            case ev.QuestionAsked() | ev.PermissionRequested():
                if event.request_id in self._requests:
                    self._wrong(f"request {event.request_id} was asked twice")
                self._requests.add(event.request_id)
                self.calls.add(event.tool_use_id)  # some agents ask without emitting the call
            case ev.UnknownEvent(original_type=kind) if kind.startswith("request/"):
                self._wrong(f"a request that no person is shown: {kind.removeprefix('request/')}")
            case _:
                pass

    def _called(self, content: list[ContentBlock]) -> None:
        self.calls |= {block.id for block in content if isinstance(block, ToolUseBlock)}

    def _result(self, tool_use_id: str) -> None:
        if tool_use_id not in self.calls:
            self._wrong(f"a result for {tool_use_id}, which was never called")
        if tool_use_id in self.results:
            self._wrong(f"a second result for {tool_use_id}")
        self.results.add(tool_use_id)

    def _wrong(self, what: str) -> None:
        self.problems.append(what)


def _text_of(block: ContentBlock) -> str | None:
    match block:
        case TextBlock(text=text) | ThinkingBlock(thinking=text):
            return text
        case _:
            return None


def _name(event: NormalizedStreamEvent) -> str:
    return str(event.__struct_config__.tag)
