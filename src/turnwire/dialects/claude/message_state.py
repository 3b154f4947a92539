"""One model message as the adapter follows it: its streamed blocks, and its finished ones."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from turnwire.core import blocks as unified
from turnwire.core.blocks import ContentBlock
from turnwire.core.usage import Usage

__all__ = ["MessageState", "StreamedBlock"]


class StreamedBlock:
    """A block that came in stream events: what it started as, and the pieces so far."""

    __slots__ = ("citations", "ended", "pieces", "signature", "start", "tool_use_id")

    def __init__(self, start: ContentBlock) -> None:
        self.start = start
        self.ended = False
        self.pieces: list[str] = []
        self.signature = ""
        self.citations: list[object] | None = None
        self.tool_use_id = start.id if isinstance(start, unified.ToolUseBlock) else None

    def assembled(self) -> ContentBlock:
        """The block its pieces add up to."""
        grown = "".join(self.pieces)
        match self.start:
            case unified.TextBlock() as start:
                citations = [*(start.citations or ()), *(self.citations or ())]
                return unified.TextBlock(start.text + grown, "completed", citations or None)
            case unified.ThinkingBlock() as start:
                signature = (start.signature or "") + self.signature
                return unified.ThinkingBlock(
                    start.thinking + grown, "completed", signature or None, start.redacted
                )
            case unified.ToolUseBlock() as start if grown:
                try:
                    arguments, text = msgspec.json.decode(grown), None
                except (msgspec.DecodeError, RecursionError):
                    arguments, text = None, grown
                return unified.ToolUseBlock(
                    start.id, start.tool_name, start.tool_type, arguments, "in_progress", text
                )
            case start:
                return start


class MessageState:
    """A message of one lane. Blocks live at their content index, whichever way they arrive."""

    __slots__ = (
        "_frames",
        "blocks",
        "finished",
        "has_own_id",
        "id",
        "stop_reason",
        "stopped",
        "streamed",
        "usage",
    )

    def __init__(self, message_id: str, has_own_id: bool, streamed: bool) -> None:
        self.id = message_id
        self.has_own_id = has_own_id  # the agent named it, not we
        self.streamed = streamed  # it began with stream events
        self.stopped = False
        self.blocks: dict[int, StreamedBlock] = {}  # came in stream events
        self.finished: dict[int, ContentBlock] = {}  # said by an assistant frame
        self.stop_reason: str | None = None
        self.usage: Usage | None = None
        self._frames: dict[str, int] = {}  # frame uuid -> index of its first block

    def waits(self) -> bool:
        """Whether a streamed block has not been confirmed by an assistant frame yet."""
        return any(index not in self.finished for index in self.blocks)

    def first_unfinished(self) -> int:
        """From here on nothing has been confirmed by an assistant frame."""
        unfinished = [index for index in self.blocks if index not in self.finished]
        return min(unfinished) if unfinished else max(self.finished, default=-1) + 1

    def place(self, content: Sequence[ContentBlock], uuid: str | None) -> int:
        """Where an assistant frame's blocks belong; they are finished from now on.

        A frame does not say its index. It is a repeat of a frame, the whole message again, the
        streamed block that waits for it, or simply the next block.
        """
        index = self._frames.get(uuid) if uuid is not None else None
        if index is None:
            index = self._index_of(content)
            if uuid is not None:
                self._frames[uuid] = index
        for place, block in enumerate(content, index):
            self.finished[place] = block
        return index

    def _index_of(self, content: Sequence[ContentBlock]) -> int:
        first = content[0] if content else None
        after = len(self.finished)
        if after in self.blocks and _same(self.blocks[after].start, first):
            return after  # nearly always: the block that has just been streamed
        if len(content) > 1 and self.finished.get(0) == first:
            return 0
        for index, streamed in self.blocks.items():
            if index not in self.finished and _same(streamed.start, first):
                return index
        if isinstance(first, unified.ToolUseBlock):
            for index, block in self.finished.items():
                if isinstance(block, unified.ToolUseBlock) and block.id == first.id:
                    return index
        return max((*self.finished, *self.blocks), default=-1) + 1


def _same(streamed: ContentBlock, finished: ContentBlock | None) -> bool:
    """Whether a finished block can be what a streamed one became."""
    if type(streamed) is not type(finished):
        return False
    if isinstance(streamed, unified.ToolUseBlock) and isinstance(finished, unified.ToolUseBlock):
        return finished.id == streamed.id
    if isinstance(streamed, unified.UnknownBlock) and isinstance(finished, unified.UnknownBlock):
        return finished.original_type == streamed.original_type
    return True
