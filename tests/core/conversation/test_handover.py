"""Handing over between agents: the choice, the end of the turn, the change and what it keeps."""

from __future__ import annotations

from tests.core.conversation.helpers.driver import Talk, refusal, running
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.forking import forked
from turnwire.core.conversation.state import AgentPast, Handover, needs_recovery
from turnwire.core.status import BackgroundTask
from turnwire.dialects.v2 import frames as f


def chooses(talk: Talk, agent: str, current: str = "ann") -> e.Ack | None:
    return talk.do(i.ChoseAgent(at=talk.now, agent=agent, current=current, by="eve")).ack


def takes_over(talk: Talk, left: str = "ann", **more: object) -> Talk:
    talk.do(i.HandedOver(at=talk.now, agent=left, **more))  # type: ignore[arg-type]
    return talk


def changes(talk: Talk) -> list[e.ChangeAgent]:
    return [write for write in talk.writes if isinstance(write, e.ChangeAgent)]


def test_without_a_turn_the_agent_is_closed_and_the_other_takes_over() -> None:
    talk = running().ends()
    assert chooses(talk, "bob") == e.Ack(agent="bob")
    assert talk.commands[-1:] == ["hand over"]
    assert (talk.status.agent, talk.status.next_agent) == (None, "bob")
    assert talk.audited()[-1] == ("chose_agent", "eve")
    head = talk.state.head
    takes_over(talk, session="s-1", owns_session=True, questions_survive=True)
    assert (talk.status.agent, talk.status.next_agent) == ("bob", None)
    news = talk.frame(f.SessionSystemEvent)
    assert (news.subtype, news.text) == ("agent", "Agent: bob")
    assert news.data == {"agent": "bob", "from": "ann"}
    assert changes(talk) == [e.ChangeAgent("bob", None, False)]
    assert talk.state.handover == Handover(
        "bob", "ann", {"ann": AgentPast("s-1", True, head)}, heard=0
    )
    assert talk.state.options.questions_survive
    assert talk.state.level == 1


def test_the_agent_that_comes_back_has_its_session_and_settings_and_hears_only_the_rest() -> None:
    talk = running().ends()
    talk.do(i.Chose(at=talk.now, model="opus", permission_mode="plan", max_thinking_tokens=5))
    seen = talk.state.head
    chooses(talk, "bob")
    takes_over(talk, session="s-1", owns_session=True)
    status = talk.status
    assert (status.model, status.permission_mode, status.max_thinking_tokens) == (None, None, None)
    talk.do(i.Chose(at=talk.now, model="gpt"))
    chooses(talk, "ann", current="bob")
    takes_over(talk, "bob", session="t-1")
    status = talk.status
    assert (status.model, status.permission_mode, status.max_thinking_tokens) == ("opus", "plan", 5)
    assert changes(talk)[-1] == e.ChangeAgent("ann", "s-1", True)
    handover = talk.state.handover
    assert handover is not None
    assert (handover.agent, handover.first, handover.heard) == ("ann", "ann", seen)
    assert handover.past == {"bob": AgentPast("t-1", False, 0, "gpt")}, "bob has heard nothing"


def test_an_agent_knows_the_rest_when_its_turn_has_ended() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    takes_over(talk)
    talk.say("hello")
    talk.starts()
    assert talk.state.handover is not None
    assert talk.state.handover.heard == 0
    talk.ends()
    assert talk.state.handover.heard is None


def test_a_turn_that_the_agent_began_by_itself_tells_it_nothing() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    takes_over(talk)
    talk.starts().ends()
    assert talk.state.handover is not None
    assert talk.state.handover.heard == 0


def test_in_an_empty_conversation_there_is_nothing_to_tell() -> None:
    talk = Talk()
    chooses(talk, "bob")
    takes_over(talk)
    assert talk.state.handover is not None
    assert talk.state.handover.heard is None


def test_during_a_turn_the_choice_waits_and_the_queue_waits_for_the_other_agent() -> None:
    talk = running()
    talk.say("second")
    chooses(talk, "bob")
    assert talk.commands == []
    talk.ends()
    assert talk.commands == ["hand over"]
    assert talk.queue == ["second"]
    assert talk.state.turn is None
    takes_over(talk)
    assert talk.state.turn is not None
    assert talk.commands == ["prompt 2: second"]


def test_a_message_that_comes_while_the_agent_is_closed_waits_for_the_other() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    talk.say("second")
    assert talk.queue == ["second"]
    assert talk.commands == ["hand over"]
    takes_over(talk)
    assert talk.commands == ["prompt 2: second"]


