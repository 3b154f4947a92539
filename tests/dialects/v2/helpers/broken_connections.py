"""Small edits of a session that break a rule about frames or connections."""

from __future__ import annotations

from copy import deepcopy

from tests.dialects.v2.helpers.recorded_sessions import Session, breaks

# --- lines and frames ---------------------------------------------------------------------------


@breaks("bad_line", "01")
def a_line_says_nothing_known(s: Session) -> None:
    s.lines.insert(3, {"remark": "coffee"})


@breaks("bad_line", "01")
def a_line_says_two_things(s: Session) -> None:
    s.lines[-1]["client"] = {"type": "session.heartbeat"}


@breaks("bad_line", "01")
def the_address_is_none_of_a_conversation(s: Session) -> None:
    s.lines[0]["connect"] = "/chat"


@breaks("bad_envelope", "01")
def a_field_of_the_envelope_is_missing(s: Session) -> None:
    del s.frame("session.system_event")["timestamp"]


@breaks("bad_envelope", "01")
def a_time_is_not_utc(s: Session) -> None:
    s.frame("conversation.updated")["timestamp"] = "2026-03-02T09:14:27+01:00"


@breaks("bad_envelope", "01")
def a_trace_is_too_short(s: Session) -> None:
    s.frame("session.system_event", 1)["trace_id"] = "abc"


@breaks("bad_envelope", "01")
def a_turn_has_number_0(s: Session) -> None:
    s.frame("conversation.updated")["turn_id"] = 0


@breaks("bad_envelope", "01")
def a_payload_is_null(s: Session) -> None:
    s.frame("conversation.updated")["payload"] = None


@breaks("bad_envelope", "01", counted=False)
def a_sequence_is_a_word_in_the_last_frame(s: Session) -> None:
    s.frame("session.heartbeat_ack")["sequence"] = "17"
    s.drop("session.heartbeat", side="client")


@breaks("bad_envelope", "01", counted=False)
def a_frame_is_not_an_object(s: Session) -> None:
    s.lines.append({"server": 5})


@breaks("bad_envelope", "01")
def an_empty_frame_comes_without_a_connection(s: Session) -> None:
    s.lines.append({"server": {}})
    s.lines[-1]["server"]["sequence"] = 1


@breaks("bad_envelope", "10")
def a_replayed_event_has_a_sequence(s: Session) -> None:
    s.payload("message.replay", -1)["event"]["sequence"] = 4
    s.cut("session.replay_complete", -1)


@breaks("bad_payload", "01")
def a_field_has_the_wrong_type(s: Session) -> None:
    s.payload("conversation.updated")["title"] = 5


@breaks("bad_payload", "09")
def a_replay_has_no_event(s: Session) -> None:
    del s.payload("message.replay", 1)["event"]
    s.cut("session.replay_complete", 2)


@breaks("wrong_conversation", "01")
def a_frame_is_of_another_conversation(s: Session) -> None:
    s.frame("session.state", 1)["conversation_id"] = "conv-other"


@breaks("wrong_conversation", "09")
def the_client_comes_back_to_another_conversation(s: Session) -> None:
    line = s.lines[s.place("connect", 1)]
    line["connect"] = line["connect"].replace("conv-story", "conv-other")


@breaks("wrong_trace", "01")
def a_frame_of_a_turn_has_no_trace(s: Session) -> None:
    s.frame("session.system_event", 1)["trace_id"] = None


@breaks("wrong_trace", "01")
def a_frame_outside_of_turns_has_a_trace(s: Session) -> None:
    s.frame("conversation.updated")["trace_id"] = "0af7651916cd43dd8448eb211c80319c"


@breaks("wrong_trace", "01")
def a_frame_has_another_trace_than_its_turn(s: Session) -> None:
    s.frame("session.system_event", 1)["trace_id"] = "0af7651916cd43dd8448eb211c80319c"


@breaks("wrong_trace", "07")
def two_turns_have_the_same_trace(s: Session) -> None:
    trace = s.frame("turn.started")["trace_id"]
    for line in s.lines:
        if line.get("server", {}).get("turn_id") == 2:
            line["server"]["trace_id"] = trace


@breaks("sequence_gap", "01", counted=False)
def a_number_of_the_connection_is_left_out(s: Session) -> None:
    s.frame("session.heartbeat_ack")["sequence"] = 18


