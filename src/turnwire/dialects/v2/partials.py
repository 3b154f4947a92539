"""What grows, as frames: pieces while they come, snapshots for those who come in between."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.partials import BlockName, Partial, PartialKind
from turnwire.core.recent import MAX_ENDED
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["OpenBlock", "Partials"]


# Pieces that are joined while more come: each of them is a string of its own, which takes many times
# its characters.
_TOGETHER = 512


class OpenBlock(Struct, frozen=True, gc=False):
    """A block that grows: what it began as, and what has come of it."""

    message_id: str
    index: int
    block: blocks.ContentBlock
    text: str
    parent_tool_use_id: str | None
    agent_id: str | None
    provider: str
    model: str | None

    @property
    def partial(self) -> Partial | None:
        """All that has come of it, if that is worth keeping. None: half a tool call is no call."""
        kind = _KEPT.get(type(self.block))
        if kind is None:
            return None
        who = (self.parent_tool_use_id, self.agent_id, self.provider, self.model)
        return Partial(self.message_id, self.index, kind, self.text, 0, 0, *who)


class _Growing:
    """A block that has begun and is not finished: what of it has gone out."""

    __slots__ = (
        "agent_id",
        "block",
        "block_id",
        "chunk_seq",
        "index",
        "joined",
        "kind",
        "length",
        "message_id",
        "model",
        "parent",
        "piece",
        "pieces",
        "place",
        "provider",
        "saved",
        "trace_id",
        "turn_id",
    )

    def __init__(
        self,
        e: ev.ContentStarted,
        block_id: str,
        turn_id: int | None,
        trace_id: str | None,
        place: int,
        model: str | None,
    ) -> None:
        block = e.block
        self.block = block  # as it began
        self.block_id = block_id
        self.message_id = e.message_id
        self.index = e.index
        self.parent = e.parent_tool_use_id
        self.agent_id = e.agent_id
        self.provider = e.provider
        self.model = model
        self.turn_id = turn_id
        self.trace_id = trace_id
        self.chunk_seq = 0
        self.pieces: list[str] = []
        self.joined = 0  # of them at the beginning are many pieces each
        self.length = 0  # characters of all pieces
        self.saved = 0  # how many of them are saved, or are being saved
        self.place = place
        # How it grows: by which pieces, if by any, and what they look like.
        self.kind, self.piece = _GROWS.get(type(block), _AT_ONCE)

    def after(self, start: int, most: int) -> str:
        """Returns the text from a character on, at most so many. Pieces before it are not read."""
        texts: list[str] = []
        begin, stop = self.length, start + most
        number = len(self.pieces)
        while begin > start:
            number -= 1
            piece = self.pieces[number]
            begin -= len(piece)
            if begin < stop:
                texts.append(piece[max(start - begin, 0) : stop - begin])
        return "".join(reversed(texts))


class _Message:
    """A message some block of which was heard of."""

    __slots__ = ("blocks", "ended", "growing", "model")

    def __init__(self) -> None:
        self.blocks: dict[int, _Growing | None] = {}  # none: finished, or nothing of it is shown
        self.growing = 0  # how many of them are not finished
        self.ended = False
        self.model: str | None = None


_Frames: TypeAlias = list[f.Frame]
_Handler: TypeAlias = Callable[[Any, int | None, str | None, str, _Frames], None]


class Partials:
    """Follows one conversation's events and gives the frames that nobody has to keep.

    Frames have no `sequence`, as each connection has its own. Whoever sends a finished block says
    so with `closed`, so that nothing of it grows afterwards. Of messages the last 256 are
    remembered, for pieces that come late.
    """

    def __init__(self, conversation_id: str) -> None:
        self._conversation_id = conversation_id
        self._messages: dict[str, _Message] = {}
        self._begun = 0  # blocks
        self.has_grown = False  # since `unsaved_length` was last asked
        # Those of them in which nothing grows, the first to be forgotten first. A plain dict is slow
        # to say which is its oldest, once many have gone.
        self._resting: OrderedDict[str, None] = OrderedDict()
        self._handlers: dict[type, _Handler] = {
            ev.MessageStarted: self._on_message,
            ev.ContentStarted: self._on_block,
            ev.ContentDelta: self._on_delta,
            ev.MessageCompleted: self._on_end,
            ev.MessageDiscarded: self._on_end,
            ev.ToolProgress: self._on_progress,
            **dict.fromkeys(ev.SYSTEM_EVENTS, self._on_system),
        }

    def feed(
        self, event: NormalizedStreamEvent, turn_id: int | None, trace_id: str | None, now: str
    ) -> _Frames:
        """The frames that one event means; often one, sometimes none.

        Feed the end of a message after its finished blocks were sent: what is left then is void.
        """
        out: _Frames = []
        self.feed_into(out, event, turn_id, trace_id, now)
        return out

    def feed_all(
        self,
        events: Iterable[NormalizedStreamEvent],
        turn_id: int | None,
        trace_id: str | None,
        now: str,
    ) -> _Frames:
        """The same for events that are there together: neighbouring pieces of a block are joined."""
        out: _Frames = []
        pieces: list[ev.ContentDelta] = []
        for event in events:
            if type(event) is ev.ContentDelta:
                pieces.append(event)
                continue
            if pieces:
                self.join_into(out, pieces, turn_id, trace_id, now)
                pieces = []
            self.feed_into(out, event, turn_id, trace_id, now)
        if pieces:
            self.join_into(out, pieces, turn_id, trace_id, now)
        return out

    def feed_into(
        self,
        out: _Frames,
        event: NormalizedStreamEvent,
        turn_id: int | None,
        trace_id: str | None,
        now: str,
    ) -> None:
        """As `feed`, for whoever has a list already."""
        handle = self._handlers.get(type(event))
        if handle is not None:
            handle(event, turn_id, trace_id, now, out)

    def join_into(
        self,
        out: _Frames,
        pieces: list[ev.ContentDelta],
        turn_id: int | None,
        trace_id: str | None,
        now: str,
    ) -> None:
        """Pieces that are there together; of each block neighbouring ones become one."""
        first = pieces[0]
        texts: list[str] = []
        for e in pieces:
            if (
                e.index != first.index
                or e.message_id != first.message_id
                or e.kind != first.kind
                or e.tool_use_id != first.tool_use_id
            ):
                self._piece(first, "".join(texts), turn_id, trace_id, now, out)
                first, texts = e, []
            texts.append(e.text)
        self._piece(first, "".join(texts), turn_id, trace_id, now, out)

    def closed(self, message_id: str, index: int) -> None:
        """The finished block went out, or nothing of it is to be seen: it takes no more pieces."""
        message = self._messages.get(message_id) or self._message(message_id)
        if not message.ended:
            grew = message.blocks.get(index) is not None
            message.blocks[index] = None
            if grew:
                message.growing -= 1
                if not message.growing:
                    self._resting[message_id] = None

    def snapshots(self, now: str) -> _Frames:
        """One frame for each block of which something has gone out: all of it so far."""
        return [
            growing.piece(self._conversation_id, growing, "".join(growing.pieces), now, True)
            for message in self._messages.values()
            for growing in message.blocks.values()
            if growing is not None and growing.chunk_seq
        ]

    def open_blocks(self) -> list[OpenBlock]:
        """The blocks that grow at this moment, as far as they have grown."""
        return [
            OpenBlock(
                g.message_id,
                g.index,
                g.block,
                "".join(g.pieces),
                g.parent,
                g.agent_id,
                g.provider,
                g.model,
            )
            for message in self._messages.values()
            for g in message.blocks.values()
            if g is not None
        ]

    # --- saving -------------------------------------------------------------------------------

    def is_open(self, block: BlockName) -> bool:
        """Whether a block is not finished."""
        message_id, index = block
        message = self._messages.get(message_id)
        return message is not None and message.blocks.get(index) is not None

    def unsaved_length(self) -> int:
        """How many characters of blocks that are not finished are not saved."""
        self.has_grown = False
        return sum(growing.length - growing.saved for _, growing in self._unsaved())

    def take_unsaved(self, most: int) -> list[Partial]:
        """Returns what is new since it was last taken, at most so many characters of it."""
        out: list[Partial] = []
        for kind, growing in self._unsaved():
            if most <= 0:
                break
            start = growing.saved
            text = growing.after(start, most)
            block = (growing.message_id, growing.index, kind, text, start, growing.place)
            who = (growing.parent, growing.agent_id, growing.provider, growing.model)
            out.append(Partial(*block, *who))
            growing.saved += len(text)
            most -= len(text)
        return out

    def not_saved(self, partials: Iterable[Partial]) -> None:
        """What was taken could not be saved: it is returned again."""
        starts = {partial.place: partial.start for partial in partials}
        for message in self._messages.values():
            for growing in message.blocks.values():
                if growing is not None and growing.place in starts:
                    growing.saved = starts[growing.place]
                    self.has_grown = True

    def _unsaved(self) -> list[tuple[PartialKind, _Growing]]:
        return [
            (kind, growing)
            for message in self._messages.values()
            if message.growing
            for growing in message.blocks.values()
            if growing is not None
            and growing.length > growing.saved
            and (kind := _KEPT.get(type(growing.block))) is not None
        ]

    # --- blocks -------------------------------------------------------------------------------

    def _on_message(
        self,
        e: ev.MessageStarted,
        turn_id: int | None,
        trace_id: str | None,
        now: str,
        out: _Frames,
    ) -> None:
        message = self._messages.get(e.message_id) or self._message(e.message_id)
        message.model = e.model

    def _on_block(
        self,
        e: ev.ContentStarted,
        turn_id: int | None,
        trace_id: str | None,
        now: str,
        out: _Frames,
    ) -> None:
        message_id, index, block = e.message_id, e.index, e.block
        message = self._messages.get(message_id) or self._message(message_id)
        if message.ended or index in message.blocks:
            return
        block_id, text, shown = f"{message_id}:{index}", "", True
        if isinstance(block, blocks.ToolUseBlock):
            block_id = block.id
            if block.is_question:  # it is shown as a question, when it is whole
                message.blocks[index] = None
                return
        elif isinstance(block, blocks.TextBlock):
            text = block.text
            shown = bool(text)
        elif isinstance(block, blocks.ThinkingBlock):
            text = block.thinking
            shown = bool(text)
        elif isinstance(block, blocks.ToolResultBlock):  # not what the model says: it is a result
            message.blocks[index] = None
            return
        growing = message.blocks[index] = _Growing(
            e, block_id, turn_id, trace_id, self._begun, message.model
        )
        message.growing += 1
        self._begun += 1
        self._resting.pop(message_id, None)
        if shown:
            self._grow(growing, text, now, out)

    def _on_delta(
        self,
        e: ev.ContentDelta,
        turn_id: int | None,
        trace_id: str | None,
        now: str,
        out: _Frames,
    ) -> None:
        self._piece(e, e.text, turn_id, trace_id, now, out)

    def _piece(
        self,
        e: ev.ContentDelta,
        text: str,
        turn_id: int | None,
        trace_id: str | None,
        now: str,
        out: _Frames,
    ) -> None:
        message = self._messages.get(e.message_id)
        growing = message.blocks.get(e.index) if message is not None else None
        if growing is not None and growing.kind == e.kind:
            self._grow(growing, text, now, out)
        elif e.kind == "tool_output":
            tool_use_id = e.tool_use_id or f"{e.message_id}:{e.index}"
            output = p.ToolProgressed(tool_use_id, text, None, e.parent_tool_use_id, e.agent_id)
            out.append(
                f.AssistantToolProgress(self._conversation_id, turn_id, None, now, trace_id, output)
            )

    def _grow(self, growing: _Growing, text: str, now: str, out: _Frames) -> None:
        pieces = growing.pieces
        pieces.append(text)
        if len(pieces) - growing.joined >= _TOGETHER:
            pieces[growing.joined :] = ["".join(pieces[growing.joined :])]
            growing.joined += 1
        growing.chunk_seq += 1
        growing.length += len(text)
        self.has_grown = True
        out.append(growing.piece(self._conversation_id, growing, text, now, False))

    # --- messages -----------------------------------------------------------------------------

    def _message(self, message_id: str) -> _Message:
        message = self._messages[message_id] = _Message()
        if len(self._messages) > MAX_ENDED and self._resting:
            oldest, _ = self._resting.popitem(last=False)
            del self._messages[oldest]
        self._resting[message_id] = None
        return message

    def _on_end(
        self,
        e: ev.MessageCompleted | ev.MessageDiscarded,
        turn_id: int | None,
        trace_id: str | None,
        now: str,
        out: _Frames,
    ) -> None:
        message = self._messages.get(e.message_id) or self._message(e.message_id)
        void = [
            growing
            for growing in message.blocks.values()
            if growing is not None and growing.chunk_seq
        ]
        message.blocks = {}
        message.growing = 0
        message.ended = True
        self._resting[e.message_id] = None
        if not void:
            return
        reason = e.reason if isinstance(e, ev.MessageDiscarded) else "abandoned"
        payload = p.Discarded(
            [growing.block_id for growing in void], reason, e.parent_tool_use_id, e.agent_id
        )
        first = void[0]
        out.append(
            f.AssistantDiscarded(
                self._conversation_id, first.turn_id, None, now, first.trace_id, payload
            )
        )

    # --- around them --------------------------------------------------------------------------

    def _on_progress(
        self, e: ev.ToolProgress, turn_id: int | None, trace_id: str | None, now: str, out: _Frames
    ) -> None:
        payload = p.ToolProgressed(
            e.tool_use_id,
            e.output,
            e.elapsed_seconds,
            e.parent_tool_use_id,
            e.agent_id,
            e.tool_name,
        )
        out.append(
            f.AssistantToolProgress(self._conversation_id, turn_id, None, now, trace_id, payload)
        )

    def _on_system(
        self, e: ev.SystemEvent, turn_id: int | None, trace_id: str | None, now: str, out: _Frames
    ) -> None:
        if e.ephemeral:  # else it is an entry of the log
            out.append(self.news(e, turn_id, trace_id, now))

    def news(
        self, e: ev.SystemEvent, turn_id: int | None, trace_id: str | None, now: str
    ) -> f.Frame:
        """News that nobody has to keep."""
        payload = p.SystemNews(
            e.subtype,
            None,
            None,
            None if e.data is UNSET else e.data,
            e.provider,
            e.parent_tool_use_id,
            e.agent_id,
        )
        return f.SessionSystemEvent(self._conversation_id, turn_id, None, now, trace_id, payload)


# --- what a piece looks like ----------------------------------------------------------------------

_Piece: TypeAlias = Callable[[str, _Growing, str, str, bool], f.Frame]


def _text(conversation_id: str, of: _Growing, text: str, now: str, snapshot: bool) -> f.Frame:
    chunk = p.Chunk(
        of.block_id,
        of.message_id,
        of.index,
        True,
        text,
        of.chunk_seq,
        of.parent,
        of.agent_id,
        snapshot,
    )
    return f.AssistantChunk(conversation_id, of.turn_id, None, now, of.trace_id, chunk)


def _thinking(conversation_id: str, of: _Growing, text: str, now: str, snapshot: bool) -> f.Frame:
    thinking = p.Thinking(
        of.block_id,
        of.message_id,
        of.index,
        True,
        text,
        of.chunk_seq,
        of.parent,
        of.agent_id,
        snapshot,
    )
    return f.AssistantThinking(conversation_id, of.turn_id, None, now, of.trace_id, thinking)


def _tool_call(conversation_id: str, of: _Growing, text: str, now: str, snapshot: bool) -> f.Frame:
    block: Any = of.block
    call = p.ToolCall(
        of.block_id,
        of.message_id,
        of.index,
        True,
        block.id,
        block.tool_name,
        block.tool_type,
        None,
        text,
        of.chunk_seq,
        of.parent,
        of.agent_id,
        snapshot,
    )
    return f.AssistantToolCall(conversation_id, of.turn_id, None, now, of.trace_id, call)


def _other(conversation_id: str, of: _Growing, text: str, now: str, snapshot: bool) -> f.Frame:
    other = p.OtherBlock(
        of.block_id,
        of.message_id,
        of.index,
        True,
        of.block,
        of.chunk_seq,
        of.parent,
        of.agent_id,
        snapshot,
    )
    return f.AssistantBlock(conversation_id, of.turn_id, None, now, of.trace_id, other)


_GROWS: dict[type, tuple[ev.DeltaKind | None, _Piece]] = {
    blocks.TextBlock: ("text", _text),
    blocks.ThinkingBlock: ("thinking", _thinking),
    blocks.ToolUseBlock: ("tool_input", _tool_call),
}
_AT_ONCE: tuple[ev.DeltaKind | None, _Piece] = (None, _other)
# What is kept of a block that is cut short.
_KEPT: dict[type, PartialKind] = {
    blocks.TextBlock: "text",
    blocks.ThinkingBlock: "thinking",
}
