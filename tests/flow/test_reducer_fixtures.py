"""Frames and the expected view as plain JSON: the same files for every language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.helpers.recorded_streams import FIXTURES
from turnwire.core.view import View
from turnwire.dialects import rpc
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.view_reducer import ViewReducer

FOLDER = FIXTURES / "reducer"
SESSIONS = sorted((FIXTURES / "v2").glob("*.jsonl"))


def folded(fixture: dict[str, Any]) -> View:
    if fixture["dialect"] == "rpc":
        transcript = rpc.Transcript()
        for frame in fixture["frames"]:
            message = rpc.decode(json.dumps(frame["data"]).encode())
            transcript.apply(message, frame.get("sequence"), frame.get("turn_id"))
        return transcript.view()
    reducer = ViewReducer()
    for frame in fixture.get("frames") or server_frames(FIXTURES / fixture["transcript"]):
        reducer.apply(decode(json.dumps(frame)))
    return reducer.view()


def server_frames(path: Path) -> list[Any]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line["server"] for line in lines if "server" in line]


def as_json(view: View) -> Any:
    return json.loads(msgspec.json.encode(view))


def written(fixture: dict[str, Any]) -> str:
    """The file: a line for each frame, and the view spread out to be read."""
    parts = []
    for key, value in fixture.items():
        if key == "frames":
            frames = ",\n    ".join(json.dumps(frame, ensure_ascii=False) for frame in value)
            parts.append(f'"frames": [\n    {frames}\n  ]')
        else:
            spread = json.dumps(value, ensure_ascii=False, indent=2).replace("\n", "\n  ")
            parts.append(f'"{key}": {spread}')
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_the_frames_of_a_fixture_give_its_view(path: Path, request: pytest.FixtureRequest) -> None:
    fixture = json.loads(path.read_text(encoding="utf-8"))
    shown = as_json(folded(fixture))
    if request.config.getoption("--write-expected"):
        fixture["view"] = shown
        path.write_text(written(fixture), encoding="utf-8")
    assert shown == fixture["view"]
    assert path.read_text(encoding="utf-8") == written(fixture)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_every_session_of_protocol_v2_has_its_view_here(path: Path) -> None:
    fixture = json.loads((FOLDER / f"session_{path.stem}.json").read_text(encoding="utf-8"))
    assert FIXTURES / fixture["transcript"] == path
