"""Small edits of a session that break a rule about turns, blocks, tools or requests."""

from __future__ import annotations

from copy import deepcopy

from tests.dialects.v2.helpers.recorded_sessions import Session, breaks

# --- turns and the log --------------------------------------------------------------------------


@breaks("message_sequence_gap", "02")
def a_number_of_the_log_is_left_out(s: Session) -> None:
    s.payload("session.system_event", -1)["message_sequence"] += 1


@breaks("message_sequence_gap", "02")
def an_entry_comes_again_while_live(s: Session) -> None:
    s.again("session.system_event", -1)


@breaks("turn_not_started", "01")
def a_turn_does_not_start(s: Session) -> None:
    s.drop("turn.started")


@breaks("turn_not_started", "01")
def a_turn_ends_that_never_was(s: Session) -> None:
    end = s.again("assistant.complete", later=2)
    end["turn_id"], end["trace_id"] = 2, "0af7651916cd43dd8448eb211c80319c"
    s.cut("conversation.updated")


@breaks("turn_started_wrongly", "07")
def a_turn_has_two_numbers(s: Session) -> None:
    s.payload("turn.started", 1)["turn_id"] = 9


@breaks("turn_started_wrongly", "04")
def a_turn_goes_on_after_its_end(s: Session) -> None:
    place = s.place("turn.started", 1)
    s.lines.insert(-1, deepcopy(s.lines[place]))


@breaks("turn_started_wrongly", "01")
def a_turn_starts_again(s: Session) -> None:
    s.lines.insert(-1, deepcopy(s.lines[s.place("turn.started")]))


@breaks("turn_overlaps", "07")
def a_turn_starts_before_the_one_before_it_has_ended(s: Session) -> None:
    del s.lines[s.place("assistant.complete") : s.place("turn.started", 1)]
    s.cut("turn.started", 2)
    s.cut("session.state", -2)


@breaks("complete_twice", "01")
def a_turn_ends_twice(s: Session) -> None:
    s.again("assistant.complete")


@breaks("wrong_complete", "01")
def a_turn_ends_elsewhere_in_the_log(s: Session) -> None:
    s.end(after_sequence=2)


@breaks("wrong_complete", "08")
def an_interrupted_turn_says_that_it_was_not(s: Session) -> None:
    s.end(interrupted=False)
    s.cut("session.state", 3)


@breaks("wrong_complete", "01")
def a_turn_that_was_not_stopped_is_reported_as_interrupted(s: Session) -> None:
    s.end(interrupted=True)
    s.payload("session.state", -1)["state"] = "interrupted"


@breaks("wrong_complete", "01")
def a_turn_failed_without_a_reason(s: Session) -> None:
    s.end(is_error=True)
    s.payload("session.state", -1)["state"] = "error"


@breaks("wrong_complete", "01")
def an_end_is_of_no_turn(s: Session) -> None:
    end = s.frame("assistant.complete")
    end["turn_id"] = end["trace_id"] = None
    s.cut("session.state", -1)


@breaks("after_complete", "01")
def the_agent_goes_on_after_the_end_of_its_turn(s: Session) -> None:
    piece = s.again("assistant.chunk", later=6)
    piece["payload"] |= {"block_id": "msg_2:0", "message_id": "msg_2"}


# --- blocks -------------------------------------------------------------------------------------


@breaks("wrong_block", "01")
def a_piece_has_no_number(s: Session) -> None:
    del s.payload("assistant.chunk", 2)["chunk_seq"]


@breaks("wrong_block", "01")
def a_piece_has_a_number_of_the_log(s: Session) -> None:
    s.payload("assistant.chunk", 2)["message_sequence"] = 3


@breaks("wrong_block", "01")
def a_finished_block_counts_pieces(s: Session) -> None:
    s.payload("assistant.chunk", 3)["chunk_seq"] = 4


@breaks("wrong_block", "11")
def a_finished_block_has_no_number(s: Session) -> None:
    s.payload("assistant.chunk", 2)["message_sequence"] = None
    s.number_log()


