"""Claude stops during a turn when the budget is spent, and stays stopped after restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.claude.helpers.real_claude import stage, touch
from tests.engine.helpers.watcher import Watcher
from turnwire.core.error_codes import Refused
from turnwire.core.status import Budget, TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.testing.model_api import Reply, Say

EACH = 0.0006  # dollars for each answer of the scripted model


async def says(talk: Talk, text: str) -> TurnEnd:
    async with Watcher(talk) as seen:
        seen.patience = 180.0
        turn_id = (await talk.send(text)).ack.turn_id
        end = await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id)
    return end.payload


async def is_refused(talk: Talk, of: str) -> None:
    with pytest.raises(Refused) as refused:
        await talk.send("and now?")
    assert (refused.value.code, refused.value.data["of"]) == ("BUDGET_EXCEEDED", of)


async def test_a_turn_ends_at_the_budget_of_its_conversation_or_user(tmp_path: Path) -> None:
    replies: list[Reply] = ["One.", Say([touch("never")]), "Two.", "Three.", "Four.", "No."]
    conversation = {"user": "ann", "options": {"max_budget_usd": 1.5 * EACH}}
    async with stage(tmp_path, *replies, conversation=conversation, per_user=4.5 * EACH) as it:
        end = await it.says("first")
        assert end.cost_usd == pytest.approx(EACH)
        end = await it.says("second")
        assert end.error is not None
        assert end.error.code == "BUDGET_EXCEEDED"
        assert "$0.0012 of the $0.0009 that this conversation may cost" in end.error.message
        assert not (it.work / "never").exists(), "it stopped before the tool ran"
        await is_refused(it.talk, "conversation")

        await it.stop()
        await it.start_again()
        await is_refused(it.talk, "conversation")
        budget = (await it.talk.status()).budget
        assert budget == Budget(pytest.approx(2 * EACH), pytest.approx(1.5 * EACH))  # type: ignore[arg-type]

        other = await it.engine.create("claude", user="ann", cwd=str(it.work))
        end = await says(other, "third")
        assert end.cost_usd == pytest.approx(EACH)
        assert not end.is_error, end
        for text in ("fourth", "fifth"):  # each gets half of the remaining budget, and needs more
            end = await says(other, text)
            assert end.error is not None
            assert end.error.code == "BUDGET_EXCEEDED"
        for talk in (other, await it.engine.create("claude", user="ann", cwd=str(it.work))):
            await is_refused(talk, "user")
        assert await it.store.spent("ann") == pytest.approx(5 * EACH)
        assert len(it.api.requests) == 5
