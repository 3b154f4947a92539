"""Fixtures: a sound log in a file or in a database, and a copy of it for each test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.helpers.sample_logs import make_log
from tests.stores.postgres.server import Server


@pytest.fixture(scope="session")
def sound_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in which all is well."""
    path = tmp_path_factory.mktemp("log") / "log.db"
    make_log(path)
    return path


@pytest.fixture(scope="session")
def sound_database(postgres_server: Server, postgres_template: str) -> Iterator[str]:
    """The name of a database in which all is well."""
    name = asyncio.run(postgres_server.create(postgres_template))
    make_log(postgres_server.store_address(name))
    yield name
    asyncio.run(postgres_server.drop(name))


@pytest.fixture
def path(sound_file: Path, tmp_path: Path) -> Path:
    """A copy of the sound file, to be damaged."""
    return Path(shutil.copy(sound_file, tmp_path / "log.db"))


@pytest.fixture
def database(sound_database: str, postgres_server: Server) -> Iterator[str]:
    """The address of a copy of the sound database, to be damaged."""
    name = asyncio.run(postgres_server.create(sound_database))
    address = postgres_server.store_address(name)
    # Otherwise the copy would be known as one, and begin a new epoch.
    asyncio.run(postgres_server.run_in(address, "DELETE FROM meta WHERE name = 'origin'"))
    yield address
    asyncio.run(postgres_server.drop(name))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Path | str:
    """A copy of the sound log, to be damaged: the path of a file, or the address of a database."""
    found: Path | str = request.getfixturevalue("path" if request.param == "sqlite" else "database")
    return found
