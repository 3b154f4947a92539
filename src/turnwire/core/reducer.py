"""Builds the view: what a person sees, out of the few things that any dialect can tell of it.

No operation costs more in a long conversation than in a short one. Only `view` looks at everything.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from turnwire.core.drawing import BlockBuilder, Card, MessageBuilder, Speech, Voice, draw
from turnwire.core.status import OpenRequest, Status, Totals, TurnEnd, with_turn
from turnwire.core.view import BlockView, MessageView, RequestView, ResultView, TurnView, View

__all__ = ["BlockBuilder", "MessageBuilder", "ViewBuilder"]


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
        self._speeches: dict[Voice, Speech] = {None: Speech([], {})}
        self._messages: dict[tuple[Voice, str], MessageBuilder] = {}
        self._growing: dict[tuple[Voice, str], tuple[MessageBuilder, int]] = {}
        self._cards: dict[str, Card] = {}
        self._running: dict[str, Card] = {}  # those that show what they print, or for how long
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

    def _speech(self, voice: Voice) -> Speech:
        speech = self._speeches.get(voice)
        if speech is None:
            speech = self._speeches[voice] = Speech([], {})
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

    def _card(self, tool_use_id: str) -> Card:
        card = self._cards.get(tool_use_id)
        if card is None:
            card = self._cards[tool_use_id] = Card()
        return card

    # --- turns and state ------------------------------------------------------------------------

    def end_turn(self, turn_id: int, end: TurnEnd) -> None:
        """A turn is over, which counts once."""
        if turn_id in self._turns:
            return
        self._turns[turn_id] = TurnView(turn_id, end)
        self._sums = with_turn(self._sums or Totals(), end)

    @property
    def turns(self) -> int:
        """How many turns are over."""
        return len(self._turns)

    def set_status(self, status: Status) -> None:
        """The state, whole. A title or a total that it does not tell is still as it was told."""
        self.status = status
        self._requests = {request.request_id: request for request in status.requests}
        self.tell(status.title, status.totals)

    def tell(self, title: str | None, totals: Totals | None) -> None:
        """The title and the totals, where they are told. An empty title is none any more."""
        if title is not None:
            self.title = title or None
        if totals is not None:
            self.told_totals = totals

    # --- the view -------------------------------------------------------------------------------

    def view(self) -> View:
        """Everything on the screen."""
        status = self.status
        if status is not None:
            status = structs.replace(status, requests=list(self._requests.values()))
        return View(
            draw(self._speeches, self._cards),
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
