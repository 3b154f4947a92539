"""Checks of a store for what a commit writes besides entries: turns, raw messages, receipts."""

from __future__ import annotations

from msgspec import Raw, structs

from turnwire.core.conversation.effects import AddEntry, BeginTurn, EndTurn
from turnwire.core.conversation.state import Turn
from turnwire.core.status import TurnEnd
from turnwire.core.usage import Usage
from turnwire.ports import Conflict, Receipt, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import TRACE, a_large_message, at, begin

__all__ = ["COMMIT_CHECKS"]


async def turns_are_listed_once_they_are_over(store: Store) -> None:
    talk = await begin(store)
    await talk.commit(talk.prepare(BeginTurn(Turn(1, TRACE, "user", "starting"))))
    expect(await store.turns("c") == [], "a running turn is not listed")
    first = TurnEnd(False, False, "end_turn", usage=Usage(3, 4), cost_usd=0.5, after_sequence=2)
    await talk.commit(talk.prepare(*talk.entries("a", "b"), EndTurn(1, TRACE, first), seconds=5))
    second = structs.replace(first, after_sequence=3)
    await talk.commit(talk.prepare(*talk.entries("c"), EndTurn(2, TRACE, second), seconds=6))
    turns = await store.turns("c")
    expect([turn.turn_id for turn in turns] == [1, 2], "turns are listed in order")
    expect(turns[0].end == first, "a turn has its outcome")
    expect(
        turns[0].ended_at == at(5) and turns[0].trace_id == TRACE,
        "a turn has its end time and its trace id",
    )
    at_cursor = await store.turns("c", since=2)
    expect(len(at_cursor) == 2, "a turn that ended exactly at the cursor is listed")
    later = await store.turns("c", since=3)
    expect(
        [turn.turn_id for turn in later] == [2], "a turn that ended before the cursor is not listed"
    )
    earlier = await store.turns("c", since=2, before=3)
    expect([turn.turn_id for turn in earlier] == [1], "a turn that ended at `before` is not listed")


async def the_agents_own_message_is_kept_with_its_entry(store: Store) -> None:
    talk = await begin(store)
    first, second = talk.entries("a", "b")
    assert isinstance(first, AddEntry)
    own = structs.replace(first, raw=Raw(b'{"type":"assistant","api_key":"sk-ant-very-secret"}'))
    await talk.commit(talk.prepare(own, second))
    kept = await store.raw_event("c", 1)
    expect(kept is not None and '"assistant"' in kept, "the agent's raw message is found as JSON")
    expect(
        kept is not None and "very-secret" not in kept,
        "the raw message is stored without its secrets",
    )
    expect(await store.raw_event("c", 2) is None, "an entry without a raw message returns None")
    expect(await store.raw_event("c", 9) is None, "an entry that does not exist has no raw message")


async def a_receipt_is_kept_with_its_commit(store: Store) -> None:
    talk = await begin(store)
    receipt = Receipt("ann", "m-1", b"\x00\xff", b'{"type":"user.message.ack"}')
    await talk.commit(talk.prepare(*talk.entries("hello"), receipt=receipt))
    expect(await store.receipt("c", "ann", "m-1") == receipt, "a receipt is found as it was stored")
    expect(await store.receipt("c", "bob", "m-1") is None, "a receipt belongs to one user")
    expect(await store.receipt("d", "ann", "m-1") is None, "a receipt belongs to one conversation")
    again = talk.prepare(*talk.entries("hello again"), receipt=receipt)
    await expect_raises(Conflict, store.commit(again), "a commit with the same receipt again")
    expect(len(await store.entries("c")) == 1, "the entries of the refused commit are not written")


async def a_commit_may_repeat_earlier_rows(store: Store) -> None:
    """Accepts a turn that begins again, a blob used twice and settling without a reservation."""
    talk = await begin(store)
    turn = BeginTurn(Turn(1, TRACE, "user", "starting"))
    for number in (1, 2):
        named = AddEntry(number, a_large_message("b-1"), 1, TRACE)
        await talk.commit(structs.replace(talk.prepare(turn, named), settles=True))
    expect(len(await store.entries("c")) == 2, "both commits are written")


COMMIT_CHECKS = [
    turns_are_listed_once_they_are_over,
    the_agents_own_message_is_kept_with_its_entry,
    a_receipt_is_kept_with_its_commit,
    a_commit_may_repeat_earlier_rows,
]
