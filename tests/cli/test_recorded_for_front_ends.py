"""Recorded streams of Codex and of ACP agents, as the streams that the AI SDK and AG-UI read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.helpers.recorded_streams import FIXTURES

RECORDED = [
    *(("codex", path) for path in sorted((FIXTURES / "codex").glob("*.jsonl"))),
    *(("acp", path) for path in sorted((FIXTURES / "acp").glob("*.jsonl"))),
]
PIECES = {"aisdk": "text-delta", "agui": "TEXT_MESSAGE_CONTENT"}


def said_in(agent: str, path: Path) -> str:
    """Returns the text of the answer, by the last word of the agent's own messages."""
    messages = [json.loads(line)["msg"] for line in path.read_bytes().splitlines()]
    return "".join(_text(agent, each) for each in messages)


def _text(agent: str, message: dict[str, Any]) -> str:
    params = message.get("params", {})
    if agent == "codex":
        item = params.get("item", {}) if message.get("method") == "item/completed" else {}
        return str(item["text"]) if item.get("type") == "agentMessage" else ""
    update = params.get("update", {})
    is_text = update.get("sessionUpdate") == "agent_message_chunk"
    return str(update["content"]["text"]) if is_text else ""


@pytest.mark.parametrize("target", PIECES)
@pytest.mark.parametrize(("agent", "path"), RECORDED, ids=[f"{a}-{p.stem}" for a, p in RECORDED])
def test_a_front_end_gets_what_the_agent_said_in_a_valid_stream(
    agent: str, path: Path, target: str, run: Run, tmp_path: Path
) -> None:
    stream = tmp_path / "stream.jsonl"
    stream.write_bytes(run("convert", "--from", agent, "--to", target, path).stdout_bytes)
    checked = run("validate", "--from", target, stream)
    assert checked.exit_code == 0, checked.stdout
    parts = [json.loads(line) for line in stream.read_bytes().splitlines()]
    shown = "".join(part["delta"] for part in parts if part["type"] == PIECES[target])
    assert said_in(agent, path) in shown
