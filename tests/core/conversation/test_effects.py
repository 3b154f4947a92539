"""Effects of a step."""

from __future__ import annotations

from turnwire.core.conversation import effects as e
from turnwire.core.conversation.state import Turn

TURN = Turn(1, "trace", "user", "starting")


def test_an_agent_gets_a_turn_with_a_prompt_or_with_an_answer_that_wakes_it() -> None:
    assert e.hands_over(e.Prompt(TURN, []))
    assert e.hands_over(e.Deliver(TURN, [], resume=True))
    assert not e.hands_over(e.Deliver(TURN, [], resume=False))
    assert not e.hands_over(e.Choose("m-1", None))
    assert not e.hands_over(None)
