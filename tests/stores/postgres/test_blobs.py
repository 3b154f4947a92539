"""A blob is deleted with the last conversation that uses it, and not before."""

from __future__ import annotations

import asyncio

from turnwire.core.conversation.effects import AddEntry
from turnwire.ports import Commit
from turnwire.stores.address import Address
from turnwire.stores.postgres import PostgresStore
from turnwire.stores.postgres.connection import DatabaseConnection, connect
from turnwire.testing.store_samples import TRACE, Writing, a_large_message, at, begin


def use(talk: Writing) -> Commit:
    """Returns a commit with an entry that refers to the blob."""
    return talk.prepare(AddEntry(talk.state.head + 1, a_large_message("b-1"), 1, TRACE))


async def until_one_waits(db: DatabaseConnection) -> None:
    """Waits until a statement of this database waits for a lock."""
    waits = (
        "SELECT EXISTS (SELECT 1 FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock')"
    )
    while not await db.fetchval(waits):
        pass  # each look gives the event loop to the others


async def test_a_blob_that_a_commit_begins_to_use_outlives_the_conversation_it_came_from(
    postgres: str,
) -> None:
    async with (
        PostgresStore.open(postgres, uses_callers_time=True) as one,
        PostgresStore.open(postgres, uses_callers_time=True) as two,
    ):
        await one.put_blob("b-1", b"x", "image/png", at=at(), user="ann")
        old, new = await begin(one, "old", user="ann"), await begin(two, "new", user="ann")
        await old.commit(use(old))
        # A transaction of another program holds the row of `new`, after the commit has read it.
        other = await connect(Address(postgres), {})
        holding = other.transaction()
        await holding.start()
        await other.execute(
            "INSERT INTO blob_uses (conversation_id, blob_id) VALUES ('new', 'b-1')"
        )
        committing = asyncio.create_task(new.commit(use(new)))
        await until_one_waits(other)
        deleting = asyncio.create_task(one.delete("old"))
        await until_deleting_waits(other, deleting)
        await holding.rollback()
        await other.close()
        await asyncio.gather(committing, deleting)
        assert await one.get_blob("b-1") == (b"x", "image/png")
        await one.delete("new")
        assert await one.get_blob("b-1") is None
        assert (await one.stored("ann")).bytes == 0


async def until_deleting_waits(db: DatabaseConnection, deleting: asyncio.Task[None]) -> None:
    """Waits until the deletion waits as well, or has ended."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while not deleting.done() and await db.fetchval(waiting) < 2:
        pass


async def test_of_two_conversations_that_are_deleted_at_once_the_last_one_takes_the_blob_along(
    postgres: str,
) -> None:
    async with (
        PostgresStore.open(postgres, uses_callers_time=True) as one,
        PostgresStore.open(postgres, uses_callers_time=True) as two,
    ):
        for number in range(10):
            await one.put_blob("b-1", b"x", "image/png", at=at(), user="ann")
            talks = [
                await begin(store, f"{number} {place}", user="ann")
                for place, store in enumerate((one, two))
            ]
            for talk in talks:
                await talk.commit(use(talk))
            await asyncio.gather(*(talk.store.delete(talk.id) for talk in talks))
            assert await one.get_blob("b-1") is None
        assert (await one.stored("ann")).bytes == 0
