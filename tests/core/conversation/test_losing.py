"""When the agent is gone: the log stays true, whatever it was in the middle of."""

from __future__ import annotations

import pytest

from tests.core.conversation.driver import RESULT, Talk, asking, running, suspended, whose
from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.status import TurnError
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.payloads import Process


def test_a_turn_whose_agent_is_gone_ends_as_interrupted() -> None:
    talk = running().calls("t1").forget().lose_agent(message="out of memory")
    assert talk.told == [
        "failed result t1: interrupted: agent_lost",
        "stopped: agent_lost",
        "turn 1 failed: agent_lost",
    ]
    end = talk.last_end()
    assert (end.is_error, end.interrupted) == (True, True)
    assert end.error == TurnError("agent_lost", "out of memory")
    assert (talk.status.state, talk.status.reason) == ("interrupted", "agent_lost")


def test_the_receipt_names_what_had_to_be_ended() -> None:
    talk = running().lose_agent(processes=[EndedProcess(7, "node")])
    receipt = talk.frame(f.ConversationInterrupted)
    assert (receipt.reason, receipt.processes) == ("agent_lost", [Process(7, "node")])
    assert receipt.requested_at is None


def test_the_queue_is_held_then() -> None:
    talk = running()
    talk.say("Next")
    assert talk.lose_agent().status.queue_held


@pytest.mark.parametrize(
    ("message", "said"),
    [("no such program", "no such program"), (None, "The agent could not be started.")],
)
def test_an_agent_that_cannot_be_started_fails_the_turn(message: str | None, said: str) -> None:
    talk = Talk()
    talk.say()
    talk.forget().lose_agent(message=message)
    assert talk.told == ["turn 1 failed: AGENT_UNAVAILABLE"]
    assert talk.last_end().error == TurnError("AGENT_UNAVAILABLE", said)
    assert talk.status.state == "error"


def test_an_agent_that_cannot_be_started_again_fails_the_turn_that_it_was_to_go_on_with() -> None:
    talk = suspended()
    talk.answer()
    talk.forget().lose_agent()
    assert talk.told == ["turn 1 failed: AGENT_UNAVAILABLE"]
    assert talk.state.replies == []


def test_an_answer_that_the_agent_died_with_reaches_another_one() -> None:
    talk = asking(questions_survive=True).calls("t1")
    talk.answer()
    talk.forget().lose_agent()
    assert talk.told == ["failed result t1: interrupted: agent_lost", "turn 1 begins: resume"]
    assert talk.commands == ["resume q1=blue"]
    talk.starts().gets("q1", "blue").ends()
    assert talk.told == ["result q1: blue", "turn 1 completed"]
    assert talk.state.replies == []


def test_where_it_cannot_be_a_result_there_it_is_told_in_words() -> None:
    talk = asking()
    talk.answer()
    talk.forget().lose_agent()
    assert talk.told == ["result q1: blue", "turn 1 begins: resume"]
    assert talk.commands == ["resume q1=blue"]


def test_it_waits_for_the_other_questions_and_goes_with_their_answers() -> None:
    talk = asking(questions_survive=True).asks("q2")
    talk.answer("q1")
    talk.forget().lose_agent()
    assert (talk.told, talk.commands, talk.phase()) == ([], [], "suspended")
    talk.answer("q2", "red")
    assert talk.commands == ["resume q1=blue q2=red"]


def test_one_that_nobody_is_to_be_woken_up_for_waits() -> None:
    talk = asking(questions_survive=True)
    talk.answer(resume_task=False)
    talk.forget().lose_agent()
    assert (talk.told, talk.commands, talk.phase()) == ([], [], "suspended")
    talk.say("Go on")
    assert talk.commands == ["resume q1=blue"]


def test_two_agents_that_die_with_the_same_answer_take_the_turn_along() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.lose_agent().starts().forget().lose_agent()
    assert talk.told == [
        "failed result q1: interrupted: agent_lost",
        "stopped: agent_lost",
        "turn 1 failed: agent_lost",
    ]


def test_but_not_if_the_second_one_died_with_another_answer() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.lose_agent().starts().gets("q1", "blue").asks("q2")
    talk.answer("q2", "red")
    assert talk.forget().lose_agent().commands == ["resume q2=red"]


def test_a_turn_that_is_being_stopped_goes_nowhere_with_its_answer() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.stop()
    assert talk.forget().lose_agent().told == [
        "failed result q1: interrupted: agent_lost",
        "stopped: user",
        "turn 1 interrupted",
    ]


def test_without_a_turn_only_what_was_left_open_ends() -> None:
    talk = running().ends().calls("t9").forget().lose_agent()
    assert talk.told == ["failed result t9: interrupted: agent_lost"]
    assert talk.status.state == "active"


def test_a_suspended_turn_is_not_touched() -> None:
    talk = suspended()
    before = talk.state
    assert talk.lose_agent().state == before


def test_a_turn_that_had_ended_but_for_its_figures_ends_as_it_did() -> None:
    talk = running()
    end = ev.TurnCompleted(*whose(), "end_turn")
    talk.do(i.AgentSaid(at=talk.now, event=end, last=False))
    assert talk.lose_agent().told == ["turn 1 completed"]


def test_also_where_a_question_is_open() -> None:
    talk = asking()
    talk.do(i.AgentSaid(at=talk.now, event=ev.TurnCompleted(*whose()), last=False))
    assert talk.lose_agent().told == [
        "q1 cancelled by agent_lost",
        "failed result q1: interrupted: agent_lost",
        "turn 1 completed",
    ]


def test_its_figures_are_what_is_known_of_them() -> None:
    talk = running().hear(RESULT).lose_agent()
    assert talk.last_end().cost_usd == 0.5


def test_after_it_a_message_starts_a_turn_with_a_new_agent() -> None:
    talk = running().lose_agent().forget()
    assert talk.say("Again").turn_id == 2
    assert talk.commands == ["prompt 2: Again"]
