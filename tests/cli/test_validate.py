"""`turnwire validate`: no violations in recordings of the real CLI, and precise reports of others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.helpers.recorded_streams import BOTH_DIRECTIONS, FIXTURES, RECORDED, recorded

TEXT = FIXTURES / "claude" / "01_text.jsonl"
KILLED = FIXTURES / "claude" / "22_kill_during_permission.io.jsonl"


def broken_text() -> bytes:
    """A recorded stream in which a block never stops."""
    return b"\n".join(line for line in recorded("01_text") if b"content_block_stop" not in line)


# --- recorded streams -------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*RECORDED, *BOTH_DIRECTIONS], ids=lambda path: path.stem)
def test_the_real_cli_is_clean(path: Path, run: Run) -> None:
    result = run("validate", "--from", "claude", "--json", path)
    report = json.loads(result.stdout)
    assert report["violations"] == []
    assert result.exit_code == 0
    assert report["lines"] == report["typed"] + report["unknown"] + report["errors"]
    assert report["lines"] + report["notes"] == len(path.read_bytes().splitlines())


def test_validate_prints_a_report_for_people(run: Run) -> None:
    result = run("validate", TEXT, KILLED)
    assert result.exit_code == 0
    assert result.stdout == (
        f"{TEXT}  clean\n"
        "  lines      19 = 19 typed + 0 unknown + 0 errors\n"
        "  content    1 message, 1 block, 0 tools\n"
        f"{KILLED}  clean\n"
        "  lines      36 = 36 typed + 0 unknown + 0 errors (and 3 notes of the recorder)\n"
        "  content    2 messages, 3 blocks, 1 tool\n"
        "  left open  Bash toolu_b (line 17)\n"
        "\n"
        "2 clean files; 55 lines\n"
    )


def test_validate_prints_json_for_programs(run: Run) -> None:
    result = run("validate", "--json", KILLED, TEXT)
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert second["file"] == str(TEXT)
    assert first == {
        "file": str(KILLED),
        "ok": True,
        "notes": 3,
        "lines": 36,
        "typed": 36,
        "unknown": 0,
        "errors": 0,
        "messages": 2,
        "blocks": 3,
        "tools": 1,
        "inputs_rewritten": 0,
        "unknown_kinds": {},
        "open_tools": [{"id": "toolu_b", "name": "Bash", "line": 17}],
        "violation_count": 0,
        "violations": [],
    }


def test_the_command_reads_standard_input(run: Run) -> None:
    result = run("validate", "-", stdin=TEXT.read_bytes())
    assert result.exit_code == 0
    assert result.stdout.startswith("<stdin>  clean\n")


# --- violations -------------------------------------------------------------------------------


def test_violations_are_listed_by_line_and_code(
    run: Run, recording: Callable[[bytes], Path]
) -> None:
    novel = b'{"type":"novel"}\n{"type":"novel"}\n{"type":"system","subtype":"newer"}'
    path = recording(b"\n".join([broken_text(), novel, b"{", b""]))
    result = run("validate", path)
    assert result.exit_code == 1
    message = json.loads(recorded("01_text")[4])["event"]["message"]["id"]
    assert result.stdout == (
        f"{path}  2 violations\n"
        "  lines      22 = 18 typed + 3 unknown + 1 error\n"
        "  content    1 message, 1 block, 0 tools\n"
        "  unknown    novel (2), system/newer (1)\n"
        f"  line 14    block_left_open: block 0 of message {message}\n"
        "             Every block stops before its message, unless it is abandoned.\n"
        "  line 22    bad_line: the line is cut off\n"
        "             Every line is a JSON object.\n"
    )


def test_an_input_that_the_agent_rewrote_is_reported_and_no_violation(run: Run) -> None:
    lines = b"\n".join(recorded("03_tools_allow"))
    assert "rewritten" not in run("validate", "-", stdin=lines).stdout
    tidied = lines.replace(b'"input":{"command":"', b'"input":{"command":"tidied: ')
    result = run("validate", "-", stdin=tidied)
    assert result.exit_code == 0
    said = "  rewritten  1 tool input by the agent, after the model had streamed them\n"
    assert said in result.stdout


def test_a_bad_line_is_a_violation(run: Run) -> None:
    result = run("validate", "--json", "-", stdin=b"{oops\n")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["ok"], report["lines"], report["errors"]) == (False, 1, 1)
    assert [(v["code"], v["line"]) for v in report["violations"]] == [("bad_line", 1)]


def test_something_unknown_is_no_violation(run: Run) -> None:
    result = run("validate", "-", stdin=b'{"type":"novel"}\n')
    assert result.exit_code == 0
    assert "novel (1)" in result.stdout


def test_a_block_that_is_no_block_is_unknown_and_its_neighbour_is_shown(run: Run) -> None:
    content = [{"type": "text", "text": "Hello"}, "bare string"]
    frame = {"type": "assistant", "message": {"id": "m1", "content": content}}
    lines = json.dumps(frame).encode()
    result = run("validate", "--json", "-", stdin=lines)
    report = json.loads(result.stdout)
    assert (result.exit_code, report["violations"]) == (0, [])
    assert (report["typed"], report["unknown"]) == (0, 1)
    assert report["unknown_kinds"] == {"content/(no type)": 1}
    shown = run("convert", "--to", "rpc", "-", stdin=lines)
    assert shown.exit_code == 0
    assert '{"type":"text","text":"Hello"}' in shown.stdout


def test_a_file_without_lines_is_no_violation(run: Run) -> None:
    result = run("validate", "-", stdin=b"\n \n")
    assert (result.exit_code, result.stdout) == (0, "<stdin>  no lines\n")


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_being_checked(
    run: Run, recording: Callable[[bytes], Path]
) -> None:
    broken = recording(broken_text())
    result = run("validate", "nowhere", broken, TEXT)
    assert result.exit_code == 2  # over 1, over 0
    assert "nowhere does not exist" in result.stderr
    assert f"{broken}  1 violation\n" in result.stdout
    assert f"{TEXT}  clean\n" in result.stdout
    assert result.stdout.endswith("1 clean file, 1 with violations, 1 unreadable; 37 lines\n")
    assert run("validate", broken, TEXT).exit_code == 1
    assert run("validate", TEXT, TEXT).exit_code == 0


def test_a_file_that_cannot_be_read_in_json(run: Run) -> None:
    result = run("validate", "--json", "nowhere")
    assert result.exit_code == 2
    report = json.loads(result.stdout)
    assert (report["file"], report["ok"]) == ("nowhere", False)
    assert report["unreadable"].startswith("nowhere does not exist.")


def test_a_binary_file_does_not_flood_the_terminal(run: Run) -> None:
    result = run("validate", "-", stdin=bytes(range(256)) * 40)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) < 20
    assert "and 31 more" in result.stdout


def test_names_from_the_stream_cannot_act_on_the_terminal(run: Run) -> None:
    evil = json.dumps({"type": "\x1b[2Jevil\n\u202e"}).encode()
    result = run("validate", "-", stdin=evil)
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "[2Jevil" in result.stdout


def test_at_least_one_file_has_to_be_given(run: Run) -> None:
    assert run("validate").exit_code == 2


# --- sessions of protocol v2 ------------------------------------------------------------------

SESSIONS = sorted((FIXTURES / "v2").glob("*.jsonl"))
DROPPED = FIXTURES / "v2" / "09_drop_and_resume_with_snapshot.jsonl"


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_the_recorded_sessions_are_clean(path: Path, run: Run) -> None:
    result = run("validate", "--from", "v2", "--json", path)
    report = json.loads(result.stdout)
    assert (result.exit_code, report["ok"], report["violations"]) == (0, True, [])
    assert report["lines"] == len(path.read_bytes().splitlines())


@pytest.mark.parametrize("path", [*RECORDED, *BOTH_DIRECTIONS], ids=lambda path: path.stem)
def test_a_converted_stream_is_a_valid_session(path: Path, run: Run) -> None:
    frames = run("convert", "--to", "v2", path).stdout.encode()
    result = run("validate", "--from", "v2", "--json", "-", stdin=frames)
    assert json.loads(result.stdout)["violations"] == []


def test_validate_prints_a_report_of_a_session_for_people(run: Run) -> None:
    result = run("validate", "--from", "v2", DROPPED)
    assert result.exit_code == 0
    assert result.stdout == (
        f"{DROPPED}  clean\n"
        "  lines      45 = 45 typed + 0 unknown + 0 errors\n"
        "  frames     34 of the server, 3 of the client, on 4 connections\n"
        "  content    6 entries of the log, 2 turns, 0 tools\n"
    )


def test_validate_prints_json_of_a_session_for_programs(run: Run) -> None:
    result = run("validate", "--from", "v2", "--json", DROPPED)
    assert json.loads(result.stdout) == {
        "file": str(DROPPED),
        "ok": True,
        "notes": 0,
        "lines": 45,
        "typed": 45,
        "unknown": 0,
        "errors": 0,
        "connections": 4,
        "client_frames": 3,
        "server_frames": 34,
        "entries": 6,
        "turns": 2,
        "tools": 0,
        "unknown_kinds": {},
        "violation_count": 0,
        "violations": [],
    }


def test_broken_rules_of_a_session_are_listed_by_line_and_code(run: Run) -> None:
    lines = (FIXTURES / "v2" / "01_plain_answer.jsonl").read_bytes().splitlines()
    lines[5] = lines[5].replace(b'"sequence": 4', b'"sequence": 40')
    novel = lines[17].replace(b"conversation.updated", b"conversation.novel")
    result = run("validate", "--from", "v2", "-", stdin=b"\n".join([*lines[:17], novel, b"{"]))
    assert result.exit_code == 1
    assert result.stdout == (
        "<stdin>  3 violations\n"
        "  lines      19 = 17 typed + 1 unknown + 1 error\n"
        "  frames     16 of the server, 1 of the client, on 1 connection\n"
        "  content    3 entries of the log, 1 turn, 0 tools\n"
        "  unknown    conversation.novel (1)\n"
        "  line 6     sequence_gap: 40 after 3\n"
        "             `sequence` counts the frames of a connection: 1, 2, 3, ...\n"
        "  line 7     sequence_gap: 5 after 40\n"
        "  line 19    bad_line: not JSON: Input data was truncated\n"
        "             Every line is a frame, or one of connect, client, server and close.\n"
    )


def test_a_line_that_is_too_long_for_a_session_is_reported_too(run: Run) -> None:
    long = b'{"comment":"' + b"x" * 2**20 + b'"}'
    result = run("validate", "--from", "v2", "--max-line", "1", "--json", "-", stdin=long)
    assert [v["code"] for v in json.loads(result.stdout)["violations"]] == ["bad_line"]


def test_only_streams_and_sessions_can_be_checked(run: Run) -> None:
    result = run("validate", "--from", "rpc", DROPPED)
    assert result.exit_code == 2
    assert "'rpc' is not one of 'claude', 'acp', 'codex', 'v2'" in result.stderr
