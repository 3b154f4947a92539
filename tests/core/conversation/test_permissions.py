"""Permissions: the same rules as questions, but they end with their agent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.conversation.helpers.driver import Talk, at, refusal, running, whose
from turnwire.core import events as ev
from turnwire.core.conversation import step
from turnwire.core.conversation.effects import Deliver
from turnwire.core.conversation.inputs import Decided
from turnwire.dialects.v2 import frames as f


def wanting(**options: Any) -> Talk:
    """A turn that wants to run `t1`, and asks with `p1`."""
    return running(**options).calls("t1").wants("p1", "t1").forget()


def test_a_permission_shows_exactly_what_would_run() -> None:
    talk = (
        running()
        .calls("t1")
        .wants(
            title="Run it?",
            description="lists files",
            suggestions=[{"rule": "ls"}],
            blocked_path="/etc",
            reason="outside",
        )
    )
    asked = talk.frame(f.AssistantPermissionRequest)
    (request,) = talk.status.requests
    for name in (
        *("request_id", "tool_use_id", "tool_name", "input", "inbox_item_id", "title"),
        *("description", "suggestions", "blocked_path", "reason", "message_sequence"),
    ):
        assert getattr(asked, name) == getattr(request, name)
    assert asked.input == {"command": "ls"}
    assert talk.state_name() == "waiting_input"


def test_a_permission_for_an_unannounced_call_announces_the_call() -> None:
    talk = running().hear(ev.PermissionRequested(*whose(), "p1", "t1", "Bash", None))
    assert talk.told == ["call t1", "permission p1"]
    assert talk.frame(f.AssistantPermissionRequest).input is None
    assert talk.calls("t1").told == []  # the call is published once


def test_a_permission_for_a_call_that_is_over_is_refused() -> None:
    talk = running().calls("t1").ends().forget()
    talk.wants("p1", "t1")
    assert (talk.told, talk.commands) == ([], ["deliver p1=deny"])


def test_an_allowed_call_runs() -> None:
    talk = wanting()
    ack = talk.decide("p1", "allow")
    assert (ack.request_id, ack.delivered_as) == ("p1", "decision")
    assert talk.commands == ["deliver p1=allow"]
    assert talk.gets("t1").told == ["p1 answered by ada", "result t1: done"]


def offering(*rules: Any) -> Talk:
    """A turn that wants to run `t1`, and offers to remember these rules."""
    return running().calls("t1").wants("p1", "t1", suggestions=list(rules)).forget()


def test_a_call_may_be_allowed_with_another_input_and_for_the_future() -> None:
    talk = offering({"rule": "ls"}, {"rule": "all"})
    talk.decide("p1", "allow", updated_input={"command": "ls -l"}, remember=[{"rule": "ls"}])
    ended = talk.frame(f.AssistantRequestResolved)
    assert ended.updated_input == {"command": "ls -l"}
    assert ended.remembered == [{"rule": "ls"}]


RULE = {"type": "addRules", "rules": [{"toolName": "Bash"}], "destination": "localSettings"}
OTHER = {"type": "addDirectories", "directories": ["/a"], "destination": "session"}


@pytest.mark.parametrize(
    "rule",
    [
        {**RULE, "destination": "userSettings"},
        {**RULE, "behavior": "allow"},
        {"type": "addDirectories", "directories": ["/"], "destination": "session"},
        {},
        None,
        [RULE],
    ],
)
@pytest.mark.parametrize("by", ["ada", "owner", None])
def test_only_rules_that_the_agent_has_offered_are_remembered(rule: Any, by: str | None) -> None:
    talk = offering(RULE)
    wanted = [RULE, rule]
    refused = refusal(lambda: talk.decide("p1", "allow", by=by, remember=wanted))
    assert refused == "INVALID_PAYLOAD"
    assert [request.request_id for request in talk.status.requests] == ["p1"]
    talk.decide("p1", "allow", by="owner", remember=[RULE])
    assert talk.frame(f.AssistantRequestResolved).remembered == [RULE]


@pytest.mark.parametrize("place", ["userSettings", "projectSettings", "localSettings", "cliArg"])
@pytest.mark.parametrize(("by", "may"), [("ada", False), ("owner", True), (None, True)])
def test_only_the_owner_may_give_rules_that_hold_for_other_users(
    by: str | None, may: bool, place: str
) -> None:
    rule = {**RULE, "destination": place}
    talk = offering(rule, RULE)
    kept = [rule if may else {**RULE, "destination": "session"}]
    decided = Decided(at=0, request_id="p1", decision="allow", remember=[rule], by=by)
    [told] = step(talk.state, decided)[1].commands
    assert isinstance(told, Deliver)
    assert told.replies[0].remember == (kept if may else []), (
        "Turnwire applies rules of the session"
    )
    talk.decide("p1", "allow", by=by, remember=[rule])
    assert talk.frame(f.AssistantRequestResolved).remembered == kept, "the log says the same"


def test_always_of_a_user_keeps_the_allowed_rules_and_names_the_narrowed_ones() -> None:
    machine, directory = ({**RULE, "destination": f"{name}Settings"} for name in ("user", "local"))
    session = {**RULE, "destination": "session"}
    talk = offering(machine, directory, OTHER)
    talk.decide("p1", "allow", by="ada", remember=[machine, directory, OTHER])
    ended = talk.frame(f.AssistantRequestResolved)
    assert ended.remembered == [session, OTHER]
    assert ended.narrowed == [machine, directory]


def test_a_call_may_be_denied_with_a_reason() -> None:
    talk = wanting()
    talk.decide("p1", "deny", reason="not here")
    ended = talk.frame(f.AssistantRequestResolved)
    assert (ended.decision, ended.reason) == ("deny", "not here")
    assert talk.commands == ["deliver p1=deny"]


@pytest.mark.parametrize(("decision", "action"), [("allow", "allowed"), ("deny", "denied")])
def test_the_audit_trail_names_the_user_of_each_decision(decision: str, action: str) -> None:
    talk = wanting()
    talk.decide("p1", decision)
    assert talk.audited()[-1] == (action, "ada")


def test_a_denied_call_has_no_other_input() -> None:
    talk = wanting()
    deny = lambda: talk.decide("p1", "deny", updated_input={})  # noqa: E731
    assert refusal(deny) == "INVALID_PAYLOAD"


def test_an_agent_that_runs_a_call_only_as_it_is_gets_no_other_input() -> None:
    talk = running().calls("t1").wants("p1", "t1", decision_only=True)
    assert talk.frame(f.AssistantPermissionRequest).decision_only
    assert talk.status.requests[0].decision_only
    change = lambda: talk.decide("p1", "allow", updated_input={"command": "ls"})  # noqa: E731
    assert refusal(change) == "NOT_SUPPORTED"
    talk.decide("p1", "allow")
    assert not talk.status.requests


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        ("answered", "DUPLICATE_INPUT_RESPONSE"),
        ("expired", "INPUT_TIMEOUT"),
        ("cancelled", "CONVERSATION_INTERRUPTED"),
        (None, "NO_PENDING_INPUT"),
    ],
)
def test_a_late_decision_is_refused_with_how_it_ended(ended: Any, code: str) -> None:
    talk = wanting()
    talk.decide()
    assert refusal(lambda: talk.decide(ended=ended)) == code


def test_a_question_cannot_be_allowed() -> None:
    talk = running().asks("q1")
    assert refusal(lambda: talk.decide("q1")) == "INVALID_QUESTION_ID"


def test_one_of_two_open_permissions_may_be_withdrawn() -> None:
    talk = wanting(permission_seconds=60).calls("t2").wants("p2", "t2").forget().withdraws("p1")
    assert talk.told == ["p1 cancelled by agent"]
    assert talk.state_name() == "waiting_input"
    talk.decide("p2")
    assert talk.state_name() == "active"
    assert refusal(lambda: talk.decide("p1", ended="cancelled")) == "CONVERSATION_INTERRUPTED"


def test_a_decided_permission_cannot_be_withdrawn() -> None:
    talk = wanting()
    talk.decide()
    assert talk.forget().withdraws("p1").told == []


def test_a_permission_that_is_requested_twice_is_one_request() -> None:
    assert wanting().wants("p1", "t1").told == []


def test_a_permission_whose_call_has_its_result_is_over() -> None:
    talk = wanting().gets("t1", "denied by a rule", is_error=True)
    assert talk.told == ["p1 cancelled by agent", "failed result t1: denied by a rule"]


def test_the_result_of_one_call_ends_no_request_of_another() -> None:
    talk = wanting().calls("t2").forget().gets("t2")
    assert talk.told == ["result t2: done"]


def test_the_deadline_of_one_is_not_the_deadline_of_another() -> None:
    talk = wanting(permission_seconds=60).calls("t2").wants("p2", "t2").forget().pass_deadline("p2")
    assert talk.told == ["p2 expired by deadline"]


def test_at_its_deadline_it_is_denied() -> None:
    talk = wanting(permission_seconds=30)
    (request,) = talk.status.requests
    assert request.deadline_at == at(30_000) == talk.frame(f.AssistantPermissionRequest).deadline_at
    assert talk.timers == {"deadline:p1": talk.now + 30_000}
    talk.pass_deadline("p1")
    assert talk.told == ["p1 expired by deadline"]
    assert talk.commands == ["deliver p1=deny"]
    assert talk.audited()[-1] == ("expired", "deadline")
    assert talk.frame(f.AssistantRequestResolved).decision == "deny"
    assert talk.status.running


def test_a_permission_ends_with_its_agent() -> None:
    talk = wanting().lose_agent()
    assert talk.told == [
        "p1 cancelled by agent_lost",
        "failed result t1: interrupted: agent_lost",
        "stopped: agent_lost",
        "turn 1 failed: agent_lost",
    ]


def test_a_permission_ends_with_its_server() -> None:
    assert wanting().restart().told[0] == "p1 cancelled by server_restart"


def test_a_permission_ends_with_its_agent_and_an_open_question_waits() -> None:
    talk = wanting().asks("q1").forget().lose_agent()
    assert talk.told == ["p1 cancelled by agent_lost", "failed result t1: interrupted: agent_lost"]
    assert [request.request_id for request in talk.status.requests] == ["q1"]


def test_a_permission_ends_with_a_call_without_a_turn() -> None:
    talk = Talk().calls("t9").wants("p9", "t9").starts().forget().ends()
    assert talk.told == [
        "p9 cancelled by agent",
        "failed result t9: no result: the turn ended",
        "turn 1 completed",
    ]


def test_a_permission_may_be_requested_and_withdrawn_before_any_turn() -> None:
    talk = Talk().wants().withdraws()
    assert (talk.status.state, talk.status.requests) == ("active", [])


def test_a_permission_ends_with_its_turn() -> None:
    talk = wanting().ends()
    assert talk.told[0] == "p1 cancelled by agent"
    assert talk.status.requests == []
