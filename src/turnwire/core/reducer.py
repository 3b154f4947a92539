"""Builds the view of a conversation from operations that any dialect can call.

The cost of an operation does not depend on the length of the conversation, except for `view`.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from turnwire.core.drawing import BlockBuilder, Card, MessageBuilder, Speech, Voice, draw
from turnwire.core.status import OpenRequest, Status, Totals, TurnEnd, with_turn
from turnwire.core.view import BlockView, MessageView, RequestView, ResultView, TurnView, View

__all__ = ["BlockBuilder", "MessageBuilder", "ViewBuilder"]


class ViewBuilder:
    """The view of a conversation, changed step by step."""

    def __init__(self) -> None:
        self.epoch: str | None = None
        self.first = 1
        self.cursor = 0
        self.behind = False
        self.clear()

    def clear(self) -> None:
        """Drops everything except the cursor in the log."""
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
        self._running: dict[str, Card] = {}  # tools with output or elapsed time
        self._count = 0

    def forget_growing(self) -> None:
        """Drops all unfinished blocks, and the output of running tools."""
        for voice, block_id in list(self._growing):
            self.discard(voice, block_id)
        for card in self._running.values():
            card.output = card.elapsed = None
        self._running.clear()

    # --- messages -----------------------------------------------------------------------------

    def add(self, message: MessageView) -> None:
        """Adds a complete message: a person's, or an event."""
        self._count += 1
        self._speech(message.parent_tool_use_id).placed.append((self._count, message))

    def find(self, voice: Voice, message_id: str) -> MessageBuilder | None:
        """Returns the assistant message with this id. Returns None if it does not exist."""
        return self._messages.get((voice, message_id))

    def message(self, about: MessageView) -> MessageBuilder:
        """Returns the assistant message with this id; creates a placeholder if necessary."""
        key = (about.parent_tool_use_id, about.id)
        found = self._messages.get(key)
        if found is None:
            self._count += 1
            found = self._messages[key] = MessageBuilder(about, self._count, {})
            self._speech(key[0]).growing[self._count] = found
        return found

    def call(self, message: MessageBuilder, message_id: str) -> None:
        """Registers another id for the message."""
        self._messages[message.about.parent_tool_use_id, message_id] = message

    def place(self, message: MessageBuilder) -> None:
        """Places the message after all placed ones, unless it is placed already."""
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
        """Starts an unfinished block.

        It replaces the unfinished block at its index or with its id.
        """
        self._move(message, block.id)
        begun = BlockBuilder(block)
        self._put(message, index, begun)
        self._growing[message.about.parent_tool_use_id, block.id] = (message, index)
        return begun

    def finish(
        self, message: MessageBuilder, index: int, block: BlockView, about: MessageView
    ) -> None:
        """Finishes a block. The fields of the message come from finished blocks only."""
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
        """Removes a block that will never be finished, and its message if it has no other block."""
        message = self._release(voice, block_id)
        if message is not None:
            self.drop_if_empty(message)
            card = self._running.pop(block_id, None)
            if card is not None:  # it was a tool call
                card.output = card.elapsed = None

    def drop_if_empty(self, message: MessageBuilder) -> None:
        """Removes a message without blocks; if it is placed, it is only hidden."""
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
        """Removes an unfinished block with this id from another message: a block id is unique."""
        left = self._release(message.about.parent_tool_use_id, block_id)
        if left is not None and left is not message:
            self.drop_if_empty(left)

    def _release(self, voice: Voice, block_id: str) -> MessageBuilder | None:
        """Removes the unfinished block with this id.

        Returns its message, or None if none had it.
        """
        grown = self._growing.pop((voice, block_id), None)
        if grown is None:
            return None
        message, index = grown
        del message.blocks[index]
        return message

    # --- tools --------------------------------------------------------------------------------

    def progress(self, tool_use_id: str, output: str | None, elapsed: float | None = None) -> None:
        """Records output or elapsed time of a running tool; ignored once its result exists."""
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
        """Records the first result of a tool. Returns whether it was the first."""
        card = self._card(tool_use_id)
        if card.result is not None:
            return False
        card.result = result
        card.output = card.elapsed = None
        self._running.pop(tool_use_id, None)
        return True

    def result_of(self, tool_use_id: str) -> ResultView | None:
        """Returns the result of a tool, even if its call is not shown.

        Returns None if it has none.
        """
        card = self._cards.get(tool_use_id)
        return card.result if card else None

    def ask(self, request: OpenRequest) -> None:
        """Records that a tool call waits for a person."""
        self._requests[request.request_id] = request
        self._tool_of_request[request.request_id] = request.tool_use_id
        self._card(request.tool_use_id).request = RequestView(request.request_id, request.kind)

    def resolve(self, request_id: str, **ended: Any) -> None:
        """Records the end of a request, unless its card shows a later request already."""
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
        """Records the end of a turn, once."""
        if turn_id in self._turns:
            return
        self._turns[turn_id] = TurnView(turn_id, end)
        self._sums = with_turn(self._sums or Totals(), end)

    @property
    def turns(self) -> int:
        """Returns the number of ended turns."""
        return len(self._turns)

    def set_status(self, status: Status) -> None:
        """Replaces the status. A title or totals that it does not contain stay unchanged."""
        self.status = status
        self._requests = {request.request_id: request for request in status.requests}
        self.tell(status.title, status.totals)

    def tell(self, title: str | None, totals: Totals | None) -> None:
        """Sets the title and the totals, unless None. An empty title removes the title."""
        if title is not None:
            self.title = title or None
        if totals is not None:
            self.told_totals = totals

    # --- the view -------------------------------------------------------------------------------

    def view(self) -> View:
        """Returns the complete view."""
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
