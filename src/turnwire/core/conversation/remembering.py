"""Remembers the permission rules that people give, applies them, and takes them back.

A rule that says what it allows, for this session, is kept by Turnwire: the agent does not get it, so
the end of its process changes nothing, and a rule that was taken back ends at once. Any other rule
is the agent's own matter. It gets the rule, and the list only says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from turnwire.core import events as ev
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.draft import Draft
from turnwire.core.conversation.effects import Ack, CloseAgent, ForgetRule, KeepRule
from turnwire.core.conversation.rules import (
    destination_of,
    for_session,
    is_mode,
    is_of_same_input,
    says_what_it_allows,
    without_needless_modes,
)
from turnwire.core.digest import digest_of
from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, Rule

__all__ = ["MOST_RULES", "forget_of_process", "forgot", "remember_rules", "rules_that_allow"]

MOST_RULES = 100  # of a conversation
_LONGEST = 4096  # bytes of a rule


def remember_rules(
    d: Draft, request: OpenRequest, rules: list[Any], decision: i.Decided
) -> list[Any]:
    """Remembers the rules of a decision, and returns those that the agent gets.

    Of several rules, an agent that takes one has always taken the first.
    """
    for_agent: list[Any] = []
    for number, rule in enumerate(rules[:1] if request.decision_only else rules, 1):
        is_ours = says_what_it_allows(rule)
        if not is_ours:
            for_agent.append(rule)
        if is_mode(rule):
            continue  # it is a setting of the conversation, which the page shows as such
        kept = Rule(
            f"r{d.head + 1}" if number == 1 else f"r{d.head + 1}-{number}",
            decision.agent,
            request.tool_name,
            rule,
            d.now,
            decision.by,
            "turnwire" if is_ours else "agent",
            digest_of(request.input) if is_ours and is_of_same_input(rule) else None,
        )
        if not any(_is_same(kept, each) for each in d.rules):
            _keep(d, kept)
    return for_agent


def _keep(d: Draft, rule: Rule) -> None:
    """Adds a rule to the list. A rule that the agent keeps may leave the list, but not the agent."""
    is_ours = rule.kept_by == "turnwire"
    if is_ours and len(msgspec.json.encode(rule.rule)) > _LONGEST:
        said = f"The rule has more than {_LONGEST} bytes. Allow this call without remembering it."
        raise Refused("INVALID_PAYLOAD", said)
    if len(d.rules) >= MOST_RULES:
        oldest = next((each for each in d.rules if each.kept_by == "agent"), None)
        if oldest is not None:
            _forget(d, oldest)
        elif is_ours:
            said = f"The conversation has {MOST_RULES} rules. Take one of them back first."
            raise Refused("INVALID_PAYLOAD", said)
        else:
            return
    if is_ours or len(msgspec.json.encode(rule.rule)) <= _LONGEST:
        d.rules.append(rule)
        d.writes.append(KeepRule(rule))


def _forget(d: Draft, rule: Rule) -> None:
    d.rules.remove(rule)
    d.writes.append(ForgetRule(rule.rule_id))


def _is_same(one: Rule, other: Rule) -> bool:
    return (one.agent, one.tool_name, one.rule, one.kept_by, one.input_digest) == (
        other.agent,
        other.tool_name,
        other.rule,
        other.kept_by,
        other.input_digest,
    )


def rules_that_allow(rules: list[Rule], event: ev.PermissionRequested, agent: str) -> list[Rule]:
    """Returns the remembered rules that allow a request. Returns none if a person is to be asked.

    The rules must be those of the same agent and tool. An agent that takes one of the rules offers
    alternatives, so one of them is enough. The rules of any other agent belong together: it would
    ask about the rest. Only a change of the mode is not needed beside rules that name the tools.
    """
    own = [
        rule
        for rule in rules
        if rule.kept_by == "turnwire"
        and (rule.agent, rule.tool_name) == (agent, event.tool_name)
        and rule.input_digest in (None, digest_of(event.input))
    ]
    if not own:
        return []
    offers = without_needless_modes(msgspec.to_builtins(event.suggestions))
    found = [_find(own, offered) for offered in offers]
    known = [rule for rule in found if rule is not None]
    return known if event.decision_only or len(known) == len(found) else []


def _find(rules: Iterable[Rule], offered: Any) -> Rule | None:
    """Returns the remembered rule for an offer. It may have been given for this session only."""
    same = for_session(offered)
    return next((rule for rule in rules if for_session(rule.rule) == same), None)


def forgot(d: Draft, asked: i.ForgotRule) -> None:
    """Takes a rule back. A rule that is gone changes nothing, so that a repeat is harmless."""
    d.ack = Ack(rule_id=asked.rule_id)
    rule = next((each for each in d.rules if each.rule_id == asked.rule_id), None)
    if rule is None:
        return
    if rule.kept_by == "agent":
        _end_process(d, rule)
    _forget(d, rule)
    told = {"rule_id": rule.rule_id, "agent": rule.agent, "tool_name": rule.tool_name}
    d.audit("rule_taken_back", asked.by, **told)


def _end_process(d: Draft, rule: Rule) -> None:
    """Closes the agent, with which its rule ends. Raises Refused if that is not possible."""
    where = destination_of(rule.rule)
    if where is not None:
        said = f"{rule.agent} keeps this rule itself ({where}). Remove it in the agent's settings."
        raise Refused("NOT_SUPPORTED", said)
    if d.turn is not None or d.background:
        said = f"{rule.agent} keeps this rule until its process ends. Wait for the end of its work."
        raise Refused("NOT_SUPPORTED", said)
    d.commands.append(CloseAgent())


def forget_of_process(d: Draft) -> None:
    """Removes the rules that have ended with the agent's process."""
    for rule in [each for each in d.rules if each.kept_by == "agent"]:
        if destination_of(rule.rule) is None:
            _forget(d, rule)
