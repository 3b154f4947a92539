"""Recordings of all agents as UI message streams, judged by the package `ai`. It needs npm."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.helpers.all_recordings import DEMO_SCENES, RECORDINGS, events_in
from tests.turn_streams.aisdk.helpers.judges import VERSIONS, judged
from tests.turn_streams.aisdk.helpers.streams import (
    assembled,
    recorded_frames,
    streams_of,
    turns_in,
)
from tests.turn_streams.aisdk.helpers.trees import begins, tree_of_ui, tree_of_view
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f

FOLDERS = ("claude", "claude_live", "codex", "acp", "demo")


def goes_on(frames: Sequence[f.Frame]) -> bool:
    """Returns whether background work goes on after the end of its turn, which ends the stream."""
    ended: set[int] = set()
    for frame in frames:
        if isinstance(frame, f.AssistantComplete) and frame.turn_id is not None:
            ended.add(frame.turn_id)
        elif frame.turn_id in ended:
            return True
    return False


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_package_has_our_view_of_every_recording_block_for_block(
    folder: str, version: int
) -> None:
    names = [each for each in RECORDINGS if each.startswith(f"{folder}/")] or DEMO_SCENES
    conversations = [
        [frame for some in recorded_frames(events_in(name)) for frame in some] for name in names
    ]
    cases = [
        [streams_of(frames, turn_id, version=version) for turn_id in turns_in(frames)]
        for frames in conversations
    ]
    told = iter(judged(version, [case for each in cases for case in each]))
    for name, frames, turns in zip(names, conversations, cases, strict=True):
        messages = []
        for streams in turns:
            heard = next(told)
            message = heard.get("message")
            failed = [each.error_text for one in streams for each in one if type(each) is u.Error]
            assert heard["errors"] == [f"Error: {text}" for text in failed], name
            assert message == assembled(streams), name
            if message is not None:
                messages.append(message)
        seen, view = tree_of_ui(messages), tree_of_view(frames)
        assert begins(seen, view) if goes_on(frames) else seen == view, name
    assert next(told, None) is None
