"""Fixtures: one server for a run of tests, and an empty, migrated database for each test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pytest

from tests.stores.postgres.server import Server, TestServer
from turnwire.stores.address import Address
from turnwire.stores.opening import Opening
from turnwire.stores.postgres import PostgresStore, migrate
from turnwire.stores.sqlite import SqliteStore

__all__ = [
    "drops_databases",
    "empty_database",
    "on_postgres",
    "postgres",
    "postgres_server",
    "postgres_template",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "store_environ",
]

VARIABLE = "TURNWIRE_TEST_POSTGRES"  # the address of a server of one's own


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A server for all tests of this process; each worker has its own."""
    address = os.environ.get(VARIABLE)
    server = Server(_without_password(address)) if address else TestServer()
    try:
        if isinstance(server, TestServer):
            asyncio.run(server.add_role())
        yield server
    finally:
        server.stop()


def _without_password(address: str) -> str:
    """Moves the password of an address into the environment: commands refuse it in `--store`."""
    parts = urlsplit(address)
    if parts.password is None:
        return address
    os.environ["PGPASSWORD"] = unquote(parts.password)
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{host}"))


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Server) -> Iterator[str]:
    """The name of a database with all tables, to be copied."""
    name = asyncio.run(postgres_server.create())
    asyncio.run(migrate(Address(postgres_server.store_address(name))))
    yield name
    asyncio.run(postgres_server.drop(name))


@pytest.fixture
def postgres(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """The address of an empty database with all tables, for one test."""
    name = asyncio.run(postgres_server.create(postgres_template))
    yield postgres_server.store_address(name)
    asyncio.run(postgres_server.drop(name))


@pytest.fixture
def empty_database(postgres_server: Server) -> Iterator[str]:
    """The address of a database without tables, for one test."""
    name = asyncio.run(postgres_server.create())
    yield postgres_server.store_address(name)
    asyncio.run(postgres_server.drop(name))


# --- other tests, on PostgreSQL -------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store",
        choices=["sqlite", "postgres"],
        default="sqlite",
        help="postgres: every file that a test opens as a store is a database instead",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--store postgres`, leaves out the tests with the mark `needs_sqlite`."""
    if config.getoption("--store") != "postgres":
        return
    left_out = [each for each in items if each.get_closest_marker("needs_sqlite")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [each for each in items if each not in left_out]


class _Databases:
    """The databases of tests that were written for files: one for each path that they open."""

    def __init__(self, server: Server, template: str) -> None:
        self._server = server
        self._template = template
        self.names: dict[str, str] = {}

    async def address_of(self, path: str | os.PathLike[str]) -> str:
        """Returns the address of the database of a path; creates it at the first call."""
        name = os.fspath(path)
        if name not in self.names:
            self.names[name] = await self._server.create(self._template)
        return self._server.store_address(self.names[name])

    async def drop_others(self, kept: Container[str] = ()) -> None:
        """Drops the databases of all paths but these."""
        for path in [path for path in self.names if path not in kept]:
            await self._server.drop(self.names.pop(path))


_databases: _Databases | None = None  # None: the tests run on SQLite


def store_environ(data_dir: Path) -> dict[str, str]:
    """Returns the variables with which another process uses the store of a data directory."""
    if _databases is None:
        return {}
    with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop
        wanted = _databases.address_of(data_dir / "turnwire.db")
        return {"TURNWIRE_STORE": thread.submit(asyncio.run, wanted).result()}


@pytest.fixture(scope="session", autouse=True)
def on_postgres(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--store postgres`, runs tests that were written for a file on a database."""
    global _databases
    if request.config.getoption("--store") != "postgres":
        yield
        return
    server: Server = request.getfixturevalue("postgres_server")
    databases = _Databases(server, request.getfixturevalue("postgres_template"))

    def open_database(path: str | os.PathLike[str], **options: Any) -> Opening[PostgresStore]:
        async def opened() -> PostgresStore:
            address = await databases.address_of(path)
            return await PostgresStore.open(address, uses_callers_time=True, writers=2, readers=2)

        return Opening(opened)

    _databases = databases
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SqliteStore, "open", open_database)
        yield
    _databases = None
    asyncio.run(databases.drop_others())


@pytest.fixture(autouse=True)
def drops_databases(on_postgres: None) -> Iterator[None]:
    """Drops the databases of a test, and keeps those of fixtures that several tests share."""
    kept = set(_databases.names) if _databases is not None else ()
    yield
    if _databases is not None:
        asyncio.run(_databases.drop_others(kept))
