"""Recordings of all agents as runs of AG-UI, judged by `@ag-ui/client`. It needs npm."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.all_recordings import DEMO_SCENES, RECORDINGS, events_in
from tests.turn_streams.agui.helpers.judges import OLDER, VERSION, judged
from tests.turn_streams.agui.helpers.streams import RUN, assembled, recorded_frames, runs_of
from tests.turn_streams.agui.helpers.trees import tree_of_frames, tree_of_messages
from turnwire.dialects.agui import events as e
from turnwire.turn_streams.agui.writer import Run

FOLDERS = ("claude", "claude_live", "codex", "acp", "demo")
OLD_RUN = Run("thread-1", "run-1", {}, knows_cancelled=False)


def client(runs: list[list[e.Event]]) -> list[dict[str, Any]]:
    """Returns the runs of a client, which answers every interrupt with the next one."""
    out: list[dict[str, Any]] = []
    asked: list[str] = []
    for run in runs:
        resume = [{"interruptId": name, "status": "resolved", "payload": True} for name in asked]
        out.append({"events": run, "resume": resume})
        last = run[-1]
        has_asked = isinstance(last, e.RunFinished) and last.outcome.interrupts
        asked = [each.id for each in has_asked or ()]
    return out


@pytest.mark.parametrize("version", [VERSION, OLDER])
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_package_has_our_view_of_every_recording_block_for_block(
    folder: str, version: str
) -> None:
    names = [each for each in RECORDINGS if each.startswith(f"{folder}/")] or DEMO_SCENES
    conversations = [
        [frame for some in recorded_frames(events_in(name)) for frame in some] for name in names
    ]
    run = RUN if version == VERSION else OLD_RUN
    cases = [runs_of(frames, run=run)[0] for frames in conversations]
    told = judged([client(runs) for runs in cases], version)
    for name, frames, runs, each in zip(names, conversations, cases, told, strict=True):
        assert each["errors"] == [], name
        if version == VERSION:
            assert each["warnings"] == [], name
            assert each["messages"] == assembled(*runs), name
        assert tree_of_messages(each["messages"]) == tree_of_frames(frames), name
