"""UI messages: assembles the chunks of a stream, as the package `ai` does, and the whole history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from turnwire.core.content import Content, FileContent, ImageContent, TextContent
from turnwire.core.status import Status
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.aisdk.writer import UiWriter
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.reply import ReplyReader

__all__ = ["MessageBuilder", "UiMessage", "history_of"]

UiMessage: TypeAlias = dict[str, Any]  # `id`, `role`, `parts` and `metadata`, as JSON


class MessageBuilder:
    """Assembles the message of one stream."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._metadata: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._active: dict[str, dict[str, Any]] = {}  # growing texts
        self._tools: dict[str, dict[str, Any]] = {}

    @property
    def message(self) -> UiMessage | None:
        """The message so far; None if the stream has not begun."""
        if self._id is None:
            return None
        told: UiMessage = {"id": self._id, "role": "assistant", "parts": self._parts}
        return {**told, "metadata": self._metadata} if self._metadata else told

    def add(self, chunk: u.Chunk) -> None:
        """Adds a chunk."""
        match chunk:
            case u.Start():
                self._id = chunk.message_id
                self._merge(chunk.message_metadata)
            case u.MessageMetadata() | u.Finish():
                self._merge(chunk.message_metadata)
            case u.StartStep():
                self._parts.append({"type": "step-start"})
            case u.TextStart():
                self._begin(chunk, {"type": "text", "text": "", "state": "streaming"})
            case u.ReasoningStart():
                begun = {"type": "reasoning", "id": chunk.id, "text": "", "state": "streaming"}
                self._begin(chunk, begun)
            case u.TextDelta() | u.ReasoningDelta():
                self._active[chunk.id]["text"] += chunk.delta
            case u.TextEnd() | u.ReasoningEnd():
                part = self._active.pop(chunk.id)
                part["state"] = "done"
                if chunk.provider_metadata is not None:
                    part["providerMetadata"] = chunk.provider_metadata
            case u.File() | u.SourceUrl() | u.SourceDocument():
                self._parts.append(msgspec.to_builtins(chunk))
            case u.DataChunk():
                self._data(chunk)
            case _:
                self._tool(chunk)

    def _merge(self, metadata: Any) -> None:
        for name, value in (metadata or {}).items():
            self._metadata[name] = {**self._metadata.get(name, {}), **value}

    def _begin(self, chunk: u.TextStart | u.ReasoningStart, part: dict[str, Any]) -> None:
        if chunk.provider_metadata is not None:
            part["providerMetadata"] = chunk.provider_metadata
        self._active[chunk.id] = part
        self._parts.append(part)

    def _data(self, chunk: u.DataChunk) -> None:
        told = {"type": chunk.type, "id": chunk.id, "data": msgspec.to_builtins(chunk.data)}
        for part in self._parts:
            if (part["type"], part.get("id")) == (chunk.type, chunk.id):
                part["data"] = told["data"]
                return
        self._parts.append(told)

    def _tool(self, chunk: u.Chunk) -> None:
        """Adds a chunk of a tool call. Other kinds do not change the message."""
        match chunk:
            case u.ToolInputStart():
                self._call(chunk.tool_call_id, chunk.tool_name, state="input-streaming")
            case u.ToolInputAvailable():
                ready = {"state": "input-available", "input": chunk.input}
                self._call(chunk.tool_call_id, chunk.tool_name, **ready)
            case u.ToolInputError():
                wrong = {"state": "output-error", "input": chunk.input}
                wrong["errorText"] = chunk.error_text
                self._call(chunk.tool_call_id, chunk.tool_name, **wrong)
            case u.ToolApprovalRequest():
                part = self._tools[chunk.tool_call_id]
                part |= {"state": "approval-requested", "approval": {"id": chunk.approval_id}}
            case u.ToolOutputAvailable():
                part = self._tools[chunk.tool_call_id]
                part |= {"state": "output-available", "output": chunk.output}
                part.pop("preliminary", None)
            case u.ToolProgress():
                part = self._tools[chunk.tool_call_id]
                part |= {"state": "output-available", "output": chunk.output, "preliminary": True}
            case u.ToolOutputError():
                part = self._tools[chunk.tool_call_id]
                part |= {"state": "output-error", "errorText": chunk.error_text}
                part.pop("output", None)
                part.pop("preliminary", None)
            case _:
                pass

    def _call(self, name: str, tool_name: str, **now: Any) -> None:
        part = self._tools.get(name)
        if part is None:
            part = {"type": "dynamic-tool", "toolCallId": name, "providerExecuted": True}
            self._tools[name] = part
            self._parts.append(part)
        part |= {"toolName": tool_name, **now}


def history_of(
    frames: Iterable[f.Frame],
    status: Status,
    *,
    version: int = 7,
    blob_url: Callable[[str], str] = "/api/blobs/{}".format,
) -> list[UiMessage]:
    """Returns the messages of a conversation, in order.

    The message of a turn is what its stream assembles to, with what came after the end of the turn.
    The message of a turn that runs is left out: its stream has it. `status` is that of the end.
    """
    turns: dict[int, tuple[UiWriter, MessageBuilder]] = {}
    order: list[UiMessage | int] = []
    for frame in frames:
        if isinstance(frame, f.UserMessage) and _is_a_persons(frame):
            order.append(_user_message(frame, blob_url))
        turn_id = frame.turn_id
        if turn_id is None:
            continue
        if turn_id not in turns:
            reader = ReplyReader("", after=0)
            reader.acknowledged(turn_id, None)
            turns[turn_id] = UiWriter(reader, version=version), MessageBuilder()
            order.append(turn_id)
        _add(*turns[turn_id], frame)
    running = status.turn_id
    if running in turns:
        writer, builder = turns[running]
        for chunk in writer.feed(f.SessionState("", None, None, "", None, status)):
            builder.add(chunk)
        if not writer.is_over:
            del turns[running]
    out: list[UiMessage] = []
    for each in order:
        if not isinstance(each, int):
            out.append(each)
        elif each in turns and (told := turns[each][1].message) is not None:
            out.append(told)
    return out


def _add(writer: UiWriter, builder: MessageBuilder, frame: f.Frame) -> None:
    for chunk in writer.feed(frame):
        builder.add(chunk)
    writer.is_over = False  # background work may go on after the end of its turn


def _is_a_persons(said: f.UserMessage) -> bool:
    return said.payload.origin == "user" and said.payload.parent_tool_use_id is None


def _user_message(said: f.UserMessage, blob_url: Callable[[str], str]) -> UiMessage:
    words = said.payload
    name = words.client_message_id or f"message-{words.message_sequence}"
    parts = [_user_part(each, blob_url) for each in words.content]
    ours = {"sequence": words.message_sequence, "by": words.by}
    return {"id": name, "role": "user", "parts": parts, "metadata": {"turnwire": ours}}


def _user_part(content: Content, blob_url: Callable[[str], str]) -> dict[str, Any]:
    match content:
        case TextContent():
            return {"type": "text", "text": content.text}
        case ImageContent() | FileContent():
            media_type = content.mime_type or "application/octet-stream"
            part = {"type": "file", "mediaType": media_type, "url": ""}
            if content.blob is not None:
                part["url"] = blob_url(content.blob.blob_id)
            elif isinstance(content, FileContent):
                part |= {"url": content.path, "filename": content.path}
            elif content.data is not None:
                part["url"] = f"data:{media_type};base64,{content.data}"
            else:
                part["url"] = content.url or ""
            return part
        case _:
            return {"type": "data-content", "id": content.original_type, "data": content.data}
