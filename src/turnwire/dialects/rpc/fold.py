"""The front end's side of RPC: how messages become what a person sees."""

from __future__ import annotations

from typing import Any, Literal, assert_never, cast

import msgspec

from turnwire.core.blocks import UnknownBlock
from turnwire.core.usage import Usage
from turnwire.dialects.rpc import messages as rpc
from turnwire.dialects.rpc.messages import RpcBlock, RpcMessage

__all__ = ["FoldedBlock", "FoldedMessage", "ToolCall", "Transcript"]

_REMEMBERED = 4096  # user messages; a repeat comes soon after its first time, or not at all


class FoldedBlock:
    """A block on the screen: what it is now, and whether its last word has been said."""

    __slots__ = ("final", "pieces", "value")

    def __init__(self, value: RpcBlock, *, final: bool) -> None:
        self.value = value
        self.final = final
        self.pieces: list[str] = []  # joined when the block ends, so that a delta costs the same


class FoldedMessage:
    """A message on the screen."""

    __slots__ = (
        "blocks",
        "has_stopped",
        "id",
        "is_streaming",
        "model",
        "parent_tool_use_id",
        "role",
        "stop_reason",
        "usage",
    )

    def __init__(self, role: Literal["user", "assistant"], body: rpc.RpcMessageContent) -> None:
        self.role = role
        self.id = body.id
        self.model = body.model
        self.blocks: dict[int, FoldedBlock] = {}
        self.is_streaming = False
        self.has_stopped = False
        self.stop_reason: str | None = None
        self.usage: Usage | None = None
        self.parent_tool_use_id: str | None = None

    @property
    def content(self) -> list[RpcBlock]:
        """The blocks in their order."""
        return [_grown(self.blocks[index]) for index in sorted(self.blocks)]


class ToolCall:
    """A tool's card: running until its result comes."""

    __slots__ = ("output", "result", "status")

    def __init__(self) -> None:
        self.status: Literal["running", "success", "failed"] = "running"
        self.result: Any = None
        self.output = ""


