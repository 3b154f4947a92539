"""Recorded streams as runs of AG-UI, uncut or cut and resumed, and what a reader has of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.recorded_streams import events_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import to_json
from turnwire.core.status import Status
from turnwire.core.view import View
from turnwire.dialects.agui import events as e
from turnwire.dialects.agui.messages import MessagesBuilder
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine.recording_view import Recording
from turnwire.turn_streams.agui.writer import AguiWriter, Run, messages_of
from turnwire.turn_streams.place import StreamPlace, place_of

__all__ = [
    "assembled",
    "decoded",
    "frames_of",
    "history",
    "plain",
    "recorded_frames",
    "recording",
    "runs_of",
    "view_of",
]

START = StreamPlace(0)
RUN = Run("thread-1", "run-1", {"mine": 1})


def recording() -> Recording:
    return Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=True)


def recorded_frames(events: Sequence[NormalizedStreamEvent]) -> list[list[f.Frame]]:
    """Returns the frames of a connection, by the event that they are about."""
    whole = recording()
    out = [whole.connect()]
    out += [whole.feed(event) for event in events]
    return [*out, whole.finish()]


def frames_of(path: Path) -> list[f.Frame]:
    """Returns the frames of a recorded stream of Claude Code."""
    events = events_of(path.read_bytes().splitlines())
    return [frame for some in recorded_frames(events) for frame in some]


def runs_of(
    frames: Iterable[f.Frame], place: StreamPlace | None = START, run: Run = RUN
) -> tuple[list[list[e.Event]], AguiWriter]:
    """Returns the runs of a client that begins another one as soon as one has ended."""
    out: list[list[e.Event]] = [[]]
    writer = AguiWriter(run, place)
    before: list[f.Frame] = []
    for frame in frames:
        if writer.is_over:
            writer = AguiWriter(run, place_of(writer.event_id or ""))
            out.append([each for known in before for each in writer.feed(known)])
        out[-1] += writer.feed(frame)
        if isinstance(frame, f.MessageReplay) or _is_entry(frame):
            before.append(frame)
    return [run for run in out if run], writer


def assembled(*streams: Iterable[e.Event]) -> Any:
    """Returns the messages of a client, as JSON."""
    builder = MessagesBuilder()
    for events in streams:
        for event in events:
            builder.add(msgspec.json.decode(msgspec.json.encode(event), type=e.Event))
    return to_json(builder.messages)


def history(frames: Sequence[f.Frame]) -> Any:
    """Returns the messages of a log, as JSON."""
    states = [each.payload for each in frames if isinstance(each, f.SessionState)]
    status = states[-1] if states else Status("active", False, [], [])
    kept = [each for each in frames if _is_entry(each) or isinstance(each, f.AssistantComplete)]
    return to_json(messages_of(kept, status, "/api/blobs/{}".format))


def _is_entry(frame: f.Frame) -> bool:
    payload: Any = frame.payload  # type: ignore[attr-defined]
    return getattr(payload, "message_sequence", None) is not None


def view_of(frames: Iterable[f.Frame]) -> View:
    """Returns our own view of a connection."""
    reducer = ViewReducer()
    for number, frame in enumerate(frames, 1):
        numbered: Any = msgspec.structs.replace(frame, sequence=number)
        reducer.apply(numbered)
    return reducer.view()


def decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def plain(content: Any) -> Any:
    match content:
        case [{"type": "text", "text": str(text)}]:
            return decoded(text)
        case str():
            return decoded(content)
        case _:
            return content
