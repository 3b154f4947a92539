"""Writes one turn as a UI message stream, for one reader.

The frames of the turn may come live, replayed, or both: a block that was streamed is not sent
again when its entry is replayed. A stream that continues a message takes the frames from the
beginning of the turn, and sends only the chunks of later entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from turnwire.core.error_codes import Refused
from turnwire.core.status import Status, TurnEnd
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.server.aisdk.parts import (
    OURS,
    about_block,
    end_metadata,
    file_of,
    output_of,
    permission_data,
    question_data,
    resolved_data,
    sources_of,
)
from turnwire.server.aisdk.projector import delta_of

__all__ = ["UiWriter", "message_id_of"]

_Handler: TypeAlias = Callable[[Any, list[u.Chunk]], None]
_MOST_OUTPUT = 16_384  # characters of a running tool's output that are sent


def message_id_of(turn_id: int) -> str:
    """Returns the id of the message that a turn is shown as."""
    return f"turn-{turn_id}"


class UiWriter:
    """The stream of one turn."""

    def __init__(self, reader: ReplyReader, *, after: int = 0, version: int = 7) -> None:
        """`reader` finds the turn and its end.

        `after`: the client has the chunks of all entries up to this number. `version`: of the
        package `ai` that reads the stream.
        """
        reader.keeps_frames = False
        self.is_over = False
        self._reader = reader
        self._after = after
        self._version = version
        self._is_begun = False
        self._open: dict[str, list[str]] = {}  # growing blocks, with their pieces
        self._kinds: dict[str, str] = {}  # of each block: `text`, `reasoning` or `tool`
        self._names: dict[str, str] = {}  # of each tool call that was sent
        self._outputs: dict[str, str] = {}  # of tools that still run
        self._data: dict[str, u.DataChunk] = {}  # requests, by id
        self._last = 0  # the newest entry of the turn
        self._handlers: dict[type, _Handler] = {
            f.AssistantChunk: self._text,
            f.AssistantThinking: self._text,
            f.AssistantToolCall: self._tool_call,
            f.AssistantBlock: self._block,
            f.AssistantToolProgress: self._progress,
            f.AssistantToolResult: self._result,
            f.AssistantDiscarded: self._discarded,
            f.AssistantRequestInput: self._question,
            f.AssistantPermissionRequest: self._permission,
            f.AssistantRequestResolved: self._resolved,
            f.SessionSystemEvent: self._system,
        }

    @property
    def turn_id(self) -> int | None:
        """The turn; None while its message is queued."""
        return self._reader.turn_id

    def feed(self, frame: f.Frame | f.UnknownFrame) -> list[u.Chunk]:
        """Returns the chunks of a frame.

        Raises Refused if the message was removed from the queue, because its turn never starts.
        """
        if self.is_over or isinstance(frame, f.UnknownFrame):
            return []
        reply = self._reader.feed(frame)
        if isinstance(frame, f.MessageReplay):
            inner = frame.payload.event
            if isinstance(inner, f.UnknownFrame):
                return []
            frame = inner
        turn_id = self._reader.turn_id
        out: list[u.Chunk] = []
        if isinstance(frame, f.SessionState):
            if turn_id is not None and frame.payload.turn_id == turn_id:
                self._begin(turn_id, out)
            self._state(frame.payload, out)
            return out
        if turn_id is None or frame.turn_id != turn_id:
            return []
        if reply is not None and reply.end is not None:
            self._begin(turn_id, out)
            self._end(reply.end, out)
            return out
        handle = self._handlers.get(type(frame))
        if handle is not None:
            payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
            handle(payload, out)
        number: int | None = getattr(frame.payload, "message_sequence", None)  # type: ignore[attr-defined]
        self._last = max(self._last, number or 0)
        if number is not None and number <= self._after:
            return []  # the client has them
        if out or isinstance(frame, f.TurnStarted):
            first: list[u.Chunk] = []
            self._begin(turn_id, first)
            return first + out
        return []

    def is_next_piece(self, frame: f.Frame | f.UnknownFrame) -> bool:
        """Notes a piece of a block that was begun. Returns False if `feed` has to take the frame.

        The bytes of such a piece are the same for every reader.
        """
        payload = getattr(frame, "payload", None)
        if not isinstance(payload, p.Chunk | p.Thinking | p.ToolCall):
            return False
        pieces = self._open.get(payload.block_id)
        if pieces is None or not payload.partial or payload.snapshot or self.is_over:
            return False
        pieces.append(_piece(payload))
        return True

    def refuse(self, refused: Refused) -> list[u.Chunk]:
        """Returns the chunks that end the stream early, with an error."""
        self.is_over = True
        return [u.Error(refused.message)]

    # --- the message ------------------------------------------------------------------------------

    def _begin(self, turn_id: int, out: list[u.Chunk]) -> None:
        if not self._is_begun:
            self._is_begun = True
            out.append(u.Start(message_id_of(turn_id), {OURS: {"turnId": turn_id}}))
            if not self._after:
                out.append(u.StartStep())

    def _state(self, status: Status, out: list[u.Chunk]) -> None:
        """Ends the stream if the turn waits for a person. The answer continues it."""
        turn_id = self._reader.turn_id
        waits = any(request.turn_id == turn_id for request in status.requests)
        if turn_id is not None and waits and not self._open:
            self.is_over = True
            ours = {"turnId": turn_id, "state": "waiting", "sequence": self._last}
            out += [u.FinishStep(), u.Finish("tool-calls", {OURS: ours})]

    def _end(self, end: TurnEnd, out: list[u.Chunk]) -> None:
        self.is_over = True
        for block_id in list(self._open):
            self._drop(block_id, out)
        metadata = end_metadata(end, cast("int", self._reader.turn_id))
        if end.usage is not None:
            out.append(u.DataChunk("data-usage", "usage", end.usage))
        out.append(u.FinishStep())
        if end.interrupted:
            out += [u.MessageMetadata(metadata), u.Abort()]
        elif end.is_error:
            said = end.error.message if end.error is not None else "The turn has failed."
            out += [u.MessageMetadata(metadata), u.Error(said)]
        else:
            out.append(u.Finish(_REASONS.get(end.stop_reason or "", "stop"), metadata))

    # --- blocks -----------------------------------------------------------------------------------

    def _text(self, block: p.Chunk | p.Thinking, out: list[u.Chunk]) -> None:
        start, end = (
            (u.TextStart, u.TextEnd)
            if isinstance(block, p.Chunk)
            else (u.ReasoningStart, u.ReasoningEnd)
        )
        kind = "text" if isinstance(block, p.Chunk) else "reasoning"
        if block.partial:
            self._grow(block, kind, start(block.block_id, about_block(block)), out)
            return
        sent = self._open.pop(block.block_id, None)
        if sent is None and block.block_id in self._kinds:
            return  # a late repeat
        text = "".join(sent or ())
        if sent is not None and not block.text.startswith(text):
            out.append(end(block.block_id, {OURS: {"discarded": True}}))
            sent, text = None, ""
        if sent is None:
            out.append(start(block.block_id, about_block(block)))
        self._kinds[block.block_id] = kind
        if rest := block.text[len(text) :]:
            out.append(
                u.TextDelta(block.block_id, rest)
                if kind == "text"
                else u.ReasoningDelta(block.block_id, rest)
            )
        out.append(end(block.block_id, about_block(block)))
        if isinstance(block, p.Chunk):
            out += sources_of(block)

    def _grow(
        self,
        block: p.Chunk | p.Thinking | p.ToolCall,
        kind: str,
        start: u.Chunk,
        out: list[u.Chunk],
    ) -> None:
        pieces = self._open.get(block.block_id)
        text = _piece(block)
        if pieces is None:
            if block.block_id in self._kinds:
                return  # the block is finished
            self._open[block.block_id] = [text]
            self._kinds[block.block_id] = kind
            out.append(start)
            if text:
                out.append(delta_of(block))
        elif block.snapshot:
            sent = "".join(pieces)
            if rest := text[len(sent) :]:
                pieces.append(rest)
                out.append(_DELTAS[kind](block.block_id, rest))
        else:
            pieces.append(text)
            out.append(delta_of(block))

    def _tool_call(self, call: p.ToolCall, out: list[u.Chunk]) -> None:
        name = call.tool_use_id
        if call.partial:
            if name not in self._names or call.block_id in self._open:
                self._names[name] = call.tool_name
                self._grow(call, "tool", u.ToolInputStart(name, call.tool_name), out)
            return
        self._open.pop(call.block_id, None)
        self._kinds[call.block_id] = "tool"
        self._names[name] = call.tool_name
        if call.input_text is not None:
            said = "The input is not valid JSON."
            out.append(u.ToolInputError(name, call.tool_name, call.input_text, said))
        else:
            out.append(u.ToolInputAvailable(name, call.tool_name, call.input))

    def _block(self, block: p.OtherBlock, out: list[u.Chunk]) -> None:
        if not block.partial:
            out.append(file_of(block) or u.DataChunk("data-block", block.block_id, block.block))

    def _discarded(self, void: p.Discarded, out: list[u.Chunk]) -> None:
        for block_id in void.block_ids:
            if block_id in self._open:
                self._drop(block_id, out)
                del self._kinds[block_id]

    def _drop(self, block_id: str, out: list[u.Chunk]) -> None:
        """Ends a block that will never be finished. A stream cannot take text back."""
        text = "".join(self._open.pop(block_id))
        mark = {OURS: {"discarded": True}}
        kind = self._kinds[block_id]
        if kind == "tool":
            name = self._names.pop(block_id)
            out.append(u.ToolInputError(block_id, name, text, "The call was discarded."))
        else:
            out.append((u.TextEnd if kind == "text" else u.ReasoningEnd)(block_id, mark))

    # --- tools ------------------------------------------------------------------------------------

    def _progress(self, progress: p.ToolProgressed, out: list[u.Chunk]) -> None:
        name = progress.tool_use_id
        if name in self._names and progress.output:
            shown = (self._outputs.get(name, "") + progress.output)[-_MOST_OUTPUT:]
            self._outputs[name] = shown
            out.append(u.ToolProgress(name, shown))

    def _result(self, result: p.ToolResult, out: list[u.Chunk]) -> None:
        name = result.tool_use_id
        self._outputs.pop(name, None)
        if name not in self._names:
            return  # of a question, or of a call of another turn: its part is in another message
        output = output_of(result)
        if result.is_error:
            text = output if isinstance(output, str) else "The tool has failed."
            out.append(u.ToolOutputError(name, text))
        else:
            out.append(u.ToolOutputAvailable(name, output))

    # --- requests ---------------------------------------------------------------------------------

    def _question(self, asked: p.RequestInput, out: list[u.Chunk]) -> None:
        chunk = u.DataChunk("data-question", asked.question_id, question_data(asked))
        self._data[asked.question_id] = chunk
        out.append(chunk)

    def _permission(self, asked: p.PermissionAsked, out: list[u.Chunk]) -> None:
        chunk = u.DataChunk("data-permission", asked.request_id, permission_data(asked))
        self._data[asked.request_id] = chunk
        if asked.tool_use_id not in self._names:  # the agent asks before it announces the call
            self._names[asked.tool_use_id] = asked.tool_name
            out.append(u.ToolInputAvailable(asked.tool_use_id, asked.tool_name, asked.input))
        if self._version > 5:
            out.append(u.ToolApprovalRequest(asked.request_id, asked.tool_use_id))
        out.append(chunk)

    def _resolved(self, resolved: p.RequestResolved, out: list[u.Chunk]) -> None:
        asked = self._data.get(resolved.request_id)
        if asked is not None:
            out.append(u.DataChunk(asked.type, asked.id, resolved_data(asked.data, resolved)))

    # --- news -------------------------------------------------------------------------------------

    def _system(self, news: p.SystemNews, out: list[u.Chunk]) -> None:
        if news.subtype == "plan" and news.message_sequence is not None:
            out.append(u.DataChunk("data-plan", "plan", news.data))


_DELTAS: dict[str, Callable[[str, str], u.Chunk]] = {
    "text": u.TextDelta,
    "reasoning": u.ReasoningDelta,
    "tool": u.ToolInputDelta,
}
_REASONS: dict[str, Any] = {"max_tokens": "length", "refusal": "other"}


def _piece(block: p.Chunk | p.Thinking | p.ToolCall) -> str:
    return (block.input_text or "") if isinstance(block, p.ToolCall) else block.text