# --- connecting ---------------------------------------------------------------------------------


@breaks("not_connected", "01")
def no_client_connects(s: Session) -> None:
    s.drop("connect")


@breaks("not_connected", "01")
def the_server_speaks_after_the_end(s: Session) -> None:
    s.lines.append(deepcopy(s.lines[s.place("session.state", -1)]))


@breaks("not_connected", "01")
def the_client_speaks_after_the_end(s: Session) -> None:
    s.lines.append({"client": {"type": "session.heartbeat"}})


@breaks("not_connected", "01")
def a_connection_ends_twice(s: Session) -> None:
    s.lines.append({"close": 1000})


@breaks("handshake_order", "01")
def the_state_comes_before_the_end_of_the_replay(s: Session) -> None:
    s.move("session.state", by=-1)


@breaks("handshake_order", "01")
def the_state_comes_first(s: Session) -> None:
    s.move("session.state", by=-2)


@breaks("handshake_order", "01")
def the_first_state_is_missing(s: Session) -> None:
    s.drop("session.state")


@breaks("handshake_order", "01")
def a_connection_begins_twice(s: Session) -> None:
    s.again("session.connected", later=3)


@breaks("handshake_order", "10")
def a_reset_comes_twice(s: Session) -> None:
    s.again("session.reset")


@breaks("handshake_order", "10")
def something_is_replayed_after_the_end_of_the_replay(s: Session) -> None:
    s.again("message.replay", 5, later=2)


@breaks("handshake_order", "01")
def the_replay_ends_twice(s: Session) -> None:
    s.again("session.replay_complete")


@breaks("handshake_order", "10")
def a_refused_connection_goes_on(s: Session) -> None:
    s.again("session.error")


@breaks("handshake_order", "07")
def a_frame_is_refused_before_the_state_was_told(s: Session) -> None:
    wish = {"action": "remove", "queue_id": "q-9"}
    command = {"type": "user.queue", "client_message_id": "x-1", "payload": wish}
    s.lines.insert(1, {"client": command})
    refusal = deepcopy(s.lines[s.place("session.error", 1)])
    refusal["server"]["payload"]["client_message_id"] = "x-1"
    s.lines.insert(3, refusal)


@breaks("wrong_hello", "09")
def a_number_that_fits_is_not_accepted(s: Session) -> None:
    s.frame("session.resumed")["type"] = "session.connected"


@breaks("wrong_hello", "01")
def a_client_that_has_nothing_is_resumed(s: Session) -> None:
    s.frame("session.connected")["type"] = "session.resumed"


@breaks("wrong_hello", "10")
def a_number_of_another_log_is_accepted(s: Session) -> None:
    s.frame("session.connected")["type"] = "session.resumed"
    s.cut("session.reset")


@breaks("wrong_hello", "01")
def another_protocol_is_not_refused(s: Session) -> None:
    s.lines[0]["connect"] = s.lines[0]["connect"].replace("v2", "v9")


@breaks("wrong_hello", "01")
def no_protocol_is_asked_for(s: Session) -> None:
    s.lines[0]["connect"] = s.lines[0]["connect"].partition("?")[0]


@breaks("wrong_first", "01")
def the_log_begins_after_its_end(s: Session) -> None:
    s.payload("session.connected")["first"] = 2
    s.cut("session.replay_complete")


@breaks("wrong_first", "10")
def a_client_gets_less_than_the_tail_it_asked_for(s: Session) -> None:
    line = s.lines[s.place("connect", 1)]
    line["connect"] = line["connect"].replace("tail=2", "tail=3")


@breaks("wrong_reset", "10")
def a_reset_is_missing(s: Session) -> None:
    s.drop("session.reset")


@breaks("wrong_reset", "10")
def a_reset_has_another_reason(s: Session) -> None:
    s.payload("session.reset")["reason"] = "beyond_head"


@breaks("wrong_reset", "10")
def a_reset_begins_elsewhere(s: Session) -> None:
    s.payload("session.reset")["first"] = 3


@breaks("wrong_reset", "01")
def a_client_that_has_nothing_is_reset(s: Session) -> None:
    reset = s.again("session.connected")
    reset["type"] = "session.reset"
    reset["payload"] = {"reason": "epoch", "epoch": "e-71c04d", "first": 1}


