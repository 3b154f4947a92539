"""Checks of a store for nodes: one lease for all conversations of a process, and deadlines."""

from __future__ import annotations

import asyncio

from msgspec import structs

from turnwire.core.conversation.effects import EndRequest, OpenRequestRow
from turnwire.core.status import OpenRequest
from turnwire.ports import Fenced, NewConversation, NodeRow, Owned, Store
from turnwire.testing.expect import expect, expect_raises
from turnwire.testing.store_samples import LEASE, NOW, Writing, a_request, at, begin

__all__ = ["NODE_CHECKS"]


def a_node(owner: str) -> NodeRow:
    """Returns a node with this owner's name."""
    versions = {"turnwire": "1.0"}
    return NodeRow(owner, f"node {owner}", f"inbox {owner}", ["demo", "\0"], versions, at())


async def a_node_joins_renews_and_leaves(store: Store) -> None:
    expect(await store.nodes() == [], "a new store has no nodes")
    await store.join(a_node("one"), now=NOW, lease=LEASE)
    await store.join(structs.replace(a_node("two"), started_at=at(1)), now=NOW, lease=LEASE)
    first, second = await store.nodes()
    expect(
        (first.owner, second.owner) == ("one", "two"), "the nodes are returned, the oldest first"
    )
    said = structs.replace(a_node("one"), versions=first.versions, lease_until=NOW + LEASE)
    expect(first == said, "a node is stored as it was described")
    expect(
        first.versions["turnwire"] == "1.0" and "schema" in first.versions,
        "the store adds the version of its tables",
    )
    load = {"conversations": 3}
    expect(
        await store.renew_node("one", now=NOW + 5, lease=LEASE, load=load),
        "a node renews its lease",
    )
    first, second = await store.nodes()
    expect(
        (first.lease_until, first.renewals, first.load) == (NOW + 5 + LEASE, 1, load),
        "a renewal is stored, with the load of the node",
    )
    expect((second.renewals, second.load) == (0, {}), "a renewal changes no other node")
    expect(await store.renew_node("one", now=NOW + 6, lease=LEASE), "a load need not be given")
    expect((await store.nodes())[0].load == load, "without a load the last one is kept")
    await store.join(a_node("one"), now=NOW + 7, lease=LEASE)
    again = (await store.nodes())[0]
    expect(
        (again.lease_until, again.load) == (NOW + 7 + LEASE, load), "joining again only renews it"
    )
    await store.leave("one")
    await store.leave("unknown")
    expect([node.owner for node in await store.nodes()] == ["two"], "a node that left is gone")
    expect(
        not await store.renew_node("one", now=NOW, lease=LEASE),
        "a node that is gone cannot renew its lease",
    )


async def a_node_holds_all_conversations_of_its_owner(store: Store) -> None:
    talk, _ = await begin(store), await begin(store, "d")
    await store.release((await begin(store, "e")).claim)
    await store.join(a_node("one"), now=NOW, lease=3 * LEASE)
    for name in ("c", "d"):
        row = await store.conversation(name)
        expect(
            row is not None and row.lease_until == NOW + 3 * LEASE,
            "the lease of a conversation is the later one of its own and its node's",
        )
    listed = {row.conversation_id: row.lease_until for row in await store.conversations()}
    until = NOW + 3 * LEASE
    expect(listed == {"c": until, "d": until, "e": 0}, "lists have the later lease, too")
    late = NOW + 3 * LEASE - 1
    other = store.claim("c", "two", now=late, lease=LEASE)
    await expect_raises(Owned, other, "a claim while the lease of the owner's node runs")
    expect(await store.abandoned(now=late) == [], "no conversation of a live node is abandoned")
    await store.change("d", archived=True)
    owned = await store.owned("one")
    expect(owned == {"c": False, "d": True}, "an owner's conversations are found, and the archived")
    await store.renew_node("one", now=late, lease=LEASE)
    late += LEASE - 1
    other = store.claim("d", "two", now=late, lease=LEASE)
    await expect_raises(Owned, other, "a claim after the node has renewed its lease")
    expect(
        await store.abandoned(now=late + 1) == ["c", "d"],
        "the conversations of a node are abandoned when its lease has expired",
    )
    await talk.say("still the owner, because no other process has claimed it")


async def the_first_lease_of_a_claim_counts_without_a_node(store: Store) -> None:
    await store.join(a_node("one"), now=NOW, lease=1)
    await begin(store)
    row = await store.conversation("c")
    expect(
        row is not None and row.lease_until == NOW + LEASE,
        "the lease of a conversation is its own if that is the later one",
    )
    other = store.claim("c", "two", now=NOW + LEASE - 1, lease=LEASE)
    await expect_raises(Owned, other, "a claim while the first lease of another claim runs")
    expect(await store.abandoned(now=NOW + LEASE - 1) == [], "such a conversation is held")


async def a_takeover_expels_the_node_of_the_old_owner(store: Store) -> None:
    talk, other = await begin(store), await begin(store, "d")
    for owner in ("one", "two"):
        await store.join(a_node(owner), now=NOW, lease=LEASE)
    await expect_raises(
        Owned, store.claim("c", "two", now=NOW, lease=LEASE), "a claim on a held conversation"
    )
    await store.claim("d", "one", now=NOW, lease=LEASE)
    expect(len(await store.nodes()) == 2, "neither of them expels a node")
    late = NOW + LEASE
    await store.renew_node("two", now=late, lease=LEASE)
    await store.claim("c", "two", now=late, lease=LEASE)
    expect(
        [node.owner for node in await store.nodes()] == ["two"],
        "taking a conversation over expels the node of its old owner",
    )
    expect(not await store.renew_node("one", now=late, lease=LEASE), "an expelled node is told so")
    expect([*await store.owned("one")] == ["d"], "its other conversations are not taken")
    expect(await store.abandoned(now=late) == ["d"], "but they are abandoned")
    await store.claim("d", "three", now=late, lease=LEASE)
    for each in (talk, other):
        gone = each.prepare(*each.entries("late"))
        await expect_raises(Fenced, store.commit(gone), "a commit of an expelled owner")


