"""Every rule of protocol v2 is named when a small edit of a good session breaks it."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.v2 import broken_answers, broken_connections, broken_logs
from tests.dialects.v2.sessions import CASES, PATHS, Case, Session, check
from turnwire.dialects.v2.check import SESSION_RULES, SessionCheck


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_recorded_sessions_break_no_rule(path: Any) -> None:
    report = check(path.read_bytes().splitlines())
    assert report.violations == []
    assert report.lines == report.typed


# --- the table ----------------------------------------------------------------------------------


TABLE = (broken_connections, broken_logs, broken_answers)  # reading them fills CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.edit.__name__)
def test_a_small_edit_breaks_exactly_one_rule(case: Case) -> None:
    session = Session(case.session)
    case.edit(session)
    if case.counted:
        session.number_frames()
    assert session.broken() == {case.code}


def test_every_rule_is_broken_by_some_edit() -> None:
    assert sorted(SESSION_RULES) == sorted({case.code for case in CASES})


def test_every_rule_says_what_must_be() -> None:
    assert [rule for rule in SESSION_RULES.values() if not rule.endswith(".")] == []


def test_a_violation_has_the_line_and_says_what_broke_the_rule() -> None:
    session = Session("01")
    session.drop("assistant.chunk", 1)
    session.number_frames()
    (violation,) = check(session.lines).violations
    assert (violation.code, violation.line) == ("chunk_gap", 13)
    assert violation.message == "piece 3 of msg_01KpQ4:0 after 1"


# --- bare frames --------------------------------------------------------------------------------


def bare(session: Session) -> list[dict[str, Any]]:
    return [frame for line in session.lines if (frame := line.get("client") or line.get("server"))]


@pytest.mark.parametrize("path", PATHS[:9], ids=lambda path: path.stem)
def test_bare_frames_are_checked_as_well(path: Any) -> None:
    assert check(bare(Session(path.stem))).violations == []


def test_bare_frames_of_the_server_alone_need_no_client() -> None:
    frames = [frame for frame in bare(Session("04")) if "sequence" in frame]
    report = check(frames)
    assert (report.violations, report.client_frames) == ([], 0)


def test_where_both_sides_are_there_an_answer_needs_its_command() -> None:
    frames = bare(Session("04"))
    frames.insert(5, {"type": "session.heartbeat", "client_message_id": "hb-1"})
    assert {v.code for v in check(frames).violations} == {"unanswered"}


def test_a_bare_beginning_is_a_new_connection() -> None:
    assert check(bare(Session("09"))).connections == 4


# --- what is not known is not wrong -------------------------------------------------------------


def test_frames_of_an_unknown_type_are_counted_and_passed_over() -> None:
    session = Session("01")
    novel = session.again("session.system_event")
    novel["type"] = "session.novel"
    novel["payload"] = {}
    session.number_frames()
    report = check(session.lines)
    assert (report.violations, report.unknown_kinds) == ([], {"session.novel": 1})
    assert report.lines == report.typed + report.unknown + report.errors


def test_an_entry_of_an_unknown_type_has_its_place_in_the_log() -> None:
    session = Session("01")
    session.frame("session.system_event")["type"] = "session.novel"
    assert check(session.lines).violations == []
    replayed = Session("10")
    for line in replayed.lines:
        replay = line.get("server", {}).get("payload", {})
        if "event" in replay and replay["message_sequence"] == 1:
            replay["event"]["type"] = "user.novel"
    assert check(replayed.lines).violations == []


def test_an_unknown_type_may_come_at_any_time() -> None:
    session = Session("01")
    session.again("session.connected")["type"] = "session.novel"
    session.number_frames()
    assert check(session.lines).violations == []


def test_a_recording_may_begin_where_the_client_comes_back() -> None:
    session = Session("09")
    assert check(session.lines[session.place("connect", 1) :]).violations == []


def test_what_a_client_missed_may_be_answered_without_having_been_seen() -> None:
    """Its copy begins at entry 6, so that calls, requests and turns before that are not known."""
    session = Session("06")
    address = f"{session.lines[0]['connect']}&last_sequence=5"
    session.lines[0]["connect"] = address
    hello = session.frame("session.connected")
    hello["type"] = "session.resumed"
    hello["payload"] |= {"first": 6, "head": 5}
    session.payload("session.replay_complete")["through"] = 5
    state = session.frame("session.state")
    del session.lines[4 : session.place("session.state", 3)]
    session.lines.pop(session.place("session.state"))
    session.lines[3]["server"]["payload"] = {**state["payload"], "state": "streaming"}
    session.lines[3]["server"]["payload"] |= {"running": True, "turn_id": 1}
    session.number_frames()
    codes = {v.code for v in check(session.lines).violations}
    assert codes == set()


def test_a_log_of_another_epoch_is_another_log() -> None:
    first, second = Session("01").lines, Session("01").lines
    for line in second:
        if line.get("server", {}).get("type") == "session.connected":
            line["server"]["payload"]["epoch"] = "e-2"
    report = check([*first, *second])
    assert report.violations == []
    assert (report.connections, report.entries, report.turns) == (2, 6, 2)


def test_only_the_first_thousand_violations_are_kept_and_all_are_counted() -> None:
    report = check([b"{"] * 1500)
    assert (report.violation_count, len(report.violations), report.errors) == (1500, 1000, 1500)


def test_a_session_that_was_cut_off_may_lack_answers() -> None:
    session = Session("01")
    session.drop("session.heartbeat_ack")
    session.lines[-1]["close"] = 1006
    assert check(session.lines).violations == []


def test_a_frame_without_an_id_may_be_refused_without_one() -> None:
    session = Session("12")
    session.lines.insert(-1, {"client": {"type": "user.queue", "payload": {"action": "resume"}}})
    assert check(session.lines).violations == []


def test_an_id_that_was_used_for_something_else_is_refused() -> None:
    session = Session("04")
    place = session.place("user.input_response.ack", 1)
    session.client("user.input_response", 2)["payload"]["answer"] = "grey"
    refusal = deepcopy(session.lines[session.place("session.error")])
    refusal["server"]["payload"] = {
        "code": "IDEMPOTENCY_CONFLICT",
        "message": "m-33 was used for another frame.",
        "retryable": False,
        "what_to_do": "Use a new client_message_id for new content.",
        "client_message_id": "m-33",
    }
    session.lines[place] = refusal
    session.number_frames()
    assert check(session.lines).violations == []


def test_the_checker_needs_no_end() -> None:
    checker = SessionCheck()
    for number, line in enumerate(Session("02").lines, 1):
        checker.feed(json.dumps(line).encode(), number)
        assert checker.report().violation_count == 0


def test_a_block_that_was_discarded_while_the_client_was_away_is_not_missed() -> None:
    session = Session("09")
    session.drop("assistant.chunk", 2)
    session.drop("assistant.chunk", 2)
    session.payload("message.replay")["event"]["payload"] |= {
        "block_id": "msg_01Sto9:0",
        "message_id": "msg_01Sto9",
        "index": 0,
    }
    session.number_frames()
    assert check(session.lines).violations == []


def test_a_sub_agent_may_wait_for_a_person_after_the_turn_has_ended() -> None:
    session = Session("11")
    asked = deepcopy(session.lines[session.place("assistant.tool_call", -1)])
    asked["server"]["type"] = "assistant.permission_request"
    asked["server"]["payload"] = {
        "request_id": "r-1",
        "tool_use_id": "toolu_01SvRd",
        "tool_name": "Read",
        "input": {"file_path": "docs/parse.md"},
        "message_sequence": 15,
        "parent_tool_use_id": "toolu_01AgB",
    }
    waits = deepcopy(session.lines[session.place("session.state", -2)])
    waits["server"]["payload"] |= {
        "state": "waiting_input",
        "requests": [
            {"request_id": "r-1", "kind": "permission", "tool_use_id": "t", "tool_name": "Read"}
        ],
    }
    place = session.place("assistant.tool_call", -1)
    session.lines[place + 1 :] = [asked, waits]
    session.number_frames()
    assert check(session.lines).violations == []


def test_an_error_that_is_about_no_frame_answers_none() -> None:
    session = Session("01")
    error = session.again("session.state", -1)
    error["type"] = "session.error"
    error["payload"] = {
        "code": "AGENT_ERROR",
        "message": "The agent's process ended.",
        "retryable": True,
        "what_to_do": "Read the message; send a user.message to go on.",
    }
    session.number_frames()
    assert check(session.lines).violations == []


def test_frames_without_ids_are_answered_by_their_type_one_by_one() -> None:
    session = Session("12")
    wish = {"client": {"type": "user.queue", "payload": {"action": "resume"}}}
    ack = deepcopy(session.lines[session.place("session.heartbeat_ack")])
    ack["server"] |= {"type": "user.queue.ack", "payload": {}}
    session.lines[-1:-1] = [wish, wish, ack, deepcopy(ack)]
    session.number_frames()
    assert check(session.lines).violations == []
    session.lines.insert(-1, deepcopy(ack))
    session.number_frames()
    assert session.broken() == {"answer_without_command"}


def test_the_end_of_a_request_that_opened_before_the_recording_is_not_wrong() -> None:
    session = Session("09")
    del session.lines[: session.place("connect", 1)]
    session.payload("message.replay")["event"] |= {
        "type": "assistant.request_resolved",
        "payload": {"request_id": "r-0", "outcome": "cancelled", "message_sequence": 4},
    }
    del session.lines[session.place("assistant.chunk") : session.place("close")]
    session.number_frames()
    assert check(session.lines).violations == []


# --- whatever comes in --------------------------------------------------------------------------

ALL_LINES = [line for path in PATHS for line in Session(path.stem).lines]
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from([[], {}, 10**30, "session.connected", "assistant.chunk", "conv-mkdir"]),
)


@st.composite
def bent_sessions(draw: st.DrawFn) -> list[Any]:
    """A session with lines left out, doubled, mixed with others', and values replaced in them."""
    lines: list[Any] = deepcopy(Session(draw(st.sampled_from(PATHS)).stem).lines)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["drop", "double", "foreign", "bend", "bend", "bend"])):
            case "drop" if len(lines) > 1:
                del lines[at]
            case "double":
                lines.insert(draw(st.integers(0, len(lines))), deepcopy(lines[at]))
            case "foreign":
                lines.insert(at, deepcopy(draw(st.sampled_from(ALL_LINES))))
            case _:
                place = lines[at]
                while inner := [v for v in place.values() if isinstance(v, dict) and v]:
                    if draw(st.booleans()):
                        break
                    place = draw(st.sampled_from(inner))
                place[draw(st.sampled_from(list(place)))] = draw(ODD)
    return lines


@given(bent_sessions())
def test_no_session_is_too_broken_to_be_checked(lines: list[Any]) -> None:
    report = check(lines)
    assert report.lines == len(lines) == report.typed + report.unknown + report.errors
    assert {violation.code for violation in report.violations} <= set(SESSION_RULES)


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"{}", b'{"type":1}', b'{"server":{}}'])))
def test_no_bytes_are_too_broken_to_be_checked(lines: list[bytes]) -> None:
    assert check(lines).lines == len(lines)


def test_an_address_with_a_number_beyond_all_bounds_counts_as_one_without() -> None:
    session = Session("01")
    session.lines[0]["connect"] += f"&last_sequence={'9' * 5000}&tail=all"
    assert check(session.lines).violations == []
