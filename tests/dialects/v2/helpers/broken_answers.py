"""Small edits of a session that break a rule about answers to a client or about the state."""

from __future__ import annotations

from copy import deepcopy

from tests.dialects.v2.helpers.recorded_sessions import Session, breaks
from turnwire.core.error_codes import ERRORS, ErrorCode

# --- clients and their answers ------------------------------------------------------------------


@breaks("bad_command", "01")
def a_client_sends_what_there_is_not(s: Session) -> None:
    s.lines.insert(-1, {"client": {"type": "user.shout", "payload": {}}})


@breaks("bad_command", "01")
def a_client_sends_a_field_that_there_is_not(s: Session) -> None:
    s.lines.insert(-1, {"client": {"type": "user.interrupt", "payload": {"turnId": 1}}})


@breaks("answer_without_command", "01")
def an_answer_answers_nothing(s: Session) -> None:
    s.drop("session.heartbeat", side="client")


@breaks("answer_without_command", "08")
def an_ack_without_an_id_answers_nothing(s: Session) -> None:
    ack = s.again("user.queue.ack", later=4)
    del ack["payload"]["client_message_id"]


@breaks("unanswered", "01")
def a_client_gets_no_answer(s: Session) -> None:
    s.drop("session.heartbeat_ack")


@breaks("unanswered", "01")
def a_client_has_no_answer_when_the_recording_ends(s: Session) -> None:
    s.cut("session.heartbeat_ack")


@breaks("wrong_answer", "01")
def an_ack_is_of_another_type(s: Session) -> None:
    s.frame("user.message.ack")["type"] = "user.queue.ack"


@breaks("wrong_answer", "01")
def an_accepted_message_neither_starts_nor_waits(s: Session) -> None:
    del s.payload("user.message.ack")["turn_id"]


@breaks("wrong_answer", "04")
def an_answer_is_acknowledged_for_another_question(s: Session) -> None:
    for ack in (0, 1):
        s.payload("user.input_response.ack", ack)["request_id"] = "toolu_other"


@breaks("wrong_answer", "06")
def a_decision_is_acknowledged_for_another_request(s: Session) -> None:
    s.payload("user.permission_response.ack")["request_id"] = "r-9"


@breaks("wrong_answer", "08")
def a_stop_has_no_outcome(s: Session) -> None:
    del s.payload("user.interrupt.ack")["outcome"]


@breaks("wrong_answer", "07")
def another_item_of_the_queue_was_changed(s: Session) -> None:
    s.payload("user.queue.ack")["queue_id"] = "q-9"


@breaks("wrong_answer", "06")
def a_rewind_names_no_files(s: Session) -> None:
    del s.payload("user.rewind.ack")["files"]


@breaks("wrong_answer", "02")
def another_model_was_chosen(s: Session) -> None:
    s.payload("session.set_model.ack")["model"] = "claude-sonnet-4-5"


@breaks("wrong_answer", "06")
def another_mode_was_chosen(s: Session) -> None:
    s.payload("session.set_permission_mode.ack")["mode"] = "plan"


@breaks("wrong_answer", "02")
def it_thinks_more_than_was_chosen(s: Session) -> None:
    s.payload("session.set_max_thinking_tokens.ack")["max_thinking_tokens"] = 9000


@breaks("wrong_answer", "02")
def a_control_has_no_result(s: Session) -> None:
    del s.payload("session.control.ack")["result"]


@breaks("wrong_duplicate", "04")
def a_repeat_is_not_marked(s: Session) -> None:
    del s.payload("user.input_response.ack", 1)["duplicate"]


@breaks("wrong_duplicate", "04")
def a_repeat_gets_another_answer(s: Session) -> None:
    s.payload("user.input_response.ack", 1)["delivered_as"] = "prompt"


@breaks("wrong_duplicate", "04")
def another_content_passes_for_a_repeat(s: Session) -> None:
    s.client("user.input_response", 2)["payload"]["answer"] = "grey"