async def a_renewal_and_a_takeover_exclude_each_other(store: Store) -> None:
    """Either the node keeps its lease, or it is expelled; never both or neither."""
    for number in range(10):
        name, owner = f"c{number}", f"owner {number}"
        await begin(store, name, owner=owner)
        await store.join(a_node(owner), now=NOW, lease=LEASE)
        late = NOW + LEASE
        taken, renewed = await asyncio.gather(
            store.claim(name, "thief", now=late, lease=LEASE),
            store.renew_node(owner, now=late, lease=LEASE),
            return_exceptions=True,
        )
        expect(
            isinstance(taken, Owned) is (renewed is True),
            "a claim succeeds exactly if the renewal of the former owner fails",
        )


async def many_takeovers_from_one_dead_node_succeed(store: Store) -> None:
    names = [f"c{number}" for number in range(8)]
    for name in names:
        await begin(store, name)
    await store.join(a_node("one"), now=NOW, lease=LEASE)
    taken = await asyncio.gather(
        *(store.claim(name, f"for {name}", now=NOW + LEASE, lease=LEASE) for name in names)
    )
    expect([claim.fence for claim in taken] == [2] * 8, "each conversation is taken over once")
    expect(await store.nodes() == [], "the dead node is expelled")


async def abandoned_conversations_are_returned_in_pages(store: Store) -> None:
    for number in range(5):
        await begin(store, f"c{number}", owner=f"owner {number % 2}")
    await store.create(NewConversation("other", "another agent", at()))
    await store.claim("other", "owner 1", now=NOW, lease=LEASE)
    late = NOW + LEASE
    expect(
        await store.abandoned(now=late, limit=2) == ["c0", "c1"], "a page has at most `limit` ids"
    )
    expect(
        await store.abandoned(now=late, after="c1", limit=2) == ["c2", "c3"],
        "the next page begins after the last id",
    )
    expect(
        await store.abandoned(now=late, after="c3", except_agents=["another agent"]) == ["c4"],
        "conversations with `except_agents` are left out",
    )
    await store.join(a_node("owner 1"), now=late, lease=LEASE)
    expect(
        await store.abandoned(now=late) == ["c0", "c2", "c4"], "those of a live node are left out"
    )


def due(request_id: str, seconds: int | None) -> OpenRequest:
    """Returns a request with a deadline this many seconds after the time of the samples."""
    deadline = None if seconds is None else at(seconds)
    return structs.replace(a_request(), request_id=request_id, deadline_at=deadline)


async def ask(talk: Writing, *requests: OpenRequest) -> None:
    """Opens requests."""
    state = structs.replace(talk.state, requests=[*talk.state.requests, *requests])
    opened = [OpenRequestRow(request) for request in requests]
    await talk.commit(talk.prepare(*opened, state=state))


async def overdue_requests_are_found_by_any_node(store: Store) -> None:
    talk, held = await begin(store), await begin(store, "held")
    await ask(talk, due("q1", 10), due("q2", 20), due("without", None))
    await ask(held, due("q1", 10))
    await store.release(talk.claim)
    demo = ["demo"]

    async def found(seconds: int, **how: int | str) -> list[tuple[str, str]]:
        now = NOW + seconds * 1000
        return await store.overdue(now=now, agents=demo, **how)  # type: ignore[arg-type]

    await store.join(a_node("one"), now=NOW, lease=100_000)
    expect(await found(9) == [], "a deadline that has not passed is not overdue")
    expect(await found(10) == [("c", "q1")], "a deadline that has passed is overdue")
    both = [("c", "q1"), ("c", "q2")]
    expect(await found(20) == both, "a conversation that a live node holds is left out")
    expect(await found(20, limit=1) == both[:1], "a page has at most `limit` requests")
    expect(
        await found(100) == [*both, ("held", "q1")],
        "a conversation of a dead owner is found, too",
    )
    expect(await found(100, after="c") == [("held", "q1")], "the next page is found")
    expect(
        await store.overdue(now=NOW + 20_000, agents=["another agent"]) == [],
        "only conversations with these agents are found",
    )
    await store.change("c", archived=True)
    expect(await found(20) == [], "an archived conversation has no overdue requests")
    await store.change("c", archived=False)
    await store.deadlines_done([("c", "q1"), ("unknown", "q")])
    expect(await found(20) == both[1:], "a deadline that is done is not found again")
    claim = await store.claim("c", "one", now=NOW, lease=0)
    talk = Writing(store, claim, talk.state)
    await talk.commit(talk.prepare(EndRequest("q2", "expired", "deadline")))
    await store.release(claim)
    expect(await found(20) == [], "a request that has ended is not overdue")


NODE_CHECKS = [
    a_node_joins_renews_and_leaves,
    a_node_holds_all_conversations_of_its_owner,
    the_first_lease_of_a_claim_counts_without_a_node,
    a_takeover_expels_the_node_of_the_old_owner,
    a_renewal_and_a_takeover_exclude_each_other,
    many_takeovers_from_one_dead_node_succeed,
    abandoned_conversations_are_returned_in_pages,
    overdue_requests_are_found_by_any_node,
]
