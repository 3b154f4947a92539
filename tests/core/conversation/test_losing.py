"""Losing the agent: the log stays true at every point of a turn."""

from __future__ import annotations

import pytest

from tests.core.conversation.helpers.driver import RESULT, Talk, asking, running, suspended, whose
from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import needs_recovery
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


def test_the_receipt_names_the_ended_processes() -> None:
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


def test_a_turn_that_was_not_dispatched_is_not_lost_with_the_agent() -> None:
    talk = Talk()
    talk.say()
    talk.unsent = True
    talk.starts().calls("t1").forget().lose_agent(unsent=True)
    assert talk.told == ["failed result t1: interrupted: agent_lost"]
    assert talk.commands == ["prompt 1: Hello"]
    talk.unsent = False
    talk.forget().starts().ends()
    assert talk.told == ["turn 1 completed"]


def test_nor_is_one_of_which_it_gave_no_sign() -> None:
    talk = Talk()
    talk.say()
    talk.forget().lose_agent(unsent=True)
    assert (talk.told, talk.commands) == ([], ["prompt 1: Hello"])


@pytest.mark.parametrize("survive", [True, False], ids=["as_result", "in_words"])
def test_an_answer_is_kept_for_the_next_agent_if_none_can_be_started(
    survive: bool,
) -> None:
    talk = suspended(questions_survive=survive)
    talk.answer()
    talk.forget().lose_agent(message="no such program")
    assert talk.told == ["news: agent_unavailable"]
    assert talk.frame(f.SessionSystemEvent).data["message"] == "no such program"
    assert (talk.state_name(), talk.phase(), talk.commands) == ("active", "suspended", [])
    assert not needs_recovery(talk.state), "the recovery does not retry for ever"
    assert talk.say("Go on").queue_id is not None
    assert talk.commands == ["resume q1=blue"]
    talk.forget().starts()
    if survive:
        talk.gets("q1", "blue")
    talk.ends()
    assert talk.state.replies == []
    assert talk.commands == ["prompt 2: Go on"]


def test_a_kept_answer_can_be_retried_without_a_message_and_holds_the_queue() -> None:
    talk = suspended()
    talk.answer()
    talk.say("Next")
    assert talk.lose_agent().status.queue_held
    talk.forget().change("resume")
    assert not talk.status.queue_held
    assert talk.commands == ["resume q1=blue"]


@pytest.mark.parametrize("again", [False, True], ids=["at_once", "after_a_failure"])
def test_an_answer_whose_turn_was_stopped_before_the_agent_had_it_goes_with_the_next_prompt(
    again: bool,
) -> None:
    talk = suspended(questions_survive=True)
    talk.answer()
    talk.stop()
    talk.forget().lose_agent(forced=True)
    assert talk.told == ["result q1: blue", "stopped: user", "turn 1 interrupted"]
    talk.say("Something else")
    words = (
        "You had asked me something before you were interrupted.\n> Which colour?\nMy answer: blue"
    )
    assert talk.told == ["turn 2 begins: user", "user: Something else", "news: answer_delivered"]
    assert talk.commands == [f"prompt 2: {words}Something else"]
    if again:
        talk.lose_agent().say("Again")
        assert talk.commands == [f"prompt 3: {words}Again"]
    assert talk.starts().ends().state.replies == []
    talk.forget().say("Bye")
    assert talk.commands == [f"prompt {talk.state.turns}: Bye"]


def test_also_if_the_agent_took_the_call_back_when_it_was_stopped() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.stop()
    talk.forget().gets("q1", "The user said no.", is_error=True).ends(interrupted=True)
    assert talk.told == [
        "failed result q1: The user said no.",
        "stopped: user",
        "turn 1 interrupted",
    ]
    assert [reply.answer for reply in talk.state.replies] == ["blue"]
    talk.say("Go on")
    assert "My answer: blue" in talk.commands[0]


def test_an_answer_is_not_delivered_again_if_the_agent_has_it() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.stop()
    talk.gets("q1", "blue").ends(interrupted=True)
    assert talk.state.replies == []


def test_an_answer_is_delivered_again_if_the_agent_was_killed() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.stop()
    talk.gets("q1", "blue").lose_agent(forced=True)
    talk.forget().say("Go on")
    assert "My answer: blue" in talk.commands[0]


def test_a_turn_of_the_agents_own_does_not_lose_a_kept_answer() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.stop()
    talk.lose_agent(forced=True).starts().ends()
    assert talk.state.last_turn_id == 2
    talk.starts().speaks("And more.").lose_agent()
    assert talk.state.last_turn_id == 3, "it is no answer to a question of this turn"
    talk.forget().say("Go on")
    assert "My answer: blue" in talk.commands[0]


