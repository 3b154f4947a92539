"""Runs of AG-UI: `convert --to agui` writes them, `validate --from agui` checks them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.conftest import Run
from tests.helpers.recorded_streams import RECORDED
from tests.turn_streams.agui.helpers.streams import assembled, frames_of
from tests.turn_streams.agui.helpers.trees import tree_of_frames, tree_of_messages
from turnwire.dialects.agui import events as e

BEGIN: dict[str, Any] = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISH = {**BEGIN, "type": "RUN_FINISHED"}
TEXT = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
HELPER = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}
GONE = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_runs_of_a_recording_show_its_view_and_are_clean(
    path: Path, run: Run, tmp_path: Path
) -> None:
    converted = run("convert", "--to", "agui", path).stdout
    events = [msgspec.json.decode(line, type=e.Event) for line in converted.splitlines()]
    assert tree_of_messages(assembled(events)) == tree_of_frames(frames_of(path))
    recording = tmp_path / "runs.jsonl"
    recording.write_text(converted)
    report = json.loads(run("validate", "--from", "agui", "--json", recording).stdout)
    assert report["violations"] == []
    assert report["typed"] == len(events)


def test_server_sent_events_are_read_as_well(run: Run, tmp_path: Path) -> None:
    recording = tmp_path / "stream.txt"
    lines = "".join(f"id: 1\ndata: {json.dumps(each)}\n\n" for each in (BEGIN, FINISH))
    recording.write_text(f": still here\n\n{lines}")
    assert run("validate", "--from", "agui", recording).exit_code == 0


BROKEN: dict[str, list[Any]] = {
    "bad_event": [BEGIN, {"type": "CUSTOM", "name": "n"}, "text", FINISH],
    "unknown_event": [BEGIN, {"type": "NEW"}, FINISH],
    "run_not_begun": [FINISH],
    "run_not_ended": [BEGIN, BEGIN],
    "event_after_end": [BEGIN, FINISH, {"type": "CUSTOM", "name": "n", "value": 1}],
    "begun_twice": [BEGIN, TEXT, TEXT, {**TEXT, "type": "TEXT_MESSAGE_END"}, FINISH],
    "not_begun": [BEGIN, {"type": "TOOL_CALL_END", "toolCallId": "c"}, FINISH],
    "left_open": [BEGIN, {"type": "STEP_STARTED", "stepName": "s"}, FINISH],
    "subagent_repeated": [BEGIN, HELPER, GONE, HELPER, GONE, FINISH],
    "other_subagent": [
        BEGIN,
        TEXT,
        {**TEXT, "type": "TEXT_MESSAGE_END", "subagentRunId": "x"},
        FINISH,
    ],
}


@pytest.mark.parametrize("code", BROKEN)
def test_every_rule_is_checked(code: str, run: Run, recording: Callable[[bytes], Path]) -> None:
    lines = b"\n".join(msgspec.json.encode(each) for each in BROKEN[code])
    result = run("validate", "--from", "agui", "--json", recording(lines))
    assert result.exit_code == 1
    assert {each["code"] for each in json.loads(result.stdout)["violations"]} == {code}
