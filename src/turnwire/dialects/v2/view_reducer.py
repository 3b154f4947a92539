"""The client side of protocol v2: reduces frames to the view of a conversation (section 11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from turnwire.core.reducer import ViewBuilder
from turnwire.core.status import Status
from turnwire.core.view import BlockView, OtherView, ResultView, TextView, ThinkingView, View
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import view_blocks
from turnwire.dialects.v2.frames import ServerFrame
from turnwire.dialects.v2.requests import open_permission, open_question
from turnwire.dialects.v2.view_blocks import Block

__all__ = ["ViewReducer"]

_BlockFrame: TypeAlias = (
    f.AssistantChunk | f.AssistantThinking | f.AssistantToolCall | f.AssistantBlock
)
_Connection: TypeAlias = f.SessionConnected | f.SessionResumed


class ViewReducer:
    """Reduces the frames of all connections, in order, to a `view`."""

    def __init__(self, *, cursor: int = 0, epoch: str | None = None) -> None:
        """`cursor`: the entry after which the client starts, in the log of this `epoch`."""
        self._build = ViewBuilder()
        self._build.cursor, self._build.first, self._build.epoch = cursor, cursor + 1, epoch
        self._connection: str | None = None
        self._sequence = 0  # `sequence` of the last frame of this connection

    @property
    def cursor(self) -> int:
        """Returns the number of the last applied entry."""
        return self._build.cursor

    @property
    def epoch(self) -> str | None:
        """Returns the epoch of the applied entries."""
        return self._build.epoch

    @property
    def is_behind(self) -> bool:
        """Returns whether an entry is missing: then the client must reconnect from the cursor."""
        return self._build.behind

    @property
    def status(self) -> Status | None:
        """Returns the last session.state. Returns None if none was received."""
        return self._build.status

    def view(self) -> View:
        """Returns the whole view. The cost grows with the length of the conversation."""
        return self._build.view()

    def apply(self, frame: ServerFrame) -> None:
        """Applies one frame of the server."""
        if isinstance(frame, f.UnknownFrame):
            self._unknown(frame)
        elif isinstance(frame, _Connection):
            self._connect(frame)
        elif self._is_new(frame.sequence):
            handle = _HANDLERS.get(type(frame))
            if handle is not None:
                handle(self, frame)

    def _is_new(self, sequence: int | None) -> bool:
        if sequence is None:
            return True
        if sequence <= self._sequence:
            return False
        self._sequence = sequence
        return True

    # --- connections and the log ----------------------------------------------------------------

    def _connect(self, frame: _Connection) -> None:
        info, build = frame.payload, self._build
        if info.connection_id == self._connection:
            return  # the first frame of this connection was repeated
        self._connection, self._sequence = info.connection_id, frame.sequence or 0
        build.behind = False
        if build.epoch not in (None, info.epoch):
            self._begin(info.epoch, info.first)
            return
        build.forget_growing()
        build.epoch = info.epoch
        if build.cursor == 0:  # no entry was applied yet
            build.first, build.cursor = info.first, info.first - 1

    def _reset(self, frame: f.SessionReset) -> None:
        self._begin(frame.payload.epoch, frame.payload.first)

    def _begin(self, epoch: str, first: int) -> None:
        build = self._build
        build.clear()
        build.epoch, build.first, build.cursor, build.behind = epoch, first, first - 1, False

    def _replay(self, frame: f.MessageReplay) -> None:
        event = frame.payload.event
        if isinstance(event, f.UnknownFrame):
            self._takes(frame.payload.message_sequence)
            return
        handle = _REPLAYED.get(type(event))
        if handle is not None:
            handle(self, event)

    def _unknown(self, frame: f.UnknownFrame) -> None:
        """Applies the numbers of an unknown frame, so that the next entry is no gap."""
        envelope = frame.data if isinstance(frame.data, dict) else {}
        payload = envelope.get("payload")
        number = payload.get("message_sequence") if isinstance(payload, dict) else None
        if self._is_new(_whole_number(envelope.get("sequence"))):
            self._takes(_whole_number(number))

    def _takes(self, number: int | None) -> bool:
        """Returns whether this entry is the next one. A frame without a number always is."""
        if number is None:
            return True
        build = self._build
        if number == build.cursor + 1:
            build.cursor = number
            return True
        build.behind = build.behind or number > build.cursor
        return False

    # --- blocks ---------------------------------------------------------------------------------

    def _chunk(self, frame: f.AssistantChunk) -> None:
        block = frame.payload
        if block.partial and not block.snapshot:
            self._piece(frame, block, TextView(block.block_id, "streaming", ""), block.text)
        else:
            self._whole(frame, block, view_blocks.text(block), block.error)

    def _thinking(self, frame: f.AssistantThinking) -> None:
        block = frame.payload
        if block.partial and not block.snapshot:
            self._piece(frame, block, ThinkingView(block.block_id, "streaming", ""), block.text)
        else:
            self._whole(frame, block, view_blocks.thinking(block))

    def _tool_call(self, frame: f.AssistantToolCall) -> None:
        block = frame.payload
        if block.partial and not block.snapshot:
            self._piece(frame, block, view_blocks.tool_call(block, None), block.input_text or "")
        else:
            self._whole(frame, block, view_blocks.tool_call(block, block.input_text))

    def _other_block(self, frame: f.AssistantBlock) -> None:
        block = frame.payload
        if block.partial and not block.snapshot:
            self._piece(frame, block, view_blocks.other(block), "")
        else:
            self._whole(frame, block, view_blocks.other(block))

    def _piece(self, frame: _BlockFrame, block: Block, begun: BlockView, text: str) -> None:
        number = block.chunk_seq
        if number is None:
            return
        message = self._build.find(block.parent_tool_use_id, block.message_id)
        grown = message.blocks.get(block.index) if message else None
        if grown is not None and grown.final:
            return
        if grown is None or grown.whole.id != begun.id:  # an index may be used again
            message = self._build.message(view_blocks.about(frame, block))
            grown = self._build.start(message, block.index, begun)
        elif grown.status == "frozen" or type(grown.whole) is not type(begun):
            return
        if number == grown.number + 1:
            grown.number = number
            grown.append(text)
            if type(begun) is OtherView:
                grown.whole = begun
        elif number > grown.number:
            grown.status = "frozen"

    def _whole(
        self, frame: _BlockFrame, block: Block, whole: BlockView, error: str | None = None
    ) -> None:
        if block.partial:
            self._snapshot(frame, block, whole)
        elif self._takes(block.message_sequence):
            about = view_blocks.about(frame, block, block.message_sequence, error)
            self._build.finish(self._build.message(about), block.index, whole, about)

    def _snapshot(self, frame: _BlockFrame, block: Block, whole: BlockView) -> None:
        number = block.chunk_seq
        if number is None:
            return
        message = self._build.message(view_blocks.about(frame, block))
        grown = message.blocks.get(block.index)
        if grown is None or not (grown.final or number < grown.number):
            self._build.start(message, block.index, whole).number = number

    def _discarded(self, frame: f.AssistantDiscarded) -> None:
        for block_id in frame.payload.block_ids:
            self._build.discard(frame.payload.parent_tool_use_id, block_id)

    # --- tools and requests ---------------------------------------------------------------------

    def _tool_progress(self, frame: f.AssistantToolProgress) -> None:
        told = frame.payload
        self._build.progress(told.tool_use_id, told.output, told.elapsed_seconds)

    def _tool_result(self, frame: f.AssistantToolResult) -> None:
        told = frame.payload
        if self._takes(told.message_sequence):
            self._build.result(
                told.tool_use_id,
                ResultView(told.content, told.is_error, told.details, told.blob, told.details_blob),
            )

    def _request_input(self, frame: f.AssistantRequestInput) -> None:
        asked = frame.payload
        if self._takes(asked.message_sequence):
            about = view_blocks.about(frame, asked, asked.message_sequence)
            message = self._build.message(about)
            self._build.finish(message, asked.index, view_blocks.question(asked), about)
            self._build.ask(open_question(asked, frame.turn_id))

    def _permission_request(self, frame: f.AssistantPermissionRequest) -> None:
        asked = frame.payload
        if self._takes(asked.message_sequence):
            self._build.ask(open_permission(asked, frame.turn_id))

    def _request_resolved(self, frame: f.AssistantRequestResolved) -> None:
        ended = frame.payload
        if self._takes(ended.message_sequence):
            self._build.resolve(
                ended.request_id,
                outcome=ended.outcome,
                by=ended.by,
                answer=ended.answer,
                decision=ended.decision,
                reason=ended.reason,
                updated_input=ended.updated_input,
            )

    # --- complete messages ----------------------------------------------------------------------

    def _user_message(self, frame: f.UserMessage) -> None:
        if self._takes(frame.payload.message_sequence):
            self._build.add(view_blocks.user_message(frame))

    def _system_event(self, frame: f.SessionSystemEvent) -> None:
        news = frame.payload
        number = news.message_sequence
        if number is None or not self._takes(number):
            return
        if news.subtype != "plan":
            self._build.add(view_blocks.news(frame, number))
            return
        items = news.data.get("items") if isinstance(news.data, dict) else None
        if isinstance(items, list):
            self._build.plan = items

    def _interrupted(self, frame: f.ConversationInterrupted) -> None:
        if self._takes(frame.payload.message_sequence):
            self._build.add(view_blocks.interruption(frame))

    # --- turns and state ------------------------------------------------------------------------

    def _complete(self, frame: f.AssistantComplete) -> None:
        if frame.turn_id is not None:
            self._build.end_turn(frame.turn_id, frame.payload)

    def _state(self, frame: f.SessionState) -> None:
        self._build.set_status(frame.payload)

    def _updated(self, frame: f.ConversationUpdated) -> None:
        self._build.tell(frame.payload.title, frame.payload.totals)


_Handler: TypeAlias = Callable[[ViewReducer, Any], None]

_REPLAYED: dict[type, _Handler] = {
    f.UserMessage: ViewReducer._user_message,
    f.AssistantChunk: ViewReducer._chunk,
    f.AssistantThinking: ViewReducer._thinking,
    f.AssistantToolCall: ViewReducer._tool_call,
    f.AssistantBlock: ViewReducer._other_block,
    f.AssistantToolResult: ViewReducer._tool_result,
    f.AssistantRequestInput: ViewReducer._request_input,
    f.AssistantPermissionRequest: ViewReducer._permission_request,
    f.AssistantRequestResolved: ViewReducer._request_resolved,
    f.AssistantComplete: ViewReducer._complete,
    f.ConversationInterrupted: ViewReducer._interrupted,
    f.SessionSystemEvent: ViewReducer._system_event,
}

_HANDLERS: dict[type, _Handler] = {
    **_REPLAYED,
    f.AssistantToolProgress: ViewReducer._tool_progress,
    f.AssistantDiscarded: ViewReducer._discarded,
    f.MessageReplay: ViewReducer._replay,
    f.SessionReset: ViewReducer._reset,
    f.SessionState: ViewReducer._state,
    f.ConversationUpdated: ViewReducer._updated,
}


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
