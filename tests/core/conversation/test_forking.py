"""The state of a fork."""

from __future__ import annotations

import pytest

from turnwire.core.conversation.forking import forked
from turnwire.core.conversation.state import HANDOVER_LEVEL, Conversation, Handover, Options, Turn
from turnwire.core.status import Totals, TurnEnd

RUNNING = Conversation(
    "c",
    Options(max_queue=3),
    "streaming",
    head=9,
    turns=4,
    turn=Turn(4, "t", "user", "running"),
    held=True,
    model="m",
    permission_mode="plan",
    totals=Totals(cost_usd=2.0),
    title="Plans",
    init_digest="1f",
)


def test_a_fork_keeps_the_choices_and_no_running_work() -> None:
    fork = forked(RUNNING, "f", head=6, turns=3, last_turn_id=3, last_turn=TurnEnd(False, False))
    assert (fork.conversation_id, fork.head, fork.turns) == ("f", 6, 3)
    assert (fork.options, fork.model, fork.permission_mode) == (RUNNING.options, "m", "plan")
    assert (fork.state, fork.turn, fork.held, fork.title) == ("active", None, False, "Plans")
    assert fork.totals == Totals(), "it was spent once"
    assert fork.init_digest is None, "its agent is another session, and its log says so"


@pytest.mark.parametrize(
    ("end", "state"),
    [(TurnEnd(False, True), "interrupted"), (TurnEnd(True, False), "error"), (None, "active")],
)
def test_a_fork_has_the_state_of_its_last_turns_end(end: TurnEnd | None, state: str) -> None:
    assert forked(RUNNING, "f", head=6, turns=3, last_turn=end).state == state


def test_an_empty_fork_gets_its_title_from_its_own_first_message() -> None:
    assert forked(RUNNING, "f", head=0, turns=0).title is None


def test_an_agent_that_cannot_fork_its_session_is_told_what_was_said() -> None:
    fork = forked(RUNNING, "f", head=6, turns=3, agent="ann", is_told=True)
    assert fork.handover == Handover("ann", "ann", heard=0)
    assert fork.level == HANDOVER_LEVEL
    empty = forked(RUNNING, "f", head=0, turns=0, agent="ann", is_told=True)
    assert empty.handover == Handover("ann", "ann"), "nothing was said"
    assert forked(RUNNING, "f", head=6, turns=3, agent="ann").handover is None
