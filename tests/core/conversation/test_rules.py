"""Permission rules: which ones people are offered, and that a rule of one user does not reach another."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.conversation.rules import for_session, offered_rules
from turnwire.dialects.claude.control import PermissionRule, PermissionUpdate

PLACES = ["userSettings", "projectSettings", "localSettings", "cliArg", None]
SESSION = {"type": "addDirectories", "directories": ["/a"], "destination": "session"}


def rule(place: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "addRules", "rules": [{"toolName": "Bash"}], "destination": place, **more}


@pytest.mark.parametrize("is_owners", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_a_rule_holds_for_the_session_so_that_it_can_be_taken_back(
    place: str | None, is_owners: bool
) -> None:
    offered = offered_rules([rule(place), SESSION], is_owners=is_owners, modes=[])
    assert offered == [rule("session"), SESSION]


def test_a_rule_that_cannot_be_narrowed_to_the_session_is_for_the_owner() -> None:
    fixed = [rule("userSettings", narrowable=False), rule("session", narrowable=False)]
    assert offered_rules(fixed, is_owners=False, modes=[]) == fixed[1:]
    assert offered_rules(fixed, is_owners=True, modes=[]) == fixed


def test_rules_that_become_the_same_are_offered_once() -> None:
    both = [rule("localSettings"), rule("userSettings")]
    assert offered_rules(both, is_owners=False, modes=[]) == [rule("session")]


@pytest.mark.parametrize("is_owners", [True, False])
def test_a_mode_for_the_owner_only_is_not_offered(is_owners: bool) -> None:
    modes = [
        {"type": "setMode", "mode": mode, "destination": "session"}
        for mode in ("acceptEdits", "bypassPermissions")
    ]
    offered = offered_rules(modes, is_owners=is_owners, modes=["default", "acceptEdits"])
    assert offered == modes[:1]


MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


@pytest.mark.parametrize(
    ("offers", "kept"),
    [
        ([MODE, rule("session")], [rule("session")]),
        ([MODE, SESSION], [MODE, SESSION]),
        ([MODE], [MODE]),
        ([MODE, "words"], [MODE, "words"]),
    ],
)
def test_a_mode_that_is_not_needed_beside_named_tools_is_not_offered(
    offers: list[Any], kept: list[Any]
) -> None:
    assert offered_rules(offers, is_owners=True, modes=["acceptEdits"]) == kept


def test_typed_rules_are_offered_as_plain_values() -> None:
    typed = PermissionUpdate(
        "addRules", [PermissionRule("Bash", "ls:*")], "allow", destination="localSettings"
    )
    assert offered_rules([typed], is_owners=False, modes=[]) == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}],
            "behavior": "allow",
            "destination": "session",
        }
    ]


@pytest.mark.parametrize("strange", [{"rule": "ls"}, "words", None, [1]])
def test_a_rule_without_a_destination_is_unchanged(strange: Any) -> None:
    assert for_session(strange) == strange
    assert offered_rules([strange], is_owners=False, modes=[]) == [strange]
