"""Recorded streams as runs of AG-UI, judged by `@ag-ui/client`. It needs npm."""

from __future__ import annotations

from typing import Any

from tests.helpers.recorded_streams import RECORDED
from tests.turn_streams.agui.helpers.judges import OLDER, judged
from tests.turn_streams.agui.helpers.streams import (
    assembled,
    frames_of,
    of_messages,
    of_view,
    runs_of,
    view_of,
)
from turnwire.dialects.agui import events as e
from turnwire.turn_streams.agui.writer import Run


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


def test_an_older_package_takes_every_recorded_conversation_too() -> None:
    conversations = [frames_of(path) for path in RECORDED]
    older = Run("thread-1", "run-1", {}, knows_cancelled=False)
    told = judged([client(runs_of(each, run=older)[0]) for each in conversations], OLDER)
    for path, frames, each in zip(RECORDED, conversations, told, strict=True):
        assert each["errors"] == [], path.stem
        assert of_messages(each["messages"]) == of_view(view_of(frames)), path.stem


def test_the_package_takes_every_recorded_conversation_and_has_our_view_of_it() -> None:
    conversations = [frames_of(path) for path in RECORDED]
    cases = [runs_of(frames)[0] for frames in conversations]
    told = judged([client(runs) for runs in cases])
    for path, frames, runs, each in zip(RECORDED, conversations, cases, told, strict=True):
        assert each["errors"] == [], path.stem
        assert each["warnings"] == [], path.stem
        assert each["messages"] == assembled(*runs), path.stem
        assert of_messages(each["messages"]) == of_view(view_of(frames)), path.stem
