"""fsck of a SQLite file: see `turnwire.stores.fsck`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from turnwire.ports import StorageUnavailable
from turnwire.stores.fsck.database import BACKUP
from turnwire.stores.fsck.finding import Finding
from turnwire.stores.fsck.run import Check, Report
from turnwire.stores.sqlite.connection import close_quietly, connect
from turnwire.stores.sqlite.fsck.database import SqliteDatabase

__all__ = ["check"]

T = TypeVar("T")

_BUSY = 5000  # how long a repair waits for other writers, in milliseconds
# Errors of a file that exists but cannot be read.
_BROKEN = ("CorruptError", "IOError", "NotADBError")


def check(
    path: Path,
    *,
    now: int,
    repair: bool = False,
    has_died: Callable[[str], bool] = lambda owner: False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Checks everything in the file. Other processes may use the file meanwhile.

    A conversation with a live owner is checked, but never repaired.

    - `has_died`: returns whether the process of an owner has surely died; its lease then no longer
      counts.
    - `progress`: called with the number of checked entries, and of all.
    """
    if not path.exists():
        raise StorageUnavailable(f"The file {path} does not exist.")
    try:
        db = connect(str(path), busy_ms=_BUSY, writes=repair)
    except StorageUnavailable as failure:
        if failure.data.get("cause") not in _BROKEN:
            raise
        unreadable = Finding("file_damaged", failure.message, left=BACKUP if repair else None)
        return Report(0, 0, [unreadable])
    try:
        database = SqliteDatabase(db, now)
        run = Check(database, now=now, repair=repair, has_died=has_died, progress=progress)
        return _result(run.run())
    finally:
        close_quietly(db)


def _result(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits: SQLite answers in the same thread."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("fsck of a file has waited for an event loop")
