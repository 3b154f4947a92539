"""Messages into the running turn: taken once, or left in the queue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.conversation.helpers.driver import (
    Queue,
    Talk,
    refusal,
    running,
    suspended,
    whose,
)
from turnwire.core import events as ev
from turnwire.core.content import TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import Turn
from turnwire.dialects.v2 import frames as f


def steered(**options: Any) -> tuple[Talk, str]:
    """A running turn, a message on its way into it, and the message's id."""
    talk = running(**options)
    queue_id = talk.say("In blue", steer=True).queue_id
    assert queue_id is not None
    return talk.forget(), queue_id


def turn_of(talk: Talk) -> Turn:
    """Returns the open turn."""
    assert talk.state.turn is not None
    return talk.state.turn


def test_the_message_waits_in_the_queue_until_the_agent_takes_it() -> None:
    talk = running()
    ack = talk.say("In blue", steer=True)
    assert (ack.turn_id, ack.queue_id) == (1, talk.queue_id("In blue"))
    assert talk.commands == ["steer 1: In blue"]
    assert talk.told == []
    (item,) = talk.status.queue
    assert item.steers == 1


def test_the_agent_takes_it_once_and_the_log_says_where() -> None:
    talk, queue_id = steered()
    talk.calls().takes(queue_id).gets().takes(queue_id).ends()
    assert talk.told == [
        "call t1",
        "user: In blue (steered)",
        "result t1: done",
        "turn 1 completed",
    ]
    said = talk.frame(f.UserMessage)
    assert (said.steered_as, said.by, said.client_message_id) == (queue_id, "ada", f"m-{queue_id}")
    assert talk.queue == []
    assert ("steered", "ada") in talk.audited()


def test_without_a_turn_it_begins_one() -> None:
    talk = Talk()
    ack = talk.say("In blue", steer=True)
    assert (ack.turn_id, ack.queue_id) == (1, None)
    assert talk.commands == ["prompt 1: In blue"]


def test_a_turn_that_starts_takes_it_too() -> None:
    talk = Talk()
    talk.say()
    talk.say("In blue", steer=True)
    assert talk.commands == ["prompt 1: Hello", "steer 1: In blue"]


def test_a_turn_that_waits_without_its_agent_does_not_take_it() -> None:
    talk = suspended()
    ack = talk.say("In blue", steer=True)
    assert (ack.turn_id, talk.commands) == (None, [])
    assert talk.status.queue[0].steers is None


def test_a_turn_that_stops_or_ends_does_not_take_it() -> None:
    stops = running()
    stops.stop()
    assert stops.say("In blue", steer=True).turn_id is None
    ends = running()
    ends.ends(figures=False)
    assert ends.say("In blue", steer=True).turn_id == 2  # the turn has ended: it begins the next


def test_a_turn_whose_figures_are_missing_does_not_take_it() -> None:
    talk = running()
    end = ev.TurnCompleted(*whose(), "end_turn", False)
    talk.do(i.AgentSaid(at=talk.now, event=end, last=False))
    assert talk.say("In blue", steer=True).turn_id is None


def test_a_refused_message_stays_in_the_queue() -> None:
    talk, queue_id = steered()
    talk.say("Later", steer=True)
    talk.do(i.SteerRefused(at=talk.now, queue_id=queue_id))
    assert [item.steers for item in talk.status.queue] == [None, 1]
    talk.ends()
    assert talk.commands[-1] == "prompt 2: In blue"


def test_a_turn_that_ends_without_it_leaves_an_ordinary_message() -> None:
    talk, queue_id = steered()
    talk.ends()
    assert talk.told == ["turn 1 completed", "turn 2 begins: user", "user: In blue"]
    assert not turn_of(talk).in_doubt
    talk.starts().takes(queue_id)  # nothing waits under this id any more
    assert talk.told == []


def test_a_message_of_no_one_is_not_taken() -> None:
    talk, _ = steered()
    talk.takes("q-unknown").takes(None)
    assert talk.queue == ["In blue"]
    late = Talk()
    late.takes("q-unknown")
    assert late.told == []


@pytest.mark.parametrize("action", ["remove", "replace"])
def test_the_message_can_be_neither_removed_nor_replaced_but_moved(action: str) -> None:
    talk, _ = steered()
    talk.say("Later")
    more = {"content": [TextContent("Red")]} if action == "replace" else {}
    assert refusal(lambda: talk.change(action, "In blue", **more)) == "INVALID_PAYLOAD"
    talk.change("move", "In blue")
    assert talk.queue == ["Later", "In blue"]


# --- losses -------------------------------------------------------------------------------------


def test_after_the_loss_of_the_agent_it_is_in_doubt_until_its_own_turn() -> None:
    talk, _ = steered()
    talk.lose_agent()
    assert [(each.item.steers, each.in_doubt) for each in talk.state.queue] == [(None, True)]
    talk.change("resume")
    assert talk.commands == ["prompt 2: In blue"]
    assert turn_of(talk).in_doubt


def test_after_a_restart_it_is_in_doubt() -> None:
    talk, _ = steered(on_disconnect="continue")
    talk.restart()
    assert turn_of(talk).in_doubt
    assert talk.told[-1] == "user: In blue"


def test_a_replaced_message_is_a_new_one() -> None:
    talk, _ = steered()
    talk.lose_agent()
    talk.change("replace", "In blue", content=[TextContent("In red")])
    talk.change("resume")
    assert not turn_of(talk).in_doubt


def test_a_resumed_turn_does_not_take_what_was_for_its_first_agent() -> None:
    talk, queue_id = steered()
    talk.asks().lose_agent()
    assert talk.phase() == "suspended"
    talk.answer()
    talk.starts().takes(queue_id)
    assert talk.queue == ["In blue"]


# --- stops --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queue", "left"), [("hold", ["In blue"]), ("clear", []), ("continue", ["In blue"])]
)
def test_a_stopped_turn_keeps_it_or_clears_it_with_the_queue(queue: Queue, left: list[str]) -> None:
    talk, _ = steered()
    talk.say("Later")
    talk.now += 1
    talk.stop(queue=queue)
    assert "In blue" in talk.queue  # the agent may take it until the turn has ended
    talk.ends(interrupted=True)
    in_turn = ["In blue"] if queue == "continue" else []  # the next turn has begun with it
    assert [*in_turn, *talk.queue][:1] == left[:1]
    assert ("Later" in talk.queue) == (queue != "clear")


def test_a_message_that_is_taken_while_its_turn_stops_is_in_the_log() -> None:
    talk, queue_id = steered()
    talk.now += 1
    talk.stop(queue="clear")
    talk.takes(queue_id).ends(interrupted=True)
    assert "user: In blue (steered)" in talk.told
    assert talk.queue == []


def test_a_cleared_message_is_gone_also_if_the_agent_had_to_be_ended() -> None:
    talk, _ = steered()
    talk.now += 1
    talk.stop(queue="clear")
    talk.lose_agent(reason="stopped", forced=True)
    assert talk.queue == []
