"""UI message streams: `convert --to aisdk` writes them, `validate --from aisdk` checks them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.conftest import Run
from tests.helpers.recorded_streams import FIXTURES, RECORDED
from tests.turn_streams.aisdk.helpers.streams import frames_of, streams_of, turns_in

START: dict[str, Any] = {"type": "start", "messageId": "m"}
CALL = {"type": "tool-input-available", "toolCallId": "t", "toolName": "Read", "input": {}}
OUTPUT = {"type": "tool-output-available", "toolCallId": "t", "output": "x"}
FINISH = {"type": "finish"}


def joined(chunks: list[Any]) -> Any:
    """Returns the whole texts, and the other chunks without those of a short wait.

    `convert` takes many events at once, so it joins pieces, and does not see a wait in the middle.
    """
    texts: dict[str, str] = {}
    for chunk in chunks:
        name = str(chunk.get("id") or chunk.get("toolCallId"))
        texts[name] = texts.get(name, "") + chunk.get("delta", chunk.get("inputTextDelta", ""))
    passing = ("start", "finish-step")
    others = [each for each in chunks if not each["type"].endswith("-delta")]
    others = [each for each in others if each["type"] not in passing]
    return texts, [each for each in others if each.get("finishReason") != "tool-calls"]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_streams_of_a_recording_are_those_of_its_turns_and_clean(
    path: Path, run: Run, tmp_path: Path
) -> None:
    converted = run("convert", "--to", "aisdk", path)
    frames = frames_of(path)
    chunks = [
        chunk
        for turn_id in turns_in(frames)
        for stream in streams_of(frames, turn_id)
        for chunk in stream
    ]
    by_turn = msgspec.json.decode(msgspec.json.encode(chunks))
    written = [json.loads(line) for line in converted.stdout.splitlines()]
    assert joined(written) == joined(by_turn)
    recording = tmp_path / "streams.jsonl"
    recording.write_text(converted.stdout)
    report = json.loads(run("validate", "--from", "aisdk", "--json", recording).stdout)
    assert report["violations"] == []
    assert report["typed"] == len(written)
    assert report["messages"] == len(turns_in(frames))


def test_server_sent_events_are_read_as_well(run: Run, tmp_path: Path) -> None:
    converted = run("convert", "--to", "aisdk", FIXTURES / "claude" / "01_text.jsonl").stdout
    events = "".join(f"id: 1\ndata: {line}\n\n" for line in converted.splitlines())
    recording = tmp_path / "stream.txt"
    recording.write_text(f": still here\n\n{events}data: [DONE]\n\n")
    result = run("validate", "--from", "aisdk", recording)
    assert result.exit_code == 0
    assert "8 = 8 typed + 0 unknown + 0 errors" in result.stdout
    assert "1 message, 1 block, 0 tools" in result.stdout


BROKEN: dict[str, list[Any]] = {
    "bad_chunk": [START, {"type": "text-start"}, "text", FINISH],
    "unknown_chunk": [START, {"type": "new"}, FINISH],
    "stream_not_begun": [FINISH],
    "stream_not_ended": [START, START],
    "chunk_after_end": [START, FINISH, {"type": "start-step"}],
    "text_not_begun": [START, {"type": "reasoning-end", "id": "a"}, FINISH],
    "text_left_open": [START, {"type": "text-start", "id": "a"}, FINISH],
    "call_not_begun": [START, OUTPUT, FINISH],
    "output_repeated": [START, CALL, {**OUTPUT, "preliminary": True}, OUTPUT, OUTPUT, FINISH],
}


@pytest.mark.parametrize("code", BROKEN)
def test_every_rule_is_checked(code: str, run: Run, recording: Callable[[bytes], Path]) -> None:
    lines = b"\n".join(msgspec.json.encode(each) for each in BROKEN[code])
    result = run("validate", "--from", "aisdk", "--json", recording(lines))
    assert result.exit_code == 1
    assert {each["code"] for each in json.loads(result.stdout)["violations"]} == {code}


def test_a_message_may_have_several_streams(run: Run, recording: Callable[[bytes], Path]) -> None:
    chunks = [START, CALL, FINISH, START, OUTPUT, {"type": "data-plan", "data": {}}, FINISH]
    lines = b"\n".join(msgspec.json.encode(each) for each in chunks)
    assert run("validate", "--from", "aisdk", recording(lines)).exit_code == 0
    left = run("validate", "--from", "aisdk", recording(lines.replace(b'"m"', b'"n"', 1)))
    assert "call_not_begun: tool-output-available of t" in left.stdout