@breaks("wrong_duplicate", "04")
def a_repeat_is_refused(s: Session) -> None:
    place = s.place("user.input_response.ack", 1)
    s.lines[place] = deepcopy(s.lines[s.place("session.error", 1)])
    s.lines[place]["server"]["payload"]["client_message_id"] = "m-33"


@breaks("answer_after_effect", "01")
def a_turn_starts_before_its_message_was_acknowledged(s: Session) -> None:
    s.move("user.message.ack", by=1)


@breaks("answer_after_effect", "01")
def a_message_is_told_before_it_was_acknowledged(s: Session) -> None:
    del s.payload("turn.started")["client_message_id"]
    s.move("user.message.ack", by=2)


@breaks("answer_after_effect", "04")
def a_question_ends_before_its_answer_was_acknowledged(s: Session) -> None:
    s.move("user.input_response.ack", by=1)


@breaks("wrong_error", "10")
def an_error_has_an_unknown_code(s: Session) -> None:
    s.payload("session.error")["code"] = "OUT_OF_COFFEE"


@breaks("wrong_error", "07")
def an_error_says_that_trying_again_is_useless_although_it_is_not(s: Session) -> None:
    s.payload("session.error")["retryable"] = False


# --- the state ----------------------------------------------------------------------------------


@breaks("wrong_state", "01")
def a_turn_runs_that_has_no_number(s: Session) -> None:
    state = s.frame("session.state", 1)
    state["turn_id"] = state["trace_id"] = None
    del state["payload"]["turn_id"]


@breaks("wrong_state", "01")
def a_turn_runs_without_a_live_agent(s: Session) -> None:
    s.payload("session.state", 1)["running"] = False


@breaks("wrong_state", "01")
def an_agent_works_on_no_turn(s: Session) -> None:
    s.payload("session.state", -1)["running"] = True


@breaks("wrong_state", "01")
def a_turn_failed_and_still_runs(s: Session) -> None:
    s.payload("session.state", 1)["state"] = "error"


@breaks("wrong_state", "01")
def a_person_is_waited_for_without_a_request(s: Session) -> None:
    s.payload("session.state", 1)["state"] = "waiting_input"


@breaks("wrong_state", "01")
def the_last_turn_has_no_number(s: Session) -> None:
    del s.payload("session.state", -1)["last_turn_id"]


@breaks("wrong_state", "07")
def the_state_is_told_in_a_frame_of_another_turn(s: Session) -> None:
    state = next(
        frame
        for line in s.lines
        if (frame := line.get("server", {})).get("type") == "session.state"
        and frame["turn_id"] == 2
    )
    state["turn_id"], state["trace_id"] = 1, s.frame("turn.started")["trace_id"]


@breaks("wrong_state", "01")
def a_turn_that_has_ended_still_runs(s: Session) -> None:
    s.payload("session.state", -1).update(state="streaming", running=True, turn_id=1)


@breaks("wrong_state", "01")
def another_turn_runs_than_the_one_that_started(s: Session) -> None:
    state = s.frame("session.state", 1)
    state["turn_id"] = state["trace_id"] = None
    state["payload"]["turn_id"] = 7


@breaks("wrong_requests", "04")
def an_open_question_is_not_listed(s: Session) -> None:
    s.payload("session.state", 2).update(state="streaming", requests=[])


@breaks("wrong_requests", "04")
def a_question_is_listed_that_was_not_asked(s: Session) -> None:
    waiting = s.payload("session.state", 2)["requests"]
    waiting.append({**waiting[0], "request_id": "toolu_none"})


@breaks("wrong_queue", "07")
def two_queued_messages_have_one_id(s: Session) -> None:
    for item in s.payload("session.state", 3)["queue"]:
        item["queue_id"] = "q-1"
    s.cut("session.error")
    s.drop("user.message", 3, side="client")


@breaks("wrong_queue", "07")
def more_messages_wait_than_may(s: Session) -> None:
    s.payload("session.connected")["limits"]["max_queue"] = 1


