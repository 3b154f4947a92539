"""Stopping: a stop names its turn, always ends, and has a receipt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.conversation.helpers.driver import Talk, asking, at, refusal, running, suspended
from tests.helpers.recorded_streams import FIXTURES
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.payloads import Process


def stopping(**options: Any) -> Talk:
    """A turn that is being stopped."""
    talk = running(**options)
    talk.stop()
    return talk.forget()


# --- asking for it ------------------------------------------------------------------------------


def test_the_agent_is_asked_to_stop() -> None:
    talk = running(interrupt_grace=5)
    ack = talk.stop()
    assert (ack.turn_id, ack.outcome) == (1, "requested")
    assert talk.commands == ["stop 1"]
    assert talk.timers == {"stop:1": talk.now + 5000}
    assert talk.status.running
    assert talk.audited()[-1] == ("stop_requested", "ada")


def test_when_it_obeys_the_turn_ends_as_interrupted() -> None:
    talk = stopping().ends(interrupted=True)
    assert talk.told == ["stopped: user", "turn 1 interrupted"]
    assert (talk.status.state, talk.status.reason) == ("interrupted", "user")
    assert talk.timers == {}
    receipt = talk.frame(f.ConversationInterrupted)
    assert (receipt.by, receipt.requested_at, receipt.queue) == ("ada", at(0), "hold")
    assert (receipt.acknowledged, receipt.forced, receipt.processes) == (True, False, [])
    assert ("interrupted", "ada") in talk.audited()


def test_the_receipt_names_the_processes_that_the_agent_ended() -> None:
    talk = stopping().ends(interrupted=True, processes=[EndedProcess(41, "wget")])
    receipt = talk.frame(f.ConversationInterrupted)
    assert (receipt.acknowledged, receipt.forced) == (True, False)
    assert receipt.processes == [Process(41, "wget")]


def test_a_late_stop_does_not_end_the_next_turn() -> None:
    talk = running().ends()
    talk.say()
    assert talk.forget().stop(1).outcome == "already_ended"
    assert (talk.told, talk.commands) == ([], [])
    assert talk.status.running


def test_a_late_stop_does_not_change_the_queue() -> None:
    talk = running().ends()
    talk.say()
    talk.say("Next")
    assert talk.stop(1, "clear").outcome == "already_ended"
    assert talk.queue == ["Next"]


@pytest.mark.parametrize("turn_id", [0, 2, -1])
def test_a_turn_that_never_was_cannot_be_stopped(turn_id: int) -> None:
    talk = running()
    assert refusal(lambda: talk.stop(turn_id)) == "INVALID_PAYLOAD"


def test_a_second_stop_is_the_same_stop() -> None:
    talk = stopping()
    assert talk.stop(by="bob").outcome == "requested"
    assert talk.commands == []
    talk.ends(interrupted=True)
    assert talk.frame(f.ConversationInterrupted).by == "ada"


def test_a_turn_that_the_agent_gave_no_sign_of_can_be_stopped() -> None:
    talk = Talk()
    talk.say()
    talk.stop()
    assert talk.commands == ["prompt 1: Hello", "stop 1"]
    talk.starts().ends(interrupted=True)
    assert talk.told[-1] == "turn 1 interrupted"


# --- results of a stop --------------------------------------------------------------------------


def test_an_agent_that_does_not_obey_is_ended_by_force() -> None:
    talk = stopping().calls("t1").overdue(1)
    assert talk.commands == ["kill 1"]
    processes = [EndedProcess(41, "wget", "SIGKILL")]
    talk.forget().lose_agent(reason="stopped", forced=True, processes=processes)
    assert talk.told == [
        "failed result t1: interrupted: stopped",
        "stopped: user",
        "turn 1 interrupted",
    ]
    receipt = talk.frame(f.ConversationInterrupted)
    assert (receipt.acknowledged, receipt.forced) == (False, True)
    assert receipt.processes == [Process(41, "wget", "SIGKILL")]
    assert talk.status.state == "interrupted"


def test_an_agent_that_has_stopped_is_not_ended() -> None:
    talk = stopping().ends(interrupted=True).forget().overdue(1)
    assert talk.commands == []


def test_the_overdue_stop_of_one_turn_does_not_end_the_next() -> None:
    talk = stopping().ends(interrupted=True)
    talk.say()
    assert talk.forget().overdue(1).overdue(2).commands == []


def test_a_turn_that_was_handed_over_while_the_old_one_was_killed_is_handed_over_again() -> None:
    talk = running()
    talk.say("Next")
    talk.stop(queue="continue")
    talk.overdue(1).ends(interrupted=True)
    assert talk.commands[-2:] == ["kill 1", "prompt 2: Next"]
    talk.forget().lose_agent(reason="stopped", forced=True)
    assert (talk.told, talk.commands) == ([], ["prompt 2: Next"])


def test_an_answer_that_was_being_delivered_is_delivered_again() -> None:
    talk = suspended()
    talk.answer()
    talk.forget().lose_agent(forced=True)
    assert talk.commands == ["resume q1=blue"]


def test_an_agent_that_is_killed_while_it_is_to_stop_has_not_obeyed() -> None:
    talk = stopping().lose_agent(reason="agent_lost")
    receipt = talk.frame(f.ConversationInterrupted)
    assert (receipt.reason, receipt.lost) == ("user", True)
    assert (receipt.acknowledged, receipt.forced) == (False, False)


def test_a_turn_that_ends_by_itself_after_a_stop_counts_as_stopped() -> None:
    talk = stopping().ends()
    assert talk.told == ["stopped: user", "turn 1 interrupted"]
    assert not talk.frame(f.ConversationInterrupted).acknowledged
    assert talk.status.state == "interrupted"


def test_a_turn_that_fails_while_it_is_stopped_has_failed() -> None:
    talk = stopping().fails()
    assert talk.told == ["stopped: user", "turn 1 failed: api_error"]


def test_an_agent_that_dies_while_it_is_stopped_has_stopped() -> None:
    talk = stopping().lose_agent()
    assert talk.told == ["stopped: user", "turn 1 interrupted"]
    assert not talk.frame(f.ConversationInterrupted).forced


# --- while something is open --------------------------------------------------------------------


def test_a_stop_works_while_a_question_is_open() -> None:
    talk = asking()
    talk.stop()
    assert talk.told == ["q1 cancelled by ada"]
    assert talk.commands == ["stop 1"]
    talk.ends(interrupted=True)
    assert talk.told == ["failed result q1: interrupted", "stopped: user", "turn 1 interrupted"]
    assert refusal(lambda: talk.answer(ended="cancelled")) == "CONVERSATION_INTERRUPTED"


def test_a_stop_works_while_a_turn_is_suspended() -> None:
    talk = suspended()
    assert talk.stop().outcome == "requested"
    assert talk.told == [
        "q1 cancelled by ada",
        "failed result q1: interrupted: user",
        "stopped: user",
        "turn 1 interrupted",
    ]
    assert (talk.commands, talk.timers) == ([], {})
    assert talk.status.state == "interrupted"


def test_a_request_withdrawn_because_of_the_stop_was_already_cancelled() -> None:
    talk = running().calls("t1").wants("p1", "t1")
    talk.stop()
    talk.forget().withdraws("p1").gets("t1", "rejected", is_error=True).ends(interrupted=True)
    assert talk.told == [
        "failed result t1: rejected",
        "stopped: user",
        "turn 1 interrupted",
    ]


def test_a_turn_that_is_being_stopped_asks_no_more() -> None:
    talk = stopping().calls("t1").wants("p1", "t1").asks("q1")
    assert talk.told == [
        "call t1",
        "permission p1",
        "p1 cancelled by ada",
        "question q1",
        "q1 cancelled by ada",
    ]
    assert talk.commands == ["deliver p1=deny", "deliver q1=deny"]
    assert talk.status.state == "active"
    assert talk.speaks().status.state == "streaming"


def test_a_result_that_comes_after_ours_is_not_written() -> None:
    talk = running().calls("t1")
    talk.stop()
    talk.ends(interrupted=True).forget()
    assert talk.gets("t1", "done after all").told == []


def test_a_call_that_is_repeated_after_its_added_result_is_not_written() -> None:
    talk = running().calls("t1")
    talk.stop()
    talk.ends(interrupted=True).forget()
    assert talk.calls("t1").gets("t1").told == []


# --- the queue ----------------------------------------------------------------------------------


def stop_with(queue: Any) -> Talk:
    """A stopped turn with two queued messages."""
    talk = running()
    talk.say("One")
    talk.say("Two")
    talk.stop(queue=queue)
    return talk.forget()


def test_by_default_the_queue_is_held() -> None:
    talk = stop_with("hold").ends(interrupted=True)
    assert (talk.queue, talk.status.queue_held, talk.commands) == (["One", "Two"], True, [])


def test_a_stop_may_let_the_queue_go_on() -> None:
    talk = stop_with("continue").ends(interrupted=True)
    assert (talk.queue, talk.status.queue_held) == (["Two"], False)
    assert talk.commands == ["prompt 2: One"]
    assert talk.frame(f.ConversationInterrupted).queue == "continue"


def test_a_stop_may_clear_the_queue() -> None:
    talk = stop_with("clear")
    assert talk.queue == []
    talk.ends(interrupted=True)
    assert (talk.told, talk.commands) == (["stopped: user", "turn 1 interrupted"], [])
    assert talk.audited().count(("queue_remove", "ada")) == 2


def test_an_empty_queue_is_not_cleared() -> None:
    talk = running()
    talk.stop(queue="clear")
    assert talk.ends(interrupted=True).audited().count(("queue_remove", "ada")) == 0


def test_messages_queued_after_a_stop_are_kept() -> None:
    talk = stop_with("clear")
    talk.say("Three")
    talk.ends(interrupted=True)
    assert talk.commands == ["prompt 2: Three"]


def test_a_message_queued_after_a_clear_is_kept_also_if_the_clock_goes_back() -> None:
    talk = stop_with("clear")
    talk.now -= 60_000
    talk.say("Three")
    talk.ends(interrupted=True)
    assert talk.commands == ["prompt 2: Three"]


def test_a_message_after_a_stop_lets_the_queue_go_on() -> None:
    talk = stop_with("hold")
    ack = talk.say("Three")
    assert ack.held
    talk.ends(interrupted=True)
    assert talk.commands == ["prompt 2: One"]
    assert talk.frame(f.ConversationInterrupted).queue == "continue"


def test_a_message_after_a_stop_with_an_empty_queue_is_not_held() -> None:
    talk = stopping()
    assert not talk.say("Next").held
    assert talk.ends(interrupted=True).commands == ["prompt 2: Next"]


@pytest.mark.parametrize(("queue", "left"), [("continue", ["Two"]), ("clear", [])])
def test_the_last_stop_decides_about_the_queue(queue: Any, left: list[str]) -> None:
    talk = stop_with("hold")
    talk.stop(queue=queue)
    talk.ends(interrupted=True)
    assert talk.queue == left
    assert not talk.status.queue_held


def test_a_late_stop_still_holds_the_queue() -> None:
    talk = stop_with("hold").ends()
    assert talk.told == ["stopped: user", "turn 1 interrupted"]
    assert (talk.status.state, talk.status.queue_held) == ("interrupted", True)


def test_stopping_a_suspended_turn_lets_the_queue_go_on_if_that_was_wished() -> None:
    talk = suspended()
    talk.say("Next")
    talk.forget().stop(queue="continue")
    assert talk.commands == ["prompt 2: Next"]


def test_the_page_names_all_reasons() -> None:
    """A question that was not answered in time is none of them: its turn fails."""
    ways = [
        stopping().ends(interrupted=True),
        running().pass_grace().ends(interrupted=True),
        running().ends(interrupted=True),
        running().lose_agent(),
        running().restart(),
        *(
            running().restart(reason=reason, stopping=True)
            for reason in ("server_stopped", "archived", "deleted")
        ),
    ]
    reasons = [talk.frame(f.ConversationInterrupted).reason for talk in ways]
    assert ", ".join(f"`{reason}`" for reason in reasons) == _described("Interrupted", "reason")
    late = asking(question_seconds=60)
    late.now += 60_000
    late.pass_deadline().ends(interrupted=True)
    assert "stopped" not in " ".join(late.told)
    assert not late.last_end().interrupted


def _described(kind: str, field: str) -> str:
    schema = json.loads((FIXTURES.parent / "schema" / "v2.schema.json").read_bytes())
    description: str = schema["$defs"][kind]["properties"][field]["description"]
    return description
