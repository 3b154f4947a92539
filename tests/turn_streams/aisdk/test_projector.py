"""The projector of the AI SDK keeps the promises of the port."""

from __future__ import annotations

import json

from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.relayed import pack
from turnwire.testing import check_projector
from turnwire.turn_streams.aisdk.sent import UiSent, event_of
from turnwire.turn_streams.stream_projector import StreamProjector, unpack


def test_the_projector_keeps_the_promises_of_the_port() -> None:
    check_projector(lambda: StreamProjector("talk", UiSent))


def test_a_piece_is_encoded_once_for_all_readers() -> None:
    here = ("talk", 1, None, "2026-01-01T12:00:00.000Z", None)
    pieces = {
        "text-delta": f.AssistantChunk(*here, p.Chunk("m:0", "m", 0, True, "a", 1)),
        "reasoning-delta": f.AssistantThinking(*here, p.Thinking("m:0", "m", 0, True, "a", 1)),
        "tool-input-delta": f.AssistantToolCall(
            *here, p.ToolCall("t", "m", 0, True, "t", "Read", chunk_seq=1)
        ),
    }
    sent = [UiSent(frame) for frame in pieces.values()]
    for kind, each in zip(pieces, sent, strict=True):
        assert json.loads(each.delta.removeprefix(b"data: "))["type"] == kind
        assert each.delta is each.delta
    assert [each.delta for each in unpack(pack(sent), UiSent)] == [each.delta for each in sent]


def test_the_event_of_an_entry_has_its_number() -> None:
    assert event_of(u.FinishStep(), "4") == b'id: 4\ndata: {"type":"finish-step"}\n\n'
