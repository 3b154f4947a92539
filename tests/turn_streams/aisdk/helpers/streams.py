"""Recorded streams as UI message streams of their turns, uncut or cut and resumed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.recorded_streams import events_of
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.status import Status
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.aisdk.messages import MessageBuilder
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.engine.recording_view import Recording
from turnwire.turn_streams.aisdk.history import history_of
from turnwire.turn_streams.aisdk.writer import UiWriter

__all__ = [
    "assembled",
    "frames_of",
    "history",
    "recorded_frames",
    "shown",
    "streams_of",
    "turns_in",
]


def recorded_frames(events: Sequence[NormalizedStreamEvent]) -> list[list[f.Frame]]:
    """Returns the frames of a connection, by the event that they are about."""
    recording = Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=True)
    out = [recording.connect()]
    out += [recording.feed(event) for event in events]
    return [*out, recording.finish()]


def frames_of(path: Path) -> list[f.Frame]:
    """Returns the frames of a recorded stream of Claude Code."""
    events = events_of(path.read_bytes().splitlines())
    return [frame for some in recorded_frames(events) for frame in some]


def turns_in(frames: Sequence[f.Frame]) -> list[int]:
    """Returns the turns that frames are about, in order."""
    return list(dict.fromkeys(each.turn_id for each in frames if each.turn_id is not None))


def reader_of(turn_id: int) -> ReplyReader:
    reader = ReplyReader("", after=0)
    reader.acknowledged(turn_id, None)
    return reader


def is_entry(frame: f.Frame) -> bool:
    payload: Any = frame.payload  # type: ignore[attr-defined]
    return getattr(payload, "message_sequence", None) is not None


def streams_of(
    frames: Sequence[f.Frame], turn_id: int, *, version: int = 7, first: Sequence[f.Frame] = ()
) -> list[list[u.Chunk]]:
    """Returns the streams of one turn: a stream ends where the turn waits, and another continues.

    `first`: the first frames of the connection, as after a reconnect.
    """
    out: list[list[u.Chunk]] = []
    after, done = 0, 0
    everything = [*first, *frames]
    while done < len(everything):
        writer = UiWriter(reader_of(turn_id), after=after, version=version)
        chunks: list[u.Chunk] = []
        for frame in everything[:done]:
            if is_entry(frame) or isinstance(frame, f.MessageReplay):
                chunks += writer.feed(frame)
        while done < len(everything) and not writer.is_over:
            chunks += writer.feed(everything[done])
            done += 1
        out.append(chunks)
        match chunks[-1] if chunks else None:
            case u.Finish(message_metadata={"turnwire": {"state": "waiting", "sequence": number}}):
                after = number
            case _:
                break
    return out


def assembled(streams: Sequence[Sequence[u.Chunk]]) -> Any:
    """Returns the message of the streams, as JSON."""
    builder = MessageBuilder()
    for stream in streams:
        for chunk in stream:
            builder.add(chunk)
    return msgspec.json.decode(msgspec.json.encode(builder.message))


def kept_parts(message: Any) -> Any:
    """Returns a message without the parts that were discarded, which the log does not have."""
    parts = [
        part
        for part in message["parts"]
        if not part.get("providerMetadata", {}).get("turnwire", {}).get("discarded")
        and part.get("errorText") != "The call was discarded."
    ]
    return {**message, "parts": parts}


def shown(message: Any) -> Any:
    """Returns a message with its tools and data in an order of their own, after its texts.

    A stream places a call where its input begins, the log where it is complete. So of calls that
    grow at once, or wait for a permission meanwhile, the order may differ. A person's approval is
    in the history and in the client that sent it, not in a stream.
    """
    whole = kept_parts(message)
    whole["parts"] = [
        {name: value for name, value in part.items() if name != "approval"}
        if part.get("state") in ("output-available", "output-error")
        else part
        for part in whole["parts"]
    ]
    texts = [part for part in whole["parts"] if part["type"] in ("text", "reasoning")]
    others = [part for part in whole["parts"] if part["type"] not in ("text", "reasoning")]
    return {**whole, "parts": texts + sorted(others, key=partial(json.dumps, sort_keys=True))}


def history(frames: Sequence[f.Frame]) -> list[Any]:
    """Returns the history of a log, as JSON."""
    states = [each.payload for each in frames if isinstance(each, f.SessionState)]
    status = states[-1] if states else Status("active", False, [], [])
    kept = [each for each in frames if is_entry(each) or isinstance(each, f.AssistantComplete)]
    told: list[Any] = msgspec.json.decode(msgspec.json.encode(history_of(kept, status)))
    return told
