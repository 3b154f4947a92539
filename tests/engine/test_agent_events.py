"""Events of an agent that change no state are published without a step."""

from __future__ import annotations

import pytest
from msgspec import structs

from turnwire.core import events as ev
from turnwire.core import happenings as h
from turnwire.core.blocks import TextBlock
from turnwire.core.conversation.state import Conversation, Turn
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.status import TurnEnd
from turnwire.engine.actor.agent_events import AgentEvents
from turnwire.engine.actor.steps import Steps
from turnwire.engine.fanout.channel import Channel

AT = 1_700_000_000_000
WHO = ("demo", "s", None, None)
SUB = ("demo", "s", "toolu_task", "agent-7")
TURN = Turn(1, "a" * 32, "user", "running")
IDLE = Conversation("talk")
RUNNING = Conversation("talk", state="streaming", turn=TURN, turns=1)
ENDING = structs.replace(RUNNING, turn=structs.replace(TURN, ending=TurnEnd(False, False)))
ANSWERED = structs.replace(RUNNING, state="active")  # the agent has not gone on yet

NEWS = ev.SystemEvent(*WHO, "status", ephemeral=True)
MESSAGE_ENDS = ev.MessageCompleted(*WHO, "m")


def heard(state: Conversation, *events: NormalizedStreamEvent) -> Steps:
    hearing = AgentEvents(Channel(state), lambda: "b" * 32, is_owners=True, modes=())
    return hearing.take(state, events, AT)


@pytest.mark.parametrize("event", [NEWS, MESSAGE_ENDS], ids=["news", "the end of a message"])
@pytest.mark.parametrize("state", [IDLE, RUNNING], ids=["idle", "running"])
def test_an_event_that_changes_no_state_is_published_without_a_step(
    state: Conversation, event: NormalizedStreamEvent
) -> None:
    found = heard(state, event)
    assert found.state is state
    assert (found.effects, found.writes) == ([], [])
    [spoke] = found.happened
    assert isinstance(spoke, h.AgentSpoke)
    assert spoke.events == [event]


@pytest.mark.parametrize("event", [NEWS, MESSAGE_ENDS], ids=["news", "the end of a message"])
@pytest.mark.parametrize("state", [ENDING, ANSWERED], ids=["ending", "answered"])
def test_a_word_that_ends_a_turn_or_shows_that_it_goes_on_takes_a_step(
    state: Conversation, event: NormalizedStreamEvent
) -> None:
    assert heard(state, event).state != state


def test_pieces_that_are_ready_together_become_one_piece() -> None:
    begins = ev.ContentStarted(*WHO, "m", 0, TextBlock("", "in_progress"))
    pieces = [ev.ContentDelta(*WHO, "m", 0, "text", text) for text in ("one ", "two")]
    [spoke] = heard(RUNNING, begins, *pieces).happened
    assert isinstance(spoke, h.AgentSpoke)
    assert spoke.events == [begins, structs.replace(pieces[0], text="one two")]


def test_durable_notices_take_a_step() -> None:
    found = heard(RUNNING, ev.SystemEvent(*WHO, "compact_boundary"))
    assert [type(each) for each in found.happened][:1] == [h.EntryAdded]


def test_the_end_of_a_message_that_finishes_a_block_takes_a_step() -> None:
    block = TextBlock("Hi", "completed")
    finished = ev.ContentCompleted(*WHO, "m", 0, block)
    found = heard(RUNNING, ev.MessageStarted(*WHO, "m"), finished, MESSAGE_ENDS)
    assert [each.sequence for each in found.happened if isinstance(each, h.EntryAdded)] == [1]


def test_the_first_word_of_a_sub_agent_takes_a_step_so_that_its_turn_is_known() -> None:
    found = heard(RUNNING, ev.SystemEvent(*SUB, "status", ephemeral=True))
    assert found.state.voices == {"toolu_task": 1}
