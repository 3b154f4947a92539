"""A copy of the file while it is in use."""

from __future__ import annotations

from pathlib import Path

import apsw

from turnwire.stores.sqlite.erasing import erase_words
from turnwire.stores.sqlite.schema import new_epoch, transaction

__all__ = ["copy_to", "disown"]

_JUMP = 1 << 32  # more claims than the original will see


def copy_to(source: apsw.Connection, path: str) -> str:
    """Copy everything as it is now, and return the copy's own epoch.

    The copy gets its name only when it is whole. Writers do not wait for it.
    """
    target = Path(path)
    if target.exists():
        raise FileExistsError(f"{path} is there already")
    unfinished = target.with_name(target.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        epoch = _copy(source, unfinished)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return epoch


def disown(connection: apsw.Connection) -> None:
    """Nobody owns the conversations of a copy, and no claim on the original holds in it."""
    connection.execute(
        "UPDATE conversations SET owner = NULL, lease_until = 0, fence = fence + ?", (_JUMP,)
    )
    connection.execute("DELETE FROM connection_sessions")


def _copy(source: apsw.Connection, path: Path) -> str:
    path.touch(mode=0o600)
    epoch = new_epoch()
    # One read transaction: it sees one state of the log. Only rows are copied, not freed pages, so
    # nothing that was deleted or overwritten gets into the copy.
    source.pragma("query_only", False)  # SQLite refuses it otherwise
    try:
        source.execute("VACUUM INTO ?", (str(path),))
    finally:
        source.pragma("query_only", True)
    copy = apsw.Connection(str(path))
    try:
        copy.pragma("journal_mode", "delete")  # one file, with nothing beside it
        copy.pragma("secure_delete", True)
        with transaction(copy):  # its end also writes the whole copy to the disk
            copy.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (epoch,))
            disown(copy)
            erase_words(copy)
    finally:
        copy.close()
    return epoch
