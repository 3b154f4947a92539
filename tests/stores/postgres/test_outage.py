"""While the database is away, calls wait once for it, and not one after the other."""

from __future__ import annotations

import asyncio

import pytest

from tests.stores.postgres.faults import Proxy, until_writable
from turnwire.ports import StorageUnavailable
from turnwire.stores.postgres import PostgresStore
from turnwire.testing.store_samples import begin

LONG = 600.0  # seconds: no test waits for it
AT_ONCE = 60.0  # seconds, for the sake of a busy machine


async def test_a_check_of_the_store_does_not_wait_for_a_database_that_is_away(
    postgres: str,
) -> None:
    async with Proxy(postgres) as proxy:
        store = await PostgresStore.open(proxy.address, patience=LONG)
        await store.check_writable()
        proxy.go_away()
        for _ in range(3):
            async with asyncio.timeout(AT_ONCE):
                with pytest.raises(StorageUnavailable, match="cannot be used"):
                    await store.check_writable()
        proxy.come_back()
        await until_writable(store)
        await store.close()


async def test_a_check_of_the_store_does_not_wait_for_a_silent_database(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONNECT", "ANSWER"):  # longer than the check may take
        monkeypatch.setattr(f"turnwire.stores.postgres.connection.{name}_SECONDS", 2.5)
    async with Proxy(postgres) as proxy:
        store = await PostgresStore.open(proxy.address, patience=LONG)
        await store.check_writable()
        proxy.fall_silent("request", "answer", also_new=True)
        async with asyncio.timeout(AT_ONCE):
            with pytest.raises(StorageUnavailable, match="not answered within 2 seconds"):
                await store.check_writable()
        proxy.speak_again()
        await until_writable(store)
        await store.close()


async def test_calls_of_a_long_outage_are_refused_at_once(postgres: str) -> None:
    patience = 2.0
    async with Proxy(postgres) as proxy:
        store = await PostgresStore.open(proxy.address, patience=patience)
        await begin(store, "c")
        proxy.go_away()
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(StorageUnavailable):
            await store.change("c", archived=True)
        assert loop.time() - began > patience / 2, "an outage may be short: a call waits"
        began = loop.time()
        for number in range(20):
            with pytest.raises(StorageUnavailable):
                await store.change(f"c{number}", archived=True)  # in another lane
            with pytest.raises(StorageUnavailable):
                await store.conversation("c")
        assert loop.time() - began < 20 * patience
        proxy.come_back()
        await until_writable(store)
        await store.change("c", archived=True)
        assert await store.conversation("c")
        await store.close()