class Transcript:
    """Feed it every RPC message in order; read off messages, tools, errors and the last result."""

    def __init__(self) -> None:
        self.messages: list[FoldedMessage] = []
        self.tools: dict[str, ToolCall] = {}
        self.errors: list[str] = []
        self.result: rpc.RpcResultMessage | None = None
        self._streaming: dict[str | None, FoldedMessage] = {}  # one per voice
        self._by_id: dict[str, FoldedMessage] = {}
        self._seen: dict[str, None] = {}  # the latest user messages, oldest first
        self._last: rpc.RpcStreamEvent | None = None

    def apply(self, message: RpcMessage) -> None:
        """Section 5.1: each type has its handler; a type not known yet changes nothing."""
        if self._is_repeat(message):
            return
        match message:
            case rpc.RpcStreamEvent():
                self._stream_event(message)
            case rpc.RpcAssistantMessage():
                self._assistant(message)
            case rpc.RpcUserMessage():
                self._user(message)
            case rpc.RpcResultMessage():
                self.result = message
            case rpc.RpcErrorMessage():
                self.errors.append(message.message)
            case rpc.RpcSystemMessage() | rpc.RpcUnknownMessage():
                pass
            case _:
                assert_never(message)

    def _is_repeat(self, message: RpcMessage) -> bool:
        """The same stream event twice running, or a user message whose uuid is known.

        A stream event's uuid is only this connection's counting, so an older one says nothing.
        """
        if isinstance(message, rpc.RpcStreamEvent):
            repeated, self._last = message == self._last, message
            return repeated
        uuid = message.uuid if isinstance(message, rpc.RpcUserMessage) else None
        if uuid is None:
            return False
        if uuid in self._seen:
            return True
        self._seen[uuid] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False

    # --- section 5.2: stream events -----------------------------------------------------------

    def _stream_event(self, message: rpc.RpcStreamEvent) -> None:
        parent, event = message.parent_tool_use_id, message.event
        if isinstance(event, rpc.RpcMessageStartEvent):
            self._start(event.message or rpc.RpcMessageContent(), parent)
            return
        if isinstance(event, rpc.RpcContentBlockDeltaEvent) and event.tool_use_id is not None:
            self._output(event.tool_use_id, event.delta)
            return
        folded = self._streaming.get(parent)
        if folded is None:
            return
        if folded.has_stopped and not isinstance(event, rpc.RpcContentBlockDeltaEvent):
            return
        match event:
            case rpc.RpcContentBlockStartEvent(index=index, content_block=block):
                if index not in folded.blocks:
                    folded.blocks[index] = FoldedBlock(block, final=False)
                    self._note_tool(block)
            case rpc.RpcContentBlockDeltaEvent(index=index, delta=delta):
                target = folded.blocks.get(index)
                if target is not None:
                    self._delta(target, delta, folded.has_stopped)
            case rpc.RpcContentBlockStopEvent(index=index):
                if index in folded.blocks:
                    _settle(folded.blocks[index])
            case rpc.RpcMessageDeltaEvent(delta=change, usage=usage):
                folded.stop_reason = change.stop_reason
                folded.usage = usage or folded.usage
            case rpc.RpcMessageStopEvent(discarded_from=index):
                self._stop(folded, parent, index)
            case rpc.RpcUnknownStreamEvent():
                pass
            case _:
                assert_never(event)

    def _start(self, body: rpc.RpcMessageContent, parent: str | None) -> None:
        folded = self._by_id.get(body.id) if body.id else None
        if folded is None:
            folded = self._append("assistant", body, parent)
        before = self._streaming.get(parent)
        if before is not None:
            before.is_streaming = False
        self._streaming[parent] = folded
        if not folded.has_stopped:  # a replay wakes nothing up again
            folded.is_streaming = True
            # Begun anew, on another connection: what was half said will be said again.
            folded.blocks = {i: block for i, block in folded.blocks.items() if block.final}

    def _output(self, tool_use_id: str, delta: rpc.RpcDelta) -> None:
        """What a running tool prints goes to its card, whatever is streaming by now."""
        if isinstance(delta, rpc.RpcTextDelta):
            self.tools.setdefault(tool_use_id, ToolCall()).output += delta.text
        elif isinstance(delta, rpc.RpcOutputDelta):
            self.tools.setdefault(tool_use_id, ToolCall()).output += delta.output

    def _delta(self, target: FoldedBlock, delta: rpc.RpcDelta, has_stopped: bool) -> None:
        block = target.value
        if isinstance(block, rpc.RpcToolUseBlock) and not isinstance(delta, rpc.RpcInputJsonDelta):
            self._output(block.id, delta)
            return
        if target.final or has_stopped:
            return  # its last word has been said
        match delta, block:
            case rpc.RpcTextDelta(text=text), rpc.RpcTextBlock():
                target.pieces.append(text)
            case rpc.RpcThinkingDelta(thinking=text), rpc.RpcThinkingBlock():
                target.pieces.append(text)
            case rpc.RpcInputJsonDelta(partial_json=text), rpc.RpcToolUseBlock():
                target.pieces.append(text)
            case _:  # a delta of another kind than its block
                pass

    def _stop(self, folded: FoldedMessage, parent: str | None, discarded_from: int | None) -> None:
        folded.is_streaming = False
        folded.has_stopped = True
        if discarded_from is None:
            return
        for index in [i for i in folded.blocks if i >= discarded_from]:
            block = folded.blocks.pop(index).value
            if isinstance(block, rpc.RpcToolUseBlock):
                self.tools.pop(block.id, None)
        if not folded.blocks:
            self.messages.remove(folded)
            self._by_id.pop(folded.id or "", None)
            del self._streaming[parent]

    # --- whole messages -----------------------------------------------------------------------

    def _assistant(self, message: rpc.RpcAssistantMessage) -> None:
        """The finished blocks replace what was streamed for them; the placeholder keeps its id."""
        body, parent = message.message, message.parent_tool_use_id
        folded = self._by_id.get(body.id) if body.id else None
        if folded is None:
            folded = self._waiting(body.id, parent) or self._append("assistant", body, parent)
            if body.id:
                self._by_id[body.id] = folded
        folded.model = body.model or folded.model
        for offset, block in enumerate(body.content or ()):
            index = _place(folded, block) if body.index is None else body.index + offset
            folded.blocks[index] = FoldedBlock(block, final=True)
            self._note_tool(block)

    def _waiting(self, message_id: str | None, parent: str | None) -> FoldedMessage | None:
        """The placeholder that waits for a finished message, where not both of them have an id."""
        folded = self._streaming.get(parent)
        if folded is None or (message_id is not None and folded.id is not None):
            return None
        waits = not folded.blocks or any(not block.final for block in folded.blocks.values())
        return folded if waits else None

    def _user(self, message: rpc.RpcUserMessage) -> None:
        """Section 5.3: a tool_result goes to its tool's card, anything else is a message."""
        rest: list[RpcBlock] = []
        for block in message.message.content or ():
            if isinstance(block, rpc.RpcToolResultBlock):
                tool = self.tools.setdefault(block.tool_use_id, ToolCall())
                tool.status = "failed" if block.is_error else "success"
                tool.result = block.content
            else:
                rest.append(block)
        if rest:
            folded = self._append("user", message.message, message.parent_tool_use_id)
            folded.blocks = {i: FoldedBlock(block, final=True) for i, block in enumerate(rest)}

    def _append(
        self, role: Literal["user", "assistant"], body: rpc.RpcMessageContent, parent: str | None
    ) -> FoldedMessage:
        folded = FoldedMessage(role, body)
        folded.parent_tool_use_id = parent
        self.messages.append(folded)
        if body.id:
            self._by_id[body.id] = folded
        return folded

    def _note_tool(self, block: RpcBlock) -> None:
        if isinstance(block, rpc.RpcToolUseBlock):
            self.tools.setdefault(block.id, ToolCall())


