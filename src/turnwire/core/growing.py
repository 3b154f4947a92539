"""Tracks unfinished blocks and open messages in the events of one conversation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec import Struct, structs

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.partials import BlockName, Partial, PartialKind
from turnwire.core.recent import MAX_ENDED

__all__ = ["Growing", "GrowingBlock", "Growth", "OpenBlock", "OpenMessage", "Piece", "Void"]

# Pieces that are joined while more arrive. Each piece is a string object, which takes many times
# the memory of its characters.
_TOGETHER = 512


class OpenBlock(Struct, frozen=True, gc=False):
    """An unfinished block: its beginning, and the text so far."""

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
        """Returns the text so far, to be kept.

        Returns None for an unfinished tool call, which is not kept.
        """
        kind = _KEPT.get(type(self.block))
        if kind is None:
            return None
        who = (self.parent_tool_use_id, self.agent_id, self.provider, self.model)
        return Partial(self.message_id, self.index, kind, self.text, 0, 0, *who)


class GrowingBlock:
    """An unfinished block: the part of it that was published."""

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
        self.joined = 0  # this many strings at the front are joined from many pieces
        self.length = 0  # characters of all pieces
        self.saved = 0  # characters that are saved or being saved
        self.place = place
        self.kind = _GROWS.get(type(block))  # the kind of its pieces, if it has any

    def after(self, start: int, most: int) -> str:
        """Returns up to `most` characters from `start` on. Pieces before `start` are not read."""
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
    """A message with at least one known block."""

    __slots__ = ("blocks", "ended", "growing", "model")

    def __init__(self) -> None:
        self.blocks: dict[
            int, GrowingBlock | None
        ] = {}  # None: the block is finished, or not shown
        self.growing = 0  # number of unfinished blocks
        self.ended = False
        self.model: str | None = None


class Piece(Struct, frozen=True, gc=False):
    """A piece of text was added to a block.

    With `is_snapshot` the text is the whole block so far.
    """

    block: GrowingBlock
    text: str
    number: int  # of the piece in its block, from 1; of a snapshot, that of its last piece
    is_snapshot: bool = False


class Void(Struct, frozen=True, gc=False):
    """Blocks of one message that were open and will never be finished."""

    blocks: list[GrowingBlock]
    reason: str
    parent_tool_use_id: str | None
    agent_id: str | None


# The effects of an event on unfinished blocks. Tool output and ephemeral news pass unchanged.
Growth: TypeAlias = Piece | Void | ev.ContentDelta | ev.ToolProgress | ev.SystemEvent


class OpenMessage(Struct, frozen=True):
    """An open message: the events that reproduce it so far."""

    turn_id: int | None
    trace_id: str | None
    events: list[NormalizedStreamEvent]


class _Speaking:
    """The open message of an agent or sub-agent, with its unfinished questions.

    A question is not a `GrowingBlock`, because it is shown only when it is complete. Only a
    consumer of the agent's own events needs its pieces.
    """

    __slots__ = ("begun", "questions", "trace_id", "turn_id")

    def __init__(self, begun: ev.MessageStarted, turn_id: int | None, trace_id: str | None) -> None:
        self.begun = begun
        self.turn_id = turn_id
        self.trace_id = trace_id
        self.questions: dict[int, tuple[ev.ContentStarted, list[str]]] = {}


_Handler: TypeAlias = Callable[[Any, int | None, str | None, list[Growth]], None]


class Growing:
    """Tracks the events of one conversation.

    `closed` marks a published finished block, which accepts no more pieces. The last 256 messages
    are remembered, for late pieces.
    """

    def __init__(self) -> None:
        # Messages with unfinished blocks; there are few of them.
        self._growing: dict[str, _Message] = {}
        self._speaking: dict[str | None, _Speaking] = {}  # by the sub-agent's tool call
        self._begun = 0  # number of blocks
        self.has_grown = False  # since the last call of `unsaved_length`
        # The other remembered messages, oldest first. A plain dict finds its oldest key slowly
        # after many deletions.
        self._resting: OrderedDict[str, _Message] = OrderedDict()
        self._handlers: dict[type, _Handler] = {
            ev.MessageStarted: self._on_message,
            ev.ContentStarted: self._on_block,
            ev.ContentDelta: self._on_delta,
            ev.ContentCompleted: self._on_completed,
            ev.MessageCompleted: self._on_end,
            ev.MessageDiscarded: self._on_end,
            ev.ToolProgress: self._on_progress,
            **dict.fromkeys(ev.SYSTEM_EVENTS, self._on_system),
        }

    def feed_all(
        self, events: Iterable[NormalizedStreamEvent], turn_id: int | None, trace_id: str | None
    ) -> list[Growth]:
        """Returns the effects of these events, in order.

        Feed the end of a message after its finished blocks were published: blocks still open are
        void.
        """
        out: list[Growth] = []
        handlers = self._handlers
        for event in events:
            handle = handlers.get(type(event))
            if handle is not None:
                handle(event, turn_id, trace_id, out)
        return out

    def closed(self, message_id: str, index: int) -> None:
        """Closes a block whose finished form was published: it accepts no more pieces."""
        message = self._message(message_id)
        if not message.ended:
            grew = message.blocks.get(index) is not None
            message.blocks[index] = None
            if grew:
                message.growing -= 1
                if not message.growing:
                    self._resting[message_id] = self._growing.pop(message_id)

    @property
    def is_growing(self) -> bool:
        """Whether a message or a block is unfinished."""
        return bool(self._speaking or self._growing)

    def snapshots(self) -> list[Piece]:
        """Returns a snapshot of each open block of which something was published."""
        return [
            Piece(growing, "".join(growing.pieces), growing.chunk_seq, True)
            for message in self._growing.values()
            for growing in message.blocks.values()
            if growing is not None and growing.chunk_seq
        ]

    def open_blocks(self) -> list[OpenBlock]:
        """Returns the currently open blocks with their text so far."""
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
            for message in self._growing.values()
            for g in message.blocks.values()
            if g is not None
        ]

    # --- open messages ----------------------------------------------------------------------------

    def open_messages(self) -> list[OpenMessage]:
        """Returns each open message, reproduced from its beginning."""
        blocks_now = self.open_blocks() if self._speaking else []
        return [self._told_again(speaking, blocks_now) for speaking in self._speaking.values()]

    def _told_again(self, speaking: _Speaking, blocks_now: list[OpenBlock]) -> OpenMessage:
        begun = speaking.begun
        voice = begun.parent_tool_use_id
        who = (begun.provider, begun.session_id, voice, begun.agent_id)
        events: list[NormalizedStreamEvent] = [begun]
        for each in blocks_now:
            if (each.parent_tool_use_id, each.message_id) == (voice, begun.message_id):
                place = (*who, each.message_id, each.index)
                block, kind, tool_use_id = _as_begun(each.block)
                events.append(ev.ContentStarted(*place, block))
                if kind is not None and each.text:
                    events.append(ev.ContentDelta(*place, kind, each.text, tool_use_id))
        for asked, pieces in speaking.questions.values():
            events.append(asked)
            if pieces:
                place = (*who, asked.message_id, asked.index)
                call: Any = asked.block
                events.append(ev.ContentDelta(*place, "tool_input", "".join(pieces), call.id))
        return OpenMessage(speaking.turn_id, speaking.trace_id, events)

    def hush(self, *, helpers: bool) -> list[OpenMessage]:
        """Closes the open messages, which do not continue. Returns the end of each.

        With `helpers` also closes the messages of sub-agents.
        """
        out: list[OpenMessage] = []
        for voice in [*self._speaking] if helpers else [None]:
            speaking = self._speaking.pop(voice, None)
            if speaking is not None:
                begun = speaking.begun
                who = (begun.provider, begun.session_id, voice, begun.agent_id)
                end = ev.MessageDiscarded(*who, begun.message_id, 0, "turn_ended")
                out.append(OpenMessage(speaking.turn_id, speaking.trace_id, [end]))
        return out

    # --- saving -------------------------------------------------------------------------------

    def is_open(self, block: BlockName) -> bool:
        """Returns whether a block is unfinished."""
        message_id, index = block
        message = self._growing.get(message_id)
        return message is not None and message.blocks.get(index) is not None

    def unsaved_length(self) -> int:
        """Returns the number of unsaved characters of unfinished blocks."""
        self.has_grown = False
        return sum(growing.length - growing.saved for _, growing in self._unsaved())

    def take_unsaved(self, most: int) -> list[Partial]:
        """Returns the text added since the last call, up to `most` characters."""
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
        """Marks partials as unsaved after a failed save, so that they are returned again."""
        starts = {partial.place: partial.start for partial in partials}
        for message in self._growing.values():
            for growing in message.blocks.values():
                if growing is not None and growing.place in starts:
                    growing.saved = starts[growing.place]
                    self.has_grown = True

    def _unsaved(self) -> list[tuple[PartialKind, GrowingBlock]]:
        return [
            (kind, growing)
            for message in self._growing.values()
            for growing in message.blocks.values()
            if growing is not None
            and growing.length > growing.saved
            and (kind := _KEPT.get(type(growing.block))) is not None
        ]

    # --- blocks -------------------------------------------------------------------------------

    def _on_block(
        self, e: ev.ContentStarted, turn_id: int | None, trace_id: str | None, out: list[Growth]
    ) -> None:
        message_id, index, block = e.message_id, e.index, e.block
        message = self._message(message_id)
        if message.ended or index in message.blocks:
            return
        block_id, text, shown = f"{message_id}:{index}", "", True
        if isinstance(block, blocks.ToolUseBlock):
            block_id = block.id
            if block.is_question:  # shown as a question when it is complete
                message.blocks[index] = None
                speaking = self._speaking.get(e.parent_tool_use_id)
                if speaking is not None and speaking.begun.message_id == message_id:
                    speaking.questions[index] = (e, [])
                return
        elif isinstance(block, blocks.TextBlock):
            text = block.text
            shown = bool(text)
        elif isinstance(block, blocks.ThinkingBlock):
            text = block.thinking
            shown = bool(text)
        elif isinstance(block, blocks.ToolResultBlock):  # not output of the model: a tool result
            message.blocks[index] = None
            return
        growing = message.blocks[index] = GrowingBlock(
            e, block_id, turn_id, trace_id, self._begun, message.model
        )
        message.growing += 1
        self._begun += 1
        if message.growing == 1:
            self._growing[message_id] = self._resting.pop(message_id)
        if shown:
            self._grow(growing, text, out)

    def _on_delta(
        self, e: ev.ContentDelta, turn_id: int | None, trace_id: str | None, out: list[Growth]
    ) -> None:
        # The most frequent event.
        message = self._growing.get(e.message_id)
        growing = message.blocks.get(e.index) if message is not None else None
        if growing is not None and growing.kind == e.kind:
            self._grow(growing, e.text, out)
        elif e.kind == "tool_output":
            out.append(e)
        elif e.kind == "tool_input":
            speaking = self._speaking.get(e.parent_tool_use_id)
            if speaking is not None and speaking.begun.message_id == e.message_id:
                asked = speaking.questions.get(e.index)
                if asked is not None:
                    asked[1].append(e.text)

    def _grow(self, growing: GrowingBlock, text: str, out: list[Growth]) -> None:
        pieces = growing.pieces
        pieces.append(text)
        if len(pieces) - growing.joined >= _TOGETHER:
            pieces[growing.joined :] = ["".join(pieces[growing.joined :])]
            growing.joined += 1
        growing.chunk_seq = number = growing.chunk_seq + 1
        growing.length += len(text)
        self.has_grown = True
        out.append(Piece(growing, text, number))

    def _on_completed(
        self, e: ev.ContentCompleted, turn_id: int | None, trace_id: str | None, out: list[Growth]
    ) -> None:
        speaking = self._speaking.get(e.parent_tool_use_id)
        if speaking is not None and speaking.begun.message_id == e.message_id:
            speaking.questions.pop(e.index, None)

    # --- messages -----------------------------------------------------------------------------

    def _message(self, message_id: str) -> _Message:
        message = self._growing.get(message_id) or self._resting.get(message_id)
        if message is None:
            if self._resting and len(self._growing) + len(self._resting) >= MAX_ENDED:
                self._resting.popitem(last=False)
            message = self._resting[message_id] = _Message()
        return message

    def _on_message(
        self, e: ev.MessageStarted, turn_id: int | None, trace_id: str | None, out: list[Growth]
    ) -> None:
        message = self._message(e.message_id)
        message.model = e.model
        self._speaking[e.parent_tool_use_id] = _Speaking(e, turn_id, trace_id)

    def _on_end(
        self,
        e: ev.MessageCompleted | ev.MessageDiscarded,
        turn_id: int | None,
        trace_id: str | None,
        out: list[Growth],
    ) -> None:
        self._speaking.pop(e.parent_tool_use_id, None)
        message = self._message(e.message_id)
        void = [
            growing
            for growing in message.blocks.values()
            if growing is not None and growing.chunk_seq
        ]
        message.blocks = {}
        message.ended = True
        if message.growing:
            message.growing = 0
            self._resting[e.message_id] = self._growing.pop(e.message_id)
        if void:
            reason = e.reason if isinstance(e, ev.MessageDiscarded) else "abandoned"
            out.append(Void(void, reason, e.parent_tool_use_id, e.agent_id))

    # --- progress and news ------------------------------------------------------------------------

    def _on_progress(
        self, e: ev.ToolProgress, turn_id: int | None, trace_id: str | None, out: list[Growth]
    ) -> None:
        out.append(e)

    def _on_system(
        self, e: ev.SystemEvent, turn_id: int | None, trace_id: str | None, out: list[Growth]
    ) -> None:
        if e.ephemeral:  # otherwise it is an entry of the log
            out.append(e)


def _as_begun(
    block: blocks.ContentBlock,
) -> tuple[blocks.ContentBlock, ev.DeltaKind | None, str | None]:
    """Returns a block without its text, the kind of its pieces, and the text."""
    match block:
        case blocks.TextBlock():
            return structs.replace(block, text=""), "text", None
        case blocks.ThinkingBlock():
            return structs.replace(block, thinking=""), "thinking", None
        case blocks.ToolUseBlock():
            return block, "tool_input", block.id
        case _:
            return block, None, None


_GROWS: dict[type, ev.DeltaKind] = {
    blocks.TextBlock: "text",
    blocks.ThinkingBlock: "thinking",
    blocks.ToolUseBlock: "tool_input",
}
# How a block that is cut off is kept.
_KEPT: dict[type, PartialKind] = {
    blocks.TextBlock: "text",
    blocks.ThinkingBlock: "thinking",
}
