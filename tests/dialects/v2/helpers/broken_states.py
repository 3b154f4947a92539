"""Small edits of a session that break a rule about `session.state`."""

from __future__ import annotations

from typing import Any

from tests.dialects.v2.helpers.recorded_sessions import Session, breaks


def tasks(s: Session, nth: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = s.payload("session.state", nth)["background_tasks"]
    return found


# --- when ---------------------------------------------------------------------------------------


@breaks("state_missing", "01")
def a_turn_started_and_no_state_tells_of_it(s: Session) -> None:
    s.drop("session.state", 1)


@breaks("state_missing", "01")
def a_turn_ended_and_no_state_tells_of_it(s: Session) -> None:
    s.drop("session.state", -1)


@breaks("state_missing", "07")
def the_next_turn_starts_before_a_state_tells_how_the_last_one_ended(s: Session) -> None:
    s.drop("session.state", s_after(s, "assistant.complete"))


@breaks("state_missing", "12")
def the_agent_calls_a_tool_before_a_state_tells_that_its_turn_started(s: Session) -> None:
    s.drop("session.state", 1)


@breaks("state_missing", "06")
def a_permission_was_asked_for_and_no_state_lists_it(s: Session) -> None:
    s.drop("session.state", 2)


@breaks("state_missing", "05")
def a_question_expires_that_no_state_has_listed(s: Session) -> None:
    s.drop("session.state", 2)


@breaks("state_missing", "06")
def the_agent_goes_on_after_an_answer_and_no_state_tells_of_it(s: Session) -> None:
    s.drop("session.state", 4)


@breaks("state_missing", "07")
def a_message_joined_the_queue_and_no_state_lists_it(s: Session) -> None:
    s.drop("session.state", 2)


@breaks("state_missing", "07")
def the_queue_was_changed_and_no_state_tells_of_it(s: Session) -> None:
    s.drop("session.state", 4)


@breaks("state_missing", "02")
def another_model_was_chosen_and_no_state_tells_of_it(s: Session) -> None:
    s.drop("session.state", -2)


@breaks("state_missing", "02")
def it_thinks_less_and_no_state_tells_of_it(s: Session) -> None:
    s.drop("session.state", -2)


@breaks("state_missing", "06")
def another_mode_was_chosen_and_no_state_tells_of_it(s: Session) -> None:
    s.drop("session.state", -2)


def s_after(s: Session, kind: str, nth: int = 0) -> int:
    """Returns the index of the first state after a frame."""
    states = [n for n, line in enumerate(s.lines) if _is_state(line)]
    return sum(place < s.place(kind, nth) for place in states)


def _is_state(line: dict[str, Any]) -> bool:
    return bool(line.get("server", {}).get("type") == "session.state")


# --- the turn -----------------------------------------------------------------------------------


@breaks("wrong_state", "01")
def a_turn_that_was_completed_left_an_error(s: Session) -> None:
    s.payload("session.state", -1)["state"] = "error"


@breaks("wrong_state", "01")
def a_turn_that_was_completed_was_interrupted(s: Session) -> None:
    s.payload("session.state", -1)["state"] = "interrupted"


@breaks("wrong_state", "05")
def a_turn_that_failed_left_nothing(s: Session) -> None:
    s.payload("session.state", -1)["state"] = "active"


@breaks("wrong_state", "08")
def a_turn_that_was_stopped_was_completed(s: Session) -> None:
    s.payload("session.state", s_after(s, "assistant.complete"))["state"] = "active"


@breaks("wrong_state", "01")
def a_turn_that_was_asked_nothing_is_active(s: Session) -> None:
    s.payload("session.state", 1)["state"] = "active"


@breaks("wrong_state", "06")
def a_turn_streams_before_its_agent_goes_on(s: Session) -> None:
    s.payload("session.state", 3)["state"] = "streaming"


@breaks("wrong_state", "04")
def a_turn_goes_on_without_being_started(s: Session) -> None:
    s.drop("turn.started", 1)


@breaks("wrong_state", "01")
def the_last_turn_ended_otherwise(s: Session) -> None:
    s.payload("session.state", -1)["last_turn"]["cost_usd"] = 9.0


@breaks("wrong_state", "07")
def the_last_turn_was_another(s: Session) -> None:
    s.payload("session.state", -1)["last_turn_id"] = 2


@breaks("wrong_state", "01")
def there_is_a_last_turn_before_the_first_has_ended(s: Session) -> None:
    last = s.payload("session.state", -1)["last_turn"]
    s.payload("session.state", 1).update(last_turn=last, last_turn_id=1)


@breaks("wrong_state", "07")
def the_last_turn_is_forgotten(s: Session) -> None:
    state = s.payload("session.state", s_after(s, "turn.started", 1))
    del state["last_turn"], state["last_turn_id"]


@breaks("wrong_state", "09")
def the_last_turn_is_forgotten_where_its_beginning_is_not_known(s: Session) -> None:
    """The recording begins after the first turn, which only the state mentions."""
    del s.lines[: s.place("connect", 2)]
    s.drop("message.replay", 1)
    s.payload("session.resumed").update(head=4)
    s.lines[0]["connect"] = s.lines[0]["connect"].replace("last_sequence=3", "last_sequence=4")
    s.payload("session.resumed").update(first=5, head=5)
    s.drop("message.replay", 0)
    again = s.again("session.state", later=1)
    del again["payload"]["last_turn"], again["payload"]["last_turn_id"]
    s.cut("assistant.chunk")


# --- figures and choices ------------------------------------------------------------------------


@breaks("wrong_state", "01")
def the_totals_grow_by_more_than_the_turn_took(s: Session) -> None:
    s.payload("session.state", -1)["totals"]["output_tokens"] += 1
    s.drop("conversation.updated")


@breaks("wrong_state", "07")
def the_totals_shrink(s: Session) -> None:
    state = s.again("session.state", -1)
    state["payload"]["totals"] = {**state["payload"]["totals"], "cost_usd": 0.01}


@breaks("wrong_state", "07")
def the_totals_grow_before_the_turn_has_ended(s: Session) -> None:
    s.payload("session.state", s_after(s, "turn.started", 1))["totals"]["input_tokens"] += 5
    s.cut("assistant.complete", 1)


@breaks("wrong_state", "01")
def the_totals_are_not_those_that_were_told(s: Session) -> None:
    s.payload("conversation.updated")["totals"]["cost_usd"] = 2.0
    s.again("session.state", -1, later=2)


@breaks("wrong_state", "01")
def the_title_is_not_the_one_that_was_told(s: Session) -> None:
    state = s.again("session.state", -1, later=2)
    state["payload"]["title"] = "What rmdir does"


@breaks("wrong_state", "01")
def the_model_is_one_that_was_not_chosen(s: Session) -> None:
    s.payload("session.state", 1)["model"] = "nonsense"


@breaks("wrong_state", "02")
def the_model_is_not_the_one_that_was_chosen(s: Session) -> None:
    s.drop("session.system_event", -1)
    s.payload("session.state", -2)["model"] = "claude-sonnet-4-5"


@breaks("wrong_state", "06")
def the_mode_is_not_the_one_that_was_chosen(s: Session) -> None:
    s.payload("session.state", -2)["permission_mode"] = "plan"


@breaks("wrong_state", "02")
def it_thinks_otherwise_than_was_chosen(s: Session) -> None:
    s.payload("session.state", -1)["max_thinking_tokens"] = 9000


# --- background work ----------------------------------------------------------------------------


@breaks("wrong_state", "11")
def background_work_is_gone_when_its_turn_ends(s: Session) -> None:
    del s.payload("session.state", 3)["background_tasks"]


@breaks("wrong_state", "11")
def no_state_had_told_that_background_work_began(s: Session) -> None:
    s.drop("session.state", 2)


@breaks("wrong_state", "11")
def background_work_moves_to_another_turn(s: Session) -> None:
    tasks(s, 3)[0]["turn_id"] = 2


@breaks("wrong_state", "11")
def background_work_is_of_another_turn_than_its_call(s: Session) -> None:
    tasks(s, 2)[0]["turn_id"] = 7
    s.cut("session.state", 3)


@breaks("wrong_state", "12")
def background_work_is_of_a_turn_that_never_was(s: Session) -> None:
    tasks(s, 2)[0].update(turn_id=7, tool_use_id=None)
    s.cut("session.state", 3)


# --- requests and the queue ---------------------------------------------------------------------


@breaks("wrong_requests", "06")
def an_open_permission_is_listed_as_a_question(s: Session) -> None:
    s.payload("session.state", 2)["requests"][0]["kind"] = "question"


@breaks("wrong_requests", "05")
def an_open_question_is_listed_with_another_deadline(s: Session) -> None:
    s.payload("session.state", 2)["requests"][0]["deadline_at"] = None


@breaks("wrong_requests", "06")
def the_youngest_request_is_listed_first(s: Session) -> None:
    asked = s.again("assistant.permission_request")
    asked["payload"]["request_id"] = "r-0"
    s.number_log()
    waits = s.payload("session.state", 2)["requests"]
    waits.insert(0, {**waits[0], "request_id": "r-0", "message_sequence": 5})
    s.cut("user.permission_response.ack")
    s.drop("user.permission_response", side="client")


@breaks("wrong_queue", "07")
def the_queue_is_empty_although_a_message_waits(s: Session) -> None:
    s.payload("session.state", 2)["queue"] = []


@breaks("wrong_queue", "07")
def the_queue_is_empty_when_the_turn_ends(s: Session) -> None:
    s.payload("session.state", s_after(s, "assistant.complete"))["queue"] = []
    s.cut("turn.started", 1)


@breaks("wrong_queue", "07")
def the_queue_is_not_in_the_order_that_was_asked_for(s: Session) -> None:
    s.payload("session.state", 4)["queue"].reverse()


@breaks("wrong_queue", "07")
def a_queued_message_does_not_say_what_it_was_replaced_with(s: Session) -> None:
    s.payload("session.state", 5)["queue"][0]["content"][0]["text"] = "And a summary."


@breaks("wrong_queue", "07")
def a_queued_message_has_the_name_of_another(s: Session) -> None:
    s.payload("session.state", 2)["queue"][0]["client_message_id"] = "m-61"


@breaks("wrong_queue", "07")
def a_removed_message_waits_again(s: Session) -> None:
    s.payload("session.state", 7)["queue"].append(s.payload("session.state", 2)["queue"][0])
    s.payload("session.connected")["limits"]["max_queue"] = 3
    s.cut("assistant.complete")
    s.drop("session.error")
    s.drop("user.message", 3, side="client")


@breaks("wrong_queue", "08")
def the_queue_is_not_held_after_a_stop(s: Session) -> None:
    del s.payload("session.state", s_after(s, "assistant.complete"))["queue_held"]
    s.cut("user.message.ack", 2)
    s.drop("user.message", 2, side="client")


@breaks("wrong_queue", "08")
def a_cleared_queue_still_waits(s: Session) -> None:
    s.payload("conversation.interrupted")["queue"] = "clear"
    s.cut("user.message.ack", 2)
    s.drop("user.message", 2, side="client")


# --- without a cause ----------------------------------------------------------------------------


@breaks("wrong_state", "01")
def the_model_is_not_the_one_that_the_agent_named(s: Session) -> None:
    s.payload("session.state", -1)["model"] = "claude-haiku-4-5"


@breaks("wrong_state", "11")
def background_work_is_gone_without_news_of_it(s: Session) -> None:
    del s.again("session.state", 3)["payload"]["background_tasks"]
    s.cut("assistant.tool_call", -1)


@breaks("wrong_state", "12")
def the_totals_are_forgotten(s: Session) -> None:
    del s.again("session.state", -1)["payload"]["totals"]


@breaks("wrong_state", "01")
def an_empty_queue_is_held(s: Session) -> None:
    s.payload("session.state", -1)["queue_held"] = True
