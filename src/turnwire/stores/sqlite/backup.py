"""Backup: copies the file while it is in use."""

from __future__ import annotations

from pathlib import Path

import apsw

from turnwire.stores.sqlite.erasing import erase_words
from turnwire.stores.sqlite.schema import new_epoch, transaction

__all__ = ["copy_to", "disown"]

_JUMP = 1 << 32  # more claims than the original will ever have


def copy_to(source: apsw.Connection, path: str) -> str:
    """Copies the whole log as of now, and returns the new epoch of the copy.

    The copy gets its final name only when it is complete. Writers do not wait for the backup.
    """
    target = Path(path)
    if target.exists():
        raise FileExistsError(f"{path} already exists")
    unfinished = target.with_name(target.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        epoch = _copy(source, unfinished)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return epoch


def disown(connection: apsw.Connection) -> None:
    """Removes all owners from a copy, and voids all claims of the original by higher fences."""
    connection.execute(
        "UPDATE conversations SET owner = NULL, lease_until = 0, fence = fence + ?", (_JUMP,)
    )
    connection.execute("DELETE FROM connection_sessions")
    connection.execute("DELETE FROM nodes")


def _copy(source: apsw.Connection, path: Path) -> str:
    path.touch(mode=0o600)
    epoch = new_epoch()
    # One read transaction sees one state of the log. Only rows are copied, not freed pages, so
    # nothing that was deleted or overwritten gets into the copy.
    source.pragma("query_only", False)  # VACUUM INTO fails on a read-only connection
    try:
        source.execute("VACUUM INTO ?", (str(path),))
    finally:
        source.pragma("query_only", True)
    copy = apsw.Connection(str(path))
    try:
        # The copy is a single file, without a write-ahead log.
        copy.pragma("journal_mode", "delete")
        copy.pragma("secure_delete", True)
        with transaction(copy):  # the end of the transaction also syncs the copy to the disk
            copy.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (epoch,))
            copy.execute("DELETE FROM meta WHERE name = 'shared_secret'")
            disown(copy)
            erase_words(copy)
    finally:
        copy.close()
    return epoch
