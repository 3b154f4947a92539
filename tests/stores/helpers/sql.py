"""Runs a statement on a store's file or database from outside."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import apsw
import asyncpg

__all__ = ["rows_of"]


def rows_of(place: Path | str, statement: str, *values: Any) -> list[Any]:
    """Runs one statement on a file, or on the database of an address. Arguments are $1, $2, ..."""
    if isinstance(place, str):
        return asyncio.run(_rows_of_database(place, statement, values))
    connection = apsw.Connection(str(place))
    try:
        return list(connection.execute(re.sub(r"\$(\d+)", r"?\1", statement), values))
    finally:
        connection.close()


async def _rows_of_database(address: str, statement: str, values: tuple[Any, ...]) -> list[Any]:
    connection = await asyncpg.connect(address)
    try:
        return [tuple(row) for row in await connection.fetch(statement, *values)]
    finally:
        await connection.close()