@breaks("wrong_block", "01")
def a_block_is_text_and_then_reasoning(s: Session) -> None:
    s.frame("assistant.chunk", 2)["type"] = "assistant.thinking"


@breaks("wrong_block", "01")
def a_block_is_finished_as_something_else(s: Session) -> None:
    s.frame("assistant.chunk", 3)["type"] = "assistant.thinking"


@breaks("wrong_block", "11")
def a_block_has_an_id_of_its_own_invention(s: Session) -> None:
    s.payload("assistant.chunk", 2)["block_id"] = "block-1"


@breaks("wrong_block", "03")
def a_tool_call_has_another_block_id(s: Session) -> None:
    s.payload("assistant.tool_call")["block_id"] = "msg_01Rel1:1"


@breaks("wrong_block", "04")
def a_question_has_another_block_id(s: Session) -> None:
    s.payload("assistant.request_input")["block_id"] = "msg_01Bdg1:1"


@breaks("chunk_gap", "01")
def a_piece_is_missing(s: Session) -> None:
    s.drop("assistant.chunk", 1)


@breaks("snapshot_missing", "09")
def a_block_that_was_growing_comes_without_a_snapshot(s: Session) -> None:
    s.drop("assistant.chunk", 2)


@breaks("snapshot_missing", "09")
def a_block_that_grew_meanwhile_comes_without_a_snapshot(s: Session) -> None:
    s.drop("assistant.chunk", 4)


@breaks("snapshot_differs", "09")
def a_snapshot_has_other_words(s: Session) -> None:
    s.payload("assistant.chunk", 2)["text"] = "The keeper lost a letter."


@breaks("snapshot_differs", "09")
def a_snapshot_has_more_words_than_pieces(s: Session) -> None:
    s.payload("assistant.chunk", 2)["chunk_seq"] = 2
    s.payload("assistant.chunk", 3)["chunk_seq"] = 3


@breaks("snapshot_differs", "09")
def a_snapshot_falls_back(s: Session) -> None:
    s.payload("assistant.chunk", 2)["chunk_seq"] = 1
    s.payload("assistant.chunk", 3)["chunk_seq"] = 2


@breaks("piece_after_finish", "01")
def a_finished_block_grows(s: Session) -> None:
    s.again("assistant.chunk", 2, later=2)


@breaks("block_finished_twice", "01")
def a_block_is_finished_twice(s: Session) -> None:
    s.again("assistant.chunk", 3)
    s.number_log()


@breaks("block_left_open", "01")
def a_block_is_never_finished(s: Session) -> None:
    s.drop("assistant.chunk", 3)
    s.number_log()


@breaks("discarded_not_growing", "02")
def a_block_is_discarded_that_never_grew(s: Session) -> None:
    s.payload("assistant.discarded")["block_ids"].append("msg_none:0")


# --- tools, questions and permissions -----------------------------------------------------------


@breaks("question_as_tool_call", "03")
def a_question_comes_as_a_tool_call(s: Session) -> None:
    s.payload("assistant.tool_call")["tool_name"] = "AskUserQuestion"


@breaks("question_as_tool_call", "02")
def a_question_grows_as_a_tool_call(s: Session) -> None:
    for piece in (0, 1):
        s.payload("assistant.tool_call", piece)["tool_name"] = "mcp__desk__request_input"


@breaks("progress_out_of_place", "02")
def a_tool_prints_after_its_result(s: Session) -> None:
    s.move("assistant.tool_progress", by=1)


@breaks("progress_out_of_place", "02")
def a_tool_prints_that_was_not_called(s: Session) -> None:
    s.payload("assistant.tool_progress")["tool_use_id"] = "toolu_none"


@breaks("result_without_call", "03")
def a_result_answers_nothing(s: Session) -> None:
    s.again("assistant.tool_result")["payload"]["tool_use_id"] = "toolu_none"
    s.number_log()


@breaks("result_twice", "03")
def a_call_has_two_results(s: Session) -> None:
    s.again("assistant.tool_result")
    s.number_log()


@breaks("result_missing", "03")
def a_call_has_no_result(s: Session) -> None:
    s.drop("assistant.tool_result")
    s.number_log()


