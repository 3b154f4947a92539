"""Normalized events made by hand, and their deltas, messages and entries."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, get_args

import msgspec
from hypothesis import strategies as st
from msgspec import Raw

from turnwire.core import events as ev
from turnwire.core.assembler import Assembled, Assembler, check_message
from turnwire.core.blocks import (
    ContentBlock,
    ErrorBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from turnwire.core.deltas import DeltaStream
from turnwire.core.entries import EntryStream
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message
from turnwire.core.message_codec import decode_delta, decode_message, encode
from turnwire.core.message_deltas import MessageDelta
from turnwire.core.usage import Usage

RUN = "conv:1"
WHO = ("claude", "sess-xyz", None, None)
SUB = ("claude", "sess-xyz", "toolu_task", "agent-7")  # a sub-agent under its tool call


def deltas_of(events: Iterable[Any]) -> list[MessageDelta]:
    """Returns the deltas of these events, as read from the wire."""
    stream = DeltaStream()
    out = [delta for event in events for delta in stream.feed(event, run_id=RUN, now="12:00")]
    return [decode_delta(encode(delta)) for delta in out + stream.finish(now="12:01")]


def entries_of(events: Iterable[Any]) -> list[Message]:
    """Returns the log entries of these events, as read from the wire."""
    stream = EntryStream()
    out = [entry for event in events for entry in stream.feed(event, run_id=RUN, now="12:00")]
    return [decode_message(encode(entry)) for entry in out]


def assembled(stream: Iterable[MessageDelta]) -> dict[str, Assembled]:
    """Returns each message of a mixed stream by its id."""
    assemblers: dict[str, Assembler] = {}
    for delta in stream:
        name = delta.payload.message_id  # type: ignore[union-attr]  # ours are never unknown
        assert name is not None
        assert assemblers.setdefault(name, Assembler()).feed(delta) == []
    return {name: assembler.finish() for name, assembler in assemblers.items()}


def messages_of(events: Iterable[Any]) -> dict[str, Message]:
    """The messages that the deltas come to, none of which may break a rule."""
    found: dict[str, Message] = {}
    for name, result in assembled(deltas_of(events)).items():
        assert result.violations == []
        if result.message is not None:
            assert check_message(result.message) == []
            found[name] = result.message
    return found


def wire(thing: Any) -> Any:
    return json.loads(msgspec.json.encode(thing))


def said(text: str) -> TextBlock:
    return TextBlock(text, "completed")


def call(tool_id: str, arguments: Any = None, text: str | None = None) -> ToolUseBlock:
    return ToolUseBlock(tool_id, "Read", "CLAUDE_READ", arguments, "in_progress", text)


def result(tool_id: str, content: Any = "ok", *, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_id, content, is_error, "failed" if is_error else "completed")


def frame(index: int, *content: ContentBlock, **more: Any) -> ev.AssistantMessage:
    return ev.AssistantMessage(*WHO, "msg_1", index, list(content), **more)


def started(message_id: str = "msg_1") -> ev.MessageStarted:
    return ev.MessageStarted(*WHO, message_id, "claude-x")


def begins(index: int, block: ContentBlock) -> ev.ContentStarted:
    return ev.ContentStarted(*WHO, "msg_1", index, block)


def piece(index: int, text: str, kind: ev.DeltaKind = "text") -> ev.ContentDelta:
    return ev.ContentDelta(*WHO, "msg_1", index, kind, text)


def ends(index: int, block: ContentBlock) -> ev.ContentCompleted:
    return ev.ContentCompleted(*WHO, "msg_1", index, block)


def completed(**more: Any) -> ev.MessageCompleted:
    return ev.MessageCompleted(*WHO, "msg_1", **more)


def discarded(from_index: int, reason: str = "abandoned") -> ev.MessageDiscarded:
    return ev.MessageDiscarded(*WHO, "msg_1", from_index, reason)


@st.composite
def any_event(draw: st.DrawFn) -> NormalizedStreamEvent:
    """Events of two voices with two messages each, in no order at all."""
    who = draw(st.sampled_from([WHO, SUB]))
    name = f"{draw(st.sampled_from(['a', 'b']))}-{who[2]}"
    index = draw(st.integers(0, 2))
    found: list[ContentBlock] = [
        said("x"),
        ThinkingBlock("x", "completed", "sig"),
        call(f"{name}-{index}", {"a": 1}),
        call(f"{name}-{index}"),
        result(f"{name}-{index}"),
        ErrorBlock("x", "failed"),
    ]
    block = draw(st.sampled_from(found))
    kind = draw(st.sampled_from(get_args(ev.DeltaKind)))
    events: list[NormalizedStreamEvent] = [
        ev.MessageStarted(*who, name),
        ev.ContentStarted(*who, name, index, block),
        ev.ContentDelta(*who, name, index, kind, "x"),
        ev.ContentCompleted(*who, name, index, block),
        ev.AssistantMessage(*who, name, index, [block]),
        ev.UsageUpdated(*who, Usage(1, 1), name),
        ev.MessageCompleted(*who, name),
        ev.MessageDiscarded(*who, name, index, "abandoned"),
        ev.UserMessage(*who, [block], "tool"),
        ev.TurnCompleted(*who),
        ev.SessionInit(*who),
        ev.SystemEvent(*who, "compact_boundary", Raw(b'{"uuid":"u-1"}')),
        ev.SystemEvent(*who, "status", ephemeral=True),
        ev.UnknownEvent(*who, "novel"),
        ev.PlanUpdated(*who, []),
    ]
    return draw(st.sampled_from(events))


# --- the other side of a recorded stream -----------------------------------------------------


def said_by_the_frames(lines: list[bytes]) -> dict[str, list[Any]]:
    """Returns each message's parts on the wire, read from the assistant frames without Turnwire's code."""
    found: dict[str, list[Any]] = {}
    for raw in lines:
        line = json.loads(raw)
        if line["type"] == "assistant":
            parts = [as_part(block) for block in line["message"]["content"]]
            found.setdefault(line["message"]["id"], []).extend(parts)
    return found


def as_part(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {"kind": "text", "payload": {"text": block["text"]}}
        case "thinking":
            payload = {"text": block["thinking"], "signature": block["signature"]}
            return {"kind": "thinking", "payload": payload}
        case "tool_use":
            payload = {
                "toolCallId": block["id"],
                "toolName": block["name"],
                "arguments": block["input"],
            }
            return {"kind": "tool_call", "payload": payload}
        case kind:
            raise AssertionError(f"the recordings have no {kind}")


def on_the_wire(messages: dict[str, Message]) -> dict[str, list[Any]]:
    found = {name: wire(message.parts) for name, message in messages.items()}
    for parts in found.values():
        for part in parts:
            part["payload"].pop("toolType", None)  # ours
            part["payload"].pop("asks", None)  # ours as well
    return found


def without_stream_events(lines: list[bytes]) -> list[bytes]:
    return [raw for raw in lines if json.loads(raw)["type"] != "stream_event"]
