"""Recorded streams as UI message streams: cuts lose nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.recorded_streams import RECORDED, events_of
from tests.turn_streams.aisdk.helpers.streams import (
    assembled,
    frames_of,
    history,
    recorded_frames,
    shown,
    streams_of,
    turns_in,
)
from turnwire.engine.recording_view import Recording

GOES_ON = {"09c_subagent_background"}  # background work goes on after the end of a turn
CUTS = 60  # of one recording


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_history_is_what_the_streams_assemble_to(path: Path) -> None:
    frames = frames_of(path)
    answers = [each for each in history(frames) if each["role"] == "assistant"]
    by_turn = {each["id"]: each for each in answers}
    for turn_id in turns_in(frames):
        streamed = shown(assembled(streams_of(frames, turn_id)))
        told = shown(by_turn.pop(f"turn-{turn_id}"))
        if path.stem in GOES_ON:
            assert told["metadata"] == streamed["metadata"]
            assert len(told["parts"]) >= len(streamed["parts"]), "what came after the end is added"
        else:
            assert told == streamed
    assert not by_turn


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_stream_that_is_resumed_anywhere_is_the_same_message(path: Path) -> None:
    events = events_of(path.read_bytes().splitlines())
    whole = recorded_frames(events)
    recording = Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=True)
    recording.connect()
    expected: dict[int, Any] = {}
    every = max(1, len(events) // CUTS)
    for cut, event in enumerate(events):
        recording.feed(event)
        if cut % every:
            continue
        rest = [frame for some in whole[cut + 2 :] for frame in some]
        first = recording.connect()
        for turn_id in turns_in(rest)[:1]:
            if turn_id not in expected:
                flat = [frame for some in whole for frame in some]
                expected[turn_id] = shown(assembled(streams_of(flat, turn_id)))
            resumed = assembled(streams_of(rest, turn_id, first=first))
            assert shown(resumed) == expected[turn_id], (cut, event)
