"""The check of Claude's stream: each rule broken alone, and valid streams that look broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.recorded_streams import BOTH_DIRECTIONS, RECORDED, recorded
from turnwire.dialects.claude import decode, read
from turnwire.dialects.claude.check import RULES, StreamCheck, StreamReport

Frame = dict[str, Any]

TEXT = {"type": "text", "text": ""}
INIT = {"type": "system", "subtype": "init", "session_id": "s"}
HANDSHAKE = {
    "type": "control_response",
    "response": {"subtype": "success", "request_id": "r", "response": {"commands": []}},
}


# --- frames -----------------------------------------------------------------------------------


def event(event: Frame, **more: Any) -> Frame:
    return {"type": "stream_event", "event": event, "session_id": "s", **more}


def start(message_id: str | None = "m1", content: list[Frame] | None = None, **more: Any) -> Frame:
    message = {"id": message_id, "content": content or []}
    return event({"type": "message_start", "message": message}, **more)


def block_start(index: int = 0, block: Frame = TEXT, **more: Any) -> Frame:
    return event({"type": "content_block_start", "index": index, "content_block": block}, **more)


def text_delta(text: str, index: int = 0, **more: Any) -> Frame:
    delta = {"type": "text_delta", "text": text}
    return event({"type": "content_block_delta", "index": index, "delta": delta}, **more)


def delta(kind: str, key: str, piece: str) -> Frame:
    return event(
        {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: piece}},
    )


def block_stop(index: int = 0, **more: Any) -> Frame:
    return event({"type": "content_block_stop", "index": index}, **more)


def stop(**more: Any) -> Frame:
    return event({"type": "message_stop"}, **more)


def said(*blocks: Frame | str, message_id: str | None = "m1", **more: Any) -> Frame:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    message = {"id": message_id, "content": content}
    return {"type": "assistant", "message": message, "session_id": "s", **more}


def call(call_id: str = "t1", name: str = "Bash", **arguments: Any) -> Frame:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def answer(call_id: str = "t1", **more: Any) -> Frame:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "done"}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **more}


def result(index: int | None = None, cost: float | None = None) -> Frame:
    frame = {"type": "result", "subtype": "success", "result_index": index, "total_cost_usd": cost}
    return {key: value for key, value in frame.items() if value is not None}


def check(*frames: Frame | bytes) -> StreamReport:
    checker = StreamCheck()
    for line in read(f if isinstance(f, bytes) else json.dumps(f).encode() for f in frames):
        checker.feed(line)
    return checker.report()


def broken(*frames: Frame | bytes) -> list[tuple[str, int]]:
    """The rules that were broken, and on which line."""
    found = check(*frames).violations
    assert all(violation.code in RULES for violation in found)
    return [(violation.code, violation.line) for violation in found]


# --- recorded streams -------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_real_cli_breaks_no_rule(path: Path) -> None:
    report = check(*path.read_bytes().splitlines())
    assert report.violations == []
    assert report.lines == report.typed
    assert (report.unknown, report.errors, report.unknown_kinds) == (0, 0, {})


def test_recorded_streams_exist() -> None:
    assert len(RECORDED) > 30
    assert len(BOTH_DIRECTIONS) > 30


def test_the_check_counts_the_content_of_a_stream() -> None:
    report = check(*recorded("05_parallel"))
    assert (report.messages, report.blocks, report.tools) == (5, 8, 3)
    assert report.open_tools == []


def test_a_tool_call_without_a_result_is_left_open() -> None:
    (tool,) = check(*recorded("12b_max_budget")).open_tools
    assert (tool.id, tool.name, tool.line) == ("toolu_0", "Bash", 11)


def test_streams_one_after_the_other_in_one_file_break_no_rule() -> None:
    lines = [line for path in RECORDED for line in path.read_bytes().splitlines()]
    assert check(*lines, *lines).violations == []


# --- lines ------------------------------------------------------------------------------------


def test_lines_are_typed_unknown_or_errors() -> None:
    report = check(INIT, {"type": "novel"}, b"{broken", {"type": "novel"}, {"no": "type"})
    assert (report.lines, report.typed, report.unknown, report.errors) == (5, 1, 3, 1)
    assert report.unknown_kinds == {"novel": 2, "(no type)": 1}
    assert [(v.code, v.line) for v in report.violations] == [("bad_line", 3)]


def test_the_first_violations_are_kept_and_all_are_counted() -> None:
    report = check(*[b"{"] * 1200)
    assert report.violation_count == 1200
    assert len(report.violations) == 1000


def test_lines_of_the_host_are_counted_but_not_judged() -> None:
    checker = StreamCheck()
    checker.feed(decode(json.dumps(text_delta("x")).encode()), from_host=True)
    report = checker.report()
    assert (report.lines, report.violations) == (1, [])


# --- stream events ----------------------------------------------------------------------------


def test_a_delta_for_an_unknown_block_is_a_violation() -> None:
    assert broken(start(), text_delta("x"), text_delta("y")) == [("block_not_started", 2)]


def test_a_stop_for_a_block_that_never_started() -> None:
    assert broken(start(), block_stop()) == [("block_not_started", 2)]


def test_a_block_started_twice_is_a_violation() -> None:
    assert broken(start(), block_start(), block_start()) == [("block_started_twice", 3)]


def test_a_delta_or_a_stop_for_a_block_that_stopped() -> None:
    frames = start(), block_start(), block_stop(), text_delta("late"), block_stop()
    assert broken(*frames) == [("block_stopped", 4), ("block_stopped", 5)]


def test_a_message_that_stops_while_a_block_is_open() -> None:
    frames = start(), block_start(0), block_stop(0), block_start(1), stop()
    assert broken(*frames) == [("block_left_open", 5)]


def test_abandoned_blocks_may_stay_open() -> None:
    abandoned = {"from_block_index": 1}
    frames = start(), block_start(0), block_stop(0), block_start(1)
    assert broken(*frames, stop(abandoned_blocks=abandoned)) == []
    unstopped = start(), block_start(0), block_start(1)
    assert broken(*unstopped, stop(abandoned_blocks=abandoned)) == [("block_left_open", 4)]


@pytest.mark.parametrize("named", [{}, {"api_message_id": "m1"}])
def test_an_event_for_a_stopped_message_is_a_violation(named: Frame) -> None:
    assert broken(start(), stop(), block_start(**named)) == [("message_stopped", 3)]


def test_an_event_for_an_earlier_stopped_message_is_a_violation() -> None:
    frames = start("m1"), stop(), start("m2"), block_start(api_message_id="m1")
    assert broken(*frames) == [("message_stopped", 4)]


def test_an_abandoned_message_may_end_after_the_next_one_began() -> None:
    frames = start("m1"), block_start(), start("m2"), block_stop(api_message_id="m1")
    assert broken(*frames) == []


def test_a_message_that_starts_twice() -> None:
    assert broken(start("m1"), start("m1")) == [("message_started_twice", 2)]
    assert broken(start(None), start(None)) == []


def test_a_recording_that_begins_in_the_middle_of_a_message_is_reported_once() -> None:
    frames = text_delta("x"), text_delta("y"), block_stop(), block_start(1), block_stop(1), stop()
    assert broken(*frames) == [("message_not_started", 1)]


def test_an_event_of_an_unknown_message_is_a_violation() -> None:
    frames = start("m1"), stop(), block_start(api_message_id="m2")
    assert broken(*frames) == [("message_not_started", 3)]


def test_pings_errors_and_events_not_known_belong_to_no_message() -> None:
    kinds: list[Frame] = [{"type": "ping"}, {"type": "error"}, {"type": "novel"}]
    assert broken(*map(event, kinds)) == []


def test_usage_comes_at_the_end_of_a_message() -> None:
    assert broken(start(), event({"type": "message_delta", "usage": {}}), stop()) == []


def test_sub_agents_have_messages_of_their_own() -> None:
    theirs: Frame = {"parent_tool_use_id": "t1"}
    frames = start("m1"), start("m2", **theirs), block_start(), block_start(**theirs)
    assert broken(*frames, block_stop(**theirs), block_stop(), stop(**theirs), stop()) == []


def test_blocks_that_come_with_the_start_of_a_message_are_whole() -> None:
    frames = start(content=[{"type": "text", "text": "whole"}]), said("whole"), stop()
    assert broken(*frames) == []


# --- finished blocks --------------------------------------------------------------------------


def streamed(block: Frame, *pieces: Frame) -> list[Frame]:
    return [start(), block_start(0, block), *pieces]


def test_a_finished_text_that_differs_from_its_stream_is_a_violation() -> None:
    frames = [*streamed(TEXT, text_delta("Hel"), text_delta("lo"))]
    assert broken(*frames, said("Hello"), block_stop()) == []
    assert broken(*frames, said("Hallo"), block_stop()) == [("block_differs", 6)]
    assert broken(*frames, block_stop(), said("Hell")) == [("block_differs", 6)]


def test_finished_thinking_that_differs_from_its_stream_is_a_violation() -> None:
    frames = streamed(
        {"type": "thinking", "thinking": ""}, delta("thinking_delta", "thinking", "hm")
    )
    frames.append(delta("signature_delta", "signature", "proof"))
    assert broken(*frames, said({"type": "thinking", "thinking": "hm"}), block_stop()) == []
    assert broken(*frames, said({"type": "thinking", "thinking": "ah"}), block_stop()) != []


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
def test_a_finished_input_that_differs_from_its_stream_is_a_violation(kind: str) -> None:
    block = {"type": kind, "id": "t1", "name": "Bash", "input": {}}
    pieces = [
        delta("input_json_delta", "partial_json", '{"b": 1.0, '),
        delta("input_json_delta", "partial_json", '"a": "x"}'),
    ]
    same, other = {**block, "input": {"a": "x", "b": 1}}, {**block, "input": {"a": "y", "b": 1}}
    assert broken(*streamed(block, *pieces), said(same), block_stop()) == []
    assert broken(*streamed(block, *pieces), said(other), block_stop()) == [("block_differs", 6)]
    assert broken(*streamed(block), said(block), block_stop()) == []


def test_the_cli_may_tidy_the_input_of_its_own_tools() -> None:
    pieces = [delta("input_json_delta", "partial_json", '{"command": "cd /workspace && ls"}')]
    for finished, rewritten in (("cd /workspace && ls", 0), ("ls", 1)):
        report = check(*streamed(call(), *pieces), said(call(command=finished)), block_stop())
        assert report.violations == []
        assert report.inputs_rewritten == rewritten


def test_an_input_the_model_did_not_finish_cannot_be_compared() -> None:
    pieces = [delta("input_json_delta", "partial_json", '{"command": "l')]
    assert broken(*streamed(call(), *pieces), said(call()), block_stop()) == []


def test_an_interrupt_cuts_the_finished_block_short() -> None:
    frames = streamed(TEXT, text_delta("one two three"))
    assert broken(*frames, said("one two", aborted=True), block_stop()) == []


def test_blocks_with_parts_not_known_cannot_be_compared() -> None:
    frames = streamed(TEXT, text_delta("a"), delta("novel_delta", "text", "b"))
    assert broken(*frames, said("ab"), block_stop()) == []
    novel = {"type": "novel_block"}
    assert broken(*streamed(novel), said(novel), block_stop()) == []


def test_blocks_that_do_not_grow_are_not_compared() -> None:
    hidden = {"type": "redacted_thinking", "data": "x"}
    assert broken(*streamed(hidden), said(hidden), block_stop()) == []


def test_blocks_of_one_kind_are_matched_in_their_order() -> None:
    first = block_start(0), text_delta("one", 0), said("one"), block_stop(0)
    second = block_start(1), text_delta("two", 1), said("two"), block_stop(1)
    assert broken(start(), *first, *second, stop()) == []
    assert check(start(), *first, *second, stop()).messages == 1


def test_a_frame_without_an_id_belongs_to_the_open_message() -> None:
    frames = streamed(TEXT, text_delta("x"))
    assert broken(*frames, said("y", message_id=None), block_stop()) == [("block_differs", 5)]


def test_a_late_frame_belongs_to_the_message_before() -> None:
    one = start("m1"), block_start(), text_delta("x"), block_stop(), stop()
    late = start("m2"), said("x", message_id="m1"), block_start(), block_stop(), stop()
    assert broken(*one, *late) == []
    assert check(*one, *late).messages == 2


def test_a_message_that_was_not_streamed_is_not_compared() -> None:
    report = check(INIT, said("x"), said("y"), said("z", message_id="m2"))
    assert report.violations == []
    assert (report.messages, report.blocks) == (2, 3)


def test_content_may_be_a_string_or_missing() -> None:
    frames: list[Frame] = [
        {"type": "assistant", "message": {"id": "m1", "content": "Hello"}},
        {"type": "assistant"},
        {"type": "user", "message": {"content": "Hi"}},
        {"type": "user"},
    ]
    report = check(*frames)
    assert report.violations == []
    assert (report.messages, report.blocks) == (3, 2)


# --- tools ------------------------------------------------------------------------------------


def test_two_results_for_one_call() -> None:
    frames = INIT, said(call("t1")), answer("t1", uuid="a"), answer("t1", uuid="b")
    assert broken(*frames) == [("result_repeated", 4)]


def test_a_frame_that_comes_twice_is_one_frame() -> None:
    frames = INIT, said(call("t1"), uuid="u"), answer("t1", uuid="a")
    assert broken(*frames, said(call("t1"), uuid="u"), answer("t1", uuid="a")) == []
    assert check(*frames, said(call("t1"), uuid="u")).tools == 1


def test_replayed_results_are_no_second_ones() -> None:
    frames = INIT, said(call("t1")), answer("t1", uuid="a"), answer("t1", uuid="b", isReplay=True)
    assert broken(*frames) == []


def test_results_of_the_providers_own_tools_come_inside_the_message() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    report = check(INIT, said(search, found))
    assert (report.violations, report.open_tools) == ([], [])


def test_a_result_for_a_call_never_seen() -> None:
    assert broken(INIT, said("hm"), answer("t9")) == [("result_without_call", 3)]
    assert broken(start(), stop(), answer("t9")) == [("result_without_call", 3)]


def test_a_resumed_session_may_answer_calls_of_before_until_the_model_speaks() -> None:
    assert broken(INIT, answer("t9"), said("so"), answer("t8")) == [("result_without_call", 4)]


def test_a_recording_that_begins_in_the_middle_may_have_missed_calls_of_its_first_message() -> None:
    frames = said(call("t2")), answer("t1"), answer("t2")
    assert broken(*frames) == []
    assert broken(*frames, said("m2", message_id="m2"), answer("t3")) == [
        ("result_without_call", 5)
    ]


def test_a_sub_agent_is_followed_from_the_call_that_started_it() -> None:
    theirs: Frame = {"parent_tool_use_id": "t1"}
    frames = INIT, said(call("t1", "Agent")), said("looking", message_id="m2", **theirs)
    assert broken(*frames, answer("t9", **theirs)) == [("result_without_call", 4)]


def test_a_permission_request_proves_the_call_it_is_about() -> None:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t9"}
    asked = {"type": "control_request", "request_id": "r1", "request": request}
    assert broken(INIT, said("hm"), asked, answer("t9")) == []


def test_one_id_for_two_calls_is_a_violation() -> None:
    frames = INIT, said(call("t1", command="ls")), answer("t1")
    other_input = said(call("t1", command="rm"), message_id="m2")
    other_tool = said(call("t1", "Read", command="ls"))
    assert broken(*frames, other_input) == [("tool_id_reused", 4)]
    assert broken(*frames, other_tool) == [("tool_id_reused", 4)]
    assert broken(*frames, said(call("t1", command="ls"))) == []


@pytest.mark.parametrize("next_process", [[INIT], [result(0), HANDSHAKE, INIT]])
def test_another_process_may_use_an_id_again(next_process: list[Frame]) -> None:
    frames = INIT, said(call("t1", command="ls"), uuid="u"), answer("t1", uuid="a")
    again = said(call("t1", command="rm"), message_id="m2", uuid="v"), answer("t1", uuid="b")
    assert broken(*frames, *next_process, *again) == []


def test_a_message_that_broke_off_with_its_process_is_forgotten() -> None:
    frames = HANDSHAKE, INIT, start(), block_start(), HANDSHAKE, INIT, start("m2"), stop()
    assert broken(*frames) == []


def test_a_second_handshake_alone_is_not_a_second_process() -> None:
    frames = HANDSHAKE, INIT, start(), block_start(), HANDSHAKE, block_stop(), stop()
    assert broken(*frames) == []


# --- requests and figures ---------------------------------------------------------------------


def test_a_cancelled_request_that_was_never_made() -> None:
    cancel = {"type": "control_cancel_request", "request_id": "r1"}
    request = {"type": "control_request", "request_id": "r1", "request": {"subtype": "interrupt"}}
    assert broken(INIT, cancel) == [("cancel_without_request", 2)]
    assert broken(INIT, request, cancel) == []
    assert broken(cancel) == []  # it may have been made before the recording began


def test_a_result_index_that_goes_backwards() -> None:
    assert broken(result(0), result(1), result(2)) == []
    assert broken(result(1), result(1)) == [("result_index_backwards", 2)]
    assert broken(result(5), result(3)) == [("result_index_backwards", 2)]


def test_a_cost_that_goes_backwards() -> None:
    assert broken(result(0, 0.5), result(1, 0.4)) == [("cost_backwards", 2)]
    assert broken(result(0, 0.5), result(1), result(2, 0.4)) == [("cost_backwards", 3)]
    assert broken(result(None, 0.5), result(None, 0.4)) == [("cost_backwards", 2)]
    assert broken(result(0, 0.1 + 0.2), result(1, 0.3)) == []  # the same, but for the rounding


def test_another_process_counts_from_zero_again() -> None:
    assert broken(result(0, 0.5), result(1, 0.9), result(0, 0.1)) == []
    assert broken(INIT, result(None, 0.5), INIT, result(None, 0.1)) == []


def test_another_session_counts_from_zero_again() -> None:
    first, second = {"session_id": "s-1"}, {"session_id": "s-2"}
    assert broken(result(4, 0.5) | first, result(5, 0.1) | second) == []
    assert broken(result(4, 0.5) | first, result(2, 0.1) | second) == []
    assert broken(result(None, 0.5) | first, result(None, 0.1) | second) == []
    again = broken(result(4, 0.5) | first, result(5, 0.1) | second, result(6, 0.05) | second)
    assert again == [("cost_backwards", 3)]
    assert broken(result(4, 0.5) | first, result(5, 0.1)) == [("cost_backwards", 2)]


def test_an_answer_that_says_nothing_is_no_handshake() -> None:
    silent = {"type": "control_response", "response": {"subtype": "success", "request_id": "r"}}
    assert broken(silent) == []


def test_a_whole_message_may_be_said_after_one_of_its_blocks() -> None:
    stream = [start(), block_start(), text_delta("A"), said("A"), block_stop()]
    stream += [block_start(1), text_delta("B", 1), block_stop(1), stop(), said("A", "B")]
    assert broken(*stream) == []
    assert check(*stream).blocks == 2
    assert broken(*stream[:-1], said("A", "C")) == [("block_differs", 10)]
