"""Builds the view: what a person sees, out of the few things that any dialect can tell of it.

No operation costs more in a long conversation than in a short one. Only `view` looks at everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import Struct, structs

from turnwire.core.status import OpenRequest, Status, Totals, TurnEnd
from turnwire.core.view import (
    BlockStatus,
    BlockView,
    MessageView,
    RequestView,
    ResultView,
    TextView,
    ThinkingView,
    ToolView,
    TurnView,
    View,
)

__all__ = ["BlockBuilder", "MessageBuilder", "ViewBuilder"]

_DEEPEST = 32  # sub-agents within sub-agents; whoever speaks further down is shown at top level

Voice: TypeAlias = str | None  # the tool call whose sub-agent speaks; None: the agent itself


class BlockBuilder(Struct, gc=False):
    """A block, growing or final."""

    whole: BlockView  # what it began with, or all of it
    final: bool = False  # its last word has been said
    status: BlockStatus = "streaming"
    number: int = 0  # the piece it reaches up to, where pieces are counted
    pieces: list[str] | None = None  # kept apart, so that one more costs the same in a long text

    def append(self, text: str) -> None:
        """The block has grown."""
        if self.pieces is None:
            self.pieces = [text]
        else:
            self.pieces.append(text)


class MessageBuilder(Struct, gc=False):
    """An assistant message, growing or final."""

    about: MessageView  # everything but its blocks
    order: int  # among the messages that have their place, or among those that have not
    blocks: dict[int, BlockBuilder]
    has_place: bool = False
    is_told: bool = False  # some block of it is finished
    is_open: bool = False  # it streams, whatever its blocks say
    has_ended: bool = False  # it will not stream again


class _Card(Struct, gc=False):
    """What is known of a tool call besides the call itself, which may be still to come."""

    request: RequestView | None = None
    result: ResultView | None = None
    elapsed: float | None = None
    output: list[str] | None = None


class _Speech(Struct, gc=False):
    """The messages of one voice."""

    placed: list[tuple[int, MessageView | MessageBuilder]]  # in the order they got their place
    growing: dict[int, MessageBuilder]  # without a finished block, by their order


class ViewBuilder:
    """Everything on the screen, changed step by step."""

    def __init__(self) -> None:
        self.epoch: str | None = None
        self.first = 1
        self.cursor = 0
        self.behind = False
        self.clear()

    def clear(self) -> None:
        """Forget everything but the place in the log."""
        self.status: Status | None = None
        self.plan: list[Any] = []
        self.title: str | None = None
        self.told_totals: Totals | None = None
        self._sums: Totals | None = None
        self._turns: dict[int, TurnView] = {}
        self._requests: dict[str, OpenRequest] = {}
        self._tool_of_request: dict[str, str] = {}
        self._speeches: dict[Voice, _Speech] = {None: _Speech([], {})}
        self._messages: dict[tuple[Voice, str], MessageBuilder] = {}
        self._growing: dict[tuple[Voice, str], tuple[MessageBuilder, int]] = {}
        self._cards: dict[str, _Card] = {}
        self._running: dict[str, _Card] = {}  # those that show what they print, or for how long
        self._count = 0

    def forget_growing(self) -> None:
        """Forget all that is not finished, and what running tools have printed."""
        for voice, block_id in list(self._growing):
            self.discard(voice, block_id)
        for card in self._running.values():
            card.output = card.elapsed = None
        self._running.clear()

    # --- messages -----------------------------------------------------------------------------

    def add(self, message: MessageView) -> None:
        """A message that is whole: a person's, or something that happened."""
        self._count += 1
        self._speech(message.parent_tool_use_id).placed.append((self._count, message))

    def find(self, voice: Voice, message_id: str) -> MessageBuilder | None:
        """The assistant message with this id, if there is one."""
        return self._messages.get((voice, message_id))

    def message(self, about: MessageView) -> MessageBuilder:
        """The assistant message with this id; if there is none, a placeholder for it."""
        key = (about.parent_tool_use_id, about.id)
        found = self._messages.get(key)
        if found is None:
            self._count += 1
            found = self._messages[key] = MessageBuilder(about, self._count, {})
            self._speech(key[0]).growing[self._count] = found
        return found

    def call(self, message: MessageBuilder, message_id: str) -> None:
        """From now on the message is found under this id too."""
        self._messages[message.about.parent_tool_use_id, message_id] = message

    def place(self, message: MessageBuilder) -> None:
        """The message gets its place, after all that have theirs, unless it has one."""
        if not message.has_place:
            speech = self._speech(message.about.parent_tool_use_id)
            del speech.growing[message.order]
            self._count += 1
            message.order = self._count
            message.has_place = True
            speech.placed.append((self._count, message))

    def _speech(self, voice: Voice) -> _Speech:
        speech = self._speeches.get(voice)
        if speech is None:
            speech = self._speeches[voice] = _Speech([], {})
        return speech

    # --- blocks -------------------------------------------------------------------------------

    def start(self, message: MessageBuilder, index: int, block: BlockView) -> BlockBuilder:
        """A block begins to grow. It takes the place of what has grown there, or under its id."""
        self._move(message, block.id)
        begun = BlockBuilder(block)
        self._put(message, index, begun)
        self._growing[message.about.parent_tool_use_id, block.id] = (message, index)
        return begun

    def finish(
        self, message: MessageBuilder, index: int, block: BlockView, about: MessageView
    ) -> None:
        """A block is finished. What the message is follows from finished blocks alone."""
        self._move(message, block.id)
        self._put(message, index, BlockBuilder(block, True, block.status))
        self.place(message)
        if not message.is_told:
            message.is_told = True
            message.about = about
        elif about.model or about.error or about.agent_id:
            known = message.about
            message.about = structs.replace(
                known,
                model=about.model or known.model,
                error=about.error or known.error,
                agent_id=about.agent_id or known.agent_id,
            )

    def discard(self, voice: Voice, block_id: str) -> None:
        """A growing block will never be finished; nor is its message shown without any block."""
        message = self._release(voice, block_id)
        if message is not None:
            self.drop_if_empty(message)
            card = self._running.pop(block_id, None)
            if card is not None:  # it was a tool call
                card.output = card.elapsed = None

    def drop_if_empty(self, message: MessageBuilder) -> None:
        """A message without blocks goes, unless it has its place; there it is only not shown."""
        if not message.blocks and not message.is_open and not message.has_place:
            voice, message_id = message.about.parent_tool_use_id, message.about.id
            del self._speech(voice).growing[message.order]
            del self._messages[voice, message_id]

    def _put(self, message: MessageBuilder, index: int, block: BlockBuilder) -> None:
        there = message.blocks.get(index)
        if there is not None:
            self._growing.pop((message.about.parent_tool_use_id, there.whole.id), None)
        message.blocks[index] = block

    def _move(self, message: MessageBuilder, block_id: str) -> None:
        """A block id is one block: what has grown under it elsewhere was this one."""
        left = self._release(message.about.parent_tool_use_id, block_id)
        if left is not None and left is not message:
            self.drop_if_empty(left)

    def _release(self, voice: Voice, block_id: str) -> MessageBuilder | None:
        """Take away what has grown under this id; the message it was in, if it was."""
        grown = self._growing.pop((voice, block_id), None)
        if grown is None:
            return None
        message, index = grown
        del message.blocks[index]
        return message

    # --- tools --------------------------------------------------------------------------------

    def progress(self, tool_use_id: str, output: str | None, elapsed: float | None = None) -> None:
        """A tool runs, and may have printed something. When its result is there, that is over."""
        card = self._card(tool_use_id)
        if card.result is not None:
            return
        self._running[tool_use_id] = card
        card.elapsed = card.elapsed if elapsed is None else elapsed
        if output:
            if card.output is None:
                card.output = [output]
            else:
                card.output.append(output)

    def result(self, tool_use_id: str, result: ResultView) -> bool:
        """What a tool gave back, the first time. Whether it was."""
        card = self._card(tool_use_id)
        if card.result is not None:
            return False
        card.result = result
        card.output = card.elapsed = None
        self._running.pop(tool_use_id, None)
        return True

    def result_of(self, tool_use_id: str) -> ResultView | None:
        """What a tool gave back, also where its call is not shown."""
        card = self._cards.get(tool_use_id)
        return card.result if card else None

    def ask(self, request: OpenRequest) -> None:
        """A tool call waits for a person."""
        self._requests[request.request_id] = request
        self._tool_of_request[request.request_id] = request.tool_use_id
        self._card(request.tool_use_id).request = RequestView(request.request_id, request.kind)

    def resolve(self, request_id: str, **ended: Any) -> None:
        """A request has ended. Its card shows how, unless it shows a later request by now."""
        self._requests.pop(request_id, None)
        card = self._cards.get(self._tool_of_request.pop(request_id, ""))
        if card is not None and card.request is not None and card.request.request_id == request_id:
            card.request = structs.replace(card.request, **ended)

    def _card(self, tool_use_id: str) -> _Card:
        card = self._cards.get(tool_use_id)
        if card is None:
            card = self._cards[tool_use_id] = _Card()
        return card

    # --- turns and state ------------------------------------------------------------------------

    def end_turn(self, turn_id: int, end: TurnEnd) -> None:
        """A turn is over, which counts once."""
        if turn_id in self._turns:
            return
        self._turns[turn_id] = TurnView(turn_id, end)
        sums, usage = self._sums or Totals(), end.usage
        self._sums = Totals(
            sums.input_tokens + ((usage and usage.input_tokens) or 0),
            sums.output_tokens + ((usage and usage.output_tokens) or 0),
            sums.cache_creation_input_tokens + ((usage and usage.cache_creation_input_tokens) or 0),
            sums.cache_read_input_tokens + ((usage and usage.cache_read_input_tokens) or 0),
            sums.cost_usd + (end.cost_usd or 0.0),
        )

    @property
    def turns(self) -> int:
        """How many turns are over."""
        return len(self._turns)

    def set_status(self, status: Status) -> None:
        """The state, whole. A title or a total that it does not tell is still as it was told."""
        self.status = status
        self._requests = {request.request_id: request for request in status.requests}
        self.title = status.title or self.title
        self.told_totals = status.totals or self.told_totals

    # --- the view -------------------------------------------------------------------------------

    def view(self) -> View:
        """Everything on the screen."""
        status = self.status
        if status is not None:
            status = structs.replace(status, requests=list(self._requests.values()))
        return View(
            _Drawing(self._speeches, self._cards).messages(),
            list(self._turns.values()),
            status,
            self.plan,
            self.told_totals or self._sums,
            self.title,
            self.epoch,
            self.first,
            self.cursor,
            self.behind,
        )


_Drawn: TypeAlias = tuple[bool, int, MessageView]  # whether it has no place yet, its order


class _Drawing:
    """The messages as they are now, each sub-agent's under the tool call it works for."""

    def __init__(self, speeches: dict[Voice, _Speech], cards: dict[str, _Card]) -> None:
        self._left = dict(speeches)
        self._cards = cards

    def messages(self) -> list[MessageView]:
        """All of them. A voice whose tool call is not shown speaks at top level."""
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
        while self._left:  # too deep, or calls that are made by their own sub-agents
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
        card = self._cards.get(call.id) or _Card()
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


def _builders(speech: _Speech) -> Iterable[MessageBuilder]:
    for _, message in speech.placed:
        if isinstance(message, MessageBuilder):
            yield message
    yield from speech.growing.values()


def _joined(pieces: list[str] | None) -> str:
    if not pieces:
        return ""
    if len(pieces) > 1:  # so that the next view need not do it again
        pieces[:] = ["".join(pieces)]
    return pieces[0]


def _by_place(drawn: _Drawn) -> tuple[bool, int]:
    return drawn[:2]
