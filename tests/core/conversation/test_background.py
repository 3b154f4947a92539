"""Background work: it keeps the turn that started it, and outlives the turn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.conversation.helpers.driver import Talk, refusal, running
from turnwire.core import events as ev
from turnwire.core.message import known_meta
from turnwire.core.status import BackgroundTask

ABOUT: dict[str, Any] = {"kind": "local_agent", "description": "look around"}


def background(**options: Any) -> Talk:
    """The first turn has started `t1` in the background and has ended."""
    talk = running(**options).calls("t1", "Agent")
    talk.task("task-1", "t1", **ABOUT)
    return talk.gets("t1", "launched").ends().forget()


# --- the list -----------------------------------------------------------------------------------


def test_the_state_lists_background_tasks() -> None:
    talk = background()
    task = BackgroundTask("task-1", 1, "t1", "local_agent", "look around", "running")
    assert talk.status.background_tasks == [task]
    assert (talk.status.state, talk.status.running) == ("active", False)


def test_a_task_is_known_by_the_list_and_by_the_notice_of_its_start() -> None:
    talk = running().calls("t1", "Agent")
    talk.tells(ev.TasksListed, tasks=[ev.Task("task-1", **ABOUT)], ephemeral=True)
    assert talk.status.background_tasks[0].tool_use_id is None
    talk.task("task-1", "t1", **ABOUT)
    (task,) = talk.status.background_tasks
    assert (task.tool_use_id, task.turn_id) == ("t1", 1)


def test_a_task_that_is_not_in_the_list_any_more_is_over() -> None:
    talk = background()
    talk.tells(ev.TasksListed, tasks=[], ephemeral=True)
    assert talk.status.background_tasks == []


def test_a_task_ends_with_its_notice_which_belongs_to_its_turn() -> None:
    talk = background()
    talk.say("Next")
    talk.starts().forget().tells(ev.TaskEnded, task=ev.Task("task-1"))
    assert talk.told == ["news: news"]
    assert talk.log[-1].turn_id == 1
    assert talk.status.background_tasks == []


def test_a_task_may_become_another() -> None:
    talk = background().tells(ev.TaskChanged, task=ev.Task("task-1", description="look closer"))
    assert talk.status.background_tasks[0].description == "look closer"


def test_a_task_in_the_foreground_is_no_background_work() -> None:
    talk = running().tells(ev.TaskChanged, task=ev.Task("task-1"))
    assert talk.status.background_tasks == []


def test_other_notices_of_the_session_change_nothing() -> None:
    talk = background().news("task_notification", task_id="task-1")
    assert len(talk.status.background_tasks) == 1


def test_a_background_task_before_any_turn_has_no_turn() -> None:
    talk = Talk().task()
    assert talk.status.background_tasks[0].turn_id is None


def test_several_tasks_are_kept_apart() -> None:
    talk = background().task("task-2")
    talk.tells(ev.TaskChanged, task=ev.Task("task-2", description="and another"))
    first, second = talk.status.background_tasks
    assert (first.task_id, second.task_id) == ("task-1", "task-2")
    assert (first.description, second.description) == ("look around", "and another")


# A turn without an event of the agent cannot be the turn of work that already runs.


def test_events_before_the_first_event_of_a_turn_belong_to_the_turn_before() -> None:
    talk = running().ends()
    talk.say("Next")
    assert talk.speaks("I was here first", "t9").log[-1].turn_id == 1


def test_a_question_asked_before_the_new_turn_begins_is_not_of_that_turn() -> None:
    talk = Talk(question_seconds=60).calls("t1", "Agent")
    talk.say("Next")
    talk.asks("q1", "t1").forget()
    assert talk.status.requests[0].turn_id is None
    assert talk.pass_deadline("q1").commands == ["deliver q1=deny"]
    talk.asks("q2", "t1").forget().restart()
    assert talk.told[0] == "q2 cancelled by server_restart"
    assert (talk.phase(), talk.status.turn_id) == ("suspended", 1)


# --- its words ----------------------------------------------------------------------------------


def test_text_of_background_work_keeps_the_turn_that_started_it() -> None:
    talk = background()
    talk.say("Next")
    talk.starts().forget().speaks("Sub says", "t1")
    assert known_meta(talk.log[-1].entry).turn_id == 1
    assert talk.log[-1].trace_id == talk.log[0].trace_id is not None


def test_unannounced_background_work_keeps_the_turn_that_started_it() -> None:
    talk = running().calls("t1", "Agent").speaks("I begin", "t1").gets("t1").ends()
    talk.say("Next")
    talk.starts().speaks("Still here", "t1").speaks("Who am I", "t2")
    assert [write.turn_id for write in talk.log[-2:]] == [1, 2]


def test_calls_of_background_work_outlive_the_turn_and_get_their_results() -> None:
    talk = running().calls("t1", "Agent").gets("t1", "launched").calls("t2", voice="t1").forget()
    assert talk.ends().told == ["turn 1 completed"]
    talk.say("Next")
    talk.forget().starts().gets("t2", "found it", "t1")
    assert talk.told == ["result t2: found it"]
    assert talk.log[-1].turn_id == 1


def test_a_result_belongs_to_the_maker_of_the_call() -> None:
    talk = running().calls("t1", "Agent").gets("t1", "launched").calls("t2", voice="t1").ends()
    talk.say("Next")
    talk.starts().gets("t2")
    assert talk.log[-1].turn_id == 1
    assert known_meta(talk.log[-1].entry).parent_tool_use_id == "t1"


def test_the_calls_of_a_foreground_sub_agent_end_with_the_turn() -> None:
    talk = running().calls("t1", "Agent").calls("t2", voice="t1").calls("t3", voice="t2").forget()
    assert talk.ends().told == [
        "failed result t1: no result: the turn ended",
        "failed result t2: no result: the turn ended",
        "failed result t3: no result: the turn ended",
        "turn 1 completed",
    ]


def test_also_those_that_were_made_before_their_sub_agent_had_its_result() -> None:
    talk = running().calls("t1", "Agent").calls("t2", voice="t1").gets("t1").forget()
    assert talk.ends().told[0] == "failed result t2: no result: the turn ended"


def test_work_started_by_background_work_is_background_work() -> None:
    talk = background().calls("t2", "Agent", "t1").calls("t3", voice="t2")
    assert [tool.background for tool in talk.state.tools.values()] == [True, True]


def test_a_call_that_works_for_itself_does_no_harm() -> None:
    talk = running().calls("t1", voice="t1").ends()
    assert talk.told[-1] == "turn 1 completed"


def test_the_number_of_remembered_sub_agents_is_bounded() -> None:
    talk = running()
    for number in range(70):
        talk.speaks("Hi", f"t{number}")
    assert len(talk.state.voices) == 64
    assert "t0" not in talk.state.voices


# --- requests of background work ----------------------------------------------------------------


def wanting() -> Talk:
    """Background work that asks for a permission after its turn."""
    return background().calls("t2", voice="t1").wants("p1", "t2", "t1").forget()


def test_background_work_may_ask_after_its_turn() -> None:
    talk = wanting()
    assert (talk.status.state, talk.status.running) == ("waiting_input", False)
    assert talk.status.requests[0].turn_id == 1
    talk.decide()
    assert talk.commands == ["deliver p1=allow"]
    assert talk.status.state == "active"


def test_a_question_belongs_to_the_maker_of_its_call_even_if_the_agent_does_not_say_so() -> None:
    talk = background().calls("t2", voice="t1")
    talk.say("Next")
    talk.starts().wants("p1", "t2")
    (request,) = talk.status.requests
    assert (request.turn_id, request.parent_tool_use_id, request.agent_id) == (1, "t1", "sub-t1")


def test_a_question_of_background_work_outlives_its_turn() -> None:
    talk = running().calls("t1", "Agent").gets("t1", "launched")
    talk.wants("p1", "t2", "t1").calls("t2", voice="t1").forget()
    assert talk.ends().told == ["turn 1 completed"]
    assert talk.status.state == "waiting_input"


@pytest.mark.parametrize("ends", ["fails", "interrupted", "completed"])
def test_the_state_is_waiting_while_background_work_asks(ends: str) -> None:
    talk = wanting()
    talk.say("Next")
    talk.starts()
    if ends == "fails":
        talk.fails()
    else:
        talk.ends(interrupted=ends == "interrupted")
    assert talk.status.state == "waiting_input"


def test_a_stop_of_the_turn_does_not_take_it_along() -> None:
    talk = wanting()
    talk.say("Next")
    talk.starts().stop()
    assert [request.request_id for request in talk.status.requests] == ["p1"]


def test_background_work_may_ask_while_the_turn_is_stopped() -> None:
    talk = background()
    talk.say("Next")
    talk.starts().stop()
    talk.calls("t2", voice="t1").wants("p1", "t2", "t1")
    assert talk.status.state == "waiting_input"


def test_a_question_of_background_work_is_answered_like_any_other() -> None:
    talk = background().asks("q1", "t1").forget()
    assert talk.answer("q1").delivered_as == "tool_result"
    assert talk.commands == ["deliver q1=blue"]
    assert talk.state.replies == []


def test_an_expired_question_of_background_work_ends_no_turn() -> None:
    talk = background(question_seconds=60).asks("q1", "t1")
    talk.say("Next")
    talk.starts().forget().pass_deadline("q1")
    assert talk.told == ["q1 expired by deadline"]
    assert talk.commands == ["deliver q1=deny"]
    assert talk.status.running


def test_nor_a_turn_that_is_being_stopped() -> None:
    talk = running(question_seconds=60).calls("t1", "Agent").gets("t1").asks("q1", "t1")
    talk.stop()
    talk.forget().pass_deadline("q1")
    assert talk.told == ["q1 expired by deadline"]
    assert talk.commands == ["deliver q1=deny"]


def test_without_any_turn_its_question_just_expires() -> None:
    talk = background(question_seconds=60).asks("q1", "t1").forget().pass_deadline("q1")
    assert talk.commands == ["deliver q1=deny"]


# --- without its agent --------------------------------------------------------------------------


def test_background_work_ends_with_its_agent() -> None:
    talk = wanting().asks("q1", "t1").forget().lose_agent()
    assert talk.told == [
        "p1 cancelled by agent_lost",
        "q1 cancelled by agent_lost",
        "news: task_notification",
        "failed result t2: interrupted: agent_lost",
        "failed result q1: interrupted: agent_lost",
    ]
    assert talk.status.background_tasks == []
    assert refusal(lambda: talk.answer(ended="cancelled")) == "CONVERSATION_INTERRUPTED"


def test_background_work_ends_with_its_server() -> None:
    talk = wanting().restart()
    assert talk.told[-1] == "failed result t2: interrupted: server_restart"
    assert talk.status.background_tasks == []


def test_background_work_ends_before_the_turn_that_runs_at_the_same_time() -> None:
    talk = wanting()
    talk.say("Next")
    talk.starts().forget().lose_agent()
    assert talk.told == [
        "p1 cancelled by agent_lost",
        "news: task_notification",
        "failed result t2: interrupted: agent_lost",
        "stopped: agent_lost",
        "turn 2 failed: agent_lost",
    ]


def test_background_work_ends_with_an_agent_that_cannot_take_a_new_turn() -> None:
    talk = background().calls("t2", voice="t1")
    talk.say("Next")
    talk.forget().lose_agent()
    assert talk.told == [
        "news: task_notification",
        "failed result t2: interrupted: agent_lost",
        "turn 2 failed: AGENT_UNAVAILABLE",
    ]


def test_a_question_of_the_running_turn_keeps_the_turn_also_from_a_sub_agent() -> None:
    talk = running().calls("t1", "Agent").gets("t1").asks("q1", "t1").forget().lose_agent()
    assert talk.told == []
    assert talk.status.state == "waiting_input"
    talk.stop()
    assert talk.told == [
        "q1 cancelled by ada",
        "failed result q1: interrupted: user",
        "stopped: user",
        "turn 1 interrupted",
    ]


def test_a_question_in_the_background_ends_with_a_turn_that_is_lost_while_it_is_stopped() -> None:
    talk = running().calls("t1", "Agent").gets("t1").asks("q1", "t1")
    talk.stop()
    talk.forget().lose_agent()
    assert talk.told == [
        "q1 cancelled by agent_lost",
        "failed result q1: interrupted: agent_lost",
        "stopped: user",
        "turn 1 interrupted",
    ]