@breaks("result_while_waiting", "04")
def a_question_has_a_result_before_it_is_answered(s: Session) -> None:
    s.move("assistant.tool_result", by=-4)
    s.number_log()


@breaks("request_twice", "06")
def a_permission_is_asked_for_twice_under_one_id(s: Session) -> None:
    s.again("assistant.permission_request")
    s.number_log()


@breaks("resolved_not_open", "06")
def a_request_ends_twice(s: Session) -> None:
    s.again("assistant.request_resolved")
    s.number_log()


@breaks("resolved_not_open", "06")
def a_request_ends_that_never_was(s: Session) -> None:
    s.again("assistant.request_resolved")["payload"]["request_id"] = "r-9"
    s.number_log()


@breaks("request_left_open", "06")
def a_turn_ends_although_it_waits(s: Session) -> None:
    place = s.place("assistant.request_resolved", 1)
    del s.lines[place : s.place("assistant.complete")]
    s.number_log()
    s.cut("session.state", -3)


# --- turns in the queue and in acks -------------------------------------------------------------


@breaks("turn_started_wrongly", "01")
def a_message_starts_another_turn_than_its_ack_said(s: Session) -> None:
    s.payload("user.message.ack")["turn_id"] = 2


@breaks("turn_started_wrongly", "01")
def a_turn_has_another_message_than_the_one_that_was_accepted(s: Session) -> None:
    s.payload("turn.started")["client_message_id"] = "m-99"


@breaks("turn_started_wrongly", "07")
def a_turn_takes_up_a_message_that_never_waited(s: Session) -> None:
    s.payload("turn.started", 2)["queue_id"] = "q-9"
    s.cut("session.state", -2)


@breaks("turn_started_wrongly", "07")
def a_turn_overtakes_the_queue(s: Session) -> None:
    del s.payload("turn.started", 1)["queue_id"]
    s.cut("user.message", 1)


@breaks("turn_started_wrongly", "07")
def a_queued_message_starts_under_another_name(s: Session) -> None:
    s.payload("turn.started", 1)["client_message_id"] = "m-62"


@breaks("turn_started_wrongly", "12")
def a_turn_of_the_agent_takes_up_a_message(s: Session) -> None:
    s.payload("turn.started", 1)["client_message_id"] = "m-c1"


@breaks("turn_started_wrongly", "06")
def a_turn_goes_on_that_never_slept(s: Session) -> None:
    start = s.again("turn.started", later=2)["payload"]
    start["origin"] = "resume"
    del start["client_message_id"]


@breaks("wrong_words", "01")
def a_message_says_something_else_than_was_sent(s: Session) -> None:
    s.payload("user.message")["content"][0]["text"] = "What does rm do?"


@breaks("wrong_words", "03")
def a_message_shows_another_picture_than_was_sent(s: Session) -> None:
    s.payload("user.message")["content"][1]["blob"]["blob_id"] = "b-other"


@breaks("wrong_words", "03")
def a_message_has_lost_its_picture(s: Session) -> None:
    s.payload("user.message")["content"].pop()


@breaks("wrong_words", "03")
def a_message_has_its_parts_in_another_order(s: Session) -> None:
    s.payload("user.message")["content"].reverse()


@breaks("wrong_words", "07")
def a_replaced_message_says_what_it_said_before(s: Session) -> None:
    s.payload("user.message", 1)["content"][0]["text"] = "And a summary for the web page."


# --- places, parents and permissions ------------------------------------------------------------


@breaks("wrong_block", "03")
def two_finished_blocks_have_one_index(s: Session) -> None:
    s.payload("assistant.tool_call", 1)["index"] = 1


@breaks("wrong_block", "02")
def two_growing_blocks_have_one_index(s: Session) -> None:
    for piece in (0, 1, 2):
        s.payload("assistant.tool_call", piece)["index"] = 1


@breaks("wrong_block", "04")
def a_question_has_the_index_of_another_block(s: Session) -> None:
    s.payload("assistant.request_input")["index"] = 0


@breaks("unknown_parent", "11")
def a_sub_agent_works_for_no_call(s: Session) -> None:
    s.payload("assistant.tool_progress")["parent_tool_use_id"] = "toolu_none"


