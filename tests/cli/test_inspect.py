"""`turnwire inspect`: the report about a recorded stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.cli.conftest import Run
from tests.helpers.cost_growth import grows_linearly
from tests.helpers.recorded_streams import BOTH_DIRECTIONS, FIXTURES, RECORDED

CLAUDE = FIXTURES / "claude"


def summary(run: Run, name: str) -> dict[str, Any]:
    result = run("inspect", "--json", CLAUDE / f"{name}.jsonl")
    assert result.exit_code == 0
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def of(run: Run, *frames: dict[str, Any] | bytes) -> dict[str, Any]:
    lines = b"\n".join(f if isinstance(f, bytes) else json.dumps(f).encode() for f in frames)
    parsed: dict[str, Any] = json.loads(run("inspect", "--json", "-", stdin=lines).stdout)
    return parsed


def call(name: str, arguments: Any, call_id: str = "t1", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    return {"type": "assistant", "message": {"id": "m1", "content": [block]}, **more}


def answer(call_id: str = "t1", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "done"}
    return {"type": "user", "message": {"content": [block]}, **more}


# --- recorded streams -------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*RECORDED, *BOTH_DIRECTIONS], ids=lambda path: path.stem)
def test_every_recorded_stream_can_be_summed_up(path: Path, run: Run) -> None:
    result = run("inspect", path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == str(path)
    assert max(map(len, lines[1:])) <= 80
    assert not any(line != line.rstrip() for line in lines)


def test_the_report_has_the_expected_text(run: Run) -> None:
    path = CLAUDE / "09b_subagent_forward_text.io.jsonl"
    assert run("inspect", path).stdout == (
        f"{path}\n"
        "  session   c3bb5dc4-4f43-4ee3-b6ab-0272e18ed091\n"
        "  agent     claude-sonnet-4-5, Claude Code 2.1.325, permission mode default\n"
        "  directory /workspace\n"
        "  recording 44 lines, 29.2 kB\n"
        "\n"
        "Turn 1  completed                         710 ms  $0.0024  200 tokens in, 40 out\n"
        "  prompt    delegate\n"
        "  ✓ Agent  look around                                                    449 ms\n"
        "    ✓ Bash  touch sub.txt; ls                                 permission  137 ms\n"
        "  said      The subagent is done.\n"
        "\n"
        "1 turn, 2 tool calls, $0.0024, 200 tokens in, 40 out\n"
    )


def test_durations_come_from_the_agents_clock_where_the_recorder_has_none(run: Run) -> None:
    (agent,) = summary(run, "09b_subagent_forward_text")["turns"][0]["tools"]
    (bash,) = agent["tools"]
    assert (agent["seconds"], bash["seconds"]) == (0.456, 0.147)


def test_thinking_and_questions_are_shown(run: Run) -> None:
    (turn,) = summary(run, "02_thinking")["turns"]
    assert (turn["thinking_blocks"], turn["thinking_characters"]) == (1, 32)
    (turn,) = summary(run, "06_ask_user")["turns"]
    assert turn["questions"] == ["Which colour?", "Which sizes?"]
    assert turn["tools"][0]["asked"] == "question"
    shown = run("inspect", CLAUDE / "06_ask_user.jsonl").stdout
    assert "  asked     Which sizes?\n" in shown
    assert (
        "  thinking  1 block, 32 characters\n"
        in run("inspect", CLAUDE / "02_thinking.jsonl").stdout
    )


def test_the_outcome_of_each_turn_is_shown(run: Run) -> None:
    def outcomes(name: str) -> list[tuple[str, str | None]]:
        turns = summary(run, name)["turns"]
        return [(turn.get("outcome", "lost"), turn.get("reason")) for turn in turns]

    assert outcomes("01_text") == [("completed", None)]
    assert outcomes("07_interrupt_stream") == [("interrupted", None), ("completed", None)]
    assert outcomes("10b_hook_defer") == [("paused", None)]
    assert outcomes("12_max_turns") == [("failed", "max_turns"), ("failed", "max_turns")]
    assert outcomes("09c_subagent_background")[1] == ("completed", "task-notification")
    assert outcomes("22b_kill_during_text") == [("lost", None), ("completed", None)]
    assert outcomes("22e_kill_permission_resend") == [("lost", None)]


def test_failures_and_retries(run: Run) -> None:
    (turn,) = summary(run, "11_api_529_final")["turns"]
    assert turn["retries"] == ["529 overloaded", "529 overloaded"]
    shown = run("inspect", CLAUDE / "11_api_529_final.jsonl").stdout
    assert "Turn 1  failed (api_error)" in shown
    assert "  retried   2 times: 529 overloaded, 529 overloaded\n" in shown
    assert "  error     API Error: 529 Overloaded." in shown


def test_tools_without_a_successful_result_are_marked(run: Run) -> None:
    shown = run("inspect", CLAUDE / "04_tools_deny.jsonl").stdout
    assert "  ✗ Bash  " in shown
    assert "1 failed" in shown
    shown = run("inspect", CLAUDE / "12b_max_budget.jsonl").stdout
    assert "  … Bash  " in shown
    assert "no result\n" in shown
    assert "1 without a result" in shown


def test_the_plan_is_shown(run: Run) -> None:
    assert "  plan      0 of 1 done\n" in run("inspect", CLAUDE / "15_todo.jsonl").stdout


def test_a_background_sub_agent_stays_under_the_call_that_started_it(run: Run) -> None:
    first, second = summary(run, "09c_subagent_background")["turns"]
    assert [tool["name"] for tool in first["tools"][0]["tools"]] == ["Bash"]
    assert "tools" not in second


# --- other streams ----------------------------------------------------------------------------


def test_the_subject_of_a_call_is_shown(run: Run) -> None:
    def about(arguments: Any) -> str:
        (turn,) = of(run, call("Tool", arguments))["turns"]
        text: str = turn["tools"][0]["about"]
        return text

    assert about({"command": "ls", "description": "List files"}) == "ls"
    assert about({"description": "look", "prompt": "Please look"}) == "look"
    assert about({"taskId": "1", "done": True, "command": ""}) == "taskId: 1, done: true, command:"
    assert about({}) == ""
    assert about(None) == ""
    assert about([1, 2]) == "[1,2]"
    assert len(about({"command": "x" * 1000})) == 201


def test_long_lines_are_cut_where_the_screen_ends(run: Run) -> None:
    frames = call("Bash", {"command": "echo " + "很长" * 100}), answer()
    lines = b"\n".join(json.dumps(frame).encode() for frame in frames)
    (row,) = (r for r in run("inspect", "-", stdin=lines).stdout.splitlines() if "Bash" in r)
    assert row.startswith("  ✓ Bash  echo 很长很长")
    assert row.endswith("…  ?")  # wide letters take two columns each
    assert len(row) <= 50


@pytest.mark.parametrize("path", [CLAUDE / "09b_subagent_forward_text.io.jsonl", None])
def test_a_screen_of_any_width_will_do(
    path: Path | None, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = json.dumps(call("很长" * 50, {"command": "x" * 500})).encode()
    for columns in range(1, 201):
        monkeypatch.setenv("COLUMNS", str(columns))
        result = run("inspect", path) if path else run("inspect", "-", stdin=hostile)
        assert (result.exit_code, result.stderr) == (0, "")
        if columns >= 60:
            assert max(map(cell_len, result.stdout.splitlines()[1:])) <= columns


def test_text_of_the_stream_cannot_control_the_terminal(run: Run) -> None:
    lines = json.dumps(call("Bash\x1b[2J", {"command": "a\x1b]0;b\x07\r\nc"})).encode()
    shown = run("inspect", "-", stdin=lines).stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "Bash [2J  a ]0;b c" in shown


def test_prompts_come_from_the_host_or_from_the_agents_echo(run: Run) -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s"}
    typed = {"type": "user", "message": {"content": [{"type": "text", "text": "Hello"}]}}
    envelope = {"t": 1, "dir": "in", "msg": typed}
    answered = {"t": 1, "dir": "in", "msg": {"type": "user"}}
    assert of(run, envelope, answered, init)["turns"][0]["prompt"] == "Hello"
    assert of(run, init, {**typed, "isReplay": True})["turns"][0]["prompt"] == "Hello"
    assert "prompt" not in of(run, init, {**typed, "isSynthetic": True})["turns"][0]


def test_clocks_that_are_of_no_use(run: Run) -> None:
    def seconds(began: Any, ended: Any) -> Any:
        frames = call("Bash", {}, timestamp=began), answer(timestamp=ended)
        return of(run, *frames)["turns"][0]["tools"][0].get("seconds")

    noon = "2026-01-01T12:00:00Z"
    assert seconds(noon, "2026-01-01T12:00:01.5+00:00") == 1.5
    assert seconds(noon, "2026-01-01T11:00:00Z") is None  # it went backwards
    assert seconds("noon", noon) is None
    assert seconds(noon, None) is None


def test_a_result_without_a_call_is_left_out_and_an_odd_retry_is_unknown(run: Run) -> None:
    retry = {"type": "system", "subtype": "api_retry", "error_status": "often"}
    (turn,) = of(run, answer("t9"), retry)["turns"]
    assert turn["retries"] == ["unknown"]
    assert "tools" not in turn


def test_a_failure_before_any_turn(run: Run) -> None:
    failed = {"type": "result", "subtype": "error_during_execution", "is_error": True}
    (turn,) = of(run, {**failed, "errors": ["No conversation found"]})["turns"]
    assert (turn["outcome"], turn["error"]) == ("failed", "No conversation found")


def delegated(levels: int) -> list[dict[str, Any]]:
    """Sub-agents that each start another one."""
    return [
        call("Agent", {}, f"t{n}", parent_tool_use_id=f"t{n - 1}" if n else None)
        for n in range(levels)
    ]


def test_sub_agents_of_sub_agents_without_end(run: Run) -> None:
    frames = delegated(3000)
    level = of(run, *frames)["turns"][0]
    depth, told = 0, 0
    while "tools" in level:
        assert depth <= 16
        told += len(level["tools"])
        depth, level = depth + 1, level["tools"][0]
    assert (depth, told) == (17, 3000)  # the deepest are siblings; none is left out
    lines = b"\n".join(json.dumps(frame).encode() for frame in frames)
    shown = run("inspect", "-", stdin=lines)
    assert shown.exit_code == 0
    assert "3,000 tool calls" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_a_call_that_names_itself_as_its_parent(run: Run) -> None:
    frames = [call("Agent", {}, "t1", parent_tool_use_id="t1", uuid=str(n)) for n in range(3)]
    assert of(run, *frames)["turns"][0]["tools"][0]["id"] == "t1"


def test_the_cost_of_sessions_and_models_grows_linearly(run: Run) -> None:
    def frame(n: int) -> dict[str, Any]:
        message = {"id": f"m{n}", "model": f"model-{n}", "content": []}
        return {"type": "assistant", "session_id": f"s{n}", "message": message}

    def frames(number: int) -> list[dict[str, Any]]:
        return [frame(n) for n in range(number)]

    found = of(run, *frames(3_000), frame(0))
    assert found["sessions"] == [f"s{n}" for n in range(3_000)]
    assert found["models"] == [f"model-{n}" for n in range(3_000)]
    assert grows_linearly(lambda many: of(run, *many), frames, 3_000)


def test_results_of_the_providers_own_tools_are_shown(run: Run) -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ]
    (turn,) = of(run, {"type": "assistant", "message": {"content": blocks}})["turns"]
    assert turn["tools"][0]["status"] == "ok"


def test_unknown_messages_and_bad_lines_are_counted(run: Run) -> None:
    result = run("inspect", "-", stdin=b'{"type":"novel"}\n' * 3 + b"{\n" * 8)
    assert result.exit_code == 0
    assert "  unknown   novel (3)\n" in result.stdout
    assert result.stdout.count("  bad line  line ") == 5
    assert "            and 3 more bad lines\n" in result.stdout


def test_an_empty_file_is_reported(run: Run, recording: Callable[[bytes], Path]) -> None:
    path = recording(b"")
    assert run("inspect", path).stdout == f"{path}\nno lines\n"


def test_sizes_and_sums_are_shown(run: Run, recording: Callable[[bytes], Path]) -> None:
    path = recording(b'{"type":"keep_alive"}\n' + b" " * 1_200_000)
    assert "1 line, 1.2 MB" in run("inspect", path).stdout
    result = {
        "type": "result",
        "subtype": "success",
        "duration_ms": 4_000_000,
        "total_cost_usd": 12.345,
        "usage": {"input_tokens": 20_000, "cache_read_input_tokens": 3_000_000},
    }
    path = recording(json.dumps(result).encode())
    assert "1 h 6 min  $12.35  3.0M tokens in, 0 out\n" in run("inspect", path).stdout


def test_a_repeated_frame_is_counted_once(run: Run) -> None:
    thinking = {"type": "thinking", "thinking": "hm"}
    said = {"type": "assistant", "uuid": "u1", "message": {"id": "m0", "content": [thinking]}}
    ran = call("Bash", {"command": "ls"}, uuid="u2")
    (turn,) = of(run, said, said, ran, answer(), ran)["turns"]
    assert turn["thinking_blocks"] == 1
    assert [tool["name"] for tool in turn["tools"]] == ["Bash"]