@breaks("replay_order", "10")
def an_entry_is_not_replayed(s: Session) -> None:
    s.drop("message.replay", 1)


@breaks("replay_order", "10")
def the_end_of_a_turn_comes_before_the_entry_that_it_follows(s: Session) -> None:
    s.move("message.replay", 2, by=-1)


@breaks("replay_order", "10")
def an_entry_is_replayed_under_another_number(s: Session) -> None:
    s.payload("message.replay", 1)["message_sequence"] = 9


@breaks("replay_order", "10")
def what_has_no_number_is_replayed(s: Session) -> None:
    replay = s.again("message.replay", 2)["payload"]
    replay["event"]["type"] = "conversation.updated"
    replay["event"]["payload"] = {"title": "Colours", "after_sequence": 2}


@breaks("replay_order", "10")
def the_end_of_no_turn_is_replayed(s: Session) -> None:
    event = s.again("message.replay", 2)["payload"]["event"]
    event["turn_id"] = event["trace_id"] = None
    event["type"] = "turn.ended"


@breaks("replay_differs", "10")
def an_entry_has_changed_since(s: Session) -> None:
    s.payload("message.replay", -2)["event"]["payload"]["text"] = "Pear."


@breaks("replay_differs", "10")
def the_end_of_a_turn_has_changed_since(s: Session) -> None:
    s.payload("message.replay", -1)["event"]["payload"]["cost_usd"] = 9.0


@breaks("complete_not_replayed", "09")
def the_end_of_a_turn_is_not_replayed(s: Session) -> None:
    s.drop("message.replay", -1)


@breaks("wrong_through", "01")
def the_replay_claims_more_than_it_had(s: Session) -> None:
    s.payload("session.replay_complete")["through"] = 3


@breaks("head_backwards", "10")
def a_log_has_become_shorter(s: Session) -> None:
    s.payload("session.connected", -1)["head"] = 5


@breaks("wrong_close", "01")
def a_close_code_is_not_in_the_table(s: Session) -> None:
    s.lines[-1]["close"] = 4321


@breaks("wrong_close", "10")
def a_close_code_does_not_fit_the_refusal(s: Session) -> None:
    s.lines[-1]["close"] = 4502


@breaks("reconnected_in_vain", "09")
def a_client_comes_back_although_that_cannot_help(s: Session) -> None:
    s.lines[s.place("close")]["close"] = 4505


# --- addresses ----------------------------------------------------------------------------------


def refused_as_malformed(s: Session, query: str) -> None:
    """The last connection of the session has another address, and is refused as it has to be."""
    connect = s.lines[s.place("connect", -1)]
    connect["connect"] = f"/ws/conversations/conv-backup?protocol=v2&{query}"
    s.payload("session.error", -1).update(
        code="INVALID_PAYLOAD", what_to_do="Correct the field that the message names."
    )
    s.lines[-1]["close"] = 4505


@breaks("bad_address", "10")
def a_number_is_a_word(s: Session) -> None:
    refused_as_malformed(s, "last_sequence=abc")


@breaks("bad_address", "10")
def a_number_is_negative(s: Session) -> None:
    refused_as_malformed(s, "last_sequence=-1")


@breaks("bad_address", "10")
def a_number_has_no_end(s: Session) -> None:
    refused_as_malformed(s, f"last_sequence={'9' * 5000}")


@breaks("bad_address", "10")
def a_tail_of_nothing_is_asked_for(s: Session) -> None:
    refused_as_malformed(s, "tail=0")


@breaks("bad_address", "10")
def an_epoch_is_empty(s: Session) -> None:
    refused_as_malformed(s, "epoch=")


@breaks("bad_address", "10")
def an_escape_is_broken(s: Session) -> None:
    refused_as_malformed(s, "epoch=e%2")


@breaks("bad_address", "10")
def an_escape_is_no_text(s: Session) -> None:
    refused_as_malformed(s, "epoch=e%ff")


@breaks("bad_address", "10")
def a_parameter_comes_twice(s: Session) -> None:
    refused_as_malformed(s, "tail=2&tail=3")


@breaks("bad_line", "01")
def the_name_of_the_conversation_has_a_broken_escape(s: Session) -> None:
    s.lines[0]["connect"] = "/ws/conversations/conv%2?protocol=v2"


# --- times --------------------------------------------------------------------------------------