# --- acks that do not fit -----------------------------------------------------------------------


@breaks("wrong_answer", "01")
def a_message_waits_although_nothing_runs(s: Session) -> None:
    s.lines[s.place("user.message.ack")]["server"]["payload"] = {
        "client_message_id": "m-01",
        "queue_id": "q-1",
    }


@breaks("wrong_answer", "07")
def a_message_starts_a_turn_while_another_runs(s: Session) -> None:
    ack = s.payload("user.message.ack", 1)
    del ack["queue_id"]
    ack["turn_id"] = 2
    s.cut("session.state", 2)


@breaks("wrong_answer", "10")
def a_message_starts_a_turn_that_was_before(s: Session) -> None:
    s.payload("user.message.ack")["turn_id"] = 2


@breaks("wrong_answer", "07")
def two_messages_wait_under_one_id(s: Session) -> None:
    s.payload("user.message.ack", 2)["queue_id"] = "q-1"
    s.cut("session.state", 3)


@breaks("wrong_answer", "07")
def a_queue_goes_on_that_was_not_held(s: Session) -> None:
    s.payload("user.message.ack", 1)["held"] = True


@breaks("wrong_answer", "08")
def a_late_stop_is_on_its_way(s: Session) -> None:
    s.payload("user.interrupt.ack", 1)["outcome"] = "requested"


@breaks("wrong_answer", "08")
def a_stop_comes_too_late_for_a_turn_that_runs(s: Session) -> None:
    s.payload("user.interrupt.ack")["outcome"] = "already_ended"


@breaks("wrong_answer", "07")
def a_message_is_removed_that_does_not_wait(s: Session) -> None:
    place = s.place("session.error", 1)
    s.lines[place] = deepcopy(s.lines[s.place("user.queue.ack", 2)])
    s.lines[place]["server"]["payload"]["client_message_id"] = "m-68"


@breaks("wrong_answer", "04")
def an_empty_answer_is_accepted(s: Session) -> None:
    s.lines[s.place("session.error")] = deepcopy(s.lines[s.place("user.input_response.ack")])
    s.payload("user.input_response.ack")["client_message_id"] = "m-32"


@breaks("wrong_answer", "05")
def a_late_answer_is_accepted(s: Session) -> None:
    error = s.frame("session.error")
    error["type"] = "user.input_response.ack"
    error["payload"] = {"client_message_id": "m-42", "request_id": "toolu_01AskD"}


@breaks("not_offered", "06")
def something_is_accepted_that_was_not_offered(s: Session) -> None:
    s.payload("session.connected")["capabilities"]["commands"].remove("user.rewind")


@breaks("too_large", "01")
def a_frame_is_accepted_that_is_too_large(s: Session) -> None:
    s.payload("session.connected")["limits"]["max_frame_bytes"] = 100


# --- refusals that do not fit -------------------------------------------------------------------


def refuse(s: Session, code: ErrorCode, nth: int = 0) -> None:
    s.payload("session.error", nth).update(
        code=code, retryable=ERRORS[code].retryable, what_to_do=ERRORS[code].what_to_do
    )


@breaks("wrong_refusal", "04")
def an_answered_question_is_said_to_have_expired(s: Session) -> None:
    refuse(s, "INPUT_TIMEOUT", 1)


@breaks("wrong_refusal", "05")
def an_expired_question_is_said_to_be_answered(s: Session) -> None:
    refuse(s, "DUPLICATE_INPUT_RESPONSE")


@breaks("wrong_refusal", "05")
def a_question_that_was_not_asked_is_reported_as_cancelled(s: Session) -> None:
    refuse(s, "CONVERSATION_INTERRUPTED", 1)


@breaks("wrong_refusal", "05")
def nothing_is_open_and_that_is_not_said(s: Session) -> None:
    refuse(s, "INVALID_QUESTION_ID", 1)


