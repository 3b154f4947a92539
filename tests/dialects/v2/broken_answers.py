"""Small edits that break a rule about answers to a client, and about the state."""

from __future__ import annotations

from copy import deepcopy

from tests.dialects.v2.sessions import Session, breaks

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
    ack = s.again("user.queue.ack")
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
def a_question_is_listed_that_nobody_asked(s: Session) -> None:
    waiting = s.payload("session.state", 2)["requests"]
    waiting.append({**waiting[0], "request_id": "toolu_none"})


@breaks("wrong_queue", "07")
def two_queued_messages_have_one_id(s: Session) -> None:
    for state in (3, 4, 5):
        for item in s.payload("session.state", state)["queue"]:
            item["queue_id"] = "q-1"


@breaks("wrong_queue", "07")
def more_messages_wait_than_may(s: Session) -> None:
    s.payload("session.connected")["limits"]["max_queue"] = 1
