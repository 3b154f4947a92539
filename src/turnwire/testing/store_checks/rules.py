"""Checks of a store for remembered permission rules."""

from __future__ import annotations

from turnwire.core.conversation.effects import ForgetRule, KeepRule
from turnwire.core.status import Rule
from turnwire.ports import GivenRule, Store
from turnwire.testing.expect import expect
from turnwire.testing.store_samples import at, begin

__all__ = ["RULE_CHECKS"]


def _rule(rule_id: str, seconds: int) -> Rule:
    named = {"rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow"}
    return Rule(rule_id, "demo", "Bash", named, at(seconds), "ann")


async def rules_are_listed_until_they_are_taken_back(store: Store) -> None:
    ann = await begin(store, user="ann", title="Plans")
    bob = await begin(store, "other", user="bob")
    first, second, third = _rule("r1", 1), _rule("r2", 3), _rule("r1", 2)
    await ann.commit(ann.prepare(KeepRule(first), KeepRule(second)))
    await bob.commit(bob.prepare(KeepRule(third)))
    newest, oldest = GivenRule("c", second, "Plans"), GivenRule("c", first, "Plans")
    of_bob = GivenRule("other", third)
    expect(
        await store.rules() == [newest, of_bob, oldest],
        "`rules` lists the rules of all conversations, the newest first",
    )
    expect(
        await store.rules(user="ann") == [newest, oldest],
        "`rules` can list those of one user",
    )
    expect(await store.rules(limit=1, offset=1) == [of_bob], "`rules` can list one page")
    await ann.commit(ann.prepare(ForgetRule("r1")))
    expect(
        await store.rules() == [newest, of_bob],
        "a rule that was taken back is gone; one of another conversation with its id stays",
    )
    await ann.commit(ann.prepare(KeepRule(_rule("r4", 4)), ForgetRule("r4")))
    expect(
        await store.rules(user="ann") == [newest],
        "a rule that is given and taken back in one commit is gone",
    )
    await store.delete("c", at=at(5))
    expect(await store.rules() == [of_bob], "a deleted conversation has no rules")


RULE_CHECKS = [rules_are_listed_until_they_are_taken_back]
