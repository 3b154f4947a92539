"""Recorded streams as UI message streams, judged by the package `ai`. It needs npm."""

from __future__ import annotations

import pytest

from tests.helpers.recorded_streams import RECORDED
from tests.turn_streams.aisdk.helpers.judges import VERSIONS, judged
from tests.turn_streams.aisdk.helpers.streams import assembled, frames_of, streams_of, turns_in
from turnwire.dialects.aisdk import chunks as u


@pytest.mark.parametrize("version", VERSIONS)
def test_the_package_assembles_every_recorded_turn_as_we_do(version: int) -> None:
    cases: list[list[list[u.Chunk]]] = []
    names: list[str] = []
    for path in RECORDED:
        frames = frames_of(path)
        for turn_id in turns_in(frames):
            cases.append(streams_of(frames, turn_id, version=version))
            names.append(f"{path.stem}, turn {turn_id}")
    assert len(cases) >= len(RECORDED)
    for name, case, told in zip(names, cases, judged(version, cases), strict=True):
        failed = [chunk.error_text for stream in case for chunk in stream if type(chunk) is u.Error]
        assert told["errors"] == [f"Error: {text}" for text in failed], name
        assert told["message"] == assembled(case), name
