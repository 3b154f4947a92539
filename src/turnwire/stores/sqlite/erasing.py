"""Erases deleted text from the search index, then from the write-ahead log.

`secure_delete` overwrites deleted rows and freed pages with zeros, except in these two places. The
search index only marks a deleted entry; its words stay until the segments are merged. The
write-ahead log keeps older versions of pages until it is truncated. Both are done after the delete
has returned, in short steps between other writes. The mark in `meta` is written with the delete, so
a process that opens the file after a crash continues the work.
"""

from __future__ import annotations

import secrets
import time

import apsw

from turnwire.stores.sqlite.schema import transaction

__all__ = ["Eraser", "erase_words", "mark_deleted"]

_MARK = "to_erase"
_PAGES = 64  # pages of the search index that one step merges: about 10 milliseconds
_INTERVAL = 0.05  # seconds between two steps, for other writes
_LONGEST_WAIT = 30.0  # maximum number of seconds between two retries
_TRUNCATE_MS = 100  # how long a checkpoint waits for readers; writers wait as long


def mark_deleted(db: apsw.Cursor) -> None:
    """Marks the file for erasure, in the transaction that deletes."""
    db.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        (_MARK, secrets.token_hex(8)),
    )


def erase_words(connection: apsw.Connection) -> None:
    """Rewrites the whole search index of a copy at once, if the copy is marked for erasure."""
    if _read_mark(connection) is not None:
        connection.execute("INSERT INTO search (search) VALUES ('optimize')")
        connection.execute("DELETE FROM meta WHERE name = ?", (_MARK,))


class Eraser:
    """The erasure that remains for one file. Used only by the writer thread."""

    def __init__(self) -> None:
        self.is_wanted = True  # the mark must be read: data may have been deleted
        # The mark that is being erased; None if there is nothing to erase.
        self._mark: str | None = None
        self._has_begun = self._has_merged = False
        self._due = 0.0  # when the next step may run, by the monotonic clock
        self._wait = _INTERVAL

    def look(self, connection: apsw.Connection) -> None:
        """Reads the mark again. After another delete, the erasure starts from the beginning."""
        self.is_wanted = False
        mark = _read_mark(connection)
        if mark != self._mark:
            self._mark = mark
            self._has_begun = self._has_merged = False
            self._go_on()

    @property
    def pause(self) -> float | None:
        """Returns the seconds until the next step; None if there is nothing to erase."""
        return None if self._mark is None else max(0.0, self._due - time.monotonic())

    def put_off(self) -> None:
        """Doubles the wait after a failed step."""
        self._due = time.monotonic() + self._wait
        self._wait = min(self._wait * 2, _LONGEST_WAIT)

    def step(self, connection: apsw.Connection) -> None:
        """Runs one step. Raises apsw.BusyError while readers use the write-ahead log."""
        if not self._has_merged:
            self._has_merged = self._merge(connection)
        else:
            _truncate(connection)
            with transaction(connection):
                found = "DELETE FROM meta WHERE name = ? AND value = ?"
                connection.execute(found, (_MARK, self._mark))
            self.look(connection)
        self._go_on()

    def _merge(self, connection: apsw.Connection) -> bool:
        """Merges a few pages of the search index. Returns whether all are merged."""
        before = connection.total_changes()
        pages = _PAGES if self._has_begun else -_PAGES  # a negative number starts with all segments
        with transaction(connection):
            connection.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", (pages,))
        is_first, self._has_begun = not self._has_begun, True
        return not is_first and connection.total_changes() - before < 2

    def _go_on(self) -> None:
        self._wait = _INTERVAL
        self._due = time.monotonic() + _INTERVAL


def _truncate(connection: apsw.Connection) -> None:
    """Checkpoints everything into the file, and truncates the write-ahead log."""
    busy_ms = connection.pragma("busy_timeout")
    connection.set_busy_timeout(_TRUNCATE_MS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.set_busy_timeout(busy_ms)


def _read_mark(connection: apsw.Connection) -> str | None:
    found: str | None = connection.execute("SELECT value FROM meta WHERE name = ?", (_MARK,)).get
    return found