@breaks("bad_envelope", "01")
def a_year_has_a_thirteenth_month(s: Session) -> None:
    s.frame("conversation.updated")["timestamp"] = "2026-13-02T09:14:27.580Z"


@breaks("bad_envelope", "01")
def a_february_has_thirty_days(s: Session) -> None:
    s.frame("conversation.updated")["timestamp"] = "2028-02-30T09:14:27.580Z"


@breaks("bad_envelope", "01")
def a_day_has_twenty_five_hours(s: Session) -> None:
    s.frame("conversation.updated")["timestamp"] = "2026-03-02T24:14:27.580Z"


@breaks("bad_payload", "06")
def a_deadline_is_no_time(s: Session) -> None:
    s.payload("assistant.permission_request", 1)["deadline_at"] = "tomorrow"
    s.payload("session.state", 5)["requests"][0]["deadline_at"] = "tomorrow"


@breaks("bad_payload", "08")
def a_word_is_not_on_its_list(s: Session) -> None:
    s.payload("conversation.interrupted")["queue"] = "sell"
    s.cut("assistant.complete")


@breaks("bad_payload", "06")
def a_request_is_of_no_known_kind(s: Session) -> None:
    s.again("session.state", 2)["payload"]["requests"][0]["kind"] = "favour"


# --- a foreign epoch, and how connections end ---------------------------------------------------


@breaks("wrong_reset", "10")
def a_foreign_epoch_without_a_number_gets_no_reset(s: Session) -> None:
    s.lines[0]["connect"] = s.lines[0]["connect"].replace("&last_sequence=17", "")
    s.drop("session.reset")


def refused_with(s: Session, code: str, what_to_do: str, close: int, **more: object) -> None:
    """The last connection of the session is refused in another way."""
    s.lines[s.place("connect", -1)]["connect"] = "/ws/conversations/conv-backup?protocol=v2"
    s.payload("session.error", -1).update(code=code, what_to_do=what_to_do, **more)
    s.lines[-1]["close"] = close


@breaks("wrong_close", "10")
def too_many_connections_are_closed_as_if_for_ever(s: Session) -> None:
    wait = "Wait for data.retry_after seconds, then send the same frame again."
    refused_with(s, "RATE_LIMITED", wait, 4502, retryable=True)


@breaks("wrong_close", "10")
def a_malformed_address_is_no_matter_of_the_protocol(s: Session) -> None:
    refused_with(s, "INVALID_PAYLOAD", "Correct the field that the message names.", 4500)


@breaks("wrong_close", "10")
def a_refused_connection_is_never_closed(s: Session) -> None:
    refusal = deepcopy(s.lines[s.place("connect", -1) :])
    s.lines[-1:] = refusal


@breaks("wrong_close", "01")
def a_connection_is_closed_for_good_without_an_error(s: Session) -> None:
    s.lines[-1]["close"] = 4502


def told_before_the_end(s: Session, code: str, what_to_do: str, close: int, **more: object) -> None:
    """The session's last frame is an error that ends the connection."""
    error = s.again("session.state", -1, later=4)
    error["type"] = "session.error"
    error["payload"] = {
        "code": code,
        "message": "It ends here.",
        "retryable": True,
        "what_to_do": what_to_do,
        **more,
    }
    s.lines[-1]["close"] = close


BACK = "Connect again with last_sequence and epoch; nothing is lost."
AGAIN = "Send the same frame again under the same client_message_id."


@breaks("wrong_close", "01")
def a_silent_client_is_cut_off_with_another_code(s: Session) -> None:
    told_before_the_end(s, "HEARTBEAT_TIMEOUT", BACK, 4003)


@breaks("wrong_close", "01")
def lost_storage_is_no_matter_of_the_client(s: Session) -> None:
    told_before_the_end(s, "STORAGE_UNAVAILABLE", AGAIN, 4002)


@breaks("handshake_order", "01")
def the_server_goes_on_after_it_cut_the_client_off(s: Session) -> None:
    told_before_the_end(s, "HEARTBEAT_TIMEOUT", BACK, 4002)
    s.again("session.heartbeat_ack", later=2)


@breaks("wrong_error", "10")
def a_connection_is_refused_for_a_reason_that_is_none(s: Session) -> None:
    refused_with(s, "INPUT_REQUIRED", "Send a real answer.", 1000)
