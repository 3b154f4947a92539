"""Translates UI events into RPC messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from turnwire.core import blocks as unified
from turnwire.core import ui
from turnwire.core.blocks import ContentBlock
from turnwire.core.ui import UiStreamEvent
from turnwire.dialects.rpc import messages as rpc
from turnwire.dialects.rpc.messages import (
    RpcBlock,
    RpcMessage,
    RpcStreamEventData,
    ToolProgressMode,
)

__all__ = ["RpcBridge", "ToolProgressMode", "to_rpc_block"]

Messages = list[RpcMessage]


class RpcBridge:
    """Translates the UI events of one stream, with the options of a connection.

    - `tool_progress`: how to send the output of a running tool. `off`: not at all, only its result.
      `text_delta` and `output_delta`: a delta of that type on the block of the tool. Never an
      input_json_delta, because output is not input.
    - `system`: whether to send events about the session as `system` messages.
    - `stream_id`: part of every stream event's uuid, `evt-{stream_id}-{n}`; by default the start of
      the session's id.
    - `provider`: the name of the agent; by default the name in the agent's events.
    """

    def __init__(
        self,
        *,
        tool_progress: ToolProgressMode = "off",
        system: bool = False,
        stream_id: str | None = None,
        provider: str | None = None,
    ) -> None:
        self._tool_progress = tool_progress
        self._system = system
        self._stream_id = stream_id
        self.provider = provider
        self._session_id: str | None = None
        self._uuid = ""  # the uuid of a stream event, without its number
        self._numbers = count(1)
        self._handlers: dict[type, Callable[[Any], Messages]] = {
            ui.UiTextDelta: self._text_delta,
            ui.UiThinkingDelta: self._thinking_delta,
            ui.UiToolInputDelta: self._tool_input_delta,
            ui.UiMessageStart: self._message_start,
            ui.UiBlockStart: self._block_start,
            ui.UiToolStart: self._tool_start,
            ui.UiBlockStop: self._block_stop,
            ui.UiToolProgress: self._progress,
            ui.UiToolComplete: self._tool_complete,
            ui.UiMessageComplete: self._message_complete,
            ui.UiAssistantMessage: self._assistant,
            ui.UiUserMessage: self._user,
            ui.UiResultMessage: self._result,
            ui.UiError: self._error,
            ui.UiSystemMessage: self._system_message,
        }

    def feed(self, event: UiStreamEvent) -> Messages:
        """Returns the RPC messages of one UI event, in order."""
        return self._handlers[type(event)](event)

    def feed_all(self, events: Iterable[UiStreamEvent]) -> Messages:
        """Returns the RPC messages of several events. Faster than one call for each."""
        handlers = self._handlers
        return [message for event in events for message in handlers[type(event)](event)]

    # --- stream events ------------------------------------------------------------------------

    def _stream(self, e: UiStreamEvent, data: RpcStreamEventData) -> RpcMessage:
        session_id = e.session_id
        if session_id != self._session_id:
            self._meet(session_id)
        uuid = f"{self._uuid}{next(self._numbers)}"
        return rpc.RpcStreamEvent(
            uuid, session_id, data, self.provider or e.provider, e.parent_tool_use_id, e.agent_id
        )

    def _meet(self, session_id: str) -> None:
        self._session_id = session_id
        self._uuid = f"evt-{self._stream_id or session_id[:8] or 'stream'}-"

    def _text_delta(self, e: ui.UiTextDelta) -> Messages:
        # Does not call `_stream`, because this is the most frequent event.
        session_id = e.session_id
        if session_id != self._session_id:
            self._meet(session_id)
        data = rpc.RpcContentBlockDeltaEvent(e.index, rpc.RpcTextDelta(e.text))
        uuid = f"{self._uuid}{next(self._numbers)}"
        return [
            rpc.RpcStreamEvent(
                uuid,
                session_id,
                data,
                self.provider or e.provider,
                e.parent_tool_use_id,
                e.agent_id,
            )
        ]

    def _thinking_delta(self, e: ui.UiThinkingDelta) -> Messages:
        delta = rpc.RpcThinkingDelta(e.thinking)
        return [self._stream(e, rpc.RpcContentBlockDeltaEvent(e.index, delta))]

    def _tool_input_delta(self, e: ui.UiToolInputDelta) -> Messages:
        delta = rpc.RpcInputJsonDelta(e.partial_json)
        return [self._stream(e, rpc.RpcContentBlockDeltaEvent(e.index, delta))]

    def _message_start(self, e: ui.UiMessageStart) -> Messages:
        message = rpc.RpcMessageContent([], e.message_id, e.model)
        return [self._stream(e, rpc.RpcMessageStartEvent(message))]

    def _block_start(self, e: ui.UiBlockStart) -> Messages:
        block = to_rpc_block(e.block)
        return [self._stream(e, rpc.RpcContentBlockStartEvent(e.index, block))]

    def _tool_start(self, e: ui.UiToolStart) -> Messages:
        block = rpc.RpcToolUseBlock(e.tool_id, e.tool_name, e.tool_type, e.input, "in_progress")
        return [self._stream(e, rpc.RpcContentBlockStartEvent(e.index, block))]

    def _block_stop(self, e: ui.UiBlockStop) -> Messages:
        return [self._stream(e, rpc.RpcContentBlockStopEvent(e.index))]

    def _message_complete(self, e: ui.UiMessageComplete) -> Messages:
        delta = rpc.RpcMessageDeltaEvent(rpc.RpcMessageDelta(e.stop_reason), e.usage)
        stop = rpc.RpcMessageStopEvent(e.discarded_from)
        return [self._stream(e, delta), self._stream(e, stop)]

    def _progress(self, e: ui.UiToolProgress) -> Messages:
        if self._tool_progress == "off" or e.index is None or not e.output_preview:
            return []
        delta = (
            rpc.RpcTextDelta(e.output_preview)
            if self._tool_progress == "text_delta"
            else rpc.RpcOutputDelta(e.output_preview)
        )
        return [self._stream(e, rpc.RpcContentBlockDeltaEvent(e.index, delta, e.tool_id))]

    # --- complete messages --------------------------------------------------------------------

    def _tool_complete(self, e: ui.UiToolComplete) -> Messages:
        result = rpc.RpcToolResultBlock(e.tool_id, e.result, e.is_error)
        body = rpc.RpcMessageContent([result])
        return [
            rpc.RpcUserMessage(
                body, self.provider or e.provider, e.parent_tool_use_id, agent_id=e.agent_id
            )
        ]

    def _assistant(self, e: ui.UiAssistantMessage) -> Messages:
        content = [to_rpc_block(block) for block in e.content]
        body = rpc.RpcMessageContent(content, e.message_id, e.model, e.index)
        return [
            rpc.RpcAssistantMessage(
                body,
                self.provider or e.provider,
                e.parent_tool_use_id,
                e.error,
                e.aborted,
                e.agent_id,
            )
        ]

    def _user(self, e: ui.UiUserMessage) -> Messages:
        body = rpc.RpcMessageContent([to_rpc_block(block) for block in e.content])
        synthetic = True if e.origin in ("synthetic", "interrupt") else None
        replay = True if e.origin == "replay" else None
        return [
            rpc.RpcUserMessage(
                body,
                self.provider or e.provider,
                e.parent_tool_use_id,
                synthetic,
                replay,
                e.uuid,
                e.agent_id,
            )
        ]

    def _result(self, e: ui.UiResultMessage) -> Messages:
        return [
            rpc.RpcResultMessage(
                e.subtype,
                e.duration_ms,
                e.duration_api_ms,
                e.is_error,
                e.num_turns,
                e.session_id,
                self.provider or e.provider,
                e.total_cost_usd,
                e.cost_usd,
                e.usage,
                e.result,
                e.stop_reason,
                e.terminal_reason,
                e.structured_output,
                e.errors,
                e.model_usage,
            )
        ]

    def _error(self, e: ui.UiError) -> Messages:
        return [rpc.RpcErrorMessage(e.message, self.provider or e.provider, e.code)]

    def _system_message(self, e: ui.UiSystemMessage) -> Messages:
        if not self._system:
            return []
        return [rpc.RpcSystemMessage(e.subtype, e.session_id, self.provider or e.provider, e.data)]


def to_rpc_block(block: ContentBlock) -> RpcBlock:
    """Converts a unified block into an RPC block."""
    return _BLOCKS[type(block)](block)


def _text(block: unified.TextBlock) -> RpcBlock:
    return rpc.RpcTextBlock(block.text, block.citations)


def _thinking(block: unified.ThinkingBlock) -> RpcBlock:
    return rpc.RpcThinkingBlock(block.thinking, block.signature, block.redacted)


def _tool_use(block: unified.ToolUseBlock) -> RpcBlock:
    return rpc.RpcToolUseBlock(
        block.id, block.tool_name, block.tool_type, block.input, block.status, block.input_text
    )


def _tool_result(block: unified.ToolResultBlock) -> RpcBlock:
    return rpc.RpcToolResultBlock(block.tool_use_id, block.content, block.is_error)


def _image(block: unified.ImageBlock) -> RpcBlock:
    kind = "url" if block.data is None else "base64"
    return rpc.RpcImageBlock(rpc.RpcImageSource(kind, block.mime_type, block.data, block.url))


def _same(block: Any) -> RpcBlock:
    """Returns a block that has the same fields in both formats."""
    shared: RpcBlock = block
    return shared


_BLOCKS: dict[type, Callable[[Any], RpcBlock]] = {
    unified.TextBlock: _text,
    unified.ThinkingBlock: _thinking,
    unified.ToolUseBlock: _tool_use,
    unified.ToolResultBlock: _tool_result,
    unified.ImageBlock: _image,
    unified.FileRefBlock: _same,
    unified.CommandExecutionBlock: _same,
    unified.FileChangeBlock: _same,
    unified.McpToolCallBlock: _same,
    unified.WebSearchBlock: _same,
    unified.TodoListBlock: _same,
    unified.ErrorBlock: _same,
    unified.UnknownBlock: _same,
}