@pytest.mark.parametrize("in_words", [True, False])
def test_an_agent_that_delivers_an_answer_differently_says_so(in_words: bool) -> None:
    talk = suspended(questions_survive=True)
    talk.answer()
    talk.forget().tells(ev.AnswerDelivered, request_id="q1", in_words=in_words)
    given = ["result q1: blue"] if in_words else []
    assert talk.told == ["news: news", *given]
    talk.tells(ev.AnswerDelivered, request_id="q9", in_words=True).starts()
    assert talk.state.replies, "it may die before it has taken it in"
    talk.speaks()
    assert bool(talk.state.replies) is not in_words, "in words it has it when it goes on"


def test_an_answer_sent_as_text_that_becomes_a_result_is_kept_until_the_result() -> None:
    talk = suspended()
    talk.answer()
    for call in ("q1", "q9"):
        talk.tells(ev.AnswerDelivered, request_id=call, in_words=False)
    assert talk.starts().speaks().state.replies
    assert talk.gets("q1", "blue").speaks().state.replies == []


def test_the_answer_of_a_sub_agents_question_is_sent_as_text_with_the_other_result() -> None:
    talk = asking().calls("t1", "Agent").asks("q2", "t1").ends(deferred_tool_use_id="q1")
    assert talk.answer("q2", "red").delivered_as == "prompt"
    assert talk.answer("q1", "blue").delivered_as == "tool_result"
    assert talk.commands[-1] == "resume q2=red q1=blue"
    talk.starts().gets("q1", "blue")
    assert len(talk.state.replies) == 2, "the agent may die with both"
    assert talk.speaks().state.replies == []


def test_an_answer_that_a_sub_agent_has_gone_on_with_is_not_given_again() -> None:
    talk = running().calls("t1", "Agent").asks("q1", "t1")
    talk.answer("q1", "blue")
    talk.gets("q1", "blue", "t1").speaks()
    assert talk.state.replies, "the text is of another sub-agent"
    assert talk.speaks("I see.", "t1").state.replies == []


def test_an_answer_that_the_agent_died_with_reaches_the_next_agent() -> None:
    talk = asking(questions_survive=True).calls("t1")
    talk.answer()
    talk.forget().lose_agent()
    assert talk.told == ["failed result t1: interrupted: agent_lost", "turn 1 begins: resume"]
    assert talk.commands == ["resume q1=blue"]
    talk.starts().gets("q1", "blue").ends()
    assert talk.told == ["result q1: blue", "turn 1 completed"]
    assert talk.state.replies == []


def test_an_answer_that_cannot_be_a_result_is_sent_as_text() -> None:
    talk = asking()
    talk.answer()
    talk.forget().lose_agent()
    assert talk.told == ["result q1: blue", "news: answer_delivered", "turn 1 begins: resume"]
    assert talk.commands == ["resume q1=blue"]


def test_an_answer_waits_for_the_other_questions_and_is_delivered_with_their_answers() -> None:
    talk = asking(questions_survive=True).asks("q2")
    talk.answer("q1")
    talk.forget().lose_agent()
    assert (talk.told, talk.commands, talk.phase()) == ([], [], "suspended")
    talk.answer("q2", "red")
    assert talk.commands == ["resume q1=blue q2=red"]


def test_an_answer_that_wakes_no_agent_waits() -> None:
    talk = asking(questions_survive=True)
    talk.answer(resume_task=False)
    talk.forget().lose_agent()
    assert (talk.told, talk.commands, talk.phase()) == ([], [], "suspended")
    talk.say("Go on")
    assert talk.commands == ["resume q1=blue"]


def test_if_two_agents_die_with_the_same_answer_a_person_has_to_want_a_third() -> None:
    talk = asking(questions_survive=True)
    talk.answer()
    talk.lose_agent().starts().forget().lose_agent()
    assert (talk.told, talk.commands) == (["news: agent_unavailable"], [])
    talk.say("Go on")
    assert talk.commands == ["resume q1=blue"]


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
        "result q1: blue",
        "stopped: user",
        "turn 1 interrupted",
    ]


def test_without_a_turn_only_open_calls_and_requests_end() -> None:
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


def test_the_figures_of_a_lost_turn_are_the_known_ones() -> None:
    talk = running().hear(RESULT).lose_agent()
    assert talk.last_end().cost_usd == 0.5


def test_after_it_a_message_starts_a_turn_with_a_new_agent() -> None:
    talk = running().lose_agent().forget()
    assert talk.say("Again").turn_id == 2
    assert talk.commands == ["prompt 2: Again"]