@breaks("permission_without_call", "06")
def a_permission_is_asked_for_no_call(s: Session) -> None:
    s.payload("assistant.permission_request")["tool_use_id"] = "toolu_none"
    s.payload("session.state", 2)["requests"][0]["tool_use_id"] = "toolu_none"


@breaks("permission_without_call", "06")
def a_permission_is_asked_for_a_call_that_is_over(s: Session) -> None:
    s.payload("assistant.permission_request", 1)["tool_use_id"] = "toolu_01RmA"
    s.payload("session.state", 5)["requests"][0]["tool_use_id"] = "toolu_01RmA"


@breaks("question_without_call", "04")
def an_announced_question_is_asked_by_no_call(s: Session) -> None:
    s.payload("assistant.request_input")["announced"] = True


# --- how requests end ---------------------------------------------------------------------------


@breaks("wrong_resolution", "05")
def a_question_expires_before_its_deadline(s: Session) -> None:
    s.frame("assistant.request_resolved")["timestamp"] = "2026-03-02T13:20:40.000Z"


@breaks("wrong_resolution", "05")
def a_question_without_a_deadline_expires(s: Session) -> None:
    s.payload("assistant.request_input")["deadline_at"] = None
    del s.payload("session.state", 2)["requests"][0]["deadline_at"]


def without_the_client(s: Session) -> None:
    """Removes the frames of the client and their acknowledgements."""
    s.lines = [line for line in s.lines if "client" not in line]
    s.lines = [
        line for line in s.lines if not line.get("server", {}).get("type", "").endswith("_ack")
    ]
    s.lines = [
        line for line in s.lines if not line.get("server", {}).get("type", "").endswith(".ack")
    ]
    s.lines = [line for line in s.lines if line.get("server", {}).get("type") != "session.error"]


@breaks("wrong_resolution", "06")
def a_permission_is_answered_without_a_decision(s: Session) -> None:
    without_the_client(s)
    del s.payload("assistant.request_resolved")["decision"]
    s.cut("session.state", -1)


@breaks("wrong_resolution", "04")
def a_question_is_answered_without_an_answer(s: Session) -> None:
    without_the_client(s)
    del s.payload("assistant.request_resolved")["answer"]


@breaks("wrong_resolution", "04")
def a_question_is_allowed(s: Session) -> None:
    s.payload("assistant.request_resolved")["decision"] = "allow"


@breaks("wrong_resolution", "06")
def a_permission_expires_without_being_denied(s: Session) -> None:
    without_the_client(s)
    end = s.frame("assistant.request_resolved", 1)
    end["payload"] |= {"outcome": "expired", "decision": "allow"}
    end["timestamp"] = "2026-03-04T00:00:00.000Z"
    s.cut("session.state", -1)


@breaks("wrong_resolution", "06")
def a_decision_is_delivered_as_a_result(s: Session) -> None:
    without_the_client(s)
    s.payload("assistant.request_resolved")["delivered_as"] = "tool_result"
    s.cut("session.state", -1)


@breaks("wrong_resolution", "06")
def another_decision_was_taken(s: Session) -> None:
    s.payload("assistant.request_resolved")["updated_input"] = {"command": "rm -rf /"}


@breaks("wrong_resolution", "06")
def other_rules_were_remembered(s: Session) -> None:
    rule = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    s.payload("assistant.request_resolved")["remembered"] = [rule]


@breaks("wrong_resolution", "04")
def another_answer_was_given(s: Session) -> None:
    s.payload("assistant.request_resolved")["answer"] = {"Which colour?": "grey"}


@breaks("wrong_resolution", "04")
def an_answer_is_delivered_otherwise_than_its_ack_said(s: Session) -> None:
    s.payload("assistant.request_resolved")["delivered_as"] = "prompt"


@breaks("wrong_resolution", "04")
def an_answered_question_is_cancelled(s: Session) -> None:
    s.payload("assistant.request_resolved")["outcome"] = "cancelled"
    s.cut("user.input_response", 2, side="client")
