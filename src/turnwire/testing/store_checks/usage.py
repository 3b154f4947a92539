"""Checks of a store for what a user spends, reserves and stores."""

from __future__ import annotations

import asyncio

from msgspec import structs

from turnwire.core.content import TextContent
from turnwire.core.conversation.effects import Spend
from turnwire.core.conversation.state import Waiting
from turnwire.core.status import QueueItem
from turnwire.ports import Fenced, NewConversation, NodeRow, OverQuota, Store, Stored
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import LEASE, NOW, TRACE, at, begin

__all__ = ["USAGE_CHECKS"]


async def spending_is_kept_after_a_deletion(store: Store) -> None:
    expect(await store.spent(None) == 0, "a new store has no spending")
    talk, other = await begin(store, user="ann"), await begin(store, "d", user="ben")
    await talk.commit(talk.prepare(Spend(1, 0.25), seconds=1))
    await talk.commit(talk.prepare(Spend(None, 0.5), seconds=100))
    await other.commit(other.prepare(Spend(1, 4.0)))
    spent = [await store.spent(user) for user in ("ann", "ben", None)]
    expect(spent == [0.75, 4.0, 0], "the spending of a user is the sum of the user's conversations")
    expect(
        await store.spent("ann", since=at(100)) == 0.5, "`since` selects the spending since a time"
    )
    late = structs.replace(talk.prepare(Spend(2, 9.0)), claim=structs.replace(talk.claim, fence=0))
    await expect_raises(Fenced, store.commit(late), "a commit by an old owner")
    await store.delete("c")
    expect(await store.spent("ann") == 0.75, "deleting a conversation keeps its spending")


async def a_reservation_counts_until_it_is_settled(store: Store) -> None:
    one, two = await begin(store, user="ann"), await begin(store, "d", user="ann")
    ben = await begin(store, "e", user="ben")

    def half(spent: float, held: float) -> float:
        return (1.0 - spent - held) / 2

    many = [store.reserve(each.claim, half, now=NOW) for each in (one, two, ben)]
    first, second, other = await asyncio.gather(*many)
    expect((first.amount, first.spent, first.held) == (0.5, 0, 0), "the chosen amount is reserved")
    expect(
        (second.amount, second.held) == (0.25, 0.5),
        "a concurrent reservation counts earlier ones as held",
    )
    expect((other.amount, other.held) == (0.5, 0), "a reservation does not count for another user")
    again = await store.reserve(one.claim, half, now=NOW)
    expect(
        (again.amount, again.held) == (0.375, 0.25),
        "a new reservation replaces the conversation's earlier one",
    )
    await one.commit(structs.replace(one.prepare(Spend(1, 0.125)), settles=True))
    after = await store.reserve(two.claim, half, now=NOW)
    expect((after.spent, after.held) == (0.125, 0), "a settled reservation counts only as spent")
    late = await store.reserve(one.claim, half, now=NOW + LEASE)
    expect(late.held == 0, "a reservation under an expired lease does not count")
    await store.join(NodeRow("one", "a node", "inbox"), now=NOW + LEASE, lease=LEASE)
    again = await store.reserve(one.claim, half, now=NOW + LEASE)
    expect(again.held > 0, "a reservation counts while the lease of its owner's node runs")
    await store.leave("one")
    nothing = await store.reserve(two.claim, lambda spent, held: 0.0, now=NOW)
    expect(nothing.amount == 0, "a reservation of zero is possible")
    claim = await store.claim("d", "another", now=NOW + LEASE, lease=LEASE)
    taken = await store.reserve(one.claim, half, now=NOW)
    expect(taken.held == 0, "a reservation of a replaced owner does not count")
    await expect_raises(
        Fenced, store.reserve(two.claim, half, now=NOW), "a reservation by a replaced owner"
    )
    await store.release(claim)
    await store.delete("d")
    expect(
        (await store.reserve(one.claim, half, now=NOW)).held == 0,
        "a reservation of a deleted conversation does not count",
    )


async def the_bytes_of_a_user_are_counted(store: Store) -> None:
    expect(await store.stored("ann") == Stored(), "a new user has stored nothing")
    talk, other = await begin(store, user="ann"), await begin(store, "d", user="ann")
    empty = await store.stored("ann")
    expect(empty.conversations == 2, "each conversation of the user is counted")
    await talk.say("x" * 10_000)
    said = await store.stored("ann")
    expect(10_000 < said.bytes - empty.bytes < 20_000, "the bytes of entries are counted")
    item = QueueItem("q-1", [TextContent("y" * 10_000)], at())
    queued = structs.replace(talk.state, queue=[Waiting(item, TRACE)])
    await talk.commit(talk.prepare(state=queued))
    waiting = await store.stored("ann")
    expect(10_000 < waiting.bytes - said.bytes < 20_000, "the bytes of queued messages are counted")
    await store.put_blob("b-1", b"12345", "text/plain", at=at(), user="ann")
    await store.put_blob("b-2", b"12345", "text/plain", at=at())
    expect(
        (await store.stored("ann")).bytes == waiting.bytes + 5,
        "a blob counts for the user that stored it",
    )
    over = store.put_blob("b-3", b"1", "text/plain", at=at(), user="ann", quota=waiting.bytes + 5)
    await expect_raises(OverQuota, over, "a blob above the quota of everything stored")
    await store.delete("c")
    rest = await store.stored("ann")
    expect(rest.conversations == 1, "a deleted conversation is not counted")
    expect(
        rest.bytes - 5 <= empty.bytes / 2 + 100,
        "the bytes of a deleted conversation are not counted",
    )
    await other.say("z" * 10_000)
    place = await store.fork_place("d")
    state = structs.replace(other.state, conversation_id="f")
    await store.fork(
        NewConversation(
            "f", "demo", at(), "ann", state=state, parent_id="d", forked_at=place.sequence
        )
    )
    forked = await store.stored("ann")
    expect(forked.bytes - rest.bytes > 20_000, "the bytes copied into a fork are counted again")
    for name in ("d", "f"):
        await store.delete(name)
    expect(
        await store.stored("ann") == Stored(5, 0),
        "after deleting all conversations only the blob is counted",
    )
    expect(await store.stored("ben") == Stored(), "the bytes of a user do not count for another")


USAGE_CHECKS = [
    spending_is_kept_after_a_deletion,
    a_reservation_counts_until_it_is_settled,
    the_bytes_of_a_user_are_counted,
]
