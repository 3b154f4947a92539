"""Checks growing blocks: the order of their pieces, and that each is finished once or discarded."""

from __future__ import annotations

from typing import TypeAlias

from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.validator.connection import Say

__all__ = ["BlockCheck", "BlockFrame"]

BlockFrame: TypeAlias = (
    f.AssistantChunk | f.AssistantThinking | f.AssistantToolCall | f.AssistantBlock
)


class _Growing:
    __slots__ = ("chunk_seq", "connection", "kind", "parent", "pieces", "place", "turn_id")

    def __init__(self, frame: BlockFrame, connection: int) -> None:
        self.kind = type(frame)
        self.turn_id = frame.turn_id
        self.parent = frame.payload.parent_tool_use_id
        self.place = (frame.payload.message_id, frame.payload.index)
        self.connection = connection  # the last connection that had a piece of this block
        self.chunk_seq = 0
        self.pieces: list[str] | None = []  # None: some pieces are missing


class BlockCheck:
    """Checks the blocks of one log."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._growing: dict[str, _Growing] = {}
        self._finished: set[str] = set()
        self._places: dict[tuple[str, int], str] = {}  # message and index -> block id
        self.connection = 0  # counts the connections: each of them needs its own snapshots

    def partial(self, frame: BlockFrame) -> None:
        """Checks a piece or a snapshot."""
        said = frame.payload
        chunk_seq = said.chunk_seq
        if chunk_seq is None or chunk_seq < 1 or said.message_sequence is not None:
            self._say("wrong_block", f"{said.block_id} is partial: it needs only a chunk_seq")
            return
        self._identity(said)
        if said.block_id in self._finished:
            self._say("piece_after_finish", said.block_id)
            return
        self.place(said)
        block = self._growing.get(said.block_id)
        if block is not None and block.kind is not type(frame):
            self._say("wrong_block", f"{said.block_id} had a different type before")
        if said.snapshot:
            self._snapshot(frame, chunk_seq, block)
        else:
            self._piece(frame, chunk_seq, block)

    def _piece(self, frame: BlockFrame, chunk_seq: int, block: _Growing | None) -> None:
        block_id = frame.payload.block_id
        if block is None or block.connection != self.connection:
            if block is not None or chunk_seq != 1:
                self._say("snapshot_missing", f"piece {chunk_seq} of {block_id}")
            block = self._growing[block_id] = _Growing(frame, self.connection)
            if chunk_seq != 1:
                block.pieces = None
        elif chunk_seq != block.chunk_seq + 1:
            self._say("chunk_gap", f"piece {chunk_seq} of {block_id} after {block.chunk_seq}")
            block.pieces = None
        block.chunk_seq = chunk_seq
        if block.pieces is not None:
            block.pieces.append(_words(frame.payload))

    def _snapshot(self, frame: BlockFrame, chunk_seq: int, known: _Growing | None) -> None:
        said = frame.payload
        if known is not None:
            before = None if known.pieces is None else "".join(known.pieces)
            if chunk_seq < known.chunk_seq:
                self._say("snapshot_differs", f"{said.block_id} reached {known.chunk_seq} before")
            elif before is not None and not (
                _words(said) == before
                if chunk_seq == known.chunk_seq
                else _words(said).startswith(before)
            ):
                self._say("snapshot_differs", f"{said.block_id} had a different text before")
        block = self._growing[said.block_id] = _Growing(frame, self.connection)
        block.chunk_seq = chunk_seq
        block.pieces = [_words(said)]

    def finished(self, frame: BlockFrame) -> None:
        """Checks a finished block, live or replayed, that was not known before."""
        said = frame.payload
        self._identity(said)
        if said.chunk_seq is not None or said.snapshot:
            self._say("wrong_block", f"{said.block_id} is finished: it must not have a chunk_seq")
        self.place(said)
        block = self._growing.get(said.block_id)
        if block is not None and block.kind is not type(frame):
            self._say("wrong_block", f"{said.block_id} had a different type before")
        self.finish(said.block_id)

    def finish(self, block_id: str) -> None:
        """Marks a block as finished. A question is also a block."""
        if block_id in self._finished:
            self._say("block_finished_twice", block_id)
        self._finished.add(block_id)
        self._growing.pop(block_id, None)

    def discarded(self, block_ids: list[str]) -> None:
        """Checks blocks that will never be finished."""
        for block_id in block_ids:
            block = self._growing.pop(block_id, None)
            if block is None or block.connection != self.connection:
                self._say("discarded_not_growing", block_id)
            else:
                self._places.pop(block.place, None)  # the message may start again

    def place(self, said: p.BlockPayload | p.RequestInput) -> None:
        """Checks that a message has only one block at each index."""
        there = self._places.setdefault((said.message_id, said.index), said.block_id)
        if there != said.block_id:
            where = f"index {said.index} of {said.message_id}"
            self._say("wrong_block", f"{said.block_id} at {where}, which already has {there}")

    def turn_ended(self, turn_id: int | None) -> None:
        """Checks that no block of the agent itself is still growing at the end of its turn."""
        left = {
            block_id: block
            for block_id, block in self._growing.items()
            if block.turn_id == turn_id and block.parent is None
        }
        for block_id, block in left.items():
            del self._growing[block_id]
            if block.connection == self.connection:
                self._say("block_left_open", block_id)

    def _identity(self, said: p.Chunk | p.Thinking | p.ToolCall | p.OtherBlock) -> None:
        own = f"{said.message_id}:{said.index}"
        if isinstance(said, p.ToolCall):
            own = said.tool_use_id
        elif isinstance(said, p.OtherBlock):
            return  # some types of block have their own id
        if said.block_id != own:
            self._say("wrong_block", f"block_id is {said.block_id}, not {own}")


def _words(said: p.Chunk | p.Thinking | p.ToolCall | p.OtherBlock) -> str:
    if isinstance(said, p.ToolCall):
        return said.input_text or ""
    return "" if isinstance(said, p.OtherBlock) else said.text