def test_the_same_agent_again_changes_nothing() -> None:
    talk = running()
    before = talk.state
    assert chooses(talk, "ann") == e.Ack(agent="ann")
    assert talk.state == before
    chooses(talk, "bob")
    audited = len(talk.audited())
    chooses(talk, "bob")
    assert len(talk.audited()) == audited


def test_during_a_turn_the_choice_is_taken_back_by_the_agent_that_speaks() -> None:
    talk = running()
    chooses(talk, "bob")
    chooses(talk, "ann")
    assert talk.status.next_agent is None
    talk.ends()
    assert talk.commands == []


def test_an_agent_that_is_being_closed_can_take_over_from_itself() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    chooses(talk, "ann")
    talk.say("second")
    takes_over(talk)
    assert changes(talk) == []
    assert (talk.status.agent, talk.status.next_agent) == (None, None)
    assert talk.commands == ["hand over", "prompt 2: second"]


def test_an_empty_name_is_refused() -> None:
    assert refusal(lambda: chooses(Talk(), "")) == "INVALID_PAYLOAD"


def test_an_agent_that_cannot_take_over_leaves_the_conversation_to_the_other() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    talk.say("second")
    takes_over(talk, refused="Install bob.")
    assert changes(talk) == []
    assert (talk.status.agent, talk.status.next_agent) == (None, None)
    news = talk.frame(f.SessionSystemEvent)
    assert news.subtype == "agent_refused"
    assert news.data == {"agent": "bob", "stays": "ann", "message": "Install bob."}
    assert talk.commands == ["hand over", "prompt 2: second"]


def test_the_end_of_the_agent_is_asked_for_again_if_it_was_lost_meanwhile() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    talk.do(i.AgentLost(at=talk.now))
    assert talk.commands == ["hand over", "hand over"]


def test_after_a_restart_the_chosen_agent_takes_over() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    assert needs_recovery(talk.state)
    talk.restart()
    assert talk.commands[-1] == "hand over"
    takes_over(talk)
    assert talk.status.agent == "bob"


def test_at_a_shutdown_no_agent_is_closed_for_another() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    before = talk.commands
    talk.do(i.Recovered(at=talk.now, reason="server_stopped", stopping=True))
    assert (before, talk.commands) == (["hand over"], [])


def test_background_work_ends_with_the_agent_and_the_queue_is_not_held() -> None:
    talk = running()
    talk.task()
    talk.ends()
    assert [type(task) for task in talk.status.background_tasks] == [BackgroundTask]
    chooses(talk, "bob")
    talk.say("second")
    takes_over(talk)
    assert talk.status.background_tasks == []
    assert talk.status.agent == "bob"
    assert talk.commands[-1] == "prompt 2: second"


def test_a_turn_that_the_agent_began_while_it_was_closed_is_lost_and_the_other_takes_over() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    talk.say("second")
    talk.starts()
    assert talk.state.turn is not None
    takes_over(talk)
    assert talk.status.agent == "bob"
    assert talk.status.last_turn is not None
    assert talk.status.last_turn.interrupted
    assert talk.commands[-1] == "prompt 3: second"


def test_a_question_of_such_a_turn_keeps_the_agent_until_it_is_answered() -> None:
    talk = running(questions_survive=True).ends()
    chooses(talk, "bob")
    talk.starts().asks()
    takes_over(talk)
    assert (talk.status.agent, talk.status.next_agent) == (None, "bob")
    assert talk.phase() == "suspended"


def test_a_turn_that_waits_for_a_new_session_goes_on() -> None:
    talk = running().ends()
    chooses(talk, "bob")
    talk.starts()  # by itself
    chooses(talk, "ann")  # taken back
    talk.say("second")
    talk.ends()
    assert talk.phase() == "starting"
    takes_over(talk)
    assert talk.phase() == "starting"
    assert changes(talk) == []


def test_a_fork_goes_on_with_the_agent_that_spoke_there_and_tells_it_everything() -> None:
    talk = running().ends()
    talk.do(i.Chose(at=talk.now, model="opus"))
    chooses(talk, "bob")
    takes_over(talk)
    late = forked(talk.state, "late", head=talk.state.head, turns=1, agent="bob")
    assert late.handover == Handover("bob", "ann", heard=0)
    assert late.model is None
    early = forked(talk.state, "early", head=1, turns=1, agent="ann")
    assert early.handover == Handover("ann", "ann", heard=0)
    assert early.model == "opus"
    empty = forked(talk.state, "empty", head=0, turns=0, agent="ann")
    assert empty.handover == Handover("ann", "ann")
