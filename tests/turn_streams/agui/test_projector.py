"""The projector of AG-UI keeps the promises of the port."""

from __future__ import annotations

import json

from turnwire.dialects.agui import events as e
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.testing import check_projector
from turnwire.turn_streams.agui.sent import AguiSent, event_of
from turnwire.turn_streams.stream_projector import StreamProjector


def test_the_projector_keeps_the_promises_of_the_port() -> None:
    check_projector(lambda: StreamProjector("talk", AguiSent))


def test_a_piece_is_encoded_once_for_all_readers() -> None:
    here = ("talk", 1, None, "2026-01-01T12:00:00.000Z", None)
    pieces = {
        "TEXT_MESSAGE_CONTENT": f.AssistantChunk(*here, p.Chunk("m:0", "m", 0, True, "a", 1)),
        "REASONING_MESSAGE_CONTENT": f.AssistantThinking(
            *here, p.Thinking("m:0", "m", 0, True, "a", 1)
        ),
        "TOOL_CALL_ARGS": f.AssistantToolCall(
            *here, p.ToolCall("t", "m", 0, True, "t", "Read", chunk_seq=1)
        ),
    }
    for kind, each in ((kind, AguiSent(frame)) for kind, frame in pieces.items()):
        assert json.loads(each.delta.removeprefix(b"data: "))["type"] == kind
        assert each.delta is each.delta


def test_an_event_has_no_nulls() -> None:
    outcome = e.Outcome("success")
    assert event_of(e.RunFinished("t", "r", outcome)) == (
        b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}\n\n'
    )
    assert event_of(e.ReasoningMessageStart("m")) == (
        b'data: {"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}\n\n'
    )
