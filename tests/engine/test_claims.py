"""Claims: which owner may take a conversation, and when."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.helpers.owner_names import name_from_before, owner_with, pid_that_has_ended
from turnwire.engine.ownership.claims import Claims
from turnwire.engine.ownership.node import Node
from turnwire.engine.ownership.owners import owner_name
from turnwire.ports import Claim, NewConversation, NodeRow, Owned, StorageUnavailable, Store
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

AT = "2026-01-01T12:00:00.000Z"
LEASE = 10_000
FOREIGN = "elsewhere:1:a"
BESIDE = owner_with(os.getppid())  # a process of this machine that lives
IN_CONTAINER = owner_with(1, namespace="1")  # may live or not


class Unavailable(SqliteStore):
    """A store that has lost its disk when a claim is released."""

    async def release(self, claim: Claim) -> None:
        raise StorageUnavailable("The disk has gone.")


def node_on(store: Store, clock: ManualClock) -> Node:
    return Node(store, clock, LEASE, name=None, inbox="me", agents=list, load=dict)


async def hold(store: SqliteStore, owner: str, clock: ManualClock) -> Claim:
    """Another node claims the conversation, and holds it for a lease."""
    await store.join(NodeRow(owner, "another", "inbox"), now=clock.now(), lease=LEASE)
    return await store.claim("talk", owner, now=clock.now(), lease=0)


def with_claims(
    path: Path,
    test: Callable[[SqliteStore, Claims, ManualClock], Awaitable[None]],
    kind: type[SqliteStore] = SqliteStore,
) -> None:
    async def run() -> None:
        store = await kind.open(path)
        clock = ManualClock()
        try:
            for name in ("talk", "other"):
                await store.create(NewConversation(name, "demo", AT))
            await test(store, Claims(store, clock, node_on(store, clock)), clock)
        finally:
            await store.close()

    asyncio.run(run())


async def until_of(store: SqliteStore, name: str = "talk") -> tuple[str | None, int]:
    row = await store.conversation(name)
    assert row is not None
    return row.owner, row.lease_until


def test_a_free_conversation_is_taken_for_the_lease(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        claim = await claims.take("talk")
        assert claim.conversation_id == "talk"
        assert await until_of(store) == (owner_name("me"), clock.now() + LEASE)

    with_claims(path, test)


@pytest.mark.parametrize(
    "owner",
    [FOREIGN, name_from_before(pid_that_has_ended())],
    ids=["foreign", "from before"],
)
def test_an_owner_that_cannot_be_looked_up_keeps_it_until_the_very_end_of_its_lease(
    path: Path, owner: str
) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await hold(store, owner, clock)
        clock.forward(LEASE / 1000 - 0.001)
        with pytest.raises(Owned):
            await claims.take("talk")
        clock.forward(0.001)
        assert (await claims.take("talk")).fence == 2

    with_claims(path, test)


def test_a_dead_owner_of_this_machine_is_released_first_and_costs_no_wait(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        old = await hold(store, owner_with(pid_that_has_ended()), clock)
        claim = await claims.take("talk")
        assert claim.fence > old.fence
        assert await until_of(store) == (owner_name("me"), clock.now() + LEASE)

    with_claims(path, test)


@pytest.mark.parametrize(
    "owner",
    [BESIDE, IN_CONTAINER],
    ids=["beside", "in a container"],
)
def test_an_owner_on_this_machine_has_half_a_lease_to_renew(path: Path, owner: str) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await hold(store, owner, clock)
        clock.forward(LEASE / 1000)
        for _ in range(2):
            with pytest.raises(Owned) as refused:
                await claims.take("talk")
            assert refused.value.data["owner"] == owner
            assert refused.value.data["lease_until"] == clock.now()
        clock.forward(LEASE / 2000 - 0.001)
        clock_before = clock.now()
        with pytest.raises(Owned):
            await claims.take("talk")
        clock.forward(0.001)
        await claims.take("talk")
        assert await until_of(store) == (owner_name("me"), clock_before + 1 + LEASE)

    with_claims(path, test)


def test_an_owner_that_renews_keeps_its_claim_and_is_watched_again(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await hold(store, BESIDE, clock)
        clock.forward(LEASE / 1000)
        with pytest.raises(Owned):
            await claims.take("talk")
        assert await store.renew_node(BESIDE, now=clock.now(), lease=LEASE)
        clock.forward(LEASE / 1000)  # the first watch is over, but it was for another lease
        with pytest.raises(Owned):
            await claims.take("talk")

    with_claims(path, test)


def test_a_watch_ends_with_its_lease(path: Path) -> None:
    """An owner that was watched once, and then owns the conversation again, has its time again."""

    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        for _ in range(2):
            until = clock.now() + LEASE
            theirs = await hold(store, BESIDE, clock)
            clock.forward(LEASE / 1000)
            with pytest.raises(Owned) as refused:
                await claims.take("talk")
            assert refused.value.data["lease_until"] == until
            clock.forward(LEASE / 2000)
            ours = await claims.take("talk")
            assert ours.fence > theirs.fence
            await claims.release(ours)
            clock.jump((until - LEASE - clock.now()) / 1000)

    with_claims(path, test)


def test_other_conversations_of_an_expelled_node_are_not_waited_for(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await hold(store, BESIDE, clock)
        await store.claim("other", BESIDE, now=clock.now(), lease=0)
        clock.forward(LEASE / 1000)
        for name in ("talk", "other"):
            with pytest.raises(Owned):
                await claims.take(name)
        clock.forward(LEASE / 2000)
        assert (await claims.take("talk")).fence == 2
        assert await store.nodes() == [], "its node is expelled"
        assert (await claims.take("other")).fence == 2

    with_claims(path, test)


def test_an_owner_that_is_no_node_keeps_it_for_its_first_lease_only(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await store.claim("talk", BESIDE, now=clock.now(), lease=LEASE)
        with pytest.raises(Owned):
            await claims.take("talk")
        clock.forward(LEASE / 1000)
        assert (await claims.take("talk")).fence == 2

    with_claims(path, test)


def test_a_released_conversation_can_be_claimed_at_once(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await claims.release(await claims.take("talk"))
        assert (await until_of(store))[0] is None
        await store.claim("talk", FOREIGN, now=clock.now(), lease=LEASE)

    with_claims(path, test)


@pytest.mark.needs_sqlite(reason="has a store of its own")
def test_a_release_that_fails_harms_no_caller(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await claims.release(await claims.take("talk"))
        assert [*await store.owned(owner_name("me"))] == ["talk"], "it is given back later"

    with_claims(path, test, Unavailable)
