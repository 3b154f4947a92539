"""The validator of v2: a small edit of a valid session breaks a rule, which is named."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.dialects.v2.helpers import broken_answers, broken_connections, broken_logs, broken_states
from tests.dialects.v2.helpers.recorded_sessions import CASES, PATHS, Case, Session, check
from turnwire.core.error_codes import ERRORS, ErrorCode
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.close_codes import CLOSES_WITH
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.validator.check import SESSION_RULES, SessionCheck
from turnwire.dialects.v2.validator.requests import RequestCheck
from turnwire.dialects.v2.validator.tools import ToolCheck


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_recorded_sessions_break_no_rule(path: Any) -> None:
    report = check(path.read_bytes().splitlines())
    assert report.violations == []
    assert report.lines == report.typed


# --- the table ----------------------------------------------------------------------------------


TABLE = (broken_connections, broken_logs, broken_answers, broken_states)  # reading them fills CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.edit.__name__)
def test_a_small_edit_breaks_exactly_one_rule(case: Case) -> None:
    session = Session(case.session)
    case.edit(session)
    if case.counted:
        session.number_frames()
    assert session.broken() == {case.code}


def test_every_rule_is_broken_by_some_edit() -> None:
    assert sorted(SESSION_RULES) == sorted({case.code for case in CASES})


def test_every_rule_is_a_plain_sentence() -> None:
    assert [rule for rule in SESSION_RULES.values() if not rule.endswith(".")] == []


def test_a_violation_has_its_line_and_its_cause() -> None:
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


def test_in_a_recording_of_both_sides_an_answer_needs_its_command() -> None:
    frames = bare(Session("04"))
    frames.insert(5, {"type": "session.heartbeat", "client_message_id": "hb-1"})
    assert {v.code for v in check(frames).violations} == {"unanswered"}


def test_a_bare_beginning_is_a_new_connection() -> None:
    assert check(bare(Session("09"))).connections == 4


@pytest.mark.parametrize("kept", ["localSettings", "session"])
def test_a_rule_may_be_kept_for_the_session_only(kept: str) -> None:
    """The rule of a user who is not the owner, for example."""
    session = Session("06")
    rule = {"type": "addRules", "rules": [], "destination": "localSettings"}
    session.client("user.permission_response")["payload"]["remember"] = [rule]
    session.payload("assistant.request_resolved")["remembered"] = [{**rule, "destination": kept}]
    assert check(session.lines).violations == []


def test_a_queue_may_be_full_before_it_is_long() -> None:
    session = Session("07")
    session.payload("session.connected")["limits"]["max_queue"] = 3
    assert session.broken() == {"wrong_refusal"}
    session.payload("session.error")["data"]["max_queue_bytes"] = 1 << 21
    assert session.broken() == set()


# --- unknown frames and fields are no violations ------------------------------------------------


def test_frames_of_an_unknown_type_are_counted_and_passed_over() -> None:
    session = Session("01")
    novel = session.again("session.system_event")
    novel["type"] = "session.novel"
    novel["payload"] = {}
    session.number_frames()
    report = check(session.lines)
    assert (report.violations, report.unknown_kinds) == ([], {"session.novel": 1})
    assert report.lines == report.typed + report.unknown + report.errors


def test_an_entry_of_an_unknown_type_has_its_number_in_the_log() -> None:
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


def test_a_missed_request_may_be_answered_without_having_been_seen() -> None:
    """The copy begins at entry 6: earlier calls, requests and turns are unknown."""
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


def test_an_interrupted_session_may_lack_answers() -> None:
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
            {
                "request_id": "r-1",
                "kind": "permission",
                "tool_use_id": "toolu_01SvRd",
                "tool_name": "Read",
                "turn_id": 1,
                "message_sequence": 15,
            }
        ],
    }
    place = session.place("assistant.tool_call", -1)
    session.lines[place + 1 :] = [asked, waits]
    session.number_frames()
    assert check(session.lines).violations == []


def test_an_agent_may_go_on_after_an_answer_before_it_shows_anything() -> None:
    session = Session("06")
    answered = session.place("assistant.request_resolved")
    assert session.lines[answered + 1]["server"]["payload"]["state"] == "active"
    again = deepcopy(session.lines[answered + 1])
    again["server"]["payload"]["state"] = "streaming"
    session.lines.insert(answered + 2, again)
    session.number_frames()
    assert check(session.lines).violations == []


def test_which_call_has_started_a_task_may_show_later() -> None:
    session = Session("11")
    states = [
        line["server"]["payload"] for line in session.lines if "background_tasks" in str(line)
    ]
    first = next(state for state in states if state.get("background_tasks"))
    del first["background_tasks"][0]["tool_use_id"]
    assert check(session.lines).violations == []


def test_an_error_without_a_frame_answers_no_frame() -> None:
    session = Session("01")
    error = session.again("session.state", -1)
    error["type"] = "session.error"
    error["payload"] = {
        "code": "AGENT_ERROR",
        "message": "The agent's process ended.",
        "retryable": True,
        "what_to_do": "Read the message, fix the agent and send it again.",
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


# --- addresses and times ------------------------------------------------------------------------


def test_an_address_may_have_escaped_names_and_unknown_parameters() -> None:
    session = Session("09")
    for line in session.lines:
        if "connect" in line:
            line["connect"] = (
                line["connect"].replace("conv-story", "conv%2Dstory").replace("e-71", "%65-71")
                + "&lang=de&x"
            )
    assert check(session.lines).violations == []


def test_a_malformed_address_must_not_be_accepted() -> None:
    session = Session("01")
    session.lines[0]["connect"] += "&last_sequence=abc"
    assert session.broken() == {"bad_address", "wrong_hello"}


def test_no_protocol_is_not_the_same_as_a_malformed_address() -> None:
    session = Session("10")
    for query in ("?protocol=", ""):
        session.lines[-3]["connect"] = f"/ws/conversations/conv-backup{query}"
        assert check(session.lines).violations == []


def test_a_foreign_epoch_is_reset_even_if_the_client_has_nothing() -> None:
    session = Session("10")
    for number in ("", "&last_sequence=0"):
        address = f"/ws/conversations/conv-backup?protocol=v2{number}&epoch=e-77aa01"
        session.lines[0]["connect"] = address
        assert check(session.lines).violations == []


def test_the_clock_may_jump_back() -> None:
    session = Session("01")
    session.frame("conversation.updated")["timestamp"] = "2024-02-29T09:14:27.58Z"
    assert check(session.lines).violations == []


# --- refusals that fit --------------------------------------------------------------------------


def error(session: Session, code: ErrorCode, **more: Any) -> dict[str, Any]:
    """A frame of the server that refuses."""
    line = deepcopy(session.lines[session.place("session.state")])
    rule = ERRORS[code]
    payload = {"code": code, "message": "No.", "retryable": rule.retryable, **more}
    line["server"] |= {
        "type": "session.error",
        "payload": payload | {"what_to_do": rule.what_to_do},
    }
    return line


def test_a_frame_that_is_none_has_its_own_refusal() -> None:
    session = Session("01")
    command = {"type": "user.shout", "client_message_id": "x-1", "payload": {}}
    refusal = error(session, "UNKNOWN_MESSAGE_TYPE", client_message_id="x-1")
    session.lines[-1:-1] = [{"client": command}, refusal]
    session.number_frames()
    assert session.broken() == {"bad_command"}
    session.lines[-2] = error(session, "INVALID_PAYLOAD", client_message_id="x-1")
    session.number_frames()
    assert session.broken() == {"bad_command", "wrong_refusal"}


def test_a_frame_without_an_id_may_be_one_too_many_without_ending_the_connection() -> None:
    session = Session("12")
    wish = {"client": {"type": "user.queue", "payload": {"action": "resume"}}}
    session.lines[-1:-1] = [wish, error(session, "RATE_LIMITED")]
    session.number_frames()
    assert check(session.lines).violations == []


def test_an_error_that_ends_the_connection_has_its_close_code() -> None:
    for code, close in CLOSES_WITH.items():
        session = Session("10")
        if code != "PROTOCOL_VERSION_UNSUPPORTED":
            session.lines[-3]["connect"] = "/ws/conversations/conv-backup?protocol=v2"
        session.lines[-2:] = [error(session, code), {"close": close}]  # type: ignore[arg-type]
        session.number_frames()
        assert check(session.lines).violations == []


def test_a_connection_that_was_not_refused_may_be_left_open() -> None:
    session = Session("09")
    session.drop("close")
    assert check(session.lines).violations == []


def test_an_answer_of_which_the_beginning_is_not_known_may_be_refused() -> None:
    session = Session("09")
    del session.lines[: session.place("connect", 1)]
    answer = {"question_id": "toolu_old", "answer": "blue"}
    command = {"type": "user.input_response", "client_message_id": "x-1", "payload": answer}
    refusal = error(session, "INPUT_TIMEOUT", client_message_id="x-1")
    session.lines[-1:-1] = [{"client": command}, refusal]
    session.number_frames()
    assert check(session.lines).violations == []


def test_any_frame_may_be_refused_because_the_server_cannot() -> None:
    session = Session("04")
    place = session.place("session.error", 1)
    session.lines[place] = error(session, "STORAGE_UNAVAILABLE", client_message_id="m-34")
    session.number_frames()
    assert check(session.lines).violations == []


def test_a_second_answer_before_the_request_has_ended_comes_too_late() -> None:
    session = Session("04")
    place = session.place("assistant.request_resolved")
    second = deepcopy(session.lines[session.place("user.input_response", 3, side="client")])
    second["client"]["client_message_id"] = "m-35"
    refusal = error(session, "DUPLICATE_INPUT_RESPONSE", client_message_id="m-35")
    session.lines[place:place] = [second, refusal]
    session.number_frames()
    assert check(session.lines).violations == []


# --- other clients ------------------------------------------------------------------------------


def test_a_state_without_an_own_change_may_show_another_clients_change() -> None:
    session = Session("07")
    state = session.again("session.state", 6)  # q-2 waits
    item = state["payload"]["queue"][0]
    state["payload"]["permission_mode"] = "plan"
    state["payload"]["queue"] = [{**item, "queue_id": "q-8", "client_message_id": "theirs"}, item]
    back = session.again("session.state", 7)
    back["payload"]["permission_mode"] = "default"
    back["payload"]["queue"] = [item]
    session.number_frames()
    assert check(session.lines).violations == []


def test_a_message_of_another_client_may_let_a_held_queue_go_on() -> None:
    session = Session("08")
    del session.lines[session.place("user.message", 2, side="client")]
    session.drop("user.message.ack", 2)
    session.cut("user.interrupt", 2, side="client")
    assert session.payload("session.state", -1)["queue"][0]["queue_id"] == "q-2"
    session.number_frames()
    assert check(session.lines).violations == []


def test_a_stop_may_let_the_queue_go_on_or_clear_it() -> None:
    session = Session("08")
    session.client("user.interrupt")["payload"]["queue"] = "continue"
    session.payload("conversation.interrupted")["queue"] = "continue"
    state = session.payload("session.state", 3)
    del state["queue_held"]
    session.cut("user.interrupt", 1, side="client")
    assert check(session.lines).violations == []
    session.client("user.interrupt")["payload"]["queue"] = "clear"
    session.payload("conversation.interrupted")["queue"] = "clear"
    state["queue"] = []
    assert check(session.lines).violations == []


def test_the_agents_default_model_may_be_any() -> None:
    session = Session("02")
    session.client("session.set_model")["payload"]["model"] = None
    del session.payload("session.set_model.ack")["model"]
    session.drop("session.system_event", -1)
    for state in (-2, -1):
        session.payload("session.state", state)["model"] = "claude-opus-4-1"
    session.number_frames()
    assert check(session.lines).violations == []


def test_the_first_state_needs_no_cause() -> None:
    session = Session("02")
    place = session.place("session.set_model", side="client")
    session.lines.insert(1, session.lines.pop(place))
    assert check(session.lines).violations == []


def test_the_same_choice_again_needs_no_state() -> None:
    session = Session("06")
    session.client("session.set_permission_mode")["payload"]["mode"] = "default"
    session.payload("session.set_permission_mode.ack")["mode"] = "default"
    session.drop("session.state", -1)
    chosen = Session("02")
    chosen.client("session.set_model")["payload"]["model"] = "claude-sonnet-4-5"
    chosen.payload("session.set_model.ack")["model"] = "claude-sonnet-4-5"
    chosen.drop("session.system_event", -1)
    chosen.drop("session.state", -2)
    chosen.payload("session.state", -1)["model"] = "claude-sonnet-4-5"
    for each in (session, chosen):
        each.number_frames()
        assert check(each.lines).violations == []


def test_the_same_effort_again_needs_no_state() -> None:
    session = Session("02")
    del session.lines[session.place("session.state", -1)]
    session.client("session.set_max_thinking_tokens")["payload"]["max_thinking_tokens"] = None
    del session.payload("session.set_max_thinking_tokens.ack")["max_thinking_tokens"]
    session.number_frames()
    assert check(session.lines).violations == []


def test_a_notice_of_the_agent_may_change_the_model_and_the_mode() -> None:
    session = Session("01")
    news = session.payload("session.system_event", 1)
    news["data"] = {"permissionMode": "plan"}
    session.payload("session.state", -1)["permission_mode"] = "plan"
    assert check(session.lines).violations == []
    kept = Session("02")
    kept.payload("session.system_event", -1).update(subtype="model_fallback", data=None)
    for state in (-2, -1):
        kept.payload("session.state", state)["model"] = "claude-opus-4-1"
    kept.drop("session.set_model", side="client")
    kept.drop("session.set_model.ack")
    kept.number_frames()
    assert check(kept.lines).violations == []


def test_large_content_may_be_moved_into_a_blob() -> None:
    session = Session("01")
    part = session.payload("user.message")["content"][0]
    part["text"] = "What does"
    part["blob"] = {"blob_id": "b-1", "mime_type": "text/plain", "size": 34}
    assert check(session.lines).violations == []


# --- questions of announced calls ------------------------------------------------------------------


def asked_in_turn(turn_id: int) -> f.AssistantRequestInput:
    frame = decode(json.dumps(Session("04").frame("assistant.request_input")).encode())
    assert isinstance(frame, f.AssistantRequestInput)
    return structs.replace(frame, turn_id=turn_id)


def test_an_announced_question_leaves_its_call_in_the_turn_that_made_it() -> None:
    said: list[str] = []
    tools = ToolCheck(
        lambda code, _: said.append(code), RequestCheck(lambda code, _: said.append(code))
    )
    tools.called(asked_in_turn(1), "t1")
    tools.question(asked_in_turn(2), "t1")
    assert (tools.turn_of, said) == ({"t1": 1}, [])


def test_the_call_of_an_announced_question_may_be_before_the_part_of_the_log_that_is_known() -> (
    None
):
    said: list[str] = []
    tools = ToolCheck(
        lambda code, _: said.append(code), RequestCheck(lambda code, _: said.append(code))
    )
    tools.whole = False
    tools.question(asked_in_turn(2), "t1")
    assert (tools.turn_of, said) == ({"t1": 2}, [])


# --- another agent --------------------------------------------------------------------------------


def with_message_during_the_handover() -> Session:
    """A person sends a message while the agent is being closed: it waits in the queue."""
    session = Session("13")
    chosen = session.place("session.state", -2)
    words = {"type": "text", "text": "And you?"}
    item = {"queue_id": "q-1", "content": [words], "client_message_id": "m-03"}
    sent = {"type": "user.message", "client_message_id": "m-03", "payload": {"content": "And you?"}}
    state = json.loads(json.dumps(session.lines[chosen]))
    state["server"]["payload"]["queue"] = [item]
    ack = json.loads(json.dumps(session.lines[session.place("session.set_agent.ack")]))
    ack["server"]["type"] = "user.message.ack"
    ack["server"]["payload"] = {"client_message_id": "m-03", "queue_id": "q-1"}
    session.lines[chosen + 1 : chosen + 1] = [{"client": sent}, ack, state]
    session.payload("session.state", -1)["queue"] = [item]
    session.number_frames()
    return session


def test_a_message_during_a_handover_is_queued_although_no_turn_runs() -> None:
    assert check(with_message_during_the_handover().lines).violations == []


def test_without_a_handover_it_has_to_start_a_turn() -> None:
    session = with_message_during_the_handover()
    for state in (-3, -2):
        del session.payload("session.state", state)["next_agent"]
    assert "wrong_answer" in {violation.code for violation in check(session.lines).violations}


def test_commands_of_the_agent_that_took_over_were_not_offered_at_the_connection() -> None:
    session = Session("13")
    control = {"control": "commands"}
    asked = {"type": "session.control", "client_message_id": "c-1", "payload": control}
    ack = json.loads(json.dumps(session.lines[session.place("session.set_agent.ack")]))
    ack["server"]["type"] = "session.control.ack"
    result = {"control": "commands", "commands": []}
    ack["server"]["payload"] = {"client_message_id": "c-1", "result": result}
    session.lines[-1:-1] = [{"client": asked}, ack]
    session.number_frames()
    assert check(session.lines).violations == []


def test_news_of_an_agent_without_its_name_change_nothing() -> None:
    session = Session("13")
    session.payload("session.system_event", -1)["data"] = None
    del session.payload("session.state", -1)["agent"]
    assert check(session.lines).violations == []


# --- a message into the running turn --------------------------------------------------------------


def with_a_steered_message() -> Session:
    """A person sends a message into the running turn, and the agent takes it."""
    session = Session("01")
    words = [{"type": "text", "text": "Briefly."}]
    wish = {"content": "Briefly.", "steer": True}
    sent = {"type": "user.message", "client_message_id": "m-02", "payload": wish}
    ack = deepcopy(session.lines[session.place("user.message.ack")])
    ack["server"]["payload"] = {"client_message_id": "m-02", "queue_id": "q-1", "turn_id": 1}
    running = session.lines[session.place("session.state", 1)]
    waits = deepcopy(running)
    item = {"queue_id": "q-1", "content": words, "client_message_id": "m-02"}
    waits["server"]["payload"]["queue"] = [item]
    taken = deepcopy(session.lines[session.place("user.message")])
    told = {"content": words, "client_message_id": "m-02", "steered_as": "q-1"}
    taken["server"]["payload"].update(told)
    place = session.place("assistant.chunk")
    added = [{"client": sent}, ack, waits, taken, deepcopy(running)]
    session.lines[place:place] = added
    session.number_log()
    session.number_frames()
    return session


def test_a_steered_message_leaves_the_queue_as_an_entry_of_the_running_turn() -> None:
    assert check(with_a_steered_message().lines).violations == []


def test_a_message_that_never_waited_was_not_steered() -> None:
    session = with_a_steered_message()
    session.payload("user.message", -1)["steered_as"] = "q-2"
    assert "wrong_queue" in {violation.code for violation in check(session.lines).violations}


def test_a_message_is_steered_only_into_the_turn_that_runs() -> None:
    session = with_a_steered_message()
    session.payload("user.message.ack", -1)["turn_id"] = 7
    assert {violation.code for violation in check(session.lines).violations} == {"wrong_answer"}
