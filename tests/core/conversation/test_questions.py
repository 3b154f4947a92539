"""Questions: asked once, answered once, and the answer is the call's result."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.conversation.helpers.driver import (
    Talk,
    asking,
    at,
    refusal,
    running,
    suspended,
    whose,
)
from turnwire.core import events as ev
from turnwire.core.blocks import ToolUseBlock
from turnwire.core.conversation import effects as e
from turnwire.core.error_codes import Refused
from turnwire.core.events import Question, QuestionOption
from turnwire.dialects.v2 import frames as f

# --- asked --------------------------------------------------------------------------------------


def test_a_question_is_a_row_an_inbox_item_and_an_entry_of_the_log() -> None:
    talk = running().asks("q1", metadata={"kind": "colour"}, options=["blue", "red"])
    assert talk.told == ["question q1"]
    assert talk.state_name() == "waiting_input"
    (request,) = talk.status.requests
    (row,) = (write.request for write in talk.writes if isinstance(write, e.OpenRequestRow))
    frame = talk.frame(f.AssistantRequestInput)
    assert row == request
    assert (request.request_id, request.tool_use_id, request.kind) == ("q1", "q1", "question")
    assert (request.turn_id, request.message_sequence) == (1, talk.state.head)
    assert request.inbox_item_id == frame.inbox_item_id is not None
    assert request.metadata == frame.metadata == {"kind": "colour"}
    assert frame.options == [QuestionOption("blue"), QuestionOption("red")]
    assert (request.deadline_at, frame.deadline_at, talk.timers) == (None, None, {})
    assert request.required
    assert frame.required


def test_a_question_may_be_optional() -> None:
    talk = running().asks("q1", required=False, metadata="none")
    (request,) = talk.status.requests
    assert (request.required, request.metadata) == (False, None)
    assert not talk.frame(f.AssistantRequestInput).required


def test_the_wire_request_of_a_question_opens_nothing_more() -> None:
    talk = asking().hear(asked("q1"))
    assert talk.told == []
    assert len(talk.status.requests) == 1


def test_a_question_without_a_call_gets_one_in_the_log() -> None:
    talk = running().hear(asked("q1"))
    assert talk.told == ["question q1"]
    assert talk.frame(f.AssistantRequestInput).question == "Which colour?"


def test_a_question_of_an_ordinary_tool_is_shown_as_a_question() -> None:
    question = Question("1", "Which colour?", [QuestionOption("blue")], multi=True, header="Colour")
    event = ev.QuestionAsked(*whose(), "r-1", "elicit-1", "elicitation", [question])
    talk = running().hear(event)
    assert talk.told == ["question elicit-1"]
    (shown,) = talk.frame(f.AssistantRequestInput).questions
    assert (shown.question, shown.options, shown.multi, shown.header) == (
        "Which colour?",
        [QuestionOption("blue")],
        True,
        "Colour",
    )


def test_an_announced_call_of_any_tool_may_ask() -> None:
    question = Question("1", "Which colour?", [QuestionOption("blue")])
    event = ev.QuestionAsked(*whose(), "r-1", "t1", "ask_human", [question], {"required": False})
    talk = running().calls("t1", "ask_human").forget().hear(event)
    assert talk.told == ["question t1"]
    assert talk.state_name() == "waiting_input"
    (request,) = talk.status.requests
    shown = talk.frame(f.AssistantRequestInput)
    assert (shown.announced, shown.questions, shown.required) == (True, [question], False)
    assert shown.message_id == talk.frame(f.AssistantToolCall).message_id
    assert (request.questions, request.message_sequence) == ([question], talk.state.head)
    talk.answer("t1")
    assert talk.frame(f.AssistantRequestResolved).answer == "blue"


def test_an_announced_call_may_ask_what_is_in_its_input() -> None:
    given = {"question": "Which colour?", "metadata": {"kind": "colour"}}
    event = ev.QuestionAsked(*whose(), "r-1", "t1", "ask_human", [], given)
    shown = running().calls("t1", "ask_human").hear(event).frame(f.AssistantRequestInput)
    assert (shown.question, shown.input, shown.metadata) == (
        "Which colour?",
        given,
        {"kind": "colour"},
    )


def test_an_announced_call_that_asks_nothing_is_shown_as_it_is() -> None:
    event = ev.QuestionAsked(*whose(), "r-1", "t1", "ask_human", [], {"questions": []})
    shown = running().calls("t1", "ask_human").hear(event).frame(f.AssistantRequestInput)
    assert (shown.question, shown.questions) == ("", [])


def test_a_call_that_says_that_it_is_a_question_asks_when_it_is_announced() -> None:
    block = ToolUseBlock(
        "q1", "poll", "POLL", {"question": "Which colour?"}, "completed", asks=True
    )
    talk = running().hear(ev.AssistantMessage(*whose(), "m1", 0, [block]))
    [request] = talk.status.requests
    assert (request.request_id, request.questions) == (
        "q1",
        [ev.Question("answer", "Which colour?")],
    )
    told = talk.forget().hear(
        ev.QuestionAsked(*whose(), "r1", "q1", "poll", request.questions, asks=True)
    )
    assert told.told == [], "it waits for the answer to the question that is open"


def test_a_question_that_is_one_itself_keeps_the_name_of_its_tool() -> None:
    given = {"question": "Which colour?"}
    asked = ev.QuestionAsked(*whose(), "r1", "q1", "poll", [], given, asks=True)
    [request] = running().hear(asked).status.requests
    assert (request.tool_name, request.input) == ("poll", given)


def test_the_question_of_an_announced_call_may_be_withdrawn() -> None:
    question = Question("1", "Which colour?")
    event = ev.QuestionAsked(*whose(), "r-1", "t1", "ask_human", [question])
    talk = running().calls("t1", "ask_human").hear(event, ev.RequestWithdrawn(*whose(), "r-1"))
    assert talk.frame(f.AssistantRequestResolved).outcome == "cancelled"


def test_the_call_of_a_question_after_its_request_is_not_published_again() -> None:
    assert running().hear(asked("q1")).forget().asks("q1").told == []


def test_a_sub_agent_may_ask() -> None:
    talk = running().calls("t1", "Agent").asks("q1", "t1")
    (request,) = talk.status.requests
    assert (request.parent_tool_use_id, request.agent_id) == ("t1", "sub-t1")
    talk.answer("q1")
    assert talk.frame(f.AssistantRequestResolved).parent_tool_use_id == "t1"


# --- answered -----------------------------------------------------------------------------------


def test_the_answer_goes_to_the_agent_and_comes_back_as_the_calls_result() -> None:
    talk = asking()
    ack = talk.answer("q1", "blue")
    assert (ack.request_id, ack.delivered_as) == ("q1", "tool_result")
    assert talk.commands == ["deliver q1=blue"]
    assert talk.told == ["q1 answered by ada"]
    assert talk.state_name() == "active"
    talk.gets("q1", "blue").ends()
    assert talk.told == ["result q1: blue", "turn 1 completed"]


def test_the_log_and_the_inbox_name_the_user_and_the_answer() -> None:
    talk = asking()
    talk.answer("q1", {"Which colour?": "blue"})
    ended = talk.frame(f.AssistantRequestResolved)
    (row,) = (write for write in talk.writes if isinstance(write, e.EndRequest))
    assert (ended.by, ended.answer) == ("ada", {"Which colour?": "blue"})
    assert (row.request_id, row.outcome, row.by) == ("q1", "answered", "ada")
    assert talk.audited()[-2:] == [("asked", None), ("answered", "ada")]


@pytest.mark.parametrize("answer", [None, "", "  ", [], {}, {"a": " "}, {"a": [], "b": None}])
def test_an_empty_answer_to_a_required_question_is_refused(answer: Any) -> None:
    talk = asking()
    assert refusal(lambda: talk.answer("q1", answer)) == "INPUT_REQUIRED"
    assert len(talk.status.requests) == 1


@pytest.mark.parametrize("answer", [False, 0, "0", {"a": "", "b": "x"}, ["", "x"]])
def test_no_and_zero_and_an_incomplete_answer_are_answers(answer: Any) -> None:
    assert asking().answer("q1", answer).request_id == "q1"


def test_an_answer_names_the_questions_that_were_asked() -> None:
    several = [{"question": "Which colour?"}, {"question": "Which size?"}]
    talk = running().calls("q1", "AskUserQuestion", questions=several)
    assert refusal(lambda: talk.answer("q1", {"nope": "x"})) == "INVALID_PAYLOAD"
    wrong = {"Which colour?": "blue", "Which shape?": "round"}
    assert refusal(lambda: talk.answer("q1", wrong)) == "INVALID_PAYLOAD"
    assert len(talk.status.requests) == 1
    assert talk.answer("q1", {"Which colour?": "blue"}).request_id == "q1"


def test_an_answer_to_a_form_leaves_out_no_required_question() -> None:
    size = {"question": "Which size?", "required": True}
    talk = running().asks("q1", questions=[{"question": "Which colour?"}, size])
    with pytest.raises(Refused, match=r"'Which size\?' needs an answer") as refused:
        talk.answer("q1", {"Which colour?": "blue"})
    assert refused.value.code == "INVALID_PAYLOAD"
    assert talk.answer("q1", {"Which size?": "large"}).request_id == "q1"


@pytest.mark.parametrize(
    "answer", ["green", {"answer": "green"}, {"colour": "red"}, ["red", "blue"], ["green"], 1]
)
def test_without_free_text_the_answer_must_be_an_option(answer: Any) -> None:
    talk = running().asks("q1", options=["red", "blue"], free_text=False)
    with pytest.raises(Refused, match=r"'Which colour\?' takes one of: 'red', 'blue'") as refused:
        talk.answer("q1", answer)
    assert refused.value.code == "INVALID_PAYLOAD"
    assert len(talk.status.requests) == 1


@pytest.mark.parametrize("answer", ["red", {"answer": "red"}, ["red"], {"answer": ["blue"]}])
def test_an_option_is_accepted_without_free_text(answer: Any) -> None:
    talk = running().asks("q1", options=["red", "blue"], free_text=False)
    assert talk.answer("q1", answer).request_id == "q1"


def test_some_of_several_questions_may_require_an_option() -> None:
    shades = {"options": ["red", "blue"], "multiSelect": True, "free_text": False}
    form = [{"question": "Which colours?", **shades}, {"question": "Which size?"}]
    talk = running().asks("q1", questions=form)
    with pytest.raises(Refused, match=r"'Which colours\?' takes only: 'red', 'blue'"):
        talk.answer("q1", {"Which colours?": ["red", "green"], "Which size?": "any"})
    talk.answer("q1", {"Which colours?": ["red", "blue"], "Which size?": "any"})
    assert talk.status.requests == []


def test_an_optional_question_may_stay_empty_without_free_text_too() -> None:
    talk = running().asks("q1", options=["red", "blue"], free_text=False, required=False)
    assert talk.answer("q1", "").request_id == "q1"


def test_an_optional_question_may_have_an_empty_answer() -> None:
    talk = running().asks("q1", required=False)
    assert talk.answer("q1", "").request_id == "q1"


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        ("answered", "DUPLICATE_INPUT_RESPONSE"),
        ("expired", "INPUT_TIMEOUT"),
        ("cancelled", "CONVERSATION_INTERRUPTED"),
        (None, "NO_PENDING_INPUT"),
    ],
)
def test_a_late_answer_is_refused_with_how_the_question_ended(ended: Any, code: str) -> None:
    talk = asking()
    talk.answer()
    assert refusal(lambda: talk.answer(ended=ended)) == code


def test_an_answer_to_an_unknown_question_is_refused() -> None:
    talk = running().calls().wants("p1")
    assert refusal(lambda: talk.answer("q9")) == "INVALID_QUESTION_ID"
    assert refusal(lambda: talk.answer("p1")) == "INVALID_QUESTION_ID"


def test_a_question_that_the_agent_took_back_is_cancelled() -> None:
    talk = asking().hear(asked("q1")).withdraws("r-q1")
    assert talk.told == ["q1 cancelled by agent"]
    assert talk.gets("q1", "never mind").told == ["result q1: never mind"]


def test_a_question_whose_call_has_its_result_is_over() -> None:
    talk = asking().gets("q1", "I decided myself")
    assert talk.told == ["q1 cancelled by agent", "result q1: I decided myself"]


def test_a_question_that_is_open_when_its_turn_ends_is_over() -> None:
    talk = asking().ends()
    assert talk.told == [
        "q1 cancelled by agent",
        "failed result q1: no result: the turn ended",
        "turn 1 completed",
    ]


def test_an_answer_is_delivered_again_to_an_agent_that_asks_later() -> None:
    talk = asking()
    talk.answer()
    talk.forget().hear(asked("q1"))
    assert talk.commands == ["deliver q1=blue"]


def test_a_question_that_was_cancelled_is_not_asked_again() -> None:
    talk = suspended()
    talk.stop()
    talk.say("Something else")
    talk.starts().forget().hear(asked("q1"))
    assert talk.told == []
    assert talk.commands == ["deliver q1=deny"]


def test_several_questions_are_answered_one_by_one() -> None:
    talk = asking().asks("q2")
    talk.answer("q1", "blue")
    assert talk.state_name() == "waiting_input"
    talk.answer("q2", "red")
    assert talk.state_name() == "active"
    assert talk.commands == ["deliver q1=blue", "deliver q2=red"]


def test_a_form_of_several_questions_is_answered_by_their_ids_or_skipped() -> None:
    form = [{"question": "Which colour?"}, {"question": "Which size?"}]
    talk = running().asks("q1", questions=form, required=False)
    with pytest.raises(Refused, match=r"2 questions.*'Which colour\?', 'Which size\?'") as refused:
        talk.answer("q1", "blue")
    assert refused.value.code == "INVALID_PAYLOAD"
    with pytest.raises(Refused, match=r"no question 'Why\?'"):
        talk.answer("q1", {"Why?": "blue"})
    talk.answer("q1", {"Which colour?": "blue"})
    assert talk.commands == ["deliver q1={'Which colour?': 'blue'}"]
    talk.forget().asks("q2", questions=form, required=False).answer("q2", "")
    assert talk.commands == ["deliver q2="]
    talk.forget().asks("q3", questions=form[:1]).answer("q3", "blue")
    assert talk.commands == ["deliver q3=blue"]


# --- the deadline -------------------------------------------------------------------------------


def test_a_question_shows_its_deadline() -> None:
    talk = asking(question_seconds=60)
    (request,) = talk.status.requests
    assert request.deadline_at == at(60_000)
    assert talk.timers == {"deadline:q1": talk.now + 60_000}
    talk.answer()
    assert talk.timers == {}


def test_at_the_deadline_the_turn_fails() -> None:
    talk = asking(question_seconds=60).pass_deadline()
    assert talk.told == ["q1 expired by deadline"]
    assert talk.commands == ["stop 1"]
    talk.ends(interrupted=True)
    assert talk.told == [
        "failed result q1: no result: the turn ended",
        "turn 1 failed: INPUT_TIMEOUT",
    ]
    assert (talk.status.state, talk.status.reason) == ("error", "INPUT_TIMEOUT")


def test_at_the_deadline_of_a_suspended_question_its_turn_fails_at_once() -> None:
    talk = suspended(question_seconds=60).pass_deadline()
    assert talk.told == [
        "q1 expired by deadline",
        "failed result q1: interrupted: deadline",
        "turn 1 failed: INPUT_TIMEOUT",
    ]
    assert talk.commands == []


def test_at_the_deadline_the_other_questions_of_the_turn_are_cancelled() -> None:
    talk = asking(question_seconds=60).asks("q2").forget().pass_deadline("q1")
    assert talk.told == ["q1 expired by deadline", "q2 cancelled by interrupt"]


def test_at_the_deadline_a_default_may_answer() -> None:
    talk = asking(question_seconds=60, question_policy="default", question_default="blue")
    talk.pass_deadline()
    assert talk.told == ["q1 answered by deadline"]
    assert talk.commands == ["deliver q1=blue"]


def test_a_default_answers_a_suspended_question_too() -> None:
    talk = suspended(question_seconds=60, question_policy="default", question_default="blue")
    talk.pass_deadline()
    assert talk.commands == ["resume q1=blue"]


def test_a_default_answers_every_question_of_a_form() -> None:
    talk = running(question_seconds=60, question_policy="default", question_default="blue")
    form = [{"question": "The wall?"}, {"question": "The door?"}]
    talk.asks(questions=form).forget().pass_deadline()
    assert talk.told == ["q1 answered by deadline"]
    assert talk.commands == ["deliver q1={'The wall?': 'blue', 'The door?': 'blue'}"]


def test_a_default_that_is_no_option_answers_nothing() -> None:
    talk = running(question_seconds=60, question_policy="default", question_default="blue")
    talk.asks(options=["red", "green"], free_text=False).forget().pass_deadline()
    assert talk.told == ["q1 expired by deadline"]


def test_a_missing_default_answers_nothing() -> None:
    talk = asking(question_seconds=60, question_policy="default").pass_deadline()
    assert talk.told == ["q1 expired by deadline"]


def test_at_the_deadline_a_question_may_go_on_waiting() -> None:
    talk = asking(question_seconds=60, question_policy="wait").pass_deadline()
    assert (talk.told, talk.commands) == ([], [])
    assert talk.audited()[-1] == ("overdue", None)
    assert talk.answer().request_id == "q1"
    assert talk.state.overdue == []


def test_an_overdue_question_is_noted_once() -> None:
    talk = asking(question_seconds=60, question_policy="wait").pass_deadline()
    before = talk.state
    assert talk.pass_deadline().state == before
    assert talk.audited().count(("overdue", None)) == 1


def test_a_question_without_a_deadline_never_runs_out() -> None:
    talk = asking().pass_deadline()
    assert (talk.told, talk.commands) == ([], [])


def test_an_answer_at_the_time_of_the_deadline_wins() -> None:
    talk = asking(question_seconds=60)
    talk.answer()
    assert talk.forget().pass_deadline().told == []
    assert talk.commands == []


def test_a_deadline_before_an_answer_of_the_same_time_wins() -> None:
    talk = asking(question_seconds=60).pass_deadline()
    assert refusal(lambda: talk.answer(ended="expired")) == "INPUT_TIMEOUT"


def test_a_deadline_that_passes_while_its_turn_is_stopped_changes_nothing() -> None:
    talk = asking(question_seconds=60)
    talk.stop()
    assert talk.forget().pass_deadline().told == []


# --- suspended ----------------------------------------------------------------------------------


def test_a_question_outlives_its_agent() -> None:
    talk = asking().calls("t1").forget().lose_agent()
    assert talk.told == ["failed result t1: interrupted: agent_lost"]
    assert (talk.status.state, talk.status.running, talk.status.turn_id) == (
        "waiting_input",
        False,
        1,
    )


def test_the_answer_is_sent_as_text_to_a_new_process_and_is_the_calls_result() -> None:
    talk = suspended()
    ack = talk.answer("q1", "blue")
    assert ack.delivered_as == "prompt"
    assert talk.told == ["q1 answered by ada", "result q1: blue", "turn 1 begins: resume"]
    assert talk.commands == ["resume q1=blue"]
    talk.starts().speaks("Blue it is").ends()
    assert talk.told == ["agent: Blue it is", "turn 1 completed"]
    assert talk.last_end().origin == "resume"


def test_an_agent_that_can_gets_the_answer_as_the_calls_result() -> None:
    talk = suspended(questions_survive=True)
    assert talk.answer("q1", "blue").delivered_as == "tool_result"
    assert talk.told == ["q1 answered by ada", "turn 1 begins: resume"]
    assert talk.starts().gets("q1", "blue").ends().told == ["result q1: blue", "turn 1 completed"]


def test_a_new_process_that_asks_again_is_answered_and_nothing_is_published_twice() -> None:
    talk = suspended(questions_survive=True)
    talk.answer("q1", "blue")
    talk.forget().starts().asks("q1").hear(asked("q1"))
    assert talk.told == []
    assert talk.commands == ["deliver q1=blue"]


def test_every_question_of_a_turn_is_answered_before_it_goes_on() -> None:
    talk = asking().asks("q2").lose_agent().forget()
    talk.answer("q1", "blue")
    assert talk.commands == []
    talk.answer("q2", "red")
    assert talk.commands == ["resume q1=blue q2=red"]


def test_an_answer_that_the_lost_agent_did_not_use_is_delivered_again_with_the_others() -> None:
    talk = asking().asks("q2")
    talk.answer("q1", "blue")
    talk.forget().lose_agent()
    assert talk.told == ["result q1: blue", "news: answer_delivered"]
    talk.answer("q2", "red")
    assert talk.commands == ["resume q1=blue q2=red"]


def test_resume_task_false_keeps_the_answer_until_something_else_wakes_the_agent() -> None:
    talk = suspended()
    talk.answer("q1", "blue", resume_task=False)
    assert talk.commands == []
    assert (talk.status.state, talk.status.turn_id, talk.status.running) == ("active", 1, False)
    assert talk.say("Go on").queue_id is not None
    assert talk.commands == ["resume q1=blue"]


def test_letting_the_queue_go_on_wakes_the_agent_too() -> None:
    talk = suspended()
    talk.answer("q1", "blue", resume_task=False)
    talk.change("resume")
    assert talk.commands == ["resume q1=blue"]


def test_one_answer_that_wakes_the_agent_is_enough() -> None:
    talk = asking().asks("q2").lose_agent().forget()
    talk.answer("q1", "blue", resume_task=True)
    talk.answer("q2", "red", resume_task=False)
    assert talk.commands == ["resume q1=blue q2=red"]


def test_a_message_does_not_wake_a_turn_whose_question_is_open() -> None:
    talk = suspended()
    talk.say("Anyone there?")
    assert talk.commands == []


def test_events_of_a_closed_agent_are_ignored() -> None:
    talk = suspended().speaks("Late").calls("t9").gets("q1").wants("p9").fails()
    assert talk.told == []


def test_the_cost_until_the_end_of_the_agent_is_counted() -> None:
    talk = suspended().fails()
    talk.stop()
    assert talk.status.last_turn is not None
    assert talk.status.last_turn.cost_usd == 0.5
    assert talk.state.totals.cost_usd == 0.5


# --- deferred -----------------------------------------------------------------------------------


def deferred() -> Talk:
    """The agent has deferred its question while another call was unfinished."""
    return asking().calls("t1").ends(deferred_tool_use_id="q1").forget()


def test_an_agent_that_defers_its_question_is_closed_and_the_turn_waits() -> None:
    talk = asking().calls("t1").wants("p1", "t1").forget().ends(deferred_tool_use_id="q1")
    assert talk.told == ["p1 cancelled by deferred", "failed result t1: interrupted: deferred"]
    assert talk.commands == ["close"]
    assert (talk.status.state, talk.status.running) == ("waiting_input", False)


def test_the_answer_of_a_deferred_question_is_the_calls_result_in_the_next_process() -> None:
    talk = deferred()
    assert talk.answer("q1", "blue").delivered_as == "tool_result"
    assert talk.commands == ["resume q1=blue"]
    talk.forget().starts().gets("q1", "blue").ends()
    assert talk.told == ["result q1: blue", "turn 1 completed"]


def test_an_answer_that_was_faster_than_the_agent_wakes_it_at_once() -> None:
    talk = asking()
    talk.answer("q1", "blue")
    talk.forget().ends(deferred_tool_use_id="q1")
    assert talk.commands == ["close", "resume q1=blue"]
    assert talk.told == ["turn 1 begins: resume"]


def test_an_answer_may_leave_the_agent_closed() -> None:
    talk = asking()
    talk.answer("q1", "blue", resume_task=False)
    talk.forget().ends(deferred_tool_use_id="q1")
    assert talk.commands == ["close"]
    assert talk.status.turn_id == 1


def test_a_turn_that_pauses_at_something_else_than_a_question_is_over() -> None:
    talk = running().calls("t1").forget().ends(deferred_tool_use_id="t1")
    assert talk.told == ["failed result t1: no result: the turn ended", "turn 1 completed"]


def test_a_question_deferred_during_a_stop_is_cancelled() -> None:
    talk = asking()
    talk.stop()
    talk.forget().ends(deferred_tool_use_id="q1")
    assert talk.told == ["failed result q1: interrupted", "stopped: user", "turn 1 interrupted"]


def asked(question_id: str) -> ev.QuestionAsked:
    """The request of a question on the agent's wire."""
    given = {"question": "Which colour?"}
    return ev.QuestionAsked(
        *whose(), f"r-{question_id}", question_id, "request_input", [], input=given
    )
