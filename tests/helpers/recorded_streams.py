"""Recorded streams of Claude Code, and functions for each stage of the translation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
from turnwire.core.view import View
from turnwire.dialects import claude, rpc
from turnwire.dialects.claude import Line
from turnwire.dialects.rpc import RpcMessage
from turnwire.errors import BadLine

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDED = sorted(
    path for path in (FIXTURES / "claude").glob("*.jsonl") if not path.name.endswith(".io.jsonl")
)
BOTH_DIRECTIONS = sorted((FIXTURES / "claude").glob("*.io.jsonl"))


def recorded(name: str) -> list[bytes]:
    """The lines of one recorded stream."""
    return (FIXTURES / "claude" / f"{name}.jsonl").read_bytes().splitlines()


def line(frame: dict[str, Any], number: int = 1) -> Line:
    """A frame as the adapter gets it."""
    return claude.decode(json.dumps(frame).encode(), number)


def events_of(lines: Iterable[bytes | dict[str, Any]]) -> list[NormalizedStreamEvent]:
    """Returns the events of a whole stream, with its end."""
    adapter = claude.ClaudeStreamAdapter()
    raw = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines)
    events: list[NormalizedStreamEvent] = []
    for read in claude.read(raw):
        assert not isinstance(read, BadLine), read
        events += adapter.feed(read)
    return events + adapter.finish()


def ui_of(events: Iterable[NormalizedStreamEvent]) -> list[UiStreamEvent]:
    """Returns the UI events of these events."""
    return UiStreamAdapter().feed_all(events)


def rpc_of(
    ui_events: Iterable[UiStreamEvent], bridge: rpc.RpcBridge | None = None
) -> list[RpcMessage]:
    """Returns the RPC messages of these UI events."""
    return (bridge or rpc.RpcBridge()).feed_all(ui_events)


def folded(messages: Iterable[RpcMessage]) -> View:
    """Returns the view of an RPC client that reads the encoded messages."""
    transcript = rpc.Transcript()
    for message in messages:
        transcript.apply(rpc.decode(rpc.encode(message)))
    return transcript.view()


def check_order(messages: Iterable[RpcMessage]) -> None:
    """RPC section 1.4: message_start, then blocks, then message_delta, then message_stop."""
    open_blocks: dict[str | None, set[int]] = {}
    for message in messages:
        if not isinstance(message, rpc.messages.RpcStreamEvent):
            continue
        voice, event = message.parent_tool_use_id, message.event
        match event:
            case rpc.messages.RpcMessageStartEvent():
                assert voice not in open_blocks
                open_blocks[voice] = set()
            case rpc.messages.RpcContentBlockStartEvent():
                assert event.index not in open_blocks[voice]
                open_blocks[voice].add(event.index)
            case rpc.messages.RpcContentBlockDeltaEvent():
                assert event.tool_use_id is not None or event.index in open_blocks[voice]
            case rpc.messages.RpcContentBlockStopEvent():
                open_blocks[voice].remove(event.index)
            case rpc.messages.RpcMessageStopEvent():
                assert event.discarded_from is not None or not open_blocks[voice]
                del open_blocks[voice]
    assert not open_blocks
