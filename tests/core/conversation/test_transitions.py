"""The table of states and transitions."""

from __future__ import annotations

from typing import get_args

import pytest

from tools import docs
from turnwire.core.conversation.transitions import TRANSITIONS, Cause
from turnwire.core.status import RunState

STATES = get_args(RunState)


def test_the_table_has_every_state_and_leads_to_no_other() -> None:
    assert set(TRANSITIONS) == set(STATES)
    assert {to for row in TRANSITIONS.values() for to in row.values()} == set(STATES)


def test_every_cause_is_used() -> None:
    assert {cause for row in TRANSITIONS.values() for cause in row} == set(get_args(Cause))


@pytest.mark.parametrize("state", STATES)
def test_a_request_can_be_asked_in_every_state_and_leads_to_waiting(
    state: RunState,
) -> None:
    assert TRANSITIONS[state]["request_opened"] == "waiting_input"


def test_only_the_end_of_the_last_request_leads_out_of_waiting() -> None:
    leads_out = {
        cause for cause, to in TRANSITIONS["waiting_input"].items() if to != "waiting_input"
    }
    assert leads_out == {"last_request_ended"}
    assert [s for s in STATES if "last_request_ended" in TRANSITIONS[s]] == ["waiting_input"]


@pytest.mark.parametrize("state", ["interrupted", "error"])
def test_after_a_bad_end_only_a_turn_or_a_request_changes_the_state(state: RunState) -> None:
    assert set(TRANSITIONS[state]) == {"turn_started", "request_opened"}


def test_the_documentation_shows_this_very_table() -> None:
    page = (docs.ROOT / "docs" / "explanation" / "conversation.md").read_text()
    assert docs.diagram(TRANSITIONS) in page
    assert docs.grid(TRANSITIONS) in page
    assert "    waiting_input --> active: last_request_ended" in docs.diagram(TRANSITIONS)
