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


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_target_has_the_final_items(path: Path, run: Run) -> None:
    for target in ("events", "ui", "rpc", "messages", "v2", "view"):
        result = run("convert", "--from", "codex", "--to", target, path)
        assert result.exit_code == 0, target
        for text in final_texts(path):
            assert json.dumps(text, ensure_ascii=False)[1:-1] in result.stdout, target


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_deltas_are_the_pieces_of_the_final_items(path: Path, run: Run) -> None:
    lines = run("convert", "--from", "codex", "--to", "delta", path).stdout.splitlines()
    deltas = [json.loads(line) for line in lines]
    said = "".join(each["payload"]["textDelta"] for each in deltas if each["kind"] == "text")
    for text in final_texts(path):
        assert text in said


def final_texts(path: Path) -> list[str]:
    """Returns the texts of the answer, by the items that Codex has completed."""
    messages = [json.loads(line)["msg"] for line in path.read_bytes().splitlines()]
    ended = [each["params"] for each in messages if each.get("method") == "item/completed"]
    return [each["item"]["text"] for each in ended if each["item"]["type"] == "agentMessage"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_frames_of_codex_keep_the_rules_of_the_protocol(
    path: Path, run: Run, tmp_path: Path
) -> None:
    frames = tmp_path / "frames.jsonl"
    frames.write_bytes(run("convert", "--from", "codex", "--to", "v2", path).stdout_bytes)
    assert json.loads(run("validate", "--from", "v2", "--json", frames).stdout)["ok"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_inspect_sums_up_every_recording(path: Path, run: Run) -> None:
    summary = json.loads(run("inspect", "--from", "codex", "--json", path).stdout)
    assert (summary["agent_name"], summary["models"]) == ("Codex", ["gpt-5.5"])
    assert "unknown" not in summary
    turn = summary["turns"][-1]
    assert turn["prompt"]
    texts = final_texts(path)
    if texts and turn.get("outcome") == "completed":
        assert turn["said"] == texts[-1]


def test_inspect_names_the_agent_and_its_tools(run: Run) -> None:
    shown = run("inspect", "--from", "codex", COMMAND).stdout
    assert "gpt-5.5, Codex 0.166.0" in shown
    assert "✓ command_execution" in shown


def test_a_line_that_is_no_json_is_a_violation(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(COMMAND.read_bytes() + b"{oops\n")
    report = json.loads(run("validate", "--from", "codex", "--json", broken).stdout)
    assert [violation["code"] for violation in report["violations"]] == ["bad_line"]
