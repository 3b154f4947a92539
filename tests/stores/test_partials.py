"""Partials in SQLite: damaged rows, and those of a backup."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.stores.helpers.sql import rows_of
from turnwire.core.partials import Partial
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import begin


def test_the_beginning_of_a_block_with_a_missing_piece_is_found(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "log.db")
        talk = await begin(store)
        for start, text in ((0, "Once "), (5, "upon "), (10, "a time")):
            await store.save_partials(talk.claim, [Partial("m", 0, "text", text, start)])
        await store.save_partials(talk.claim, [Partial("n", 0, "text", "other", 0, 1)])
        rows_of(tmp_path / "log.db", "DELETE FROM partials WHERE start = 5")
        assert [each.text for each in await store.partials("c")] == ["Once ", "other"]
        await store.close()

    asyncio.run(run())


def test_a_backup_has_the_saved_partials(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "log.db")
        talk = await begin(store)
        partial = Partial("m", 0, "text", "Once ")
        await store.save_partials(talk.claim, [partial])
        await store.backup(str(tmp_path / "copy.db"))
        await store.close()
        copy = await SqliteStore.open(tmp_path / "copy.db")
        assert await copy.partials("c") == [partial]
        await copy.close()

    asyncio.run(run())
