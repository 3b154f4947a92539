"""The followers of a conversation are visible to all processes of its store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from tests.engine.helpers.watcher import PATIENCE, engine_on, talk_with
from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.engine.fanout.presence import Connections
from turnwire.ports import Connection, Store
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock
from turnwire.testing.store_samples import NOW, begin


async def until(store: Store, holds: Callable[[list[Connection]], bool]) -> list[Connection]:
    async with asyncio.timeout(PATIENCE):
        while not holds(rows := await store.connections()):
            await asyncio.to_thread(int)
    return rows


async def read(talk: Talk, until: type[f.Frame], client_id: str, user: str) -> None:
    """Follow up to a frame, and stay."""
    async with aclosing(talk.follow(client_id=client_id, user=user)) as frames:
        async for frame in frames:
            if isinstance(frame, until):
                await asyncio.Event().wait()


def test_followers_are_listed_with_their_cursor_until_they_leave(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            talk = await talk_with(engine)
            came = iso(clock.now())
            follower = asyncio.create_task(read(talk, f.AssistantComplete, "page", "ann"))
            await talk.send("hello")
            async with asyncio.timeout(PATIENCE):
                while (await talk.status()).running:
                    await asyncio.to_thread(int)
            clock.forward(1)
            [row] = await until(engine.store, bool)
            assert (row.conversation_id, row.client_id, row.user) == (talk.id, "page", "ann")
            assert (row.opened_at, row.seen_at) == (came, iso(clock.now()))
            assert (row.owner, row.protocol) == (engine.owner, "v2")
            head = (await engine.open(talk.id)).row.head
            while row.last_sequence < head:
                clock.forward(engine.settings.lease / 3)
                [row] = await until(engine.store, lambda rows: rows[0].seen_at == iso(clock.now()))
            assert row.last_sequence == head
            follower.cancel()
            await asyncio.wait([follower])
            clock.forward(1)
            await until(engine.store, lambda rows: not rows)

    asyncio.run(scene())


def test_followers_of_a_stopped_server_are_not_listed(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, clock=clock) as engine:
            talk = await talk_with(engine)
            follower = asyncio.create_task(read(talk, f.SessionState, "page", "ann"))
            while not engine._connections._open:
                await asyncio.to_thread(int)
            clock.forward(1)
            await until(engine.store, bool)
        follower.cancel()
        await asyncio.wait([follower])
        store = await SqliteStore.open(path)
        assert await store.connections() == []
        await store.close()

    asyncio.run(scene())


def test_followers_of_a_dead_server_are_removed_when_another_one_starts(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path)
        await begin(store)
        await store.release(await store.claim("c", "one", now=NOW, lease=0))
        dead = Connection("dead", "c", "killed", "page", iso(NOW), iso(NOW))
        alive = Connection("alive", "c", "other", "page", iso(NOW), iso(NOW + 60_000))
        await store.connected([dead, alive])
        await store.close()
        async with engine_on(path, clock=ManualClock(NOW + 61_000)) as engine:
            assert await until(engine.store, lambda rows: len(rows) == 1) == [alive]

    asyncio.run(scene())


def test_many_followers_in_a_row_do_not_delay_the_listing_of_the_first(path: Path) -> None:
    async def scene() -> None:
        store, clock = await SqliteStore.open(path), ManualClock(NOW)
        await begin(store, "talk")
        connections = Connections(store, clock, "here", 10_000, asyncio.create_task)
        for number in range(4):
            connections.open(f"c-{number}", "talk", "page", None, lambda: 0)
            clock.forward(0.4)
        assert await until(store, bool)
        await connections.stop()
        await store.close()

    asyncio.run(scene())
