"""Random input: no decoder crashes, and no line affects its neighbours."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.recorded_streams import RECORDED, check_order
from tests.helpers.shown_content import check_ids
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
from turnwire.dialects import claude, rpc
from turnwire.dialects.claude import Line
from turnwire.errors import BadLine

LINES = [raw for path in RECORDED for raw in path.read_bytes().splitlines()]
FRAMES = [json.loads(raw) for raw in LINES]

EVENTS: Any = msgspec.json.Decoder(NormalizedStreamEvent)
UI_EVENTS: Any = msgspec.json.Decoder(UiStreamEvent)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["user", "text", "tool_use", "tool_result", "m1", "t1", "unknown", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@st.composite
def bent_frames(draw: st.DrawFn) -> Any:
    """A recorded frame with something in it, at any depth, replaced, removed or added."""
    frame = json.loads(json.dumps(draw(st.sampled_from(FRAMES))))
    for _ in range(draw(st.integers(1, 3))):
        place = frame
        while True:
            inner = [v for v in (place.values() if isinstance(place, dict) else place) if v]
            deeper = [v for v in inner if isinstance(v, dict | list)]
            if not deeper or draw(st.booleans()):
                break
            place = draw(st.sampled_from(deeper))
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        what = draw(st.sampled_from(["replace", "remove", "add"]))
        if what == "add" and isinstance(place, dict):
            place[draw(st.text(max_size=5))] = draw(json_values)
        elif keys and what == "remove":
            del place[draw(st.sampled_from(keys))]
        elif keys:
            place[draw(st.sampled_from(keys))] = draw(json_values)
    return frame


@st.composite
def bent_bytes(draw: st.DrawFn) -> bytes:
    """A recorded line with some of its bytes changed, cut off or repeated."""
    raw = bytearray(draw(st.sampled_from(LINES)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(raw)))
        piece = draw(
            st.binary(max_size=4)
            | st.sampled_from([b"\\ud83d", b"\\udc00", b"\x00", b"\xff", b"[" * 5000, b"1e999"])
        )
        end = at + draw(st.integers(0, 6))
        raw[at:end] = piece
    return bytes(raw).replace(b"\n", b" ")


noise = st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b" "))
anything = bent_frames().map(lambda frame: json.dumps(frame).encode()) | bent_bytes() | noise


def through_the_chain(lines: list[bytes]) -> list[Line | BadLine]:
    """Runs every stage; its output must be JSON that its own decoder reads back unchanged."""
    adapter, ui_adapter = claude.ClaudeStreamAdapter(), UiStreamAdapter()
    bridges = [
        rpc.RpcBridge(),
        rpc.RpcBridge(tool_progress="text_delta", system=True),
        rpc.RpcBridge(tool_progress="output_delta"),
    ]
    transcript = rpc.Transcript()
    sent: list[rpc.RpcMessage] = []
    found = list(claude.read(lines))
    events = [event for line in found if isinstance(line, Line) for event in adapter.feed(line)]
    for event in events + adapter.finish():
        written = msgspec.json.encode(event)
        assert msgspec.json.encode(EVENTS.decode(written)) == written
        for ui_event in ui_adapter.feed(event):
            written = msgspec.json.encode(ui_event)
            assert msgspec.json.encode(UI_EVENTS.decode(written)) == written
            for bridge in bridges:
                messages = bridge.feed(ui_event)
                if bridge is bridges[0]:
                    sent += messages
                for message in messages:
                    written = rpc.encode(message)
                    assert rpc.encode(rpc.decode(written)) == written
                    written.decode()
                    transcript.apply(message)
    msgspec.json.encode(transcript.view())
    check_ids(transcript.view())
    check_order(sent)
    return found


@given(st.lists(anything, max_size=6))
def test_anything_at_all_is_a_line_or_a_bad_line(lines: list[bytes]) -> None:
    found = through_the_chain(lines)
    assert len(found) == sum(1 for raw in lines if raw.strip(b" \t\r\n"))


@given(anything)
def test_a_bad_line_leaves_its_neighbours_as_they_are(raw: bytes) -> None:
    before, after = LINES[5], LINES[6]
    found = list(claude.read([before, raw, after]))
    first, last = found[0], found[-1]
    assert isinstance(first, Line)
    assert isinstance(last, Line)
    assert (first.raw, last.raw, last.number) == (before, after, 3)


@given(st.lists(bent_frames(), max_size=12))
def test_a_stream_of_frames_that_lie_never_breaks_the_chain(frames: list[Any]) -> None:
    through_the_chain([json.dumps(frame).encode() for frame in frames])


@given(st.data())
def test_a_stream_with_lines_missing_doubled_or_moved_never_breaks_the_chain(
    data: st.DataObject,
) -> None:
    path = data.draw(st.sampled_from(RECORDED))
    lines = path.read_bytes().splitlines()
    picked = data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=40))
    through_the_chain([lines[i] for i in picked])


@given(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
def test_the_rpc_decoder_knows_only_messages_and_bad_lines(raw: bytes) -> None:
    try:
        message = rpc.decode(raw)
    except BadLine:
        return
    transcript = rpc.Transcript()
    transcript.apply(message)
    transcript.view()
