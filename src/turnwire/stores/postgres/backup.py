"""Backup: copies the database into one SQLite file, while it is in use."""

from __future__ import annotations

import asyncio
from pathlib import Path

from turnwire.stores.copying import copy_store
from turnwire.stores.postgres.tables import PostgresTables
from turnwire.stores.sqlite.tables import SqliteTables

__all__ = ["back_up"]


async def back_up(url: str, path: str) -> str:
    """Copies the log as it is now, and returns the new epoch of the copy.

    The copy gets its final name only when it is complete and compared.
    """
    target = Path(path)
    unfinished = await asyncio.to_thread(_begin, target)
    source = await PostgresTables.open(url, writes=False)
    try:
        copy = await SqliteTables.open(str(unfinished), writes=True)
        try:
            copied = await copy_store(source, copy)
        finally:
            await copy.close()
        await asyncio.to_thread(unfinished.rename, target)
    finally:
        await source.close()
        await asyncio.to_thread(_remove, unfinished)
    return copied.epoch


def _begin(target: Path) -> Path:
    if target.exists():
        raise FileExistsError(f"{target} already exists")
    unfinished = target.with_name(target.name + ".unfinished")
    _remove(unfinished)
    return unfinished


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
