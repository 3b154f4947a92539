"""Streams a message of the demo: block by block, piece by piece."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

import msgspec

from turnwire.agents.demo.texts import pieces
from turnwire.agents.demo.turn import Stopped, Turn
from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ThinkingBlock, ToolUseBlock
from turnwire.core.events import DeltaKind

__all__ = ["Message"]

_TOOL_TYPES = {
    "Agent": "DEMO_AGENT",
    "Bash": "DEMO_BASH",
    "TodoWrite": "DEMO_TODO_WRITE",
    "request_input": "QUESTION",
}


class Message:
    """A message that is streamed inside `async with Message(turn) as message`.

    Leaving the context completes the message; an interrupt aborts it.
    """

    def __init__(self, turn: Turn, parent: str | None = None) -> None:
        self._turn = turn
        self._whose = turn.whose(parent)
        self._id = turn.new_id("msg")
        self._index = 0
        self._written: list[str] = []
        self._open: list[str] = []  # pieces of the open block
        self._kind: DeltaKind | None = None  # kind of the open block
        self._calls = False

    async def __aenter__(self) -> Self:
        await self._turn.pause()
        self._turn.say(ev.MessageStarted(*self._whose, self._id, "demo"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is None:
            self._complete("tool_use" if self._calls else "end_turn")
        elif kind is Stopped:
            self._abort()

    async def text(self, text: str) -> None:
        """Streams a text block."""
        await self._stream("text", TextBlock("", "in_progress"), pieces(text))
        self._finish(TextBlock(text, "completed"))

    async def thinking(self, text: str) -> None:
        """Streams a thinking block."""
        await self._stream("thinking", ThinkingBlock("", "in_progress"), pieces(text))
        self._finish(ThinkingBlock(text, "completed"))

    async def call(self, name: str, arguments: dict[str, Any], *, id: str | None = None) -> str:  # noqa: A002
        """Streams a tool call and returns its id."""
        self._calls = True
        call_id = id or self._turn.new_id("call")
        kind = _TOOL_TYPES.get(name, "FUNCTION")
        text = msgspec.json.encode(arguments).decode()
        cut = [text[at : at + 24] for at in range(0, len(text), 24)]
        await self._stream(
            "tool_input", ToolUseBlock(call_id, name, kind, None, "in_progress"), cut, call_id
        )
        self._finish(ToolUseBlock(call_id, name, kind, arguments, "in_progress"))
        return call_id

    def abandon(self) -> None:
        """Discards the message with everything streamed so far."""
        self._turn.say(ev.MessageDiscarded(*self._whose, self._id, 0, "abandoned"))

    async def begin(self, text: str) -> None:
        """Streams the beginning of a text block and leaves the block open."""
        await self._stream("text", TextBlock("", "in_progress"), pieces(text))

    async def flood(self, part: str, times: int, seconds: float) -> None:
        """Streams the same text many times as one block; `seconds` is the time for each."""
        loop = asyncio.get_running_loop()
        self._kind, self._open = "text", []
        block = TextBlock("", "in_progress")
        self._turn.say(ev.ContentStarted(*self._whose, self._id, self._index, block))
        began = loop.time()
        for number in range(times):
            await self._turn.wait(began + number * seconds - loop.time())
            self._open.append(part)
            self._turn.say(ev.ContentDelta(*self._whose, self._id, self._index, "text", part))
        self._finish(TextBlock(part * times, "completed"))

    async def _stream(
        self, kind: DeltaKind, block: ContentBlock, parts: list[str], call: str | None = None
    ) -> None:
        turn, whose, index = self._turn, self._whose, self._index
        self._kind, self._open = kind, []
        turn.say(ev.ContentStarted(*whose, self._id, index, block))
        for part in parts:
            await turn.pause()
            self._open.append(part)
            turn.say(ev.ContentDelta(*whose, self._id, index, kind, part, call))

    def _finish(self, block: ContentBlock, *, aborted: bool = False) -> None:
        """Completes the open block. Like Claude, emits the final block before its stream ends."""
        self._turn.say(
            ev.AssistantMessage(
                *self._whose,
                self._id,
                self._index,
                [block],
                "demo",
                aborted=aborted,
                uuid=f"{self._id}-{self._index}",
            ),
            ev.ContentCompleted(*self._whose, self._id, self._index, block),
        )
        self._written += self._open
        self._kind = None
        self._index += 1

    def _complete(self, stop_reason: str | None) -> None:
        usage = self._turn.count("".join(self._written))
        self._turn.say(
            ev.UsageUpdated(*self._whose, usage, self._id),
            ev.MessageCompleted(*self._whose, self._id, stop_reason, usage),
        )

    def _abort(self) -> None:
        """Ends the message after an interrupt: keeps partial text, discards a partial tool call."""
        so_far = "".join(self._open)
        if self._kind == "tool_input":
            usage = self._turn.count("".join(self._written))
            self._turn.say(
                ev.UsageUpdated(*self._whose, usage, self._id),
                ev.MessageDiscarded(*self._whose, self._id, self._index, "turn_ended"),
            )
            return
        if self._kind == "thinking":
            self._finish(ThinkingBlock(so_far, "completed"), aborted=True)
        elif self._kind == "text":
            self._finish(TextBlock(so_far, "completed"), aborted=True)
        self._complete(None)
