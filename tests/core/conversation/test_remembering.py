"""Remembered permission rules: which ones are kept, what they allow, and how they are taken back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.conversation.helpers.driver import Talk, refusal, running, whose
from turnwire.core import events as ev
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation import remembering
from turnwire.core.conversation.forking import forked
from turnwire.core.conversation.rules import says_what_it_allows
from turnwire.core.status import Rule


def rule(content: str = "ls:*", destination: str | None = "session", **more: Any) -> dict[str, Any]:
    named = {"toolName": "Bash", "ruleContent": content}
    where = {} if destination is None else {"destination": destination}
    return {"type": "addRules", "rules": [named], "behavior": "allow", **where, **more}


LS = rule()
DIRECTORY = {"type": "addDirectories", "directories": ["/a"], "destination": "session"}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
OPTION = {"optionId": "always", "name": "Always allow", "kind": "allow_always"}


def asked(talk: Talk, *offered: Any, number: int = 2, **more: Any) -> Talk:
    """The agent wants to run a call, and offers these rules."""
    return talk.calls(f"t{number}").wants(
        f"p{number}", f"t{number}", suggestions=[*offered], **more
    )


def given(*rules: Any, by: str | None = "ada", **options: Any) -> Talk:
    """A conversation in which a person has given these rules with `p1`."""
    talk = asked(running(**options), *rules, number=1)
    talk.decide("p1", "allow", remember=[*rules], by=by)
    return talk.gets("t1").forget()


def kept(talk: Talk) -> list[Any]:
    return [each.rule for each in talk.state.rules]


def replies(talk: Talk, remembered: Any) -> list[Any]:
    """Returns the rules that the agent gets with a decision."""
    effects = talk.do(
        i.Decided(
            at=0, request_id="p1", decision="allow", remember=remembered, by="ada", agent="claude"
        )
    )
    [deliver] = effects.commands
    assert isinstance(deliver, e.Deliver)
    return deliver.replies[0].remember


@pytest.mark.parametrize("ours", [LS, rule(destination=None), DIRECTORY, {"rules": LS["rules"]}])
def test_a_rule_that_says_what_it_allows_is_kept_here_and_not_by_the_agent(ours: Any) -> None:
    talk = asked(running(), ours, number=1)
    assert replies(talk, [ours]) == []
    [found] = talk.state.rules
    assert found == Rule(f"r{talk.state.head}", "claude", "Bash", ours, found.given_at, "ada")
    assert e.KeepRule(found) in talk.writes
    assert talk.status.rules == 1
    assert talk.state.level == 2


@pytest.mark.parametrize(
    "its_own",
    [
        rule(destination="localSettings"),
        rule(narrowable=False),
        rule(behavior="deny"),
        {**LS, "type": "removeRules"},
        {**LS, "rules": ["Bash"]},
        {**LS, "rules": [{"toolName": 1}]},
        {**LS, "rules": []},
        {**DIRECTORY, "directories": []},
        {**DIRECTORY, "destination": "userSettings"},
        OPTION,
        "words",
        None,
    ],
)
def test_any_other_rule_goes_to_the_agent_and_the_list_says_so(its_own: Any) -> None:
    assert not says_what_it_allows(its_own)
    talk = asked(running(), its_own, number=1)
    talk.decide("p1", "allow", remember=[its_own], by="owner")
    assert [each.kept_by for each in talk.state.rules] == ["agent"]
    talk.gets("t1")
    assert asked(talk, its_own).status.requests, "the agent is the one that applies it"


def test_the_agent_gets_its_own_rules_unchanged() -> None:
    talk = asked(running(), LS, MODE, OPTION, number=1)
    assert replies(talk, [LS, MODE, OPTION]) == [MODE, OPTION]
    assert kept(talk) == [LS, OPTION], "a mode is a setting of the conversation"


def test_an_agent_that_takes_one_rule_gets_or_leaves_the_first() -> None:
    local = rule(destination="userSettings", narrowable=False)
    talk = asked(running(), LS, local, number=1, decision_only=True)
    assert replies(talk, [LS, local]) == []
    assert kept(talk) == [LS]


def test_several_rules_of_one_decision_have_ids_of_their_own() -> None:
    talk = given(LS, DIRECTORY)
    first, second = (each.rule_id for each in talk.state.rules)
    assert second == f"{first}-2"


def test_a_remembered_rule_allows_at_once_and_no_person_is_asked() -> None:
    talk = given(LS, permission_seconds=60)
    [known] = talk.state.rules
    before = len(talk.writes)
    asked(talk, LS)
    assert talk.told == ["call t2"], "the log has the call"
    assert talk.commands == ["deliver p2=allow"]
    assert (talk.status.requests, talk.status.state, talk.timers) == ([], "streaming", {})
    [said] = [write for write in talk.writes[before:] if isinstance(write, e.Audit)]
    assert (said.action, said.by) == ("allowed_by_rule", None)
    named = [{"rule_id": known.rule_id, "by": "ada"}]
    assert said.data == {
        "request_id": "p2",
        "tool_name": "Bash",
        "tool_use_id": "t2",
        "rules": named,
    }
    assert talk.gets("t2").told == ["result t2: done"]


def test_a_call_that_the_agent_has_not_announced_is_in_the_log() -> None:
    talk = given(LS)
    talk.hear(
        ev.PermissionRequested(*whose(), "p2", "t2", "Bash", {"command": "ls"}, suggestions=[LS])
    )
    assert (talk.told, talk.commands) == (["call t2"], ["deliver p2=allow"])


@pytest.mark.parametrize(
    "offered", [(LS, DIRECTORY), (DIRECTORY,), (rule("rm:*"),), (), (DIRECTORY, MODE)]
)
def test_a_person_is_asked_if_a_rule_is_missing(offered: tuple[Any, ...]) -> None:
    talk = given(LS)
    assert asked(talk, *offered).told == ["call t2", "permission p2"]


def test_a_mode_is_needed_beside_directories_but_not_beside_rules_that_name_the_tool() -> None:
    talk = given(LS, DIRECTORY)
    assert asked(talk, LS, MODE).commands == ["deliver p2=allow"]
    asked(talk.forget(), DIRECTORY, MODE, number=3)
    assert talk.told == ["call t3", "permission p3"]


def test_of_an_agent_that_takes_one_rule_one_is_enough() -> None:
    talk = given(LS)
    asked(talk, DIRECTORY, LS, decision_only=True)
    assert talk.commands == ["deliver p2=allow"]


def test_a_rule_that_was_narrowed_to_the_session_allows_what_it_was_given_for() -> None:
    wide = rule(destination="localSettings")
    talk = given(wide, by="ada")
    assert kept(talk) == [LS]
    assert asked(talk, wide).commands == ["deliver p2=allow"]


def test_a_rule_for_the_same_input_allows_no_other_input() -> None:
    exact = rule(same_input=True)
    talk = given(exact)
    assert talk.state.rules[0].input_digest is not None
    asked(talk, exact)
    assert talk.commands == ["deliver p2=allow"]
    talk.calls("t3").forget()
    other = {"command": "ls", "cwd": "/"}
    talk.hear(ev.PermissionRequested(*whose(), "p3", "t3", "Bash", other, suggestions=[exact]))
    assert talk.told == ["permission p3"]


def test_a_rule_holds_for_its_tool_and_its_agent_only() -> None:
    talk = given(DIRECTORY)
    talk.calls("t2", "Write").forget()
    talk.hear(ev.PermissionRequested(*whose(), "p2", "t2", "Write", {}, suggestions=[DIRECTORY]))
    assert talk.told == ["permission p2"]
    talk.decide("p2", "deny")
    talk.forget().agent = "codex"
    assert asked(talk, DIRECTORY, number=3).told == ["call t3", "permission p3"]


def test_a_turn_that_is_being_stopped_runs_nothing_more() -> None:
    talk = given(LS)
    talk.stop()
    asked(talk.forget(), LS)
    assert talk.commands == ["deliver p2=deny"]


def test_a_rule_survives_the_agent_and_the_server() -> None:
    talk = given(LS).lose_agent().restart()
    assert kept(talk) == [LS]
    talk.say("again")
    talk.starts().forget()
    assert asked(talk, LS).commands == ["deliver p2=allow"]


def test_a_fork_has_no_rules() -> None:
    talk = given(LS).ends()
    fork = forked(talk.state, "f", head=talk.state.head, turns=1)
    assert (fork.rules, fork.level) == ([], 0)


def test_a_rule_that_is_given_twice_is_listed_once() -> None:
    wide = rule(destination="userSettings")
    talk = given(wide, by="owner")
    asked(talk, wide)
    talk.decide("p2", "allow", remember=[wide], by="owner")
    assert kept(talk) == [wide]


def test_after_a_rule_was_taken_back_the_agent_asks_again() -> None:
    talk = given(LS)
    [known] = talk.state.rules
    assert talk.forget_rule(known.rule_id) == e.Ack(rule_id=known.rule_id)
    assert (talk.state.rules, talk.status.rules, talk.state.level) == ([], 0, 0)
    assert e.ForgetRule(known.rule_id) in talk.writes
    assert talk.audited()[-1] == ("rule_taken_back", "ada")
    assert asked(talk, LS).told == ["call t2", "permission p2"]


def test_taking_a_rule_back_again_changes_nothing() -> None:
    talk = given(LS)
    count = len(talk.writes)
    assert talk.forget_rule("r0") == e.Ack(rule_id="r0")
    assert (kept(talk), len(talk.writes)) == ([LS], count)


def test_a_rule_in_the_settings_of_the_agent_cannot_be_taken_back_here() -> None:
    talk = given(rule(destination="localSettings"), by="owner")
    [its_own] = talk.state.rules
    assert refusal(lambda: talk.forget_rule(its_own.rule_id)) == "NOT_SUPPORTED"
    talk.lose_agent()
    assert talk.state.rules == [its_own]


def test_a_rule_that_the_agent_keeps_in_its_process_ends_with_it() -> None:
    talk = given(OPTION)
    [its_own] = talk.state.rules
    talk.lose_agent()
    assert talk.state.rules == []
    assert e.ForgetRule(its_own.rule_id) in talk.writes


def test_a_rule_of_the_process_is_taken_back_with_the_process_when_it_is_idle() -> None:
    talk = given(OPTION)
    [its_own] = talk.state.rules
    assert refusal(lambda: talk.forget_rule(its_own.rule_id)) == "NOT_SUPPORTED"
    talk.ends().forget()
    talk.forget_rule(its_own.rule_id)
    assert (talk.state.rules, talk.commands) == ([], ["close"])


def test_background_work_keeps_the_process_and_its_rules() -> None:
    talk = given(OPTION).task().ends()
    [its_own] = talk.state.rules
    assert refusal(lambda: talk.forget_rule(its_own.rule_id)) == "NOT_SUPPORTED"


def test_a_conversation_has_a_limited_number_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "MOST_RULES", 2)
    local = rule(destination="localSettings")
    talk = given(local, LS, by="owner")
    asked(talk, DIRECTORY)
    talk.decide("p2", "allow", remember=[DIRECTORY])
    assert kept(talk) == [LS, DIRECTORY], "what the agent keeps leaves the list first"
    more = rule("rm:*")
    asked(talk, more, local, number=3)
    with pytest.raises(Exception, match="The conversation has 2 rules"):
        talk.decide("p3", "allow", remember=[more])
    talk.decide("p3", "allow", remember=[local], by="owner")
    assert kept(talk) == [LS, DIRECTORY], "the agent has it all the same"


def test_a_rule_that_is_too_long_is_refused_and_one_of_the_agent_is_not_listed() -> None:
    long, its_own = rule("a" * 5000), rule("b" * 5000, "localSettings")
    talk = asked(running(), long, its_own, number=1)
    with pytest.raises(Exception, match="The rule has more than 4096 bytes"):
        talk.decide("p1", "allow", remember=[long])
    talk.decide("p1", "allow", remember=[its_own], by="owner")
    assert talk.state.rules == []
