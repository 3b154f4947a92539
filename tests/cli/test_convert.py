"""`turnwire convert`: every recorded stream, every target, and invalid input."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.cli.conftest import TURNWIRE, Run, Start
from tests.helpers.recorded_streams import (
    BOTH_DIRECTIONS,
    FIXTURES,
    RECORDED,
    events_of,
    recorded,
    rpc_of,
    ui_of,
)
from turnwire.core.assembler import Assembler
from turnwire.core.message import TextPart, TextPayload
from turnwire.core.message_codec import decode_delta, decode_message
from turnwire.core.message_codec import encode as encode_message
from turnwire.dialects.claude import encode
from turnwire.dialects.v2.codec import decode as decode_frame
from turnwire.dialects.v2.validator.check import SessionCheck
from turnwire.dialects.v2.view_reducer import ViewReducer

TEXT = FIXTURES / "claude" / "01_text.jsonl"
HELLO = {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "one"}]}}
GOODBYE = {
    "type": "assistant",
    "message": {"id": "m2", "content": [{"type": "text", "text": "two"}]},
}


def lines_of(output: str) -> list[Any]:
    # Not splitlines: that would also split at separators inside a line.
    return [json.loads(line) for line in output.split("\n") if line]


# --- recorded streams -------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_convert_writes_the_messages_of_the_library(path: Path, run: Run) -> None:
    events = events_of(path.read_bytes().splitlines())
    ui = ui_of(events)
    expected: dict[str, Sequence[Struct]] = {"events": events, "ui": ui, "rpc": rpc_of(ui)}
    for target, messages in expected.items():
        result = run("convert", "--from", "claude", "--to", target, path)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert result.stdout_bytes.splitlines() == [encode(message) for message in messages]


@pytest.mark.parametrize("path", BOTH_DIRECTIONS, ids=lambda path: path.stem)
def test_a_recording_of_both_directions_becomes_the_same(path: Path, run: Run) -> None:
    alone = path.with_name(path.name.replace(".io.jsonl", ".jsonl"))
    both = run("convert", "--to", "rpc", path)
    assert both.exit_code == 0
    assert lines_of(both.stdout) == (
        lines_of(run("convert", "--to", "rpc", alone).stdout) if alone.exists() else []
    )


def test_an_interrupt_of_the_host_is_heeded(run: Run) -> None:
    events = lines_of(
        run(
            "convert", "--to", "events", FIXTURES / "claude" / "07_interrupt_stream.io.jsonl"
        ).stdout
    )
    assert "interrupt" in [event.get("origin") for event in events]


def test_the_connections_choices_are_kept(run: Run) -> None:
    system = run("convert", "--to", "rpc", "--system", TEXT)
    assert {message["type"] for message in lines_of(system.stdout)} > {"system"}
    silent = run("convert", "--to", "rpc", "--no-system", TEXT)
    assert "system" not in {message["type"] for message in lines_of(silent.stdout)}
    long_tool = FIXTURES / "claude" / "26_long_tool.jsonl"
    for mode in ("off", "text_delta", "output_delta"):
        assert run("convert", "--to", "rpc", "--tool-progress", mode, long_tool).exit_code == 0


def test_a_stream_that_breaks_off_ends_properly(
    run: Run, recording: Callable[[bytes], Path]
) -> None:
    broken_off = b"\n".join(recorded("01_text")[:8])
    last = lines_of(run("convert", "--to", "events", recording(broken_off)).stdout)[-2:]
    assert [event["type"] for event in last] == ["message_discarded", "turn_failed"]


# --- where it reads from ----------------------------------------------------------------------


def test_the_command_reads_standard_input(run: Run) -> None:
    piped = run("convert", "--to", "rpc", "-", stdin=TEXT.read_bytes())
    assert piped.exit_code == 0
    assert piped.stdout == run("convert", "--to", "rpc", TEXT).stdout


def test_convert_passes_on_each_line_of_an_open_pipe() -> None:
    with subprocess.Popen(
        [*TURNWIRE, "convert", "--to", "events", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        for frame, text in ((HELLO, "one"), (GOODBYE, "two")):
            process.stdin.write(json.dumps(frame).encode() + b"\n")
            process.stdin.flush()
            while True:  # it does not wait for the end, or this would wait forever
                event = json.loads(process.stdout.readline())
                if event["type"] == "assistant_message":
                    assert event["content"][0]["text"] == text
                    break
        process.stdin.close()
        process.stdout.read()
    assert process.returncode == 0


def test_an_empty_file_becomes_nothing(run: Run, recording: Callable[[bytes], Path]) -> None:
    for nothing in (b"", b"\n\n", b" \r\n\t\n"):
        result = run("convert", "--to", "rpc", recording(nothing))
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_the_memory_does_not_grow_with_the_file(start: Start, tmp_path: Path) -> None:
    large = tmp_path / "large.jsonl"
    large.write_bytes(b"".join(path.read_bytes() for path in RECORDED) * 12)
    code = (
        "import resource, sys; from turnwire.cli.main import main\n"
        "main(['convert', '--to', 'rpc', sys.argv[1]], standalone_mode=False)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )

    def peak(path: Path) -> int:
        command = [TURNWIRE[0], "-c", code, str(path)]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True
        )
        return int(done.stderr)

    assert large.stat().st_size > 10_000_000
    assert peak(large) < peak(TEXT) * 1.5


# --- bad input --------------------------------------------------------------------------------

BAD = {
    "invalid JSON": (b'{"type": oops}', "not JSON"),
    "an array": (b"[1, 2]", "not an object"),
    "invalid UTF-8": (b'{"type":"user","message":{"content":"\xff"}}', "UTF-8"),
    "NUL": (b'{"type":"user"\x00}', "not JSON"),
    "100,000 levels": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    "a line cut short": (b'{"type":"user","message":{"con', "cut off"),
    "over the limit": (b'{"type":"user","text":"' + b"x" * 2**20 + b'"}', "over the limit"),
    "over the limit and several chunks": (b"x" * 3_000_000, "3 MiB long"),
}

GOOD = {
    "lone surrogates": (
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"\\ud83d!"}]}}'
    ),
    "numbers beyond 64 bits": (
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"X",'
        b'"input":{"n":123456789012345678901234567890}}]}}'
    ),
    "numbers beyond floats": b'{"type":"novel","n":1e999}',
    "duplicate keys": (
        b'{"type":"assistant","message":{"id":"m","content":[]},"message":{"id":"m","content":[]}}'
    ),
    "a 20 MB line": (
        b'{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"'
        + b"x" * 20_000_000
        + b'"}]}}'
    ),
    "a carriage return at the end": b'{"type":"keep_alive"}\r',
    "other line separators inside": '{"type":"novel","text":"a\u2028b\u0085c"}'.encode(),
}


def between_neighbours(line: bytes) -> bytes:
    return b"\n".join([json.dumps(HELLO).encode(), line, json.dumps(GOODBYE).encode()])


def texts(stdout: str) -> list[str]:
    return [
        block["text"]
        for message in lines_of(stdout)
        if message["type"] == "assistant"
        for block in message["message"]["content"]
        if block["type"] == "text" and len(block["text"]) < 5
    ]


@pytest.mark.parametrize(("line", "cause"), BAD.values(), ids=BAD)
def test_a_bad_line_is_reported_and_its_neighbours_survive(
    line: bytes, cause: str, run: Run, recording: Callable[[bytes], Path]
) -> None:
    path = recording(between_neighbours(line))
    result = run("convert", "--to", "rpc", "--max-line", "1", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{path}:2: ")
    assert cause in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert texts(result.stdout) == ["one", "two"]


@pytest.mark.parametrize("line", GOOD.values(), ids=GOOD)
def test_a_line_with_odd_fields_is_no_bad_line(
    line: bytes, run: Run, recording: Callable[[bytes], Path]
) -> None:
    path = recording(between_neighbours(line))
    for target in ("events", "ui", "rpc"):
        result = run("convert", "--to", target, path)
        assert (result.exit_code, result.stderr) == (0, "")
        lines_of(result.stdout)
    assert {"one", "two"} <= set(texts(run("convert", "--to", "rpc", path).stdout))


def test_an_incomplete_last_line_is_reported(run: Run, recording: Callable[[bytes], Path]) -> None:
    path = recording(json.dumps(HELLO).encode() + b"\n" + json.dumps(GOODBYE).encode()[:-5])
    result = run("convert", "--to", "rpc", path)
    assert result.exit_code == 1
    assert result.stderr == f"{path}:2: the line is cut off\n"
    assert texts(result.stdout) == ["one"]


def test_a_last_line_needs_no_newline(run: Run, recording: Callable[[bytes], Path]) -> None:
    result = run("convert", "--to", "rpc", recording(json.dumps(HELLO).encode()))
    assert texts(result.stdout) == ["one"]


def test_a_binary_file_does_not_flood_the_terminal(run: Run) -> None:
    noise = bytes(range(256)) * 40
    result = run("convert", "--to", "rpc", "-", stdin=noise)
    assert result.exit_code == 1
    assert result.stdout == ""
    *told, rest = result.stderr.splitlines()
    assert len(told) == 10
    assert told[0].startswith("<stdin>:1: ")
    assert rest == "<stdin>: and 31 more bad lines"


def test_an_envelope_with_an_invalid_message_is_reported(run: Run) -> None:
    lines = (
        b'{"t":1,"dir":"out","msg":[]}\n{"t":1,"dir":"sideways","msg":{}}\n{"dir":"note","msg":1}'
    )
    result = run("convert", "--to", "events", "-", stdin=lines)
    assert result.exit_code == 1
    assert result.stderr.startswith("<stdin>:1: ")
    assert "not an object" in result.stderr
    (unknown,) = lines_of(result.stdout)
    assert unknown["data"]["dir"] == "sideways"


# --- messages and deltas ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["05_parallel", "09b_subagent_forward_text", "14_multi_turn"])
def test_deltas_come_in_streams_that_break_no_rule(name: str, run: Run) -> None:
    result = run("convert", "--to", "delta", FIXTURES / "claude" / f"{name}.jsonl")
    assert result.exit_code == 0
    streams: dict[str, Assembler] = {}
    for line in result.stdout_bytes.splitlines():
        delta: Any = decode_delta(line)
        streams.setdefault(delta.payload.message_id, Assembler()).feed(delta)
    assembled = [assembler.finish() for assembler in streams.values()]
    assert assembled
    assert [found for each in assembled for found in each.violations] == []


def test_messages_are_the_entries_of_a_log_with_turns_and_times(run: Run) -> None:
    result = run("convert", "--to", "messages", FIXTURES / "claude" / "14_multi_turn.jsonl")
    entries = [decode_message(line) for line in result.stdout_bytes.splitlines()]
    assert [entry.role for entry in entries].count("assistant") == 4
    turns = [entry.meta["turnId"] for entry in entries if entry.role == "assistant"]
    assert turns == [1, 2, 3, 4]
    (first, *_) = [entry for entry in entries if entry.role == "assistant"]
    assert first.run_id == "04824079-9625-47d2-8bdb-f4348ca4abf4:1"
    assert first.timestamp == "2026-11-15T19:35:17.316Z"


def test_messages_contain_durable_notices(run: Run) -> None:
    result = run("convert", "--to", "messages", FIXTURES / "claude" / "15_todo.jsonl")
    entries = [decode_message(line) for line in result.stdout_bytes.splitlines()]
    news = [entry for entry in entries if entry.role == "system"]
    assert [(entry.meta["data"]["subtype"], *entry.parts) for entry in news] == [
        ("init", TextPart(TextPayload("Session started: claude-sonnet-4-5 in /workspace"))),
        ("plan", TextPart(TextPayload("Plan: 0 of 1 done"))),
        ("plan", TextPart(TextPayload("Plan: 0 of 1 done"))),
    ]


@pytest.mark.parametrize("line", GOOD.values(), ids=GOOD)
def test_a_line_with_odd_fields_is_a_readable_entry(
    line: bytes, run: Run, recording: Callable[[bytes], Path]
) -> None:
    result = run("convert", "--to", "messages", recording(between_neighbours(line)))
    assert (result.exit_code, result.stderr) == (0, "")
    for entry in result.stdout_bytes.splitlines():
        assert encode_message(decode_message(entry)) == entry


# --- the view ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_view_is_reduced_from_the_frames_of_v2(path: Path, run: Run) -> None:
    reducer = ViewReducer()
    for raw in run("convert", "--to", "v2", path).stdout_bytes.splitlines():
        reducer.apply(decode_frame(raw))
    result = run("convert", "--to", "view", path)
    assert result.exit_code == 0
    assert result.stdout_bytes == encode(reducer.view()) + b"\n"


def test_a_view_of_nothing_is_empty(run: Run, recording: Callable[[bytes], Path]) -> None:
    result = run("convert", "--to", "view", recording(b""))
    assert lines_of(result.stdout) == [{"messages": [], "turns": []}]


# --- protocol v2 --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_v2_output_has_the_frames_of_a_client_connected_from_the_start(
    path: Path, run: Run
) -> None:
    result = run("convert", "--to", "v2", path)
    assert (result.exit_code, result.stderr) == (0, "")
    check = SessionCheck()
    for number, line in enumerate(result.stdout_bytes.splitlines(), 1):
        check.feed(line, number)
    check.finish()
    assert check.report().violations == []


def test_v2_frames_have_the_sessions_name_its_times_and_a_trace_for_each_turn(run: Run) -> None:
    path = FIXTURES / "claude" / "14_multi_turn.jsonl"
    frames = lines_of(run("convert", "--to", "v2", path).stdout)
    assert [frame["sequence"] for frame in frames] == [*range(1, len(frames) + 1)]
    assert [frame["type"] for frame in frames[:3]] == [
        "session.connected",
        "session.replay_complete",
        "session.state",
    ]
    names = {frame["conversation_id"] for frame in frames}
    assert names == {"04824079-9625-47d2-8bdb-f4348ca4abf4"}
    ends = [frame for frame in frames if frame["type"] == "assistant.complete"]
    assert [frame["turn_id"] for frame in ends] == [1, 2, 3, 4]
    assert ends[0]["timestamp"] == "2026-11-15T19:35:17.316Z"
    traces = [frame["trace_id"] for frame in ends]
    assert len(set(traces)) == 4
    assert all(len(trace) == 32 and int(trace, 16) for trace in traces)
    again = lines_of(run("convert", "--to", "v2", path).stdout)
    assert again == frames


def test_v2_of_nothing_is_nothing(run: Run, recording: Callable[[bytes], Path]) -> None:
    result = run("convert", "--to", "v2", recording(b""))
    assert (result.exit_code, result.stdout) == (0, "")


def test_v2_of_a_stream_that_breaks_off_says_that_the_agent_was_lost(
    run: Run, recording: Callable[[bytes], Path]
) -> None:
    broken_off = b"\n".join(recorded("01_text")[:8])
    frames = lines_of(run("convert", "--to", "v2", recording(broken_off)).stdout)
    assert [frame["type"] for frame in frames[-3:]] == [
        "assistant.discarded",
        "assistant.complete",
        "session.state",
    ]
    assert frames[-2]["payload"]["error"]["code"] == "agent_lost"
    assert frames[-1]["payload"]["state"] == "error"
