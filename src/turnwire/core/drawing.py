"""Builders of a view, and the function that renders them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct, structs

from turnwire.core.view import (
    BlockStatus,
    BlockView,
    MessageView,
    RequestView,
    ResultView,
    TextView,
    ThinkingView,
    ToolView,
)

__all__ = ["BlockBuilder", "Card", "MessageBuilder", "Speech", "Voice", "draw"]

_DEEPEST = 32  # maximum nesting of sub-agents; deeper ones are shown at top level

Voice: TypeAlias = str | None  # the tool call of a sub-agent; None: the agent itself


class BlockBuilder(Struct, gc=False):
    """A block, unfinished or final."""

    whole: BlockView  # its initial content, or all of it if final
    final: bool = False  # no more pieces follow
    status: BlockStatus = "streaming"
    number: int = 0  # the number of its latest piece, if pieces are counted
    pieces: list[str] | None = None  # joined when rendered: appending stays cheap

    def append(self, text: str) -> None:
        """Appends a piece of text to the block."""
        if self.pieces is None:
            self.pieces = [text]
        else:
            self.pieces.append(text)


class MessageBuilder(Struct, gc=False):
    """An assistant message, unfinished or final."""

    about: MessageView  # everything except its blocks
    order: int  # among the placed messages, or among the unplaced ones
    blocks: dict[int, BlockBuilder]
    has_place: bool = False
    is_told: bool = False  # it has a finished block
    is_open: bool = False  # it is streaming, regardless of its blocks
    has_ended: bool = False  # it will not stream again


class Card(Struct, gc=False):
    """The state of a tool call apart from the call itself, which may still follow."""

    request: RequestView | None = None
    result: ResultView | None = None
    elapsed: float | None = None
    output: list[str] | None = None


class Speech(Struct, gc=False):
    """The messages of one agent or sub-agent."""

    placed: list[tuple[int, MessageView | MessageBuilder]]  # in the order in which they were placed
    growing: dict[int, MessageBuilder]  # without a finished block, by their order


def draw(speeches: dict[Voice, Speech], cards: dict[str, Card]) -> list[MessageView]:
    """Returns the current messages; those of a sub-agent are nested in its tool call."""
    return _Drawing(speeches, cards).messages()


_Drawn: TypeAlias = tuple[bool, int, MessageView]  # whether it is unplaced, its order, the message


class _Drawing:
    """One rendering of all messages, with sub-agents nested in their tool calls."""

    def __init__(self, speeches: dict[Voice, Speech], cards: dict[str, Card]) -> None:
        self._left = dict(speeches)
        self._cards = cards

    def messages(self) -> list[MessageView]:
        """Returns all messages. A sub-agent whose tool call is not shown appears at top level."""
        called = {
            block.whole.id
            for speech in self._left.values()
            for message in _builders(speech)
            for block in message.blocks.values()
            if isinstance(block.whole, ToolView)
        }
        drawn: list[_Drawn] = []
        for voice in [voice for voice in self._left if voice not in called]:
            drawn += self._speech(voice, 0)
        while self._left:  # nested too deep, or calls in a cycle
            drawn += self._speech(next(iter(self._left)), 0)
        drawn.sort(key=_by_place)
        return [message for _, _, message in drawn]

    def _speech(self, voice: Voice, depth: int) -> list[_Drawn]:
        speech = self._left.pop(voice)
        drawn: list[_Drawn] = []
        for order, message in speech.placed:
            if isinstance(message, MessageView):
                drawn.append((False, order, message))
            elif message.blocks or message.is_open:
                drawn.append((False, order, self._message(message, depth)))
        for order, message in speech.growing.items():
            drawn.append((True, order, self._message(message, depth)))
        return drawn

    def _message(self, message: MessageBuilder, depth: int) -> MessageView:
        blocks = [self._block(message.blocks[index], depth) for index in sorted(message.blocks)]
        grows = any(block.status in ("streaming", "frozen") for block in message.blocks.values())
        return structs.replace(message.about, blocks=blocks, streaming=message.is_open or grows)

    def _block(self, block: BlockBuilder, depth: int) -> BlockView:
        whole = block.whole
        if isinstance(whole, ToolView):
            return self._tool(block, whole, depth)
        if block.final:
            return whole
        text = _joined(block.pieces)
        match whole:
            case TextView():
                return structs.replace(whole, status=block.status, text=whole.text + text)
            case ThinkingView():
                return structs.replace(whole, status=block.status, text=whole.text + text)
            case _:
                return structs.replace(whole, status=block.status)

    def _tool(self, block: BlockBuilder, call: ToolView, depth: int) -> ToolView:
        card = self._cards.get(call.id) or Card()
        text = call.input_text
        if block.pieces:
            text = (text or "") + _joined(block.pieces)
        messages: list[MessageView] = []
        if call.id in self._left and depth < _DEEPEST:
            messages = [message for _, _, message in self._speech(call.id, depth + 1)]
        return ToolView(
            call.id,
            block.status,
            call.tool_name,
            call.tool_type,
            call.input,
            text,
            card.request,
            _joined(card.output) or None,
            card.elapsed,
            card.result,
            messages,
            call.blob,
        )


def _builders(speech: Speech) -> Iterable[MessageBuilder]:
    for _, message in speech.placed:
        if isinstance(message, MessageBuilder):
            yield message
    yield from speech.growing.values()


def _joined(pieces: list[str] | None) -> str:
    if not pieces:
        return ""
    if len(pieces) > 1:  # the next view reuses the joined text
        pieces[:] = ["".join(pieces)]
    return pieces[0]


def _by_place(drawn: _Drawn) -> tuple[bool, int]:
    return drawn[:2]
