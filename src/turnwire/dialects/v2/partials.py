"""What grows, as frames: pieces while they come, snapshots for those who come in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import asks_a_person
from turnwire.core.recent import MAX_ENDED
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["OpenBlock", "Partials"]


class OpenBlock(Struct, frozen=True, gc=False):
    """A block that grows: what it began as, and what has come of it."""

    message_id: str
    index: int
    block: blocks.ContentBlock
    text: str
    parent_tool_use_id: str | None
    agent_id: str | None


class _Growing:
    """A block that has begun and is not finished: what of it has gone out."""

    __slots__ = (
        "agent_id",
        "block",
        "block_id",
        "chunk_seq",
        "index",
        "message_id",
        "parent",
        "pieces",
        "trace_id",
        "turn_id",
    )

    def __init__(
        self, e: ev.ContentStarted, block_id: str, turn_id: int | None, trace_id: str | None
    ) -> None:
        self.block = e.block  # as it began: says what kind it is
        self.block_id = block_id
        self.message_id = e.message_id
        self.index = e.index
        self.parent = e.parent_tool_use_id
        self.agent_id = e.agent_id
        self.turn_id = turn_id
        self.trace_id = trace_id
        self.chunk_seq = 0
        self.pieces: list[str] = []


class _Message:
    """A message some block of which was heard of."""

    __slots__ = ("blocks", "ended")

    def __init__(self) -> None:
        self.blocks: dict[int, _Growing | None] = {}  # none: finished, or nothing of it is shown
        self.ended = False


_Frames: TypeAlias = list[f.Frame]
_Handler: TypeAlias = Callable[[Any, int | None, str | None, str], _Frames]


class Partials:
    """Follows one conversation's events and gives the frames that nobody has to keep.

    Frames have no `sequence`, as each connection has its own. Whoever sends a finished block says
    so with `closed`, so that nothing of it grows afterwards. Of messages the last 256 are
    remembered, for pieces that come late.
    """

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._messages: dict[str, _Message] = {}
        self._handlers: dict[type, _Handler] = {
            ev.ContentStarted: self._on_block,
            ev.ContentDelta: self._on_delta,
            ev.MessageCompleted: self._on_end,
            ev.MessageDiscarded: self._on_end,
            ev.ToolProgress: self._on_progress,
            ev.SystemEvent: self._on_system,
        }

    def feed(
        self, event: NormalizedStreamEvent, turn_id: int | None, trace_id: str | None, now: str
    ) -> _Frames:
        """The frames that one event means; often one, sometimes none.

        Feed the end of a message after its finished blocks were sent: what is left then is void.
        """
        handle = self._handlers.get(type(event))
        return handle(event, turn_id, trace_id, now) if handle is not None else []

    def feed_all(
        self,
        events: Iterable[NormalizedStreamEvent],
        turn_id: int | None,
        trace_id: str | None,
        now: str,
    ) -> _Frames:
        """The same for events that are there together: neighbouring pieces of a block are joined."""
        out: _Frames = []
        first: ev.ContentDelta | None = None
        texts: list[str] = []
        for event in events:
            if type(event) is ev.ContentDelta:
                if first is not None:
                    if (
                        event.index == first.index
                        and event.message_id == first.message_id
                        and event.kind == first.kind
                        and event.tool_use_id == first.tool_use_id
                    ):
                        texts.append(event.text)
                        continue
                    out += self._pieces(first, "".join(texts), turn_id, trace_id, now)
                first, texts = event, [event.text]
                continue
            if first is not None:
                out += self._pieces(first, "".join(texts), turn_id, trace_id, now)
                first = None
            handle = self._handlers.get(type(event))
            if handle is not None:
                out += handle(event, turn_id, trace_id, now)
        if first is not None:
            out += self._pieces(first, "".join(texts), turn_id, trace_id, now)
        return out

    def closed(self, message_id: str, index: int) -> None:
        """The finished block went out, or nothing of it is to be seen: it takes no more pieces."""
        message = self._messages.get(message_id) or self._message(message_id)
        if not message.ended:
            message.blocks[index] = None

    def snapshots(self, now: str) -> _Frames:
        """One frame for each block of which something has gone out: all of it so far."""
        return [
            self._piece_of(growing, "".join(growing.pieces), now, True)
            for message in self._messages.values()
            for growing in message.blocks.values()
            if growing is not None and growing.chunk_seq
        ]

    def open_blocks(self) -> list[OpenBlock]:
        """The blocks that grow at this moment, as far as they have grown."""
        return [
            OpenBlock(g.message_id, g.index, g.block, "".join(g.pieces), g.parent, g.agent_id)
            for message in self._messages.values()
            for g in message.blocks.values()
            if g is not None
        ]

    # --- blocks -------------------------------------------------------------------------------

    def _on_block(
        self, e: ev.ContentStarted, turn_id: int | None, trace_id: str | None, now: str
    ) -> _Frames:
        message = self._messages.get(e.message_id) or self._message(e.message_id)
        if message.ended or e.index in message.blocks:
            return []
        block = e.block
        kind = type(block)
        if kind is blocks.TextBlock or kind is blocks.ThinkingBlock:
            growing = _Growing(e, f"{e.message_id}:{e.index}", turn_id, trace_id)
            message.blocks[e.index] = growing
            text = block.text if isinstance(block, blocks.TextBlock) else block.thinking  # type: ignore[union-attr]
            return [self._grow(growing, text, now)] if text else []
        if isinstance(block, blocks.ToolUseBlock):
            if asks_a_person(block.tool_name):  # it is shown as a question, when it is whole
                message.blocks[e.index] = None
                return []
            growing = _Growing(e, block.id, turn_id, trace_id)
        elif kind is blocks.ToolResultBlock:  # not what the model says: it comes as a result
            message.blocks[e.index] = None
            return []
        else:
            growing = _Growing(e, f"{e.message_id}:{e.index}", turn_id, trace_id)
        message.blocks[e.index] = growing
        return [self._grow(growing, "", now)]

    def _on_delta(
        self, e: ev.ContentDelta, turn_id: int | None, trace_id: str | None, now: str
    ) -> _Frames:
        return self._pieces(e, e.text, turn_id, trace_id, now)

    def _pieces(
        self, e: ev.ContentDelta, text: str, turn_id: int | None, trace_id: str | None, now: str
    ) -> _Frames:
        if e.kind == "tool_output":
            tool_use_id = e.tool_use_id or f"{e.message_id}:{e.index}"
            output = p.ToolProgressed(tool_use_id, text, None, e.parent_tool_use_id, e.agent_id)
            return [
                f.AssistantToolProgress(self._conversation_id, turn_id, None, now, trace_id, output)
            ]
        message = self._messages.get(e.message_id)
        growing = message.blocks.get(e.index) if message is not None else None
        if growing is None or type(growing.block) is not _GROWS[e.kind]:
            return []
        return [self._grow(growing, text, now)]

    def _grow(self, growing: _Growing, text: str, now: str) -> f.Frame:
        growing.pieces.append(text)
        growing.chunk_seq += 1
        return self._piece_of(growing, text, now, False)

    def _piece_of(self, growing: _Growing, text: str, now: str, snapshot: bool) -> f.Frame:
        block = growing.block
        kind = type(block)
        if kind is blocks.TextBlock:
            return f.AssistantChunk(
                self._conversation_id,
                growing.turn_id,
                None,
                now,
                growing.trace_id,
                p.Chunk(
                    growing.block_id,
                    growing.message_id,
                    growing.index,
                    True,
                    text,
                    growing.chunk_seq,
                    growing.parent,
                    growing.agent_id,
                    snapshot,
                ),
            )
        if kind is blocks.ThinkingBlock:
            return f.AssistantThinking(
                self._conversation_id,
                growing.turn_id,
                None,
                now,
                growing.trace_id,
                p.Thinking(
                    growing.block_id,
                    growing.message_id,
                    growing.index,
                    True,
                    text,
                    growing.chunk_seq,
                    growing.parent,
                    growing.agent_id,
                    snapshot,
                ),
            )
        if isinstance(block, blocks.ToolUseBlock):
            return f.AssistantToolCall(
                self._conversation_id,
                growing.turn_id,
                None,
                now,
                growing.trace_id,
                p.ToolCall(
                    growing.block_id,
                    growing.message_id,
                    growing.index,
                    True,
                    block.id,
                    block.tool_name,
                    block.tool_type,
                    None,
                    text,
                    growing.chunk_seq,
                    growing.parent,
                    growing.agent_id,
                    snapshot,
                ),
            )
        return f.AssistantBlock(
            self._conversation_id,
            growing.turn_id,
            None,
            now,
            growing.trace_id,
            p.OtherBlock(
                growing.block_id,
                growing.message_id,
                growing.index,
                True,
                block,
                growing.chunk_seq,
                growing.parent,
                growing.agent_id,
                snapshot,
            ),
        )

    # --- messages -----------------------------------------------------------------------------

    def _message(self, message_id: str) -> _Message:
        message = self._messages[message_id] = _Message()
        if len(self._messages) > MAX_ENDED:
            del self._messages[next(iter(self._messages))]
        return message

    def _on_end(
        self,
        e: ev.MessageCompleted | ev.MessageDiscarded,
        turn_id: int | None,
        trace_id: str | None,
        now: str,
    ) -> _Frames:
        message = self._messages.get(e.message_id) or self._message(e.message_id)
        void = [
            growing
            for growing in message.blocks.values()
            if growing is not None and growing.chunk_seq
        ]
        message.blocks = {}
        message.ended = True
        if not void:
            return []
        reason = e.reason if isinstance(e, ev.MessageDiscarded) else "abandoned"
        payload = p.Discarded(
            [growing.block_id for growing in void], reason, e.parent_tool_use_id, e.agent_id
        )
        first = void[0]
        return [
            f.AssistantDiscarded(
                self._conversation_id, first.turn_id, None, now, first.trace_id, payload
            )
        ]

    # --- around them --------------------------------------------------------------------------

    def _on_progress(
        self, e: ev.ToolProgress, turn_id: int | None, trace_id: str | None, now: str
    ) -> _Frames:
        payload = p.ToolProgressed(
            e.tool_use_id,
            e.output,
            e.elapsed_seconds,
            e.parent_tool_use_id,
            e.agent_id,
            e.tool_name,
        )
        return [
            f.AssistantToolProgress(self._conversation_id, turn_id, None, now, trace_id, payload)
        ]

    def _on_system(
        self, e: ev.SystemEvent, turn_id: int | None, trace_id: str | None, now: str
    ) -> _Frames:
        if not e.ephemeral:  # then it is an entry of the log
            return []
        payload = p.SystemNews(
            e.subtype,
            None,
            None,
            None if e.data is UNSET else e.data,
            e.provider,
            e.parent_tool_use_id,
            e.agent_id,
        )
        return [f.SessionSystemEvent(self._conversation_id, turn_id, None, now, trace_id, payload)]


_GROWS: dict[ev.DeltaKind, type] = {
    "text": blocks.TextBlock,
    "thinking": blocks.ThinkingBlock,
    "tool_input": blocks.ToolUseBlock,
}
