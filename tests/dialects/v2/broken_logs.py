"""Small edits that break a rule about turns, blocks, tools and what waits for a person."""

from __future__ import annotations

from copy import deepcopy

from tests.dialects.v2.sessions import Session, breaks

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
    end = s.again("assistant.complete")
    end["turn_id"], end["trace_id"] = 2, "0af7651916cd43dd8448eb211c80319c"


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


@breaks("complete_twice", "01")
def a_turn_ends_twice(s: Session) -> None:
    s.again("assistant.complete")


@breaks("wrong_complete", "01")
def a_turn_ends_elsewhere_in_the_log(s: Session) -> None:
    s.payload("assistant.complete")["after_sequence"] = 2


@breaks("wrong_complete", "08")
def an_interrupted_turn_says_that_it_was_not(s: Session) -> None:
    s.payload("assistant.complete")["interrupted"] = False


@breaks("wrong_complete", "01")
def a_turn_that_nobody_stopped_says_that_it_was(s: Session) -> None:
    s.payload("assistant.complete")["interrupted"] = True


@breaks("wrong_complete", "01")
def a_turn_failed_without_a_reason(s: Session) -> None:
    s.payload("assistant.complete")["is_error"] = True


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
def a_tool_prints_that_nobody_called(s: Session) -> None:
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
    s.move("assistant.tool_result", by=-3)
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
    s.payload("assistant.permission_request", 1)["tool_use_id"] = "toolu_hidden"
    place = s.place("assistant.request_resolved", 1)
    del s.lines[place : place + 2]  # and the state after it
    s.number_log()
    s.cut("session.state", -2)
