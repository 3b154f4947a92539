"""Check of a store for backups."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from turnwire.ports import NodeRow, Store
from turnwire.testing.expect import Broken, expect
from turnwire.testing.store_samples import LEASE, NOW, Writing, begin

__all__ = ["a_backup_is_a_log_of_its_own"]


async def a_backup_is_a_log_of_its_own(
    store: Store, open_copy: Callable[[str], Awaitable[Store]]
) -> None:
    """Checks a backup. Not in STORE_CHECKS, because it needs a function that opens the copy."""
    talk = await begin(store)
    await talk.say("before")
    await store.join(NodeRow("one", "a node", "inbox"), now=NOW, lease=LEASE)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "copy")

        async def speak() -> None:
            for number in range(20):
                await talk.say(f"meanwhile {number}")

        epoch, _ = await asyncio.gather(store.backup(path), speak())
        expect(epoch != store.epoch, "a backup has its own epoch")
        copy = await open_copy(path)
        try:
            expect(copy.epoch == epoch, "`backup` returns the epoch of the copy")
            row = await copy.conversation("c")
            stored = await copy.entries("c")
            if row is None:
                raise Broken("the backup does not have the committed conversation")
            expect(row.head == len(stored) >= 1, "a backup contains only complete commits")
            expect(
                stored == (await store.entries("c"))[: len(stored)],
                "the entries of a backup equal those of the store",
            )
            expect(await copy.nodes() == [], "a backup has no nodes")
            claim = await copy.claim("c", "two", now=NOW, lease=LEASE)  # a copy has no owners
            await Writing(copy, claim, row.state).say("in the copy")
            expect(
                len(await store.entries("c")) == 21,
                "writing to the backup does not change the store",
            )
        finally:
            await copy.close()
