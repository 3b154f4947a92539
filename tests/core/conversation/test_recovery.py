"""Recovery after a restart: accepted input takes effect once, and the log is true."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

from tests.core.conversation.helpers.driver import Talk, asking, running, suspended, whose
from turnwire.core import events as ev
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import OpenTool, needs_recovery
from turnwire.core.message import known_meta
from turnwire.core.partials import Partial, cut_short
from turnwire.core.status import BackgroundTask, TurnError
from turnwire.dialects.v2 import frames as f

# --- a turn -------------------------------------------------------------------------------------


def test_a_turn_that_was_dispatched_ends_as_interrupted() -> None:
    talk = running().calls("t1").forget().restart()
    assert talk.told == [
        "failed result t1: interrupted: server_restart",
        "stopped: server_restart",
        "turn 1 failed: server_restart",
    ]
    assert talk.last_end().interrupted
    assert talk.status.state == "interrupted"


def added_after(talk: Talk, before: int) -> list[e.AddEntry]:
    return [write for write in talk.writes[before:] if isinstance(write, e.AddEntry)]


def test_growing_text_is_logged_before_the_end_of_its_turn() -> None:
    partials = [
        Partial("m-8", 0, "thinking", "Hmm", provider="demo", model="opus"),
        Partial("m-9", 1, "text", "Once upon a", provider="demo"),
    ]
    talk = running().forget()
    before = len(talk.writes)
    assert talk.restart(partials=partials).told == [
        "thinks: Hmm",
        "agent: Once upon a",
        "stopped: server_restart",
        "turn 1 failed: server_restart",
    ]
    added = added_after(talk, before)
    assert [write.turn_id for write in added] == [1, 1, 1]
    thinking, text = (known_meta(write.entry) for write in added[:2])
    assert (thinking.message_id, thinking.index, thinking.aborted) == ("m-8", 0, True)
    assert (text.message_id, text.index, text.aborted) == ("m-9", 1, True)
    assert (thinking.provider, thinking.model_id, text.provider) == ("demo", "opus", "demo")
    assert talk.last_end().after_sequence == added[-1].sequence


def test_growing_text_is_kept_as_for_a_lost_agent() -> None:
    partial = Partial("m-9", 1, "text", "Once upon a", parent_tool_use_id="t1", agent_id="a1")
    killed, lost = running().calls("t1"), running().calls("t1")
    before = len(killed.writes)
    killed.restart(partials=[partial])
    lost.hear(cut_short(partial))
    assert added_after(killed, before)[0] == added_after(lost, before)[0]


def test_a_turn_that_waits_hears_nothing_more() -> None:
    talk = suspended()
    before = len(talk.writes)
    talk.restart(partials=[Partial("m-9", 0, "text", "late")])
    assert added_after(talk, before) == []


def test_a_turn_that_was_not_dispatched_waits_and_is_in_the_log_once() -> None:
    talk = Talk()
    talk.say("Hello")
    talk.restart()
    assert (talk.status.state, talk.status.running, talk.status.turn_id) == ("active", False, 1)
    assert talk.queue == []
    talk.change("resume")
    assert talk.told == ["turn 1 begins: user", "user: Hello", "turn 1 begins: resume"]
    assert talk.commands == ["prompt 1: Hello", "prompt 1: Hello"]


def test_with_continue_it_is_handed_over_again_at_once() -> None:
    talk = Talk(on_disconnect="continue")
    talk.say("Hello")
    talk.forget().restart()
    assert talk.commands == ["prompt 1: Hello"]
    assert talk.starts().ends().told == ["turn 1 begins: resume", "turn 1 completed"]
    assert talk.last_end().origin == "user"


def test_a_recovered_turn_has_the_same_trace() -> None:
    talk = Talk(on_disconnect="continue")
    talk.say()
    talk.restart()
    first, second = (write.turn for write in talk.writes if isinstance(write, e.BeginTurn))
    assert first.trace_id == second.trace_id


def test_a_turn_of_the_agents_own_is_not_begun_again() -> None:
    talk = Talk().starts().restart()
    assert talk.told[-1] == "turn 1 failed: server_restart"


def test_a_turn_that_had_ended_but_for_its_figures_ends_as_it_did() -> None:
    talk = running()
    talk.do(i.AgentSaid(at=talk.now, event=ev.TurnCompleted(*whose()), last=False))
    assert talk.restart().told == ["turn 1 completed"]


def test_also_where_a_question_is_open() -> None:
    talk = asking()
    talk.do(i.AgentSaid(at=talk.now, event=ev.TurnCompleted(*whose()), last=False))
    assert talk.restart().told[-1] == "turn 1 completed"


def test_a_turn_whose_background_work_was_asked_about_waits_too() -> None:
    talk = running().calls("t1", "Agent").gets("t1").calls("t2", voice="t1")
    talk.wants("p1", "t2", "t1").ends()
    talk.say("Next")
    talk.restart()
    assert (talk.status.state, talk.status.running, talk.status.turn_id) == ("active", False, 2)


# --- stopping -----------------------------------------------------------------------------------


def test_a_turn_that_was_being_stopped_has_stopped() -> None:
    talk = running()
    talk.stop()
    talk.restart()
    assert talk.told == ["stopped: user", "turn 1 interrupted"]
    assert talk.frame(f.ConversationInterrupted).by == "ada"


def test_a_turn_that_was_stopped_before_it_was_dispatched_is_not_begun_again() -> None:
    talk = Talk(on_disconnect="continue")
    talk.say()
    talk.stop()
    assert talk.restart().queue == []
    assert talk.told[-1] == "turn 1 interrupted"


@pytest.mark.parametrize(
    ("on_disconnect", "queue", "goes_on"),
    [
        ("continue", "hold", False),
        ("continue", "continue", True),
        ("converge", "continue", False),
    ],
)
def test_the_users_choice_for_the_queue_holds_together_with_the_rule_of_restarts(
    on_disconnect: str, queue: str, goes_on: bool
) -> None:
    talk = running(on_disconnect=on_disconnect)
    talk.say("Next")
    talk.stop(queue=queue)  # type: ignore[arg-type]  # a literal in the table above
    talk.forget().restart()
    assert (talk.commands == ["prompt 2: Next"]) is goes_on
    assert talk.status.queue_held is not goes_on


def test_a_question_deferred_during_a_stop_is_cancelled_by_the_recovery() -> None:
    talk = asking()
    talk.answer()
    talk.stop()
    assert talk.restart().told[-1] == "turn 1 interrupted"


# --- questions ----------------------------------------------------------------------------------


def test_a_question_survives_and_its_turn_is_not_ended() -> None:
    talk = asking().calls("t1").forget().restart()
    assert talk.told == ["failed result t1: interrupted: server_restart"]
    assert (talk.status.state, talk.status.turn_id, talk.status.running) == (
        "waiting_input",
        1,
        False,
    )
    talk.answer()
    assert talk.commands == ["resume q1=blue"]


def test_an_answer_that_the_agent_may_not_have_had_is_given_again() -> None:
    talk = asking()
    talk.answer("q1", "blue")
    talk.forget().restart()
    assert talk.told == ["result q1: blue", "news: answer_delivered", "turn 1 begins: resume"]
    assert talk.commands == ["resume q1=blue"]


def test_the_recovered_answer_is_the_calls_result_if_the_agent_can() -> None:
    talk = asking(questions_survive=True)
    talk.answer("q1", "blue")
    talk.forget().restart()
    assert talk.told == ["turn 1 begins: resume"]
    talk.starts().gets("q1", "blue").ends()
    assert talk.told == ["result q1: blue", "turn 1 completed"]


def test_an_answer_that_the_agent_has_used_is_not_given_again() -> None:
    talk = asking()
    talk.answer()
    talk.gets("q1", "blue").speaks().forget().restart()
    assert talk.told == ["stopped: server_restart", "turn 1 failed: server_restart"]


def test_an_answer_whose_result_the_agent_may_not_have_written_down_is_given_again() -> None:
    talk = asking(questions_survive=True)
    talk.answer("q1", "blue")
    talk.gets("q1", "blue").forget().restart()
    assert (talk.told, talk.commands) == (["turn 1 begins: resume"], ["resume q1=blue"])
    talk.forget().starts().gets("q1", "blue")
    assert talk.told == [], "the log has the one result"
    talk.speaks("Blue it is.").lose_agent()
    assert talk.told[-1] == "turn 1 failed: agent_lost"
    assert talk.state.replies == []


def test_an_answer_as_text_is_delivered_again_until_the_agent_goes_on() -> None:
    talk = suspended()
    talk.answer()
    assert talk.forget().restart().commands == ["resume q1=blue"]
    assert talk.restart().commands == ["resume q1=blue"]
    assert talk.starts().restart().commands[-1] == "resume q1=blue"
    talk.starts().speaks().forget().restart()
    assert talk.told == ["stopped: server_restart", "turn 1 failed: server_restart"]


def test_an_answer_to_a_deferred_question_is_still_the_calls_result_after_a_restart() -> None:
    talk = asking().ends(deferred_tool_use_id="q1")
    talk.answer()
    talk.forget().restart()
    assert (talk.told, talk.commands) == (["turn 1 begins: resume"], ["resume q1=blue"])
    assert talk.starts().gets("q1", "blue").told == ["result q1: blue"]


def test_an_answer_that_was_to_wait_waits_on() -> None:
    talk = suspended()
    talk.answer("q1", "blue", resume_task=False)
    before = talk.state
    assert not needs_recovery(before)
    assert talk.restart().state == before


def test_a_queue_after_a_suspended_turn_is_not_held_as_well() -> None:
    talk = suspended()
    talk.say("Next")
    assert not talk.restart().status.queue_held


# --- the end of the server ----------------------------------------------------------------------


def test_when_the_server_stops_nothing_is_started() -> None:
    talk = running(on_disconnect="continue")
    talk.say("Next")
    talk.forget().restart(reason="server_stopped", stopping=True)
    assert talk.told == ["stopped: server_stopped", "turn 1 failed: server_stopped"]
    assert talk.commands == []
    assert needs_recovery(talk.state)
    assert talk.restart().commands == ["prompt 2: Next"]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("server_restart", "The server stopped."),
        ("server_stopped", "The server stopped."),
        ("archived", "The conversation was archived."),
        ("deleted", "The conversation was deleted."),
    ],
)
def test_a_turn_ended_by_recovery_names_the_cause(reason: str, said: str) -> None:
    talk = running().forget().restart(reason=reason, stopping=True)
    assert talk.told == [f"stopped: {reason}", f"turn 1 failed: {reason}"]
    assert talk.last_end().error == TurnError(reason, said)


def test_when_the_server_stops_an_answer_waits_for_its_return() -> None:
    talk = asking()
    talk.answer()
    talk.forget().restart(reason="server_stopped", stopping=True)
    assert talk.commands == []
    assert needs_recovery(talk.state)
    assert talk.restart().commands == ["resume q1=blue"]


# --- in the archive -----------------------------------------------------------------------------


@pytest.mark.parametrize("stopping", [True, False])
@pytest.mark.parametrize("begun", [True, False])
def test_the_queue_of_an_archived_conversation_is_held_until_a_person_continues_it(
    begun: bool, stopping: bool
) -> None:
    talk = Talk(on_disconnect="continue")
    talk.say()
    if begun:
        talk.starts()
    talk.say("Next")
    talk.forget().restart(reason="archived", archived=True, stopping=stopping)
    assert talk.told == ["stopped: archived", "turn 1 failed: archived"]
    assert talk.status.queue_held
    assert talk.restart().commands == []
    talk.change("resume")
    assert talk.commands == ["prompt 2: Next"]


def test_a_turn_that_the_agent_never_heard_of_does_not_begin_in_the_archive() -> None:
    talk = Talk(on_disconnect="continue")
    talk.say()
    talk.restart(stopping=True)  # the server fell, and the next one has not its agent
    assert needs_recovery(talk.state)
    talk.forget().restart(archived=True)
    assert talk.told == ["stopped: server_restart", "turn 1 failed: server_restart"]
    assert talk.restart().commands == []


def test_an_answer_in_the_archive_waits_for_a_person() -> None:
    talk = asking(on_disconnect="continue")
    talk.answer()
    talk.say("Next")
    talk.forget().restart(archived=True)
    assert not needs_recovery(talk.state)
    assert talk.restart().commands == []
    talk.change("resume")
    assert talk.commands == ["resume q1=blue"]


def test_a_question_of_an_archived_conversation_can_be_answered_after_its_restore() -> None:
    talk = asking(on_disconnect="continue")
    talk.say("Next")
    talk.restart(archived=True).forget()
    assert not talk.restart().status.queue_held
    talk.answer()
    assert talk.commands == ["resume q1=blue"]


# --- twice, and when it is needed ---------------------------------------------------------------

PLACES: dict[str, Callable[[], Talk]] = {
    "new": Talk,
    "idle": lambda: running().ends(),
    "failed": lambda: running().fails(),
    "running": running,
    "asking": asking,
    "suspended": suspended,
    "deferred": lambda: asking().ends(deferred_tool_use_id="q1"),
    "wanting": lambda: running().calls("t1").wants("p1", "t1"),
    "in the background": lambda: (
        running().calls("t1", "Agent").gets("t1").calls("t2", voice="t1").ends()
    ),
    "a call of no turn": lambda: running().ends().calls("t9"),
    "a task": lambda: running().task().ends(),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_second_recovery_changes_nothing(place: str) -> None:
    talk = PLACES[place]().restart().forget()
    once = talk.state
    assert not needs_recovery(once)
    assert (talk.restart().told, talk.commands) == ([], [])
    assert talk.state == once


@pytest.mark.parametrize("place", PLACES)
def test_recovery_changes_a_state_exactly_if_needs_recovery_says_so(place: str) -> None:
    talk = PLACES[place]().forget()
    before = talk.state
    talk.restart()
    assert needs_recovery(before) is (talk.state != before)


def test_a_queue_without_a_running_turn_needs_recovery() -> None:
    talk = running(on_disconnect="continue")
    talk.say("Next")
    talk.restart(stopping=True)
    assert needs_recovery(talk.state)


def test_work_that_cannot_coexist_with_a_suspended_turn_needs_recovery() -> None:
    state = suspended().state
    assert not needs_recovery(state)
    (question,) = state.requests
    permission = structs.replace(question, request_id="p1", kind="permission")
    for wrong in (
        {"background": [BackgroundTask("task-1")]},
        {"requests": [question, permission]},
        {"requests": [structs.replace(question, turn_id=7)]},
        {"tools": {**state.tools, "t1": OpenTool("t1")}},
    ):
        assert needs_recovery(structs.replace(state, **wrong))
