"""Claims: who may take a conversation, when, and what is left of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.owner_names import name_from_before, owner_with, pid_that_has_ended
from turnwire.engine.ownership.claims import Claims
from turnwire.engine.ownership.owners import owner_name
from turnwire.ports import Claim, NewConversation, Owned, StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

AT = "2026-01-01T12:00:00.000Z"
LEASE = 10_000
FOREIGN = "elsewhere:1:a"
BESIDE = owner_with(os.getppid())  # a process of this machine that lives
IN_CONTAINER = owner_with(1, namespace="1")  # may live or not


class Unavailable(SqliteStore):
    """A store that has lost its disk, for what claims ask of it."""

    async def renew(self, *_: object, **__: object) -> list[Claim]:
        raise StorageUnavailable("The disk has gone.")

    async def release(self, claim: Claim) -> None:
        raise StorageUnavailable("The disk has gone.")


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
            await test(store, Claims(store, clock, owner_name("me"), LEASE), clock)
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
        await store.claim("talk", owner, now=clock.now(), lease=LEASE)
        clock.forward(LEASE / 1000 - 0.001)
        with pytest.raises(Owned):
            await claims.take("talk")
        clock.forward(0.001)
        assert (await claims.take("talk")).fence == 2

    with_claims(path, test)


def test_a_dead_owner_of_this_machine_is_released_first_and_costs_no_wait(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        old = await store.claim(
            "talk", owner_with(pid_that_has_ended()), now=clock.now(), lease=LEASE
        )
        claim = await claims.take("talk")
        assert claim.fence > old.fence
        assert await until_of(store) == (owner_name("me"), clock.now() + LEASE)

    with_claims(path, test)


@pytest.mark.parametrize(
    "owner",
    [BESIDE, IN_CONTAINER, name_from_before(os.getppid())],
    ids=["beside", "in a container", "from before"],
)
def test_an_owner_of_this_machine_that_may_live_has_half_a_lease_to_show_itself(
    path: Path, owner: str
) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await store.claim("talk", owner, now=clock.now(), lease=LEASE)
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


def test_a_living_owner_that_renews_after_all_keeps_it_and_is_watched_anew(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        claim = await store.claim("talk", BESIDE, now=clock.now(), lease=LEASE)
        clock.forward(LEASE / 1000)
        with pytest.raises(Owned):
            await claims.take("talk")
        await store.renew([claim], now=clock.now(), lease=LEASE)
        clock.forward(LEASE / 1000)  # the first watch is over, but it was for another lease
        with pytest.raises(Owned):
            await claims.take("talk")

    with_claims(path, test)


def test_a_watch_ends_with_its_lease(path: Path) -> None:
    """An owner that was watched once, and then owns the conversation again, has its time again."""

    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        for _ in range(2):
            until = clock.now() + LEASE
            theirs = await store.claim("talk", BESIDE, now=clock.now(), lease=LEASE)
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


def test_only_claims_that_do_not_hold_any_more_are_lost(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        kept, gone = await claims.take("talk"), await claims.take("other")
        clock.forward(LEASE / 1000)
        await store.claim("other", FOREIGN, now=clock.now(), lease=LEASE)
        assert await claims.renew([kept, gone]) == {kept}
        assert await until_of(store) == (owner_name("me"), clock.now() + LEASE)

    with_claims(path, test)


def test_what_is_released_can_be_taken_at_once(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        await claims.release(await claims.take("talk"))
        assert (await until_of(store))[0] is None
        await store.claim("talk", FOREIGN, now=clock.now(), lease=LEASE)

    with_claims(path, test)


def test_a_store_without_its_disk_renews_nothing_and_is_left_alone(path: Path) -> None:
    async def test(store: SqliteStore, claims: Claims, clock: ManualClock) -> None:
        claim = await claims.take("talk")
        with pytest.raises(StorageUnavailable):
            await claims.renew([claim])
        await claims.release(claim)

    with_claims(path, test, Unavailable)