def _place(folded: FoldedMessage, block: RpcBlock) -> int:
    """Where a finished block without an index goes: by tool_use id, else the next of its kind."""
    for index in sorted(folded.blocks):
        there = folded.blocks[index]
        if isinstance(block, rpc.RpcToolUseBlock):
            if isinstance(there.value, rpc.RpcToolUseBlock) and there.value.id == block.id:
                return index
        elif not there.final and _kind(there.value) == _kind(block):
            return index
    return max(folded.blocks, default=-1) + 1


def _kind(block: RpcBlock) -> str:
    if isinstance(block, UnknownBlock):
        return f"unknown/{block.original_type}"
    return str(block.__struct_config__.tag)


def _settle(target: FoldedBlock) -> None:
    target.value = _grown(target, ended=True)
    target.pieces.clear()


def _grown(target: FoldedBlock, *, ended: bool = False) -> RpcBlock:
    """The block with what has been streamed into it so far."""
    block, grown = target.value, "".join(target.pieces)
    if not grown:
        return block
    if isinstance(block, rpc.RpcTextBlock):
        return rpc.RpcTextBlock(block.text + grown, block.citations)
    if isinstance(block, rpc.RpcThinkingBlock):
        return rpc.RpcThinkingBlock(block.thinking + grown, block.signature, block.redacted)
    call = cast(rpc.RpcToolUseBlock, block)  # nothing else grows
    try:
        arguments, text = msgspec.json.decode(grown), None
    except (msgspec.DecodeError, RecursionError):
        arguments, text = None, grown if ended else None  # not whole, or not yet
    return rpc.RpcToolUseBlock(
        call.id, call.tool_name, call.tool_type, arguments, call.status, text
    )
