"""Turns: their beginning, their content, and their end."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, Raw, structs

from tests.core.conversation.helpers.driver import RESULT, Talk, asking, running, suspended, whose
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import FileContent, TextContent
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.message import known_meta
from turnwire.core.status import Totals, TurnError
from turnwire.core.usage import Usage
from turnwire.dialects.v2 import frames as f

# --- the beginning ------------------------------------------------------------------------------


def test_a_message_starts_a_turn_and_is_handed_to_the_agent() -> None:
    talk = Talk()
    assert talk.say("Hello").turn_id == 1
    assert talk.told == ["turn 1 begins: user", "user: Hello"]
    assert talk.commands == ["prompt 1: Hello"]
    assert (talk.status.state, talk.status.running, talk.status.turn_id) == ("streaming", True, 1)


def test_a_turn_has_its_trace_id_in_the_log_and_at_its_end() -> None:
    talk = running().speaks().ends()
    traces = {write.trace_id for write in talk.log}
    (end,) = (write for write in talk.writes if isinstance(write, e.EndTurn))
    assert traces == {end.trace_id}


def test_a_message_of_a_person_is_logged_with_its_user() -> None:
    talk = Talk()
    talk.say("Hello", by="ada")
    said = talk.frame(f.UserMessage)
    assert (said.by, said.client_message_id, said.message_sequence) == ("ada", "m-q-1", 1)


def test_a_message_may_be_a_file_alone() -> None:
    talk = Talk()
    assert talk.say([TextContent(" "), FileContent("notes.md")]).turn_id == 1
    assert talk.status.title is None


@pytest.mark.parametrize(
    "sign",
    [
        ev.TurnStarted(*whose()),
        ev.MessageStarted(*whose(), "msg"),
        ev.AssistantMessage(*whose(), "msg", 0, [TextBlock("Hi", "completed")]),
    ],
)
def test_a_turn_runs_from_its_first_event(sign: Any) -> None:
    talk = Talk()
    talk.say()
    assert talk.phase() == "starting"
    talk.hear(sign)
    assert talk.phase() == "running"


@pytest.mark.parametrize(
    "news",
    [
        ev.SystemEvent(*whose(), "status"),
        ev.SessionInit(*whose(), "model-1"),
        ev.UnknownEvent(*whose(), "new"),
        ev.ToolProgress(*whose(), "t0"),
        ev.MessageStarted(*whose("t0"), "msg"),
    ],
)
def test_notices_and_text_of_sub_agents_do_not_begin_a_turn(news: Any) -> None:
    talk = Talk()
    talk.say()
    talk.hear(news)
    assert talk.phase() == "starting"


def test_the_agent_may_begin_a_turn_by_itself() -> None:
    talk = Talk().starts().speaks("By the way").ends()
    assert talk.told == ["turn 1 begins: agent", "agent: By the way", "turn 1 completed"]
    assert talk.last_end().origin == "agent"
    assert talk.commands == []


def test_a_message_that_comes_during_a_turn_of_the_agent_waits() -> None:
    talk = Talk().starts()
    assert talk.say("Hello").queue_id is not None
    talk.forget().ends()
    assert talk.told == ["turn 1 completed", "turn 2 begins: user", "user: Hello"]


# --- racing with the agent's own work -----------------------------------------------------------


def test_work_of_the_agents_own_does_not_end_the_turn_that_it_was_handed_meanwhile() -> None:
    talk = Talk()
    talk.say()
    talk.starts().speaks("The build is done").ends(origin="task-notification")
    talk.starts().speaks("Hello to you").ends()
    assert talk.told == [
        "turn 1 begins: user",
        "user: Hello",
        "agent: The build is done",
        "agent: Hello to you",
        "turn 1 completed",
    ]


def test_the_agents_own_turn_leaves_nothing_open() -> None:
    talk = Talk()
    talk.say()
    talk.starts().calls("t1").asks("q1").forget().ends(origin="task-notification")
    assert talk.told == [
        "q1 cancelled by agent",
        "failed result t1: no result: the turn ended",
        "failed result q1: no result: the turn ended",
    ]


def test_a_turn_that_waits_for_the_agents_own_work_is_not_dispatched() -> None:
    talk = Talk(on_disconnect="continue")
    talk.say()
    talk.starts().ends(origin="task-notification").forget().restart()
    assert talk.commands == ["prompt 1: Hello"]


def test_an_agent_that_does_both_in_one_says_so_by_being_idle() -> None:
    talk = Talk()
    talk.say()
    talk.starts().ends(origin="task-notification")
    talk.news("busy", ephemeral=True)
    assert talk.status.running
    talk.tells(ev.AgentIdle, ephemeral=True)
    assert talk.told[-1] == "turn 1 completed"


def test_no_event_of_an_agent_ends_a_turn_that_was_not_dispatched() -> None:
    talk = Talk()
    talk.say()
    talk.unsent = True
    talk.starts().speaks("The build is done").ends()
    talk.tells(ev.AgentIdle, ephemeral=True)
    assert talk.status.running
    talk.unsent = False
    talk.forget().starts().ends()
    assert talk.told == ["turn 1 completed"]


def test_an_idle_agent_does_not_end_a_turn_that_it_was_just_handed() -> None:
    talk = Talk()
    talk.say()
    talk.tells(ev.AgentIdle, ephemeral=True)
    talk.starts().tells(ev.AgentIdle, ephemeral=True)
    assert talk.status.running


def test_a_stop_is_asked_for_again_when_it_ended_only_the_agents_own_work() -> None:
    talk = Talk()
    talk.say()
    talk.starts().stop()
    talk.forget().ends(interrupted=True, origin="task-notification")
    assert talk.commands == ["stop 1"]
    assert talk.status.running
    talk.starts().ends(interrupted=True)
    assert talk.told == ["stopped: user", "turn 1 interrupted"]


@pytest.mark.parametrize("origin", [None, "user"])
def test_a_turn_that_a_person_began_ends_as_usual(origin: str | None) -> None:
    assert running().ends(origin=origin).told == ["turn 1 completed"]


def test_a_turn_that_goes_on_in_a_process_of_its_own_ends_as_usual() -> None:
    talk = suspended()
    talk.answer()
    talk.starts().speaks().ends(origin="task-notification")
    assert talk.told[-1] == "turn 1 completed"


def test_a_turn_that_waits_for_answers_does_not_end_with_another_turn() -> None:
    talk = asking().ends(deferred_tool_use_id="q1")
    talk.answer()
    talk.starts().gets("q1", "blue").ends(origin="task-notification")
    assert talk.told[-1] == "result q1: blue"
    assert talk.starts().speaks("Blue it is.").ends().told[-1] == "turn 1 completed"
    assert talk.state.replies == []


def test_a_turn_of_the_agents_own_ends_as_usual() -> None:
    assert Talk().starts().forget().ends(origin="task-notification").told == ["turn 1 completed"]


# --- the end ------------------------------------------------------------------------------------


def test_a_turn_ends_with_its_figures() -> None:
    talk = running().speaks().ends()
    end = talk.last_end()
    assert (end.stop_reason, end.cost_usd, end.duration_ms) == ("end_turn", 0.5, 1000)
    assert end.usage == Usage(10, 5, 2, 3)
    assert end.after_sequence == talk.state.head
    assert (talk.status.state, talk.status.running) == ("active", False)
    assert (talk.status.last_turn, talk.status.last_turn_id) == (end, 1)


def test_a_turn_ends_without_figures_where_none_follow() -> None:
    talk = running().ends(figures=False)
    assert talk.told == ["turn 1 completed"]
    assert talk.last_end().cost_usd is None


def test_announced_figures_that_never_came_do_not_delay_the_next_turn() -> None:
    talk = running()
    end = ev.TurnCompleted(*whose(), "end_turn")
    talk.do(talk_said(talk, end, last=False))
    assert talk.told == []
    talk.starts()
    assert talk.told == ["turn 1 completed", "turn 2 begins: agent"]


def test_figures_that_come_late_belong_to_no_other_turn() -> None:
    talk = running().ends(figures=False)
    talk.say()
    talk.hear(RESULT).starts().ends(figures=False)
    assert talk.last_end().cost_usd is None
    assert talk.state.totals.cost_usd == 0.5


def test_totals_add_up_over_turns() -> None:
    talk = running().ends()
    talk.say()
    talk.starts().fails()
    talk.hear(ev.ResultSummary(*whose(), "success", False))
    assert talk.state.totals == Totals(20, 10, 4, 6, 1.0)


def test_a_turn_that_goes_on_adds_its_figures_up() -> None:
    talk = running().asks().ends(deferred_tool_use_id="q1")
    talk.answer()
    talk.starts().gets("q1")
    more = ev.ResultSummary(*whose(), "success", False, 500, usage=Usage(1, None, None, 1))
    talk.hear(ev.TurnCompleted(*whose()), more)
    end = talk.last_end()
    assert end.usage == Usage(11, 5, 2, 4)
    assert (end.cost_usd, end.duration_ms) == (0.5, 1500)


def test_a_result_of_a_certain_form_is_kept_with_the_end_of_its_turn() -> None:
    made = ev.ResultSummary(*whose(), "success", False, structured_output={"n": 3})
    talk = running().hear(made)
    talk.hear(ev.TurnCompleted(*whose()), ev.ResultSummary(*whose(), "success", False))
    assert talk.last_end().structured_output == {"n": 3}
    assert running().ends().last_end().structured_output is None


def test_figures_without_tokens_leave_those_that_are_known() -> None:
    talk = running().asks().ends(deferred_tool_use_id="q1")
    talk.answer()
    talk.starts().gets("q1")
    talk.hear(ev.TurnCompleted(*whose()), ev.ResultSummary(*whose(), "success", False, 500))
    assert talk.last_end().usage == Usage(10, 5, 2, 3)


def test_unknown_token_counts_stay_none() -> None:
    talk = running().hear(ev.ResultSummary(*whose(), "success", False, usage=Usage(1)))
    talk.hear(
        ev.TurnCompleted(*whose()), ev.ResultSummary(*whose(), "success", False, usage=Usage(1))
    )
    assert talk.last_end().usage == Usage(2, None, None, None)


def test_a_turn_that_fails_says_why_and_so_does_the_state() -> None:
    talk = running().fails("api_error")
    assert talk.told == ["turn 1 failed: api_error"]
    assert talk.last_end().error == TurnError("api_error", "It went wrong.")
    assert (talk.status.state, talk.status.reason) == ("error", "api_error")


def test_a_turn_that_the_agent_interrupted_is_reported_as_interrupted() -> None:
    talk = running().ends(interrupted=True)
    assert talk.told == ["stopped: agent", "turn 1 interrupted"]
    assert (talk.status.state, talk.status.reason) == ("interrupted", "agent")
    assert talk.frame(f.ConversationInterrupted).acknowledged


def test_the_end_of_a_sub_agents_own_work_is_not_the_end_of_the_turn() -> None:
    talk = running().calls("t1", "Agent").hear(ev.TurnCompleted(*whose("t1")))
    assert talk.status.running


def test_an_end_without_a_turn_ends_nothing() -> None:
    talk = Talk().ends()
    assert talk.told == []
    assert talk.state.totals.cost_usd == 0.5


@pytest.mark.parametrize("state", ["error", "interrupted"])
def test_after_a_bad_end_a_message_starts_a_turn(state: str) -> None:
    talk = running()
    if state == "error":
        talk.fails()
    else:
        talk.ends(interrupted=True)
    assert talk.status.state == state
    assert talk.say().turn_id == 2
    assert talk.state_name() == "streaming"


# --- entries ------------------------------------------------------------------------------------


def test_every_entry_names_its_turn_and_its_run() -> None:
    talk = running().speaks()
    entry = talk.log[-1].entry
    assert (entry.run_id, known_meta(entry).turn_id, entry.timestamp) == (
        "talk:1",
        1,
        "2026-01-01T00:00:00.000Z",
    )


def test_events_without_a_turn_belong_to_no_turn() -> None:
    talk = running().ends().forget()
    talk.news("compact_boundary").speaks("Late")
    assert talk.told == ["news: compact_boundary", "agent: Late"]
    assert [write.turn_id for write in talk.log[-2:]] == [None, None]
    assert [known_meta(write.entry).turn_id for write in talk.log[-2:]] == [None, None]


def test_an_entry_without_a_turn_has_a_run_that_no_turn_has() -> None:
    assert Talk().news("hello").log[-1].entry.run_id == "talk:"


def test_events_of_a_sub_agent_before_any_turn_belong_to_no_turn() -> None:
    assert Talk().speaks("Hi", "t9").log[-1].turn_id is None


def test_the_agents_own_message_is_kept_with_its_first_entry() -> None:
    blocks = [TextBlock("One", "completed"), TextBlock("Two", "completed")]
    said = ev.AssistantMessage(*whose(), "msg", 0, list(blocks), raw=Raw(b"{}"))
    talk = running().hear(said)
    assert [write.raw for write in talk.log[-2:]] == [Raw(b"{}"), None]


@pytest.mark.parametrize("origin", ["user", "replay", "interrupt"])
def test_an_agents_echo_of_a_persons_message_is_not_logged(origin: Any) -> None:
    block = TextBlock("Hello", "completed")
    assert running().hear(ev.UserMessage(*whose(), [block], origin)).told == []


@pytest.mark.parametrize(
    ("origin", "voice"), [("synthetic", None), ("agent", "t1"), ("user", "t1"), ("agent", None)]
)
def test_a_user_message_written_by_the_agent_is_logged(origin: Any, voice: str | None) -> None:
    block = TextBlock("Look around", "completed")
    talk = running().calls("t1", "Agent").forget()
    talk.hear(ev.UserMessage(*whose(voice), [block], origin))
    assert talk.told == ["user: Look around"]


def test_the_description_of_the_agent_is_logged() -> None:
    talk = Talk().hear(ev.SessionInit(*whose(), "model-1", permission_mode="plan"))
    talk.hear(ev.SessionInit(*whose()))
    assert (talk.status.model, talk.status.permission_mode) == ("model-1", "plan")


INIT = ev.SessionInit(*whose(), "model-1", "/w", "default", ["Bash"], "1.0", UNSET, "as it is")


def test_an_unchanged_description_of_the_agent_is_logged_once() -> None:
    talk = Talk().hear(INIT)
    assert talk.told == ["news: init"]
    assert talk.hear(INIT).told == []


def test_a_changed_description_of_the_agent_is_logged_again() -> None:
    talk = Talk().hear(INIT).forget()
    for digest in ("with another tool", "as it is"):
        talk.hear(structs.replace(INIT, digest=digest))
        assert talk.told == ["news: init"]


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "model-2"},
        {"cwd": "/elsewhere"},
        {"permission_mode": "plan"},
        {"tools": ["Bash", "Read"]},
        {"agent_version": "1.1"},
    ],
)
def test_an_agent_without_digests_is_compared_by_its_description(changed: Any) -> None:
    plain = structs.replace(INIT, digest=None)
    talk = Talk().hear(plain).forget()
    assert talk.hear(structs.replace(plain, session_id="another")).told == []
    assert len(talk.hear(structs.replace(plain, **changed)).told) == 1


def test_an_agent_that_does_not_go_on_as_was_chosen_says_so_in_the_log() -> None:
    talk = Talk().hear(INIT)
    talk.do(i.Chose(at=talk.now, model="model-2", permission_mode="plan"))
    assert talk.forget().hear(INIT).told == ["news: init"]
    assert (talk.status.model, talk.status.permission_mode) == ("model-1", "default")


def test_events_of_an_agent_that_does_not_know_a_choice_yet_do_not_undo_it() -> None:
    talk = Talk().hear(INIT)
    talk.do(i.Chose(at=talk.now, model="model-2", permission_mode="plan"))
    talk.choosing = True
    changed = ev.PermissionModeChanged(*whose(), "status", permission_mode="acceptEdits")
    talk.hear(INIT, changed)
    assert (talk.status.model, talk.status.permission_mode) == ("model-2", "plan")
    talk.choosing = False
    talk.hear(changed)
    assert talk.status.permission_mode == "acceptEdits"


def test_a_log_without_digests_gets_the_description_once_more() -> None:
    talk = Talk().hear(INIT)
    talk.state = structs.replace(talk.state, init_digest=None)
    assert len(talk.forget().hear(INIT).told) == 1
    assert talk.hear(INIT).told == []


# --- the state ----------------------------------------------------------------------------------


def test_the_state_is_waiting_while_a_request_is_open_even_during_text() -> None:
    talk = running().calls().wants().speaks()
    assert (talk.status.state, talk.status.running) == ("waiting_input", True)


def test_after_the_last_answer_it_is_active_and_streams_with_the_agents_next_event() -> None:
    talk = running().calls("t1").calls("t2").wants("p1", "t1").wants("p2", "t2")
    talk.decide("p1")
    assert talk.state_name() == "waiting_input"
    talk.decide("p2")
    assert talk.state_name() == "active"
    talk.hear(ev.ToolProgress(*whose(), "t1"))
    assert talk.state_name() == "streaming"


def test_a_sub_agents_event_is_an_event_of_its_turn() -> None:
    talk = running().calls("t1", "Agent").calls("t2", voice="t1").wants("p1", "t2", "t1")
    talk.decide("p1")
    talk.gets("t2", voice="t1")
    assert talk.state_name() == "streaming"


def talk_said(talk: Talk, event: ev.NormalizedStreamEvent, *, last: bool) -> Any:
    """Returns the input of one event; `last` says that no other event was ready with it."""
    return i.AgentSaid(at=talk.now, event=event, last=last)
