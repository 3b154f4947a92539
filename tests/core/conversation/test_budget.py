"""The budget of a conversation, and turns that reach it."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.core.conversation.helpers.driver import whose
from turnwire.core import events as ev
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation import step
from turnwire.core.conversation.budget import (
    UserBudget,
    budget_spent,
    check_budgets,
    check_reserved,
    left_to_spend,
    period_of,
    share_of,
)
from turnwire.core.conversation.effects import EndTurn, Spend
from turnwire.core.conversation.state import Conversation, Options, Spent, Turn, status_of
from turnwire.core.error_codes import Refused
from turnwire.core.status import Budget, Totals
from turnwire.core.times import ms_of

LIMITED = Conversation("c", Options(max_budget_usd=1.0))


def spent(dollars: float, c: Conversation = LIMITED) -> Conversation:
    return structs.replace(c, totals=Totals(cost_usd=dollars))


def said(c: Conversation, budget: UserBudget | None = None) -> Conversation:
    words: list[Content] = [TextContent("hello")]
    asked = i.Said(at=1, content=words, queue_id="q", trace_id="t", budget=budget)
    return step(c, asked)[0]


def heard(c: Conversation, *events: ev.NormalizedStreamEvent) -> tuple[Conversation, list[object]]:
    writes: list[object] = []
    for place, event in enumerate(events, 1):
        c, effects = step(c, i.AgentSaid(at=2, event=event, last=place == len(events)))
        writes += effects.writes
    return c, writes


def test_without_a_limit_anything_may_be_spent() -> None:
    free = spent(1e6, Conversation("c"))
    check_budgets(free, None)
    assert left_to_spend(free, None) is None
    assert status_of(free).budget is None


def test_the_smallest_remaining_budget_counts() -> None:
    assert left_to_spend(spent(0.25), None) == 0.75
    assert left_to_spend(spent(0.25), UserBudget(9.5, 10.0)) == 0.5
    assert left_to_spend(spent(2.0), UserBudget(9.5, 10.0)) == 0.0


def test_a_turn_that_waits_has_spent_already() -> None:
    turn = Turn(1, "t", "user", "suspended", spent=Spent(cost_usd=0.5))
    waits = structs.replace(spent(0.25), turn=turn)
    assert status_of(waits).budget == Budget(0.75, 1.0)


def test_a_spent_budget_refuses_the_next_message_and_writes_nothing() -> None:
    with pytest.raises(Refused) as refused:
        said(spent(1.0))
    assert refused.value.code == "BUDGET_EXCEEDED"
    assert refused.value.data == {"of": "conversation", "spent": 1.0, "limit": 1.0}
    assert "$1.00 of the $1.00 that this conversation may cost" in refused.value.message
    assert "the setting budget_usd_per_conversation" in refused.value.message


@pytest.mark.parametrize(
    ("resets_at", "way_out"),
    [("2026-02-01T00:00:00.000Z", "Go on after 2026-02-01T"), (None, "To go on, have the limit")],
)
def test_spending_in_other_conversations_refuses_the_next_message_too(
    resets_at: str | None, way_out: str
) -> None:
    with pytest.raises(Refused) as refused:
        said(Conversation("c"), UserBudget(0.0213, 0.02, resets_at))
    data = refused.value.data
    assert (data["of"], data["spent"], data["limit"]) == ("user", 0.0213, 0.02)
    assert "$0.0213 of the $0.02 of this user are spent." in refused.value.message
    assert way_out in refused.value.message


def test_the_cost_of_a_turn_is_written_with_its_end() -> None:
    figures = ev.ResultSummary(*whose(), "success", False, cost_usd=0.4)
    end = ev.TurnCompleted(*whose(), "end_turn", False)
    c, writes = heard(said(LIMITED), ev.TurnStarted(*whose()), end, figures)
    assert [write for write in writes if isinstance(write, Spend)] == [Spend(1, 0.4)]
    assert status_of(c).budget == Budget(0.4, 1.0)
    c, writes = heard(c, figures)
    assert Spend(None, 0.4) in writes, "also what comes behind it"
    assert status_of(c).budget == Budget(0.8, 1.0)
    _, writes = heard(said(c), figures)
    assert Spend(None, 0.4) in writes, "the next turn has not begun"
    _, writes = heard(c, structs.replace(figures, cost_usd=None))
    assert not any(isinstance(write, Spend) for write in writes)


def test_a_turn_that_the_agent_stops_for_it_fails_with_the_same_code() -> None:
    figures = ev.ResultSummary(*whose(), "error_max_budget_usd", True, cost_usd=1.5)
    end = ev.TurnFailed(*whose(), "budget_exhausted", "That was all.")
    begun = said(LIMITED)
    c, writes = heard(begun, ev.TurnStarted(*whose()), end, figures)
    [ended] = [write for write in writes if isinstance(write, EndTurn)]
    assert ended.end.error is not None
    assert ended.end.error.code == "BUDGET_EXCEEDED"
    assert "$1.50 of the $1.00" in ended.end.error.message
    assert c.state == "error"


def test_another_limit_is_reported_in_the_agents_words() -> None:
    assert budget_spent(spent(0.5), "That was all.").message == "That was all."
    assert budget_spent(Conversation("c"), "That was all.").message == "That was all."


@pytest.mark.parametrize(
    ("period", "now", "since", "until"),
    [
        ("ever", "2026-01-31T12:00:00.000Z", None, None),
        ("day", "2026-01-31T12:00:00.000Z", "2026-01-31", "2026-02-01"),
        ("month", "2026-01-31T12:00:00.000Z", "2026-01-01", "2026-02-01"),
        ("month", "2026-12-31T23:59:59.999Z", "2026-12-01", "2027-01-01"),
    ],
)
def test_periods_are_those_of_the_calendar_in_utc(
    period: str, now: str, since: str | None, until: str | None
) -> None:
    midnight = "T00:00:00.000Z"
    expected = tuple(each and each + midnight for each in (since, until))
    assert period_of(period, ms_of(now)) == expected  # type: ignore[arg-type]


# --- turns at once --------------------------------------------------------------------------------


def test_a_turn_gets_half_of_the_remaining_budget_and_at_least_a_minimum() -> None:
    assert share_of(1.0, 0.0, 0.0) == 0.5
    assert share_of(1.0, 0.5, 0.25) == 0.125
    assert share_of(1.0, 0.0, 0.94) == pytest.approx(0.05), "a twentieth of the limit"
    assert share_of(1.0, 0.0, 0.98) == pytest.approx(0.02), "or all that is left"
    assert share_of(1.0, 0.0, 0.0, most=0.1) == 0.1, "what the conversation itself may spend"
    assert share_of(1.0, 0.6, 0.4) == 0.0
    assert share_of(1.0, 1.5, 0.0) == 0.0


def test_an_agent_that_cannot_stop_gets_all_that_is_left() -> None:
    assert share_of(1.0, 0.25, 0.25, keeps=False) == 0.5
    assert share_of(1.0, 0.25, 0.25, keeps=False, prefers=0.3) == 0.5


def test_an_agent_session_goes_on_if_its_remaining_allowance_is_useful() -> None:
    assert share_of(1.0, 0.0, 0.0, prefers=0.4) == 0.4
    assert share_of(1.0, 0.0, 0.0, prefers=0.7) == 0.7
    assert share_of(1.0, 0.0, 0.0, prefers=0.2) == 0.5, "less than half of a new one's"
    assert share_of(1.0, 0.0, 0.5, prefers=0.7) == 0.25, "it is not there"
    assert share_of(1.0, 0.0, 0.0, prefers=0.0) == 0.5
    assert share_of(1.0, 0.0, 0.5, prefers=0.7, is_fixed=True) == 0.5, "it goes on all the same"
    assert share_of(1.0, 0.0, 0.0, prefers=0.1, is_fixed=True) == 0.1


def test_a_refusal_says_whether_the_budget_is_spent_or_reserved() -> None:
    with pytest.raises(Refused, match=r"are spent\. Go on after 2026") as refused:
        check_reserved(UserBudget(1.0, 1.0, "2026-02-01T00:00:00.000Z"), 0.0)
    assert "reserved" not in refused.value.data
    with pytest.raises(Refused, match=r"\$0.75 are reserved for running turns") as refused:
        check_reserved(UserBudget(0.25, 1.0), 0.75)
    assert (refused.value.code, refused.value.data["reserved"]) == ("BUDGET_EXCEEDED", 0.75)
    assert "(budget_usd_per_user)" in refused.value.message
