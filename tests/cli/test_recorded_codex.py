"""Recorded streams of the real Codex, through every target of `convert` and through `validate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.helpers.recorded_streams import FIXTURES

RECORDED = sorted((FIXTURES / "codex").glob("*.jsonl"))
COMMAND = FIXTURES / "codex" / "command_execution.jsonl"


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recording_of_codex_is_clean(path: Path, run: Run) -> None:
    report = json.loads(run("validate", "--from", "codex", "--json", path).stdout)
    assert (report["violations"], report["unknown_kinds"]) == ([], {})
    assert report["lines"] == len(path.read_bytes().splitlines())


@pytest.mark.parametrize("target", ["events", "ui", "rpc", "delta", "messages", "v2", "view"])
def test_every_target_has_the_answer(target: str, run: Run) -> None:
    result = run("convert", "--from", "codex", "--to", target, COMMAND)
    assert result.exit_code == 0
    assert "I will run a command." in result.stdout


def test_frames_of_codex_keep_the_rules_of_the_protocol(run: Run, tmp_path: Path) -> None:
    frames = tmp_path / "frames.jsonl"
    frames.write_bytes(run("convert", "--from", "codex", "--to", "v2", COMMAND).stdout_bytes)
    assert json.loads(run("validate", "--from", "v2", "--json", frames).stdout)["ok"]


def test_a_line_that_is_no_json_is_a_violation(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(COMMAND.read_bytes() + b"{oops\n")
    report = json.loads(run("validate", "--from", "codex", "--json", broken).stdout)
    assert [violation["code"] for violation in report["violations"]] == ["bad_line"]
