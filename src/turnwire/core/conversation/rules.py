"""Permission rules that an agent offers to remember: their scope and lifetime."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import to_builtins

__all__ = ["all_for_session", "for_session", "offered_rules"]

_SESSION = "session"  # the destination of rules that end with the agent's process


def for_session(rule: Any) -> Any:
    """Returns the rule with the destination `session`. A rule without a destination is unchanged.

    A rule kept in a directory or for this machine would also hold for the agents of other users.
    """
    if isinstance(rule, dict) and rule.get("destination", _SESSION) != _SESSION:
        return {**rule, "destination": _SESSION}
    return rule


def all_for_session(rules: list[Any]) -> list[Any]:
    """Returns the rules with the destination `session`, without duplicates."""
    kept: list[Any] = []
    for rule in map(for_session, rules):
        if rule not in kept:
            kept.append(rule)
    return kept


def offered_rules(suggestions: list[Any], *, is_owners: bool, modes: Collection[str]) -> list[Any]:
    """Returns the suggestions that people are offered, as plain values, without duplicates.

    `is_owners`: the conversation belongs to the owner of the data. In any other conversation a rule
    holds for the session only; a rule that cannot (`narrowable: false`) is left out. `modes` are
    the permission modes that any user may choose. A suggestion to change to another mode is left
    out.
    """
    rules: list[Any] = []
    for suggestion in to_builtins(suggestions):
        rule = suggestion if is_owners else for_session(suggestion)
        if rule != suggestion and suggestion.get("narrowable") is False:
            continue
        if rule not in rules and _may_be_offered(rule, modes):
            rules.append(rule)
    return rules


def _may_be_offered(rule: Any, modes: Collection[str]) -> bool:
    is_mode = isinstance(rule, dict) and rule.get("type") == "setMode"
    return not is_mode or rule.get("mode") in modes
