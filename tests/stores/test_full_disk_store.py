"""A store on a full or broken disk writes no partial commit, and goes on when space is free."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.stores.helpers.file_size_limit import no_file_may_grow_beyond
from tests.stores.helpers.sql import rows_of
from turnwire.ports import StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import begin

LONG = "word " * 20_000


def test_a_full_file_refuses_a_commit_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def run() -> None:
        store = await SqliteStore.open(path, max_bytes=2_000_000)
        old, talk = await begin(store, "old"), await begin(store)
        await old.say(*[LONG] * 6)

        async def fill() -> None:
            while True:
                await talk.say(LONG)

        with pytest.raises(StorageUnavailable) as full:
            await fill()
        said = talk.state.head
        assert full.value.retryable
        assert said > 3
        row = await store.conversation("c")
        assert row is not None
        assert row.head == row.state.head == said == len(await store.entries("c"))
        await store.delete("old")
        await talk.say(LONG)
        assert len(await store.entries("c")) == said + 1
        await store.close()

    asyncio.run(run())
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_commit_that_does_not_fit_does_not_fail_others(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "log.db", max_bytes=1_000_000)
        talks = [await begin(store, name) for name in "abc"]
        sizes = ["x", "y " * 1_000_000, "z"]
        asked = [talk.say(text) for talk, text in zip(talks, sizes, strict=True)]
        one, large, other = await asyncio.gather(*asked, return_exceptions=True)
        assert (one, other) == (None, None)
        assert isinstance(large, StorageUnavailable)
        assert [len(await store.entries(name)) for name in "abc"] == [1, 0, 1]
        await store.close()

    asyncio.run(run())


def test_an_error_of_the_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def run() -> None:
        store = await SqliteStore.open(path)
        talk = await begin(store)
        await talk.say("before")
        size = (tmp_path / "log.db-wal").stat().st_size
        with no_file_may_grow_beyond(size + 10_000):
            for _ in range(3):
                with pytest.raises(StorageUnavailable):
                    await talk.say(LONG)
            assert len(await store.entries("c")) == 1
            assert [hit.sequence for hit in await store.search("word")] == []
        await talk.say(LONG)
        assert len(await store.entries("c")) == 2
        await store.close()

    asyncio.run(run())
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]


def test_looking_whether_it_can_be_written_makes_the_file_no_larger(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def run() -> None:
        store = await SqliteStore.open(path)
        await (await begin(store)).say("hello")
        await store.check_writable()
        [(pages,)] = rows_of(path, "PRAGMA page_count")
        for _ in range(1500):
            await store.check_writable()
        assert rows_of(path, "PRAGMA page_count") == [(pages,)]
        log = (tmp_path / "log.db-wal").stat().st_size
        assert log < 1500 * 4096  # it is begun again now and then
        await store.close()

    asyncio.run(run())