@breaks("wrong_refusal", "04")
def something_is_open_and_the_refusal_denies_it(s: Session) -> None:
    s.client("user.input_response")["payload"]["question_id"] = "toolu_none"
    refuse(s, "NO_PENDING_INPUT")


@breaks("wrong_refusal", "04")
def a_real_answer_is_said_to_be_empty(s: Session) -> None:
    s.client("user.input_response")["payload"]["answer"] = "green"


@breaks("wrong_refusal", "04")
def an_answer_is_refused_because_of_the_queue(s: Session) -> None:
    refuse(s, "TURN_QUEUE_FULL", 1)


@breaks("wrong_refusal", "07")
def the_queue_is_said_to_be_full_although_it_is_not(s: Session) -> None:
    s.payload("session.connected")["limits"]["max_queue"] = 3


@breaks("wrong_refusal", "07")
def a_message_that_waits_is_said_not_to(s: Session) -> None:
    s.client("user.queue", 3)["payload"]["queue_id"] = "q-2"


# --- acks that come too late --------------------------------------------------------------------


@breaks("answer_after_effect", "07")
def a_message_waits_before_it_was_acknowledged(s: Session) -> None:
    s.move("user.message.ack", 1, by=1)


@breaks("answer_after_effect", "07")
def a_message_is_moved_before_that_was_acknowledged(s: Session) -> None:
    s.move("user.queue.ack", by=1)


@breaks("answer_after_effect", "07")
def a_message_is_replaced_before_that_was_acknowledged(s: Session) -> None:
    s.move("user.queue.ack", 1, by=1)


@breaks("answer_after_effect", "07")
def a_message_is_removed_before_that_was_acknowledged(s: Session) -> None:
    s.move("user.queue.ack", 2, by=1)


@breaks("answer_after_effect", "08")
def a_held_queue_goes_on_before_that_was_acknowledged(s: Session) -> None:
    s.move("user.queue.ack", by=1)


@breaks("answer_after_effect", "06")
def files_are_put_back_before_that_was_acknowledged(s: Session) -> None:
    s.move("user.rewind.ack", 1, by=1)


@breaks("answer_after_effect", "06")
def a_permission_ends_before_its_answer_was_acknowledged(s: Session) -> None:
    s.move("user.permission_response.ack", by=1)


@breaks("answer_after_effect", "02")
def the_log_tells_of_a_model_before_it_was_acknowledged(s: Session) -> None:
    s.move("session.set_model.ack", by=1)


@breaks("answer_after_effect", "02")
def the_state_tells_of_a_model_before_it_was_acknowledged(s: Session) -> None:
    s.payload("session.system_event", -1)["subtype"] = "notice"
    s.move("session.set_model.ack", by=2)


@breaks("answer_after_effect", "06")
def the_mode_changes_before_that_was_acknowledged(s: Session) -> None:
    s.move("session.set_permission_mode.ack", by=1)


@breaks("answer_after_effect", "02")
def it_thinks_less_before_that_was_acknowledged(s: Session) -> None:
    s.move("session.set_max_thinking_tokens.ack", by=1)


@breaks("wrong_answer", "13")
def another_agent_was_chosen_than_asked_for(s: Session) -> None:
    s.payload("session.set_agent.ack")["agent"] = "demo"


@breaks("answer_after_effect", "13")
def the_state_tells_of_the_next_agent_before_it_was_acknowledged(s: Session) -> None:
    s.move("session.set_agent.ack", by=1)


@breaks("answer_after_effect", "13")
def the_log_tells_of_an_agent_before_it_was_acknowledged(s: Session) -> None:
    s.drop("session.state", -2)
    s.move("session.set_agent.ack", by=1)
    s.number_frames()


@breaks("wrong_state", "13")
def an_agent_speaks_that_the_log_does_not_name(s: Session) -> None:
    s.payload("session.state", -1)["agent"] = "demo"


@breaks("wrong_answer", "06")
def another_rule_was_taken_back_than_asked_for(s: Session) -> None:
    s.payload("session.forget_rule.ack")["rule_id"] = "r6"
