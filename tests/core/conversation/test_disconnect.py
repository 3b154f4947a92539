"""Disconnect: when the last client leaves, the turn is stopped or goes on without followers."""

from __future__ import annotations

from tests.core.conversation.helpers.driver import Talk, asking, running, suspended
from turnwire.core.conversation import inputs as i
from turnwire.dialects.v2 import frames as f


def test_a_client_that_comes_back_in_time_finds_everything_as_it_was() -> None:
    talk = running(disconnect_grace=30)
    talk.do(i.Left(at=talk.now))
    assert talk.timers == {"grace": talk.now + 30_000}
    talk.do(i.Came(at=talk.now))
    assert (talk.timers, talk.commands) == ({}, [])


def test_with_continue_the_turn_goes_on_without_followers() -> None:
    talk = running(on_disconnect="continue")
    talk.do(i.Left(at=talk.now))
    assert talk.timers == {}


def test_otherwise_the_turn_is_stopped_and_the_agent_closed() -> None:
    talk = running().calls("t1").forget().pass_grace()
    assert talk.commands == ["stop 1"]
    talk.ends(interrupted=True)
    assert talk.told == [
        "failed result t1: interrupted",
        "stopped: disconnect",
        "turn 1 interrupted",
    ]
    assert talk.commands == ["close"]
    assert (talk.status.state, talk.status.reason) == ("interrupted", "disconnect")
    assert talk.frame(f.ConversationInterrupted).by is None


def test_a_permission_is_cancelled_then() -> None:
    talk = running().calls("t1").wants("p1", "t1").forget().pass_grace()
    assert talk.told == ["p1 cancelled by interrupt"]


def test_a_turn_that_the_agent_gave_no_sign_of_is_stopped_too() -> None:
    talk = Talk()
    talk.say()
    assert talk.pass_grace().commands == ["prompt 1: Hello", "stop 1"]


def test_a_question_stays_answerable() -> None:
    talk = asking().calls("t1").forget().pass_grace()
    assert talk.told == ["failed result t1: interrupted: disconnect"]
    assert talk.commands == ["close"]
    assert (talk.status.state, talk.status.running) == ("waiting_input", False)
    talk.answer()
    assert talk.commands == ["resume q1=blue"]


def test_a_suspended_turn_stays_suspended() -> None:
    talk = suspended().pass_grace()
    assert (talk.told, talk.commands) == ([], ["close"])
    assert talk.status.state == "waiting_input"


def test_background_work_ends_with_the_agent() -> None:
    talk = running().calls("t1", "Agent").gets("t1").calls("t2", voice="t1").ends()
    talk.forget().pass_grace()
    assert talk.told == ["failed result t2: interrupted: disconnect"]
    assert talk.commands == ["close"]


def test_background_work_ends_after_the_turn_that_was_stopped() -> None:
    talk = running().calls("t1", "Agent").gets("t1").calls("t2", voice="t1").forget()
    talk.pass_grace().ends(interrupted=True)
    assert talk.told == [
        "stopped: disconnect",
        "turn 1 interrupted",
        "failed result t2: interrupted: disconnect",
    ]


def test_a_turn_that_is_being_stopped_is_not_stopped_again() -> None:
    talk = running()
    talk.stop()
    assert talk.forget().pass_grace().commands == []


def test_the_queue_is_held_then() -> None:
    talk = running()
    talk.say("Next")
    talk.pass_grace().ends(interrupted=True)
    assert (talk.queue, talk.status.queue_held) == (["Next"], True)


def test_a_message_after_coming_back_lets_the_queue_go_on() -> None:
    talk = running().pass_grace()
    talk.say("Here I am")
    talk.forget().ends(interrupted=True)
    assert talk.commands == ["close", "prompt 2: Here I am"]
