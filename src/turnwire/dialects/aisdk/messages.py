"""UI messages: assembles the chunks of a stream, as the package `ai` does."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from turnwire.dialects.aisdk import chunks as u

__all__ = ["MessageBuilder", "UiMessage"]

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
                if chunk.provider_metadata is not UNSET:
                    ready["callProviderMetadata"] = chunk.provider_metadata
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
