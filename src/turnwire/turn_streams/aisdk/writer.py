"""Writes one turn as a UI message stream, for one reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, TurnEnd
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.turn_streams.aisdk.parts import (
    OURS,
    about_block,
    about_call,
    end_metadata,
    error_text,
    file_of,
    output_of,
    permission_data,
    question_data,
    resolved_data,
    sources_of,
)
from turnwire.turn_streams.aisdk.sent import delta_of
from turnwire.turn_streams.growing_blocks import Growing
from turnwire.turn_streams.turn_writer import Handlers, TurnWriter

__all__ = ["UiWriter", "message_id_of"]

_MOST_OUTPUT = 16_384  # characters of a running tool's output that are sent
_REASONS: dict[str, Any] = {"max_tokens": "length", "refusal": "other"}
_DISCARDED: u.Metadata = {OURS: {"discarded": True}}


def message_id_of(turn_id: int) -> str:
    """Returns the id of the message that a turn is shown as."""
    return f"turn-{turn_id}"


class UiWriter(TurnWriter[u.Chunk]):
    """The stream of one turn."""

    def __init__(
        self,
        reader: ReplyReader,
        *,
        after: int = 0,
        version: int = 7,
        blob_url: Callable[[str], str] = "/api/blobs/{}".format,
    ) -> None:
        """`version`: of the package `ai` that reads the stream."""
        super().__init__(reader, after=after)
        self._version = version
        self._blob_url = blob_url
        self._names: dict[str, str] = {}  # of each tool call that was sent
        self._outputs: dict[str, str] = {}  # of tools that still run
        self._data: dict[str, u.DataChunk] = {}  # requests, by id

    def handlers(self) -> Handlers[u.Chunk]:
        """Returns the kinds of frames that become parts of the message."""
        return {
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

    # --- the message ------------------------------------------------------------------------------

    def begin(self, turn_id: int, out: list[u.Chunk]) -> None:
        """Begins the message, or continues it."""
        ours = {"turnId": turn_id, "conversation": self.conversation_id}
        out.append(u.Start(message_id_of(turn_id), {OURS: ours}))
        if not self.after:
            out.append(u.StartStep())

    def wait(self, turn_id: int, requests: list[OpenRequest], out: list[u.Chunk]) -> None:
        """Ends the stream. The answer continues it."""
        ours = {"turnId": turn_id, "state": "waiting", "sequence": self.last}
        out += [u.FinishStep(), u.Finish("tool-calls", {OURS: ours})]

    def end(self, turn_id: int, end: TurnEnd, out: list[u.Chunk]) -> None:
        """Ends the message."""
        metadata = end_metadata(end, turn_id)
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

    def error(self, refused: Refused) -> list[u.Chunk]:
        """Returns the chunk with the reason."""
        return [u.Error(refused.message)]

    # --- blocks -----------------------------------------------------------------------------------

    def _text(self, block: p.Chunk | p.Thinking, out: list[u.Chunk]) -> None:
        start, end = (
            (u.TextStart, u.TextEnd)
            if isinstance(block, p.Chunk)
            else (u.ReasoningStart, u.ReasoningEnd)
        )
        if block.partial:
            self._grow(block, start(block.block_id, about_block(block)), out)
            return
        finish = self.blocks.finish(block)
        if finish is None:
            return
        if finish.is_other:
            out.append(end(block.block_id, _DISCARDED))
        if finish.is_new:
            out.append(start(block.block_id, about_block(block)))
        if finish.text:
            out.append(delta_of(block, finish.text))
        out.append(end(block.block_id, about_block(block)))
        if isinstance(block, p.Chunk):
            out += sources_of(block)

    def _grow(self, block: Growing, start: u.Chunk, out: list[u.Chunk]) -> None:
        growth = self.blocks.grow(block)
        if growth is None:
            return
        if growth.is_new:
            out.append(start)
        if growth.text or not growth.is_new:
            out.append(delta_of(block, growth.text))

    def _tool_call(self, call: p.ToolCall, out: list[u.Chunk]) -> None:
        name = call.tool_use_id
        if call.partial:
            if name not in self._names or call.block_id in self.blocks:
                self._names[name] = call.tool_name
                self._grow(call, u.ToolInputStart(name, call.tool_name), out)
            return
        self.blocks.close(call)
        self._names[name] = call.tool_name
        if call.input_text is not None:
            said = "The input is not valid JSON."
            out.append(u.ToolInputError(name, call.tool_name, call.input_text, said))
        else:
            about = about_call(call)
            out.append(u.ToolInputAvailable(name, call.tool_name, call.input, about))

    def _block(self, block: p.OtherBlock, out: list[u.Chunk]) -> None:
        if not block.partial:
            file = file_of(block, self._blob_url)
            out.append(file or u.DataChunk("data-block", block.block_id, block.block))

    def _discarded(self, void: p.Discarded, out: list[u.Chunk]) -> None:
        for block_id in void.block_ids:
            if block_id in self.blocks:
                self.drop(block_id, out)
                self.blocks.forget(block_id)

    def drop(self, block_id: str, out: list[u.Chunk]) -> None:
        """Ends a block that will never be finished. A stream cannot take text back."""
        kind, text = self.blocks.drop(block_id)
        if kind == "tool":
            name = self._names.pop(block_id)
            out.append(u.ToolInputError(block_id, name, text, "The call was discarded."))
        else:
            out.append((u.TextEnd if kind == "text" else u.ReasoningEnd)(block_id, _DISCARDED))

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
        output = output_of(result)
        if name in self._names:
            text = u.ToolOutputError(name, error_text(output)) if result.is_error else None
            out.append(text or u.ToolOutputAvailable(name, output))
        elif name in self._data:  # what the agent was told of the answer to its question
            told = {"result": output, "isError": result.is_error}
            self._put_data(name, told, out)
        # Otherwise the call is of another turn: its part is in another message.

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
            call = (asked.tool_use_id, asked.tool_name, asked.input)
            out.append(u.ToolInputAvailable(*call, about_call(asked)))
        if self._version > 5:
            out.append(u.ToolApprovalRequest(asked.request_id, asked.tool_use_id))
        out.append(chunk)

    def _resolved(self, resolved: p.RequestResolved, out: list[u.Chunk]) -> None:
        if resolved.request_id in self._data:
            self._put_data(resolved.request_id, resolved_data(resolved), out)

    def _put_data(self, name: str, told: dict[str, Any], out: list[u.Chunk]) -> None:
        """Adds to the data of a request. The chunk replaces the part."""
        asked = self._data[name]
        self._data[name] = chunk = u.DataChunk(asked.type, asked.id, {**asked.data, **told})
        out.append(chunk)

    # --- news -------------------------------------------------------------------------------------

    def _system(self, news: p.SystemNews, out: list[u.Chunk]) -> None:
        if news.subtype == "plan" and news.message_sequence is not None:
            out.append(u.DataChunk("data-plan", "plan", news.data))
