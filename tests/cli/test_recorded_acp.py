"""Recorded streams of real ACP agents, through every target of `convert` and through `validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.helpers.recorded_streams import FIXTURES

RECORDED = sorted((FIXTURES / "acp").glob("*.io.jsonl"))
TARGETS = ["events", "ui", "rpc", "delta", "messages", "v2", "view"]
COMMAND = FIXTURES / "acp" / "opencode_command.io.jsonl"


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_real_agent_is_clean(path: Path, run: Run) -> None:
    result = run("validate", "--from", "acp", "--json", path)
    report = json.loads(result.stdout)
    assert report["violations"] == []
    assert report["lines"] == len(path.read_bytes().splitlines())


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_frames_of_a_real_agent_keep_the_rules_of_the_protocol(
    path: Path, run: Run, tmp_path: Path
) -> None:
    frames = tmp_path / "frames.jsonl"
    frames.write_bytes(run("convert", "--from", "acp", "--to", "v2", path).stdout_bytes)
    assert json.loads(run("validate", "--from", "v2", "--json", frames).stdout)["ok"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_target_has_what_the_agent_said(path: Path, run: Run) -> None:
    said = text_of(path)
    for target in TARGETS:
        result = run("convert", "--from", "acp", "--to", target, path)
        assert result.exit_code == 0, target
        for sentence in said["whole"]:
            assert json.dumps(sentence, ensure_ascii=False)[1:-1] in result.stdout, target


def text_of(path: Path) -> dict[str, Any]:
    """Returns what the agent's own messages say: text, thinking, the last status of each call."""
    said: dict[str, Any] = {"text": "", "thinking": "", "calls": {}, "whole": []}
    kinds = {"agent_message_chunk": "text", "agent_thought_chunk": "thinking"}
    for line in path.read_bytes().splitlines():
        update = json.loads(line)["msg"].get("params", {}).get("update", {})
        kind = update.get("sessionUpdate")
        if kind in kinds:
            said[kinds[kind]] += update["content"]["text"]
            said["whole"] += [update["content"]["text"]] if kind == "agent_message_chunk" else []
        elif kind in ("tool_call", "tool_call_update"):
            before = said["calls"].get(update["toolCallId"])
            said["calls"][update["toolCallId"]] = update.get("status") or before
    return said


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_view_equals_what_the_agent_said(path: Path, run: Run) -> None:
    view = json.loads(run("convert", "--from", "acp", "--to", "view", path).stdout)
    blocks = [
        block
        for message in view["messages"]
        if message["role"] == "assistant"
        for block in message["blocks"]
    ]
    shown: dict[str, Any] = {"text": "", "thinking": "", "calls": {}}
    for block in blocks:
        if block["type"] in ("text", "thinking"):
            shown[block["type"]] += block["text"]
        elif block["type"] == "tool":
            shown["calls"][block["id"]] = block["result"] and block["result"]["is_error"]
    said = text_of(path)
    assert (shown["text"], shown["thinking"]) == (said["text"], said["thinking"])
    ended = {"completed": False, "failed": True}
    for call, status in said["calls"].items():
        # A call without an end is ended with its turn.
        assert shown["calls"][call] == ended.get(status, True)


def test_the_view_is_what_the_agent_said(run: Run) -> None:
    view = json.loads(run("convert", "--from", "acp", "--to", "view", COMMAND).stdout)
    said = [message for message in view["messages"] if message["role"] == "assistant"]
    thinking, calling, answering = said
    assert thinking["blocks"][0]["text"] == "**Running**\n\na command"
    text, tool = calling["blocks"]
    assert text["text"] == "I will run a command."
    assert (tool["tool_name"], tool["result"]["is_error"]) == ("bash", False)
    assert answering["blocks"][0]["text"] == "All done."


def edited(tmp_path: Path, old: bytes, new: bytes) -> Path:
    path = tmp_path / "edited.io.jsonl"
    content = COMMAND.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b'{"dir":"in","t":0.002', b'nonsense\n{"dir":"in","t":0.002', "bad_line"),
        (b'"id":2,"result"', b'"id":77,"result"', "response_without_request"),
        (b'"method":"session/prompt"', b'"method":"session/other"', "update_outside_turn"),
    ],
)
def test_a_broken_rule_is_named(
    run: Run, tmp_path: Path, old: bytes, new: bytes, code: str
) -> None:
    result = run("validate", "--from", "acp", "--json", edited(tmp_path, old, new))
    assert result.exit_code == 1
    assert code in {each["code"] for each in json.loads(result.stdout)["violations"]}


def test_a_call_that_ends_twice_is_named(run: Run, tmp_path: Path) -> None:
    lines = COMMAND.read_bytes().splitlines()
    (ended,) = [line for line in lines if b'"status":"completed"' in line]
    path = tmp_path / "twice.io.jsonl"
    path.write_bytes(
        b"\n".join([*lines[: lines.index(ended)], ended, *lines[lines.index(ended) :]])
    )
    found = json.loads(run("validate", "--from", "acp", "--json", path).stdout)["violations"]
    assert [each["code"] for each in found] == ["result_repeated"]


def test_a_recording_of_the_agent_alone_is_read_too(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "agent.jsonl"
    lines = [json.loads(line) for line in COMMAND.read_bytes().splitlines()]
    path.write_text("\n".join(json.dumps(each["msg"]) for each in lines if each["dir"] == "out"))
    assert run("validate", "--from", "acp", path).exit_code == 0
    view = json.loads(run("convert", "--from", "acp", "--to", "view", path).stdout)
    assert view["messages"][-1]["blocks"][0]["text"] == "All done."


def test_notes_of_a_recorder_are_counted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "noted.io.jsonl"
    path.write_bytes(b'{"dir":"note","msg":"begins"}\n' + COMMAND.read_bytes())
    assert json.loads(run("validate", "--from", "acp", "--json", path).stdout)["notes"] == 1


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_inspect_sums_up_every_recording(path: Path, run: Run) -> None:
    summary = json.loads(run("inspect", "--from", "acp", "--json", path).stdout)
    assert (summary["lines"], summary.get("bad_lines", 0)) == (
        len(path.read_bytes().splitlines()),
        0,
    )
    (turn,) = summary["turns"]
    assert turn["prompt"].startswith("go")
    assert turn.get("outcome", "lost") == "lost" or turn["seconds"] > 0
    calls = {tool["id"] for tool in turn.get("tools", [])}
    assert calls >= set(text_of(path)["calls"])


def test_inspect_names_the_agent_and_its_tools(run: Run) -> None:
    shown = run("inspect", "--from", "acp", COMMAND).stdout
    assert "fake/fake-model, OpenCode 1.18.33, permission mode build" in shown
    assert "✓ bash" in shown
    assert "said      All done." in shown
