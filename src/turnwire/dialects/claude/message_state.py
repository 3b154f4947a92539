"""The state of one model message in the adapter: its streamed and its finished blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from turnwire.core import blocks as unified
from turnwire.core.blocks import ContentBlock
from turnwire.core.usage import Usage

__all__ = ["MessageState", "StreamedBlock"]

_RECENT = 64  # finished blocks that a frame may repeat


class StreamedBlock:
    """A streamed block: its start, and its pieces so far."""

    __slots__ = ("citations", "ended", "pieces", "signatures", "start", "tool_use_id")

    def __init__(self, start: ContentBlock) -> None:
        self.start = start
        self.ended = False
        self.pieces: list[str] = []
        self.signatures: list[str] = []  # pieces of one signature
        self.citations: list[object] = []
        self.tool_use_id = start.id if isinstance(start, unified.ToolUseBlock) else None

    def assembled(self) -> ContentBlock:
        """Returns the block that the pieces add up to."""
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
    """A message of one lane. Streamed and finished blocks share one content index."""

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
        self.has_own_id = has_own_id  # the id is from the agent, not generated here
        self.streamed = False  # whether it has stream events
        self.streaming = False  # whether more stream events are expected
        self.stopped = False  # whether it has ended
        self.blocks: dict[int, StreamedBlock] = {}  # from stream events
        self.finished: dict[int, ContentBlock] = {}  # from assistant frames
        self.stop_reason: str | None = None
        self.usage: Usage | None = None
        self._frames: dict[str, int] = {}  # frame uuid -> index of its first block
        self._waiting: dict[str, list[int]] = {}  # kind -> streamed, unfinished blocks
        self._next = 0  # the first free index

    def follow(self) -> None:
        """Starts streaming."""
        self.streamed = self.streaming = True

    def stop(self) -> None:
        """Ends the message."""
        self.streaming, self.stopped = False, True

    def start(self, index: int, block: ContentBlock) -> None:
        """Starts a streamed block."""
        self.blocks[index] = StreamedBlock(block)
        self._next = max(self._next, index + 1)
        if index not in self.finished:
            self._waiting.setdefault(_kind(block), []).append(index)

    def waits(self) -> bool:
        """Returns whether a streamed block is not yet confirmed by an assistant frame."""
        return bool(self._waiting)

    def first_unfinished(self) -> int:
        """Returns the first index after the last confirmed block."""
        waiting = [index for indexes in self._waiting.values() for index in indexes]
        return min(waiting) if waiting else max(self.finished, default=-1) + 1

    def place(self, content: Sequence[ContentBlock], uuid: str | None) -> int:
        """Returns the index of an assistant frame's blocks, and marks them as finished.

        A frame does not have its index. See "One message, two ways in" in docs/explanation/design.md.
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
        """Marks a streamed block as finished, and drops the list of its kind if it is empty."""
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
            return 0  # the whole message is repeated
        waiting = self._waiting.get(_kind(first))
        if waiting:
            return waiting[0]  # the usual case: the block that was just streamed
        # A repeated call, or any block of a streamed message, which has no other blocks.
        kind = _kind(first) if isinstance(first, unified.ToolUseBlock) else None
        if self.streamed or kind is not None:
            for index in islice(reversed(self.finished), _RECENT):
                block = self.finished[index]
                if _kind(block) == kind or (self.streamed and block == first):
                    return index
        return self._next


def _kind(block: ContentBlock) -> str:
    """Returns the key by which a streamed block and its finished block are matched."""
    if isinstance(block, unified.TextBlock):
        return "text"
    if isinstance(block, unified.ToolUseBlock):
        return f"tool_use {block.id}"
    if isinstance(block, unified.UnknownBlock):
        return f"unknown {block.original_type}"
    return type(block).__name__
