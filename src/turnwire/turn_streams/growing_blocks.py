"""The blocks of a turn that still grow, as far as one reader has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from turnwire.dialects.v2 import payloads as p

__all__ = ["BlockKind", "Finish", "Growing", "GrowingBlocks", "Growth", "kind_of", "piece_of"]

Growing: TypeAlias = p.Chunk | p.Thinking | p.ToolCall
BlockKind: TypeAlias = Literal["text", "reasoning", "tool"]


class Growth(Struct, frozen=True):
    """What a reader is sent of a block that grows."""

    is_new: bool  # the block begins
    text: str  # what is new of it; may be empty
    known: int = 0  # characters that the reader had before the block began in this stream


class Finish(Struct, frozen=True):
    """What a reader is sent of a text that is finished."""

    is_new: bool  # the block begins as well
    is_other: bool  # what was sent before is not its beginning: a stream cannot take it back
    text: str  # what is new of it; may be empty


class GrowingBlocks:
    """Knows the blocks that were sent to one reader, and the pieces of those that still grow."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        """`known`: the reader has these many characters of blocks, from an earlier stream."""
        self.known = dict(known or {})
        self._pieces: dict[str, list[str]] = {}  # of blocks that grow
        self._kinds: dict[str, BlockKind] = {}  # of all blocks that were begun

    @property
    def open(self) -> list[str]:
        """The ids of the blocks that grow, in the order in which they began."""
        return list(self._pieces)

    def __contains__(self, block_id: str) -> bool:
        """Returns whether a block grows."""
        return block_id in self._pieces

    def is_next_piece(self, block: Growing) -> bool:
        """Notes a piece that only continues a block. Returns False if it is anything else."""
        pieces = self._pieces.get(block.block_id)
        if pieces is None or not block.partial or block.snapshot:
            return False
        pieces.append(piece_of(block))
        return True

    def grow(self, block: Growing) -> Growth | None:
        """Notes a piece or a snapshot. Returns None if the reader has all of it."""
        pieces = self._pieces.get(block.block_id)
        text = piece_of(block)
        if pieces is None:
            if block.block_id in self._kinds:
                return None  # the block is finished
            self._pieces[block.block_id] = [text]
            self._kinds[block.block_id] = kind_of(block)
            known = self.known.pop(block.block_id, 0)
            return Growth(True, text[known:], known)
        if block.snapshot:
            text = text[sum(map(len, pieces)) :]
            if not text:
                return None
        pieces.append(text)
        return Growth(False, text)

    def finish(self, block: p.Chunk | p.Thinking) -> Finish | None:
        """Ends a text with its whole content. Returns None if it was finished before."""
        pieces = self._pieces.pop(block.block_id, None)
        if pieces is None:
            if block.block_id in self._kinds:
                return None
            self._kinds[block.block_id] = kind_of(block)
            return Finish(True, False, block.text[self.known.pop(block.block_id, 0) :])
        sent = "".join(pieces)
        if not block.text.startswith(sent):
            return Finish(True, True, block.text)
        return Finish(False, False, block.text[len(sent) :])

    def close(self, block: p.ToolCall) -> None:
        """Ends a tool call, whose input is sent whole."""
        self._pieces.pop(block.block_id, None)
        self._kinds[block.block_id] = "tool"

    def drop(self, block_id: str) -> tuple[BlockKind, str]:
        """Ends a block that will never be finished. Returns its kind and what was sent of it."""
        return self._kinds[block_id], "".join(self._pieces.pop(block_id))

    def forget(self, block_id: str) -> None:
        """Forgets a block that was dropped: one with the same id may begin."""
        del self._kinds[block_id]


def piece_of(block: Growing) -> str:
    """Returns the text of a piece."""
    return (block.input_text or "") if isinstance(block, p.ToolCall) else block.text


def kind_of(block: Growing) -> BlockKind:
    """Returns the kind of a block that grows."""
    match block:
        case p.ToolCall():
            return "tool"
        case p.Thinking():
            return "reasoning"
        case _:
            return "text"
