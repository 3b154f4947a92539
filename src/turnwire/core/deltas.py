"""Converts normalized events into message deltas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core import message_deltas as d
from turnwire.core.blocks import ContentBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import KeptBlock, parse_arguments
from turnwire.core.message_deltas import MessageDelta
from turnwire.core.parts import kept_block, token_usage, tool_call
from turnwire.core.recent import MAX_ENDED, Recent
from turnwire.core.usage import Usage

__all__ = ["DeltaStream"]

Deltas = list[MessageDelta]


class _Block:
    """A block whose deltas are being emitted: the part that was emitted so far."""

    __slots__ = ("closed", "pieces", "tool_call_id")

    def __init__(self, tool_call_id: str | None) -> None:
        self.tool_call_id = tool_call_id
        self.pieces: list[str] = []
        self.closed = False


class _Stream:
    """One model message whose deltas are being emitted."""

    __slots__ = (
        "aborted",
        "blocks",
        "error",
        "kept",
        "message_id",
        "run_id",
        "seq",
        "stop_reason",
        "streamed",
        "usage",
    )

    def __init__(self, run_id: str, message_id: str, streamed: bool) -> None:
        self.run_id = run_id
        self.message_id = message_id
        self.streamed = streamed  # it grows piece by piece and reports its end
        self.seq = 0
        self.blocks: dict[int, _Block] = {}
        self.kept: dict[int, KeptBlock] = {}  # blocks that no delta kind fits
        self.usage: Usage | None = None
        self.stop_reason: str | None = None
        self.error: str | None = None
        self.aborted = False

    def next(self) -> int:
        self.seq += 1
        return self.seq


class DeltaStream:
    """Converts model messages into deltas: one stream for each message, with its own seq.

    A message that was not streamed gives deltas as well. No event reports its end. So it ends when
    the next message of the same agent or sub-agent begins, when the turn ends, or at `finish`.
    """

    def __init__(self) -> None:
        self._open: dict[str | None, _Stream] = {}  # by the sub-agent's tool call
        self._ended = Recent(MAX_ENDED)
        self._handlers: dict[type, Callable[[Any, str, str], Deltas]] = {
            ev.MessageStarted: self._on_started,
            ev.ContentStarted: self._on_block,
            ev.ContentDelta: self._on_delta,
            ev.ContentCompleted: self._on_block_end,
            ev.AssistantMessage: self._on_assistant,
            ev.UsageUpdated: self._on_usage,
            ev.MessageCompleted: self._on_completed,
            ev.MessageDiscarded: self._on_discarded,
            ev.TurnCompleted: self._on_turn_end,
            ev.TurnFailed: self._on_turn_end,
        }

    def feed(self, event: NormalizedStreamEvent, *, run_id: str, now: str) -> Deltas:
        """Returns the deltas of one event, in order; often one, sometimes none."""
        handle = self._handlers.get(type(event))
        return handle(event, run_id, now) if handle is not None else []

    def finish(self, *, now: str) -> Deltas:
        """Ends every stream that is still open, after the last event."""
        return [
            delta for voice in list(self._open) for delta in self._leave(voice, "stream_ended", now)
        ]

    # --- streamed messages ------------------------------------------------------------------------

    def _on_started(self, e: ev.MessageStarted, run_id: str, now: str) -> Deltas:
        out: Deltas = []
        self._stream(e, run_id, now, out, streamed=True, model=e.model)
        return out

    def _on_block(self, e: ev.ContentStarted, run_id: str, now: str) -> Deltas:
        out: Deltas = []
        stream = self._stream(e, run_id, now, out)
        if stream is not None and e.index not in stream.blocks:
            self._begin(stream, e.index, e.block, now, out)
        return out

    def _on_delta(self, e: ev.ContentDelta, run_id: str, now: str) -> Deltas:
        out: Deltas = []
        stream = self._stream(e, run_id, now, out)
        if stream is None or e.kind == "tool_output":
            return out
        block = stream.blocks.get(e.index)
        if block is None and e.kind != "tool_input":  # a tool call needs a name
            block = stream.blocks[e.index] = _Block(None)
        if block is None or block.closed:
            return out
        if (e.kind == "tool_input") == (block.tool_call_id is not None):
            self._piece(stream, block, e.index, e.kind, e.text, now, out)
        return out

    def _on_block_end(self, e: ev.ContentCompleted, run_id: str, now: str) -> Deltas:
        out: Deltas = []
        stream = self._stream(e, run_id, now, out)
        if stream is not None:
            self._close(stream, e.index, e.block, now, out)
        return out

    def _on_usage(self, e: ev.UsageUpdated, run_id: str, now: str) -> Deltas:
        stream = self._open.get(e.parent_tool_use_id)
        if stream is not None and stream.message_id == e.message_id:
            stream.usage = e.usage
        return []

    def _on_completed(self, e: ev.MessageCompleted, run_id: str, now: str) -> Deltas:
        out: Deltas = []
        stream = self._stream(e, run_id, now, out)
        if stream is not None:
            stream.usage = e.usage or stream.usage
            stream.stop_reason = e.stop_reason or stream.stop_reason
            self._done(e.parent_tool_use_id, stream, now, out)
        return out

    def _on_discarded(self, e: ev.MessageDiscarded, run_id: str, now: str) -> Deltas:
        out: Deltas = []
        stream = self._stream(e, run_id, now, out)
        if stream is not None:
            self._discard(e.parent_tool_use_id, stream, e.from_index, e.reason, now, out)
        return out

    # --- finished messages --------------------------------------------------------------------

    def _on_assistant(self, e: ev.AssistantMessage, run_id: str, now: str) -> Deltas:
        out: Deltas = []
        stream = self._stream(e, run_id, now, out, streamed=False, model=e.model)
        if stream is None:
            return out
        if not stream.streamed:  # a complete frame during a stream has preliminary values
            stream.usage = e.usage or stream.usage
            stream.stop_reason = e.stop_reason or stream.stop_reason
        stream.error = e.error or stream.error
        stream.aborted = e.aborted or stream.aborted
        for index, block in enumerate(e.content, e.index):
            self._close(stream, index, block, now, out)
        return out

    def _on_turn_end(self, e: NormalizedStreamEvent, run_id: str, now: str) -> Deltas:
        return self._leave(e.parent_tool_use_id, "turn_ended", now)

    # --- streams ------------------------------------------------------------------------------

    def _stream(
        self,
        e: Any,
        run_id: str,
        now: str,
        out: Deltas,
        *,
        streamed: bool = True,
        model: str | None = None,
    ) -> _Stream | None:
        """Returns the stream of an event's message, begun if necessary.

        Returns None if it has ended.
        """
        voice = e.parent_tool_use_id
        stream = self._open.get(voice)
        if stream is not None and stream.message_id == e.message_id:
            return stream
        if (voice, e.message_id) in self._ended:
            return None
        out += self._leave(voice, "restarted", now)
        stream = self._open[voice] = _Stream(run_id, e.message_id, streamed)
        payload = d.StartDeltaPayload(
            model, None, e.provider, voice, e.agent_id, message_id=e.message_id
        )
        out.append(d.StartDelta(run_id, stream.next(), now, payload))
        return stream

    def _leave(self, voice: str | None, reason: str, now: str) -> Deltas:
        """Ends the open message of an agent or sub-agent, because another one begins."""
        stream = self._open.get(voice)
        out: Deltas = []
        if stream is None:
            return out
        if stream.streamed:  # it should have reported its end itself
            left = [index for index, block in stream.blocks.items() if not block.closed]
            end = max([*stream.blocks, *stream.kept], default=-1) + 1
            self._discard(voice, stream, min(left, default=end), reason, now, out)
        else:
            self._done(voice, stream, now, out)
        return out

    def _done(
        self,
        voice: str | None,
        stream: _Stream,
        now: str,
        out: Deltas,
        void_from: int | None = None,
    ) -> None:
        for index, block in stream.blocks.items():
            stays = void_from is None or index < void_from
            if block.tool_call_id is not None and not block.closed and stays:
                block.closed = True
                self._end_call(stream, block.tool_call_id, None, now, out)
        if stream.usage is not None:
            told = token_usage(stream.usage)
            usage = d.UsageDeltaPayload(
                told.input_tokens,
                told.output_tokens,
                told.total_tokens,
                told.cache_read_tokens,
                told.cache_write_tokens,
                message_id=stream.message_id,
            )
            out.append(d.UsageDelta(stream.run_id, stream.next(), now, usage))
        kept = [
            block
            for index, block in sorted(stream.kept.items())
            if void_from is None or index < void_from
        ]
        done = d.DoneDeltaPayload(
            stream.stop_reason or "unknown",
            kept or None,
            void_from,
            stream.error,
            stream.aborted,
            message_id=stream.message_id,
        )
        out.append(d.DoneDelta(stream.run_id, stream.next(), now, done))
        self._end(voice, stream)

    def _discard(
        self,
        voice: str | None,
        stream: _Stream,
        from_index: int,
        reason: str,
        now: str,
        out: Deltas,
    ) -> None:
        """Discards blocks from `from_index` on. The message is kept if it has earlier blocks."""
        found = [*stream.blocks, *stream.kept]
        if any(index < from_index for index in found):
            stream.stop_reason = reason
            void = any(index >= from_index for index in found)
            self._done(voice, stream, now, out, from_index if void else None)
            return
        error = d.ErrorDeltaPayload(reason, message_id=stream.message_id)
        out.append(d.ErrorDelta(stream.run_id, stream.next(), now, error))
        self._end(voice, stream)

    def _end(self, voice: str | None, stream: _Stream) -> None:
        del self._open[voice]
        self._ended.add((voice, stream.message_id))

    # --- blocks -------------------------------------------------------------------------------

    def _begin(
        self, stream: _Stream, index: int, block: ContentBlock, now: str, out: Deltas
    ) -> None:
        match block:
            case blocks.TextBlock(text=text):
                begun = stream.blocks[index] = _Block(None)
                if text:
                    self._piece(stream, begun, index, "text", text, now, out)
            case blocks.ThinkingBlock(thinking=text):
                begun = stream.blocks[index] = _Block(None)
                if text:
                    self._piece(stream, begun, index, "thinking", text, now, out)
            case blocks.ToolUseBlock():
                stream.blocks[index] = _Block(block.id)
                start = d.ToolCallStartDeltaPayload(
                    block.id,
                    block.tool_name,
                    index,
                    block.tool_type,
                    block.is_question or block.asks,
                    message_id=stream.message_id,
                )
                out.append(d.ToolCallStartDelta(stream.run_id, stream.next(), now, start))
            case _:
                pass  # emitted when it is finished

    def _piece(
        self,
        stream: _Stream,
        block: _Block,
        index: int,
        kind: ev.DeltaKind,
        text: str,
        now: str,
        out: Deltas,
    ) -> None:
        block.pieces.append(text)
        if kind == "text":
            words = d.TextDeltaPayload(text, index, message_id=stream.message_id)
            out.append(d.TextDelta(stream.run_id, stream.next(), now, words))
        elif kind == "thinking":
            thought = d.ThinkingDeltaPayload(text, index, message_id=stream.message_id)
            out.append(d.ThinkingDelta(stream.run_id, stream.next(), now, thought))
        else:
            args = d.ToolCallArgsDeltaPayload(
                block.tool_call_id or "", text, message_id=stream.message_id
            )
            out.append(d.ToolCallArgsDelta(stream.run_id, stream.next(), now, args))

    def _close(
        self, stream: _Stream, index: int, block: ContentBlock, now: str, out: Deltas
    ) -> None:
        """Emits the missing rest of a finished block, and ends it."""
        open_block = stream.blocks.get(index)
        if open_block is None:
            self._begin(stream, index, block, now, out)
            open_block = stream.blocks.get(index)
        if open_block is None:
            # A tool result is not part of the model's message: it is an entry of its own.
            if not isinstance(block, blocks.ToolResultBlock):
                stream.kept.setdefault(index, kept_block(index, block))
            return
        if open_block.closed:
            return
        open_block.closed = True
        if open_block.tool_call_id != (
            block.id if isinstance(block, blocks.ToolUseBlock) else None
        ):
            # The finished block differs in kind. The log entry has the right one; here it can only
            # end.
            if open_block.tool_call_id is not None:
                self._end_call(stream, open_block.tool_call_id, None, now, out)
            return
        match block:
            case blocks.TextBlock():
                rest = _rest(open_block, block.text)
                if rest or block.citations or not open_block.pieces:
                    words = d.TextDeltaPayload(
                        rest, index, block.citations, message_id=stream.message_id
                    )
                    out.append(d.TextDelta(stream.run_id, stream.next(), now, words))
            case blocks.ThinkingBlock():
                rest = _rest(open_block, block.thinking)
                if rest or block.signature or block.redacted or not open_block.pieces:
                    thought = d.ThinkingDeltaPayload(
                        rest,
                        index,
                        block.signature,
                        block.redacted,
                        message_id=stream.message_id,
                    )
                    out.append(d.ThinkingDelta(stream.run_id, stream.next(), now, thought))
            case blocks.ToolUseBlock():
                self._close_call(stream, open_block, index, block, now, out)
            case _:
                pass

    def _close_call(
        self,
        stream: _Stream,
        open_block: _Block,
        index: int,
        block: blocks.ToolUseBlock,
        now: str,
        out: Deltas,
    ) -> None:
        call = tool_call(block)
        written = "".join(open_block.pieces)
        if not written:
            written = call.raw_args_text or ""
            if call.arguments:
                written = msgspec.json.encode(call.arguments).decode()
            if written:
                self._piece(stream, open_block, index, "tool_input", written, now, out)
        # The agent may have changed the model's arguments; then the end contains the valid ones.
        differs = call.raw_args_text is None and parse_arguments(written) != call.arguments
        self._end_call(stream, block.id, call.arguments if differs else None, now, out)

    def _end_call(
        self,
        stream: _Stream,
        tool_call_id: str,
        arguments: dict[str, Any] | None,
        now: str,
        out: Deltas,
    ) -> None:
        ended = d.ToolCallEndDeltaPayload(tool_call_id, arguments, message_id=stream.message_id)
        out.append(d.ToolCallEndDelta(stream.run_id, stream.next(), now, ended))


def _rest(block: _Block, whole: str) -> str:
    """Returns the text not emitted yet; empty if the agent changed text already emitted."""
    said = "".join(block.pieces)
    return whole[len(said) :] if whole.startswith(said) else ""
