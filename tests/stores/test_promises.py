"""Every store keeps every promise of the port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from turnwire.ports import Store
from turnwire.stores.postgres import PostgresStore
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing import STORE_CHECKS
from turnwire.testing.check_store import StoreCheck
from turnwire.testing.store_checks.backup import a_backup_is_a_log_of_its_own

MakeStore: TypeAlias = Callable[[], Awaitable[Store]]


@pytest.fixture(params=["sqlite", "postgres"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    if request.param == "sqlite":

        async def sqlite() -> Store:
            return await SqliteStore.open(tmp_path / "log.db")

        return sqlite
    address: str = request.getfixturevalue("postgres")

    async def postgres() -> Store:
        return await PostgresStore.open(address, uses_callers_time=True)

    return postgres


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
async def test_a_store_passes_the_check(check: StoreCheck, make_store: MakeStore) -> None:
    store = await make_store()
    try:
        await check(store)
    finally:
        await store.close()


async def test_a_backup_is_a_log_of_its_own(make_store: MakeStore) -> None:
    store = await make_store()
    try:
        await a_backup_is_a_log_of_its_own(store, SqliteStore.open)
    finally:
        await store.close()
