"""Recorded streams as UI message streams: cuts lose nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agents.helpers.session_driver import talking
from tests.helpers.all_recordings import DEMO_SCENES, RECORDINGS, events_in
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
from tests.turn_streams.aisdk.helpers.trees import tree_of_ui, tree_of_view
from turnwire.agents.demo import DemoAgent
from turnwire.core.events import NormalizedStreamEvent
from turnwire.engine.recording_view import Recording

GOES_ON = {"09c_subagent_background"}  # background work goes on after the end of a turn
SCENES = ["hello", "think", "use a tool", "make a plan", "a subagent", "error"]


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


@pytest.mark.parametrize("name", [*RECORDINGS, *(each for each in DEMO_SCENES if each != "long")])
def test_the_history_has_our_view_block_for_block(name: str) -> None:
    frames = [frame for some in recorded_frames(events_in(name)) for frame in some]
    assert tree_of_ui(history(frames)) == tree_of_view(frames)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_stream_that_is_resumed_after_any_event_is_the_same_message(path: Path) -> None:
    check_cuts(events_of(path.read_bytes().splitlines()))


@pytest.mark.parametrize("prompt", SCENES)
def test_a_scene_of_the_demo_that_is_resumed_after_any_event_is_the_same_message(
    prompt: str,
) -> None:
    async def play() -> list[NormalizedStreamEvent]:
        async with talking(DemoAgent(delay=0)) as ear:
            await ear.say(prompt)
            await ear.turn_ends()
            return list(ear.events)

    check_cuts(asyncio.run(play()))


def check_cuts(events: Sequence[NormalizedStreamEvent]) -> None:
    """Cuts the stream after each event: what the next one sends is the whole message."""
    whole = recorded_frames(events)
    flat = [frame for some in whole for frame in some]
    recording = Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=True)
    recording.connect()
    expected = {turn: shown(assembled(streams_of(flat, turn))) for turn in turns_in(flat)}
    assert expected
    for cut, event in enumerate(events):
        recording.feed(event)
        rest = [frame for some in whole[cut + 2 :] for frame in some]
        first = recording.connect()
        for turn_id in turns_in(rest)[:1]:
            resumed = assembled(streams_of(rest, turn_id, first=first))
            assert shown(resumed) == expected[turn_id], (cut, event)
