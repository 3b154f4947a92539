"""Permission rules that an agent offers to remember: their scope and lifetime."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import to_builtins

__all__ = [
    "all_for_session",
    "destination_of",
    "for_session",
    "is_mode",
    "is_of_same_input",
    "offered_rules",
    "says_what_it_allows",
    "without_needless_modes",
]

_SESSION = "session"  # the destination of rules that end with the agent's process


def for_session(rule: Any) -> Any:
    """Returns the rule with the destination `session`. A rule without a destination is unchanged.

    A rule kept in a directory or for this machine would also hold for the agents of other users,
    and only the agent could remove it.
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

    Each holds for the session, so that it can be taken back: a rule in the agent's settings could
    not. A rule that holds for longer in any case (`narrowable: false`) is for the owner of the data
    only (`is_owners`: the conversation is theirs). `modes` are the permission modes that any user
    may choose. A suggestion to change to another mode is left out, and so is one that is not needed.
    """
    rules: list[Any] = []
    for suggestion in to_builtins(suggestions):
        rule = for_session(suggestion)
        if rule != suggestion and suggestion.get("narrowable") is False:
            if not is_owners:
                continue
            rule = suggestion
        if rule not in rules and _may_be_offered(rule, modes):
            rules.append(rule)
    return without_needless_modes(rules)


def without_needless_modes(offers: list[Any]) -> list[Any]:
    """Returns the offers without changes of the mode, if all others name the tools that they allow.

    The mode would allow more than the call, and would stay after those rules were taken back.
    """
    others = [offered for offered in offers if not is_mode(offered)]
    name_tools = all(isinstance(each, dict) and "rules" in each for each in others)
    return others if others and name_tools else offers


def _may_be_offered(rule: Any, modes: Collection[str]) -> bool:
    return not is_mode(rule) or rule.get("mode") in modes


def is_mode(rule: Any) -> bool:
    """Returns whether the rule changes the permission mode."""
    return isinstance(rule, dict) and rule.get("type") == "setMode"


def destination_of(rule: Any) -> str | None:
    """Returns where the agent keeps a rule. Returns None for a rule of the session."""
    where = rule.get("destination", _SESSION) if isinstance(rule, dict) else _SESSION
    return None if where == _SESSION else str(where)


def is_of_same_input(rule: Any) -> bool:
    """Returns whether a rule holds only for a call with the same input.

    The agent marks such a rule with `same_input`, because its words do not say all that it means.
    """
    return isinstance(rule, dict) and rule.get("same_input") is True


def says_what_it_allows(rule: Any) -> bool:
    """Returns whether a rule of the session names the tools or the directories that it allows.

    Only such a rule can be applied without the agent. An option in the words of the agent (ACP) may
    be the same for every call.
    """
    match rule:
        case {"narrowable": False}:
            return False
        case {"rules": [_, *_] as named}:
            allows = rule.get("behavior", "allow") == "allow" and all(
                isinstance(each, dict) and isinstance(each.get("toolName"), str) for each in named
            )
            is_known = allows and rule.get("type", "addRules") == "addRules"
        case {"type": "addDirectories", "directories": [_, *_]}:
            is_known = True
        case _:
            return False
    return is_known and destination_of(rule) is None
