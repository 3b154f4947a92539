"""Translates the events of a run of pydantic-ai into normalized events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from pydantic_ai import messages as ai

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent

__all__ = ["CallIds", "RunStream", "Whose"]

Whose = tuple[str, str, None, None]  # the first four fields of every event
Events = list[NormalizedStreamEvent]


class CallIds:
    """The ids of tool calls in the conversation: each is used once.

    A model may use an id again, for example `call_0` in each response. Such a call gets another one.
    """

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._latest: dict[str, str] = {}  # by the id that the model uses

    def add(self, used: Iterable[str]) -> None:
        """Adds ids of the log."""
        self._used.update(used)

    def begin(self, given: str) -> str:
        """Returns the id of a new call."""
        call = given if given not in self._used else f"{given}.{uuid4().hex[:8]}"
        self._used.add(call)
        self._latest[given] = call
        return call

    def of(self, given: str) -> str:
        """Returns the id of the latest call to which the model has given this id."""
        return self._latest.get(given, given)


class _Part:
    """A part of a model's response that grows. `call` is the id of a tool call."""

    def __init__(self, part: Any, call: str | None) -> None:
        self.part = part
        self.call = call
        self.text = ""


class RunStream:
    """The messages of one run. Each response of the model is one message."""

    def __init__(self, whose: Whose, ids: CallIds) -> None:
        self._whose = whose
        self._ids = ids
        self._id = ""  # of the open message; empty: none is open
        self._open: dict[int, _Part] = {}
        self._called: set[str] = set()
        self._answered: set[str] = set()

    def feed(self, event: Any) -> Events:
        """Returns the events of one event of a run."""
        match event:
            case ai.PartStartEvent(index=index, part=part):
                return self._start(index, part)
            case ai.PartDeltaEvent(index=index, delta=delta):
                return self._delta(index, delta)
            case ai.PartEndEvent(index=index, part=part):
                return self._end(index, part)
            case ai.ToolResultEvent(part=part):
                return self._result(part)
            case _:
                return []

    def finish(self, *, aborted: bool = False) -> Events:
        """Ends the open message."""
        if not self._id:
            return []
        out: Events = []
        for index, growing in list(self._open.items()):
            out += self._end(index, growing.part, aborted=aborted, text=growing.text)
        out.append(ev.MessageCompleted(*self._whose, self._id))
        self._id = ""
        return out

    def _start(self, index: int, part: Any) -> Events:
        out: Events = []
        if not self._id:
            self._id = f"message-{uuid4()}"
            out.append(ev.MessageStarted(*self._whose, self._id))
        if index in self._open:  # the part is sent again, with more of it
            return out
        call = self._ids.begin(part.tool_call_id) if isinstance(part, ai.ToolCallPart) else None
        self._open[index] = _Part(part, call)
        out.append(ev.ContentStarted(*self._whose, self._id, index, _begun(part, call)))
        if isinstance(part, ai.TextPart | ai.ThinkingPart) and part.content:
            out += self._grow(index, part.content)
        elif isinstance(part, ai.ToolCallPart) and isinstance(part.args, str) and part.args:
            out += self._grow(index, part.args)
        return out

    def _delta(self, index: int, delta: Any) -> Events:
        match delta:
            case ai.TextPartDelta(content_delta=str(text)):
                return self._grow(index, text)
            case ai.ThinkingPartDelta(content_delta=str(text)):
                return self._grow(index, text)
            case ai.ToolCallPartDelta(args_delta=str(text)):
                return self._grow(index, text)
            case _:
                return []

    def _grow(self, index: int, text: str) -> Events:
        growing = self._open.get(index)
        if growing is None or not text:
            return []
        growing.text += text
        kind: ev.DeltaKind = "tool_input"
        if isinstance(growing.part, ai.TextPart):
            kind = "text"
        elif isinstance(growing.part, ai.ThinkingPart):
            kind = "thinking"
        return [ev.ContentDelta(*self._whose, self._id, index, kind, text, growing.call)]

    def _end(
        self, index: int, part: Any, *, aborted: bool = False, text: str | None = None
    ) -> Events:
        growing = self._open.pop(index, None)
        if growing is None:
            return []
        block = self._block(part, text, growing.call)
        return [
            ev.AssistantMessage(*self._whose, self._id, index, [block], aborted=aborted),
            ev.ContentCompleted(*self._whose, self._id, index, block),
        ]

    def _block(self, part: Any, text: str | None, call: str | None) -> blocks.ContentBlock:
        match part:
            case ai.TextPart():
                return blocks.TextBlock(part.content if text is None else text, "completed")
            case ai.ThinkingPart():
                said = part.content if text is None else text
                return blocks.ThinkingBlock(said, "completed", part.signature)
            case ai.ToolCallPart() if call is not None:
                self._called.add(call)
                return tool_block(part, call, text)
            case _:
                return blocks.UnknownBlock(part.part_kind, {"text": str(part)})

    def _result(self, part: Any) -> Events:
        call = self._ids.of(part.tool_call_id)
        if call in self._answered or call not in self._called:
            return []
        self._answered.add(call)
        failed = part.outcome != "success"
        said = part.model_response_str(wrap_if_error=False)
        block = blocks.ToolResultBlock(call, said, failed, "failed" if failed else "completed")
        return [*self.finish(), ev.UserMessage(*self._whose, [block], "tool")]


def tool_block(part: Any, call: str, text: str | None = None) -> blocks.ToolUseBlock:
    """Returns the block of a tool call."""
    asks = part.tool_name == "request_input" or None
    kind = "QUESTION" if asks else "FUNCTION"
    try:
        given: Any = part.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        given, text = None, text or str(part.args)
    raw = text if given is None else None
    return blocks.ToolUseBlock(call, part.tool_name, kind, given, "in_progress", raw, asks)


def _begun(part: Any, call: str | None) -> blocks.ContentBlock:
    match part:
        case ai.TextPart():
            return blocks.TextBlock("", "in_progress")
        case ai.ThinkingPart():
            return blocks.ThinkingBlock("", "in_progress")
        case ai.ToolCallPart() if call is not None:
            asks = part.tool_name == "request_input" or None
            kind = "QUESTION" if asks else "FUNCTION"
            about = (call, part.tool_name, kind)
            return blocks.ToolUseBlock(*about, None, "in_progress", None, asks)
        case _:
            return blocks.UnknownBlock(part.part_kind, {"text": str(part)})
