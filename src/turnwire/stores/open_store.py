"""Opens a store by its address: a PostgreSQL database, or a SQLite file."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from turnwire.errors import TurnwireError
from turnwire.extras import how_to_install
from turnwire.stores.address import is_database
from turnwire.stores.opening import Opening

__all__ = ["need_postgres", "open_store"]


def open_store(address: str | os.PathLike[str], **options: Any) -> Opening[Any]:
    """Opens `postgresql://user@host/database`, or the SQLite file at a path.

    The options are those of `PostgresStore.open` and `SqliteStore.open`. Raises TurnwireError if
    the extra `postgres` is not installed, and BadAddress if the address cannot be read.
    """
    name = os.fspath(address)
    if is_database(name):
        need_postgres()
        from turnwire.stores.postgres import PostgresStore

        return PostgresStore.open(name, **options)
    from turnwire.stores.sqlite import SqliteStore

    return SqliteStore.open(name.removeprefix("sqlite://"), **options)


def need_postgres() -> None:
    """Raises TurnwireError, with the command to run, if the extra `postgres` is not installed."""
    if find_spec("asyncpg") is None:
        raise TurnwireError(
            "PostgreSQL needs asyncpg, which is not installed. Install it:"
            f" {how_to_install('postgres')}"
        )
