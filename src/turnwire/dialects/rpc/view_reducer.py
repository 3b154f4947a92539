"""The client side of RPC: reduces messages to the view of a conversation (section 5)."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from turnwire.core.blocks import UnknownBlock
from turnwire.core.recent import Recent
from turnwire.core.reducer import BlockBuilder, MessageBuilder, ViewBuilder
from turnwire.core.status import TurnEnd, TurnError
from turnwire.core.view import (
    BlockStatus,
    BlockView,
    MessageView,
    OtherView,
    ResultView,
    TextView,
    ThinkingView,
    ToolView,
    View,
)
from turnwire.dialects.rpc import messages as rpc
from turnwire.dialects.rpc.messages import RpcBlock, RpcMessage

__all__ = ["Transcript"]

_REMEMBERED = 4096  # user messages; a duplicate arrives soon after the original, or never


class Transcript:
    """Reduces RPC messages, in order, to a `view`."""

    def __init__(self) -> None:
        self._build = ViewBuilder()
        self._streaming: dict[str | None, MessageBuilder] = {}  # by sub-agent; None: the agent
        self._seen = Recent(_REMEMBERED)  # uuids of the latest user messages
        self._results = Recent(_REMEMBERED)
        self._last: rpc.RpcStreamEvent | None = None
        self._error: TurnError | None = None  # of the running turn
        self._has_news = False  # whether content arrived after the last turn ended
        self._users = 0
        self._nameless = 0

    def view(self) -> View:
        """Returns the whole view. The cost grows with the length of the conversation."""
        return self._build.view()

    def result_of(self, tool_use_id: str) -> ResultView | None:
        """Returns the result of a tool call, also if the call itself is not in the view."""
        return self._build.result_of(tool_use_id)

    def connected(self, *, reset: bool = False) -> None:
        """Starts another connection, which repeats unfinished messages. `reset` clears the view."""
        if reset:
            self.__init__()  # type: ignore[misc]  # the same as a new one
            return
        self._build.forget_growing()
        for message in self._streaming.values():
            self._close(message)
        self._streaming.clear()
        self._last = None

    def apply(
        self, message: RpcMessage, sequence: int | None = None, turn_id: int | None = None
    ) -> None:
        """Applies one message, with its number in the log and its turn if the frame has them.

        Section 5.1: each type has its handler; an unknown type changes nothing.
        """
        if self._is_repeat(message, sequence):
            return
        match message:
            case rpc.RpcStreamEvent():
                self._stream_event(message)
            case rpc.RpcAssistantMessage():
                self._assistant(message, sequence)
            case rpc.RpcUserMessage():
                self._user(message, sequence)
            case rpc.RpcResultMessage():
                self._result(message, turn_id)
            case rpc.RpcErrorMessage():
                self._error = TurnError(message.code or "error", message.message)
            case rpc.RpcSystemMessage() | rpc.RpcUnknownMessage():
                pass
            case _:
                assert_never(message)

    def _is_repeat(self, message: RpcMessage, sequence: int | None) -> bool:
        """Returns whether the number, a user message's uuid, or the last stream event repeats.

        The uuid of a stream event only counts on one connection, so an older uuid proves nothing.
        """
        if sequence is not None:
            if sequence <= self._build.cursor:
                return True
            self._build.cursor = sequence
        if isinstance(message, rpc.RpcStreamEvent):
            repeated, self._last = message == self._last, message
            return repeated
        uuid = message.uuid if isinstance(message, rpc.RpcUserMessage) else None
        if uuid is None:
            return False
        if uuid in self._seen:
            return True
        self._seen.add(uuid)
        return False

    # --- section 5.2: stream events -----------------------------------------------------------

    def _stream_event(self, message: rpc.RpcStreamEvent) -> None:
        parent, event = message.parent_tool_use_id, message.event
        if isinstance(event, rpc.RpcMessageStartEvent):
            self._start(event.message or rpc.RpcMessageContent(), parent, message.agent_id)
            return
        if isinstance(event, rpc.RpcContentBlockDeltaEvent) and event.tool_use_id is not None:
            self._output(event.tool_use_id, event.delta)
            return
        streaming = self._streaming.get(parent)
        if streaming is None:
            return
        if streaming.has_ended and not isinstance(event, rpc.RpcContentBlockDeltaEvent):
            return
        match event:
            case rpc.RpcContentBlockStartEvent(index=index, content_block=block):
                if index not in streaming.blocks:
                    block_id = f"{streaming.about.id}:{index}"
                    self._build.start(streaming, index, _shown(block, block_id, "streaming"))
            case rpc.RpcContentBlockDeltaEvent(index=index, delta=delta):
                target = streaming.blocks.get(index)
                if target is not None:
                    self._delta(target, delta)
            case rpc.RpcContentBlockStopEvent(index=index):
                if index in streaming.blocks:
                    _settle(streaming.blocks[index])
            case rpc.RpcMessageStopEvent(discarded_from=index):
                self._stop(streaming, parent, index)
            case rpc.RpcMessageDeltaEvent() | rpc.RpcUnknownStreamEvent():
                pass
            case _:
                assert_never(event)

    def _start(self, body: rpc.RpcMessageContent, parent: str | None, agent_id: str | None) -> None:
        streaming = self._build.find(parent, body.id) if body.id else None
        if streaming is None:
            about = MessageView(
                self._name(body),
                "assistant",
                [],
                model=body.model,
                parent_tool_use_id=parent,
                agent_id=agent_id,
            )
            streaming = self._build.message(about)
        before = self._streaming.get(parent)
        if before is not None and before is not streaming:
            self._close(before)
        self._streaming[parent] = streaming
        if not streaming.has_ended:  # a replay does not reopen a message that has ended
            streaming.is_open = True
            # The message started again on another connection, which repeats its unfinished blocks.
            self._discard(streaming, 0)

    def _output(self, tool_use_id: str, delta: rpc.RpcDelta) -> None:
        """Adds the output of a running tool to its call, whichever message is streaming now."""
        if isinstance(delta, rpc.RpcTextDelta):
            self._build.progress(tool_use_id, delta.text)
        elif isinstance(delta, rpc.RpcOutputDelta):
            self._build.progress(tool_use_id, delta.output)

    def _delta(self, target: BlockBuilder, delta: rpc.RpcDelta) -> None:
        block = target.whole
        if isinstance(block, ToolView) and not isinstance(delta, rpc.RpcInputJsonDelta):
            self._output(block.id, delta)
            return
        if target.status != "streaming":
            return  # the block is finished
        match delta, block:
            case rpc.RpcTextDelta(text=text), TextView():
                target.append(text)
            case rpc.RpcThinkingDelta(thinking=text), ThinkingView():
                target.append(text)
            case rpc.RpcInputJsonDelta(partial_json=text), ToolView():
                target.append(text)
            case _:  # the delta does not fit the type of the block
                pass

    def _stop(self, message: MessageBuilder, parent: str | None, void_from: int | None) -> None:
        message.has_ended = True
        if void_from is not None:
            self._discard(message, void_from)
        self._close(message)
        if not message.blocks:
            message.has_ended = False  # the message may start again
            del self._streaming[parent]

    def _close(self, message: MessageBuilder) -> None:
        """Ends the streaming of a message, and keeps its position."""
        message.is_open = False
        for block in message.blocks.values():
            _settle(block)
        if message.blocks:
            self._build.place(message)
        else:
            self._build.drop_if_empty(message)

    def _discard(self, message: MessageBuilder, void_from: int) -> None:
        for index, block in list(message.blocks.items()):
            if index >= void_from and not block.final:
                self._build.discard(message.about.parent_tool_use_id, block.whole.id)

    # --- section 5.4: finished messages ---------------------------------------------------------

    def _assistant(self, said: rpc.RpcAssistantMessage, sequence: int | None) -> None:
        """Replaces streamed blocks by finished ones; the streamed message keeps its id."""
        body, parent = said.message, said.parent_tool_use_id
        message = self._build.find(parent, body.id) if body.id else None
        if message is None:
            message = self._waiting(body.id, parent)
            if message is not None and body.id and body.content:
                self._build.call(message, body.id)
        about = MessageView(
            message.about.id if message else self._name(body),
            "assistant",
            [],
            sequence=sequence,
            model=body.model or (message.about.model if message else None),
            error=said.error,
            parent_tool_use_id=parent,
            agent_id=said.agent_id,
        )
        if message is None:
            message = self._build.message(about)
        status: BlockStatus = "aborted" if said.aborted else "complete"
        for offset, block in enumerate(body.content or ()):
            index = _place(message, block) if body.index is None else body.index + offset
            there = message.blocks.get(index)
            self._has_news = self._has_news or there is None or not there.final
            shown = _shown(block, f"{message.about.id}:{index}", status)
            self._build.finish(message, index, shown, about)
        self._build.drop_if_empty(message)

    def _waiting(self, message_id: str | None, parent: str | None) -> MessageBuilder | None:
        """Returns the streamed message of a finished one, if they cannot be matched by id."""
        message = self._streaming.get(parent)
        if message is None or (message_id is not None and not _is_nameless(message)):
            return None
        waits = not message.blocks or any(not block.final for block in message.blocks.values())
        return message if waits else None

    def _name(self, body: rpc.RpcMessageContent) -> str:
        if body.id:
            return body.id
        self._nameless += 1
        return f"{_NAMELESS}{self._nameless}"

    # --- section 5.3: user messages -------------------------------------------------------------

    def _user(self, message: rpc.RpcUserMessage, sequence: int | None) -> None:
        """Adds each tool_result to its tool call; shows any other content as a message."""
        rest: list[RpcBlock] = []
        for block in message.message.content or ():
            if isinstance(block, rpc.RpcToolResultBlock):
                result = ResultView(block.content, block.is_error)
                if self._build.result(block.tool_use_id, result):
                    self._has_news = True
            else:
                rest.append(block)
        if not rest:
            return
        self._has_news = True
        self._users += 1
        name = f"user-{self._users if sequence is None else sequence}"
        origin = "synthetic" if message.isSynthetic else "replay" if message.isReplay else None
        self._build.add(
            MessageView(
                name,
                "user",
                [_shown(block, f"{name}:{i}", "complete") for i, block in enumerate(rest)],
                sequence=sequence,
                origin=origin,
                parent_tool_use_id=message.parent_tool_use_id,
                agent_id=message.agent_id,
                steered=message.steered_as is not None,
            )
        )

    # --- the end of a turn ------------------------------------------------------------------------

    def _result(self, result: rpc.RpcResultMessage, turn_id: int | None) -> None:
        """Ends a turn, only once.

        Without a turn id, an identical result without new content before it counts as a repeat.
        """
        error, self._error = self._error, None
        has_news, self._has_news = self._has_news, False
        if turn_id is None:
            words = rpc.encode(result)
            if words in self._results and not has_news:
                return
            self._results.add(words)
            turn_id = self._build.turns + 1
        interrupted = (result.terminal_reason or "").startswith("aborted")
        if error is None and result.is_error and not interrupted:
            error = TurnError(result.subtype, "\n".join(result.errors or ()) or result.result or "")
        end = TurnEnd(
            error is not None,
            interrupted,
            result.stop_reason,
            error,
            "user",
            result.usage,
            result.cost_usd,
            result.duration_ms,
            structured_output=result.structured_output,
        )
        self._build.end_turn(turn_id, end)


_NAMELESS = "nameless-"  # a prefix that no agent uses for its ids


def _is_nameless(message: MessageBuilder) -> bool:
    return message.about.id.startswith(_NAMELESS)


def _place(message: MessageBuilder, block: RpcBlock) -> int:
    """Returns the position of a finished block without an index: by tool_use id, else by type."""
    for index in sorted(message.blocks):
        there = message.blocks[index]
        if isinstance(block, rpc.RpcToolUseBlock):
            if isinstance(there.whole, ToolView) and there.whole.id == block.id:
                return index
        elif not there.final and _kind(there.whole) == _kind(_shown(block, "", "complete")):
            return index
    return max(message.blocks, default=-1) + 1


def _kind(block: BlockView) -> str:
    inner: Any = block.block if isinstance(block, OtherView) else block
    if isinstance(inner, UnknownBlock):
        return f"unknown/{inner.original_type}"
    return str(inner.__struct_config__.tag)


def _shown(block: RpcBlock, block_id: str, status: BlockStatus) -> BlockView:
    """Converts a block into a block of the view."""
    match block:
        case rpc.RpcTextBlock():
            return TextView(block_id, status, block.text, block.citations)
        case rpc.RpcThinkingBlock():
            return ThinkingView(block_id, status, block.thinking, block.signature, block.redacted)
        case rpc.RpcToolUseBlock():
            return ToolView(
                block.id,
                status,
                block.tool_name,
                block.tool_type,
                block.input,
                block.input_text,
            )
        case _:
            return OtherView(block_id, status, block)


def _settle(block: BlockBuilder) -> None:
    """Closes a block that has all its pieces, and parses the input of a tool call."""
    if block.status != "streaming":
        return
    block.status = "complete"
    if isinstance(block.whole, ToolView) and block.pieces:
        text = "".join(block.pieces)
        block.pieces = None
        try:
            whole = msgspec.structs.replace(block.whole, input=msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError):
            whole = msgspec.structs.replace(block.whole, input_text=text)
        block.whole = whole
