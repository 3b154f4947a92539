"""One model message as the adapter follows it: its streamed blocks, and its finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from turnwire.core import blocks as unified
from turnwire.core.blocks import ContentBlock
from turnwire.core.usage import Usage

__all__ = ["MessageState", "StreamedBlock"]

_RECENT = 64  # finished blocks that a frame may say again


class StreamedBlock:
    """A block that came in stream events: what it started as, and the pieces so far."""

    __slots__ = ("citations", "ended", "pieces", "signatures", "start", "tool_use_id")

    def __init__(self, start: ContentBlock) -> None:
        self.start = start
        self.ended = False
        self.pieces: list[str] = []
        self.signatures: list[str] = []  # pieces of one
        self.citations: list[object] = []
        self.tool_use_id = start.id if isinstance(start, unified.ToolUseBlock) else None

    def assembled(self) -> ContentBlock:
        """The block its pieces add up to."""
        grown = "".join(self.pieces)
        match self.start:
            case unified.TextBlock() as start:
                citations = [*(start.citations or ()), *self.citations]
                return unified.TextBlock(start.text + grown, "completed", citations or None)
            case unified.ThinkingBlock() as start:
                signature = (start.signature or "") + "".join(self.signatures)
                return unified.ThinkingBlock(
                    start.thinking + grown, "completed", signature or None, start.redacted
                )
            case unified.ToolUseBlock() as start if grown:
                try:
                    arguments, text = msgspec.json.decode(grown), None
                except (msgspec.DecodeError, RecursionError):
                    arguments, text = None, grown
                about = (start.id, start.tool_name, start.tool_type)
                return unified.ToolUseBlock(*about, arguments, "in_progress", text, start.asks)
            case start:
                return start


class MessageState:
    """A message of one lane. Blocks live at their content index, whichever way they arrive."""

    __slots__ = (
        "_frames",
        "_next",
        "_waiting",
        "blocks",
        "finished",
        "has_own_id",
        "id",
        "stop_reason",
        "stopped",
        "streamed",
        "streaming",
        "usage",
    )

    def __init__(self, message_id: str, has_own_id: bool) -> None:
        self.id = message_id
        self.has_own_id = has_own_id  # the agent named it, not we
        self.streamed = False  # it came, or comes, in stream events
        self.streaming = False  # they go on
        self.stopped = False  # it is over
        self.blocks: dict[int, StreamedBlock] = {}  # came in stream events
        self.finished: dict[int, ContentBlock] = {}  # said by an assistant frame
        self.stop_reason: str | None = None
        self.usage: Usage | None = None
        self._frames: dict[str, int] = {}  # frame uuid -> index of its first block
        self._waiting: dict[str, list[int]] = {}  # streamed and not finished, by kind of block
        self._next = 0  # the first index that is free

    def follow(self) -> None:
        """Its stream events begin."""
        self.streamed = self.streaming = True

    def stop(self) -> None:
        """It is over."""
        self.streaming, self.stopped = False, True

    def start(self, index: int, block: ContentBlock) -> None:
        """A block begins to stream."""
        self.blocks[index] = StreamedBlock(block)
        self._next = max(self._next, index + 1)
        if index not in self.finished:
            self._waiting.setdefault(_kind(block), []).append(index)

    def waits(self) -> bool:
        """Whether a streamed block has not been confirmed by an assistant frame yet."""
        return bool(self._waiting)

    def first_unfinished(self) -> int:
        """From here on nothing has been confirmed by an assistant frame."""
        waiting = [index for indexes in self._waiting.values() for index in indexes]
        return min(waiting) if waiting else max(self.finished, default=-1) + 1

    def place(self, content: Sequence[ContentBlock], uuid: str | None) -> int:
        """Where an assistant frame's blocks belong; they are finished from now on.

        A frame does not say its index. See "One message, two ways in" in docs/design.md.
        """
        index = self._frames.get(uuid) if uuid is not None else None
        if index is None:
            index = self._index_of(content)
            if uuid is not None:
                self._frames[uuid] = index
        for place, block in enumerate(content, index):
            self.finished[place] = block
            if place in self.blocks:
                self._confirm(_kind(block), place)
        self._next = max(self._next, index + len(content))
        return index

    def _confirm(self, kind: str, place: int) -> None:
        """A streamed block is finished: it does not wait any more. No kind stays with none waiting."""
        waiting = self._waiting.get(kind)
        if waiting is not None and place in waiting:
            waiting.remove(place)
            if not waiting:
                del self._waiting[kind]

    def _index_of(self, content: Sequence[ContentBlock]) -> int:
        if not content:
            return self._next
        first = content[0]
        if len(content) > 1 and self.finished.get(0) == first:
            return 0  # the whole message again
        waiting = self._waiting.get(_kind(first))
        if waiting:
            return waiting[0]  # nearly always: the block that has just been streamed
        # A call that was said before, or any block of a streamed message, which has no others.
        kind = _kind(first) if isinstance(first, unified.ToolUseBlock) else None
        if self.streamed or kind is not None:
            for index in islice(reversed(self.finished), _RECENT):
                block = self.finished[index]
                if _kind(block) == kind or (self.streamed and block == first):
                    return index
        return self._next


def _kind(block: ContentBlock) -> str:
    """What a streamed block and the finished one that it becomes have in common."""
    if isinstance(block, unified.TextBlock):
        return "text"
    if isinstance(block, unified.ToolUseBlock):
        return f"tool_use {block.id}"
    if isinstance(block, unified.UnknownBlock):
        return f"unknown {block.original_type}"
    return type(block).__name__
