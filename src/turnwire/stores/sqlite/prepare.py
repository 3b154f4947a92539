"""Prepares a newly opened file for writing."""

from __future__ import annotations

import apsw

from turnwire.stores.sqlite.backup import disown
from turnwire.stores.sqlite.schema import migrate, new_epoch, read_meta, transaction

__all__ = ["prepare"]


def prepare(connection: apsw.Connection, known_epoch: str | None) -> str:
    """Migrates the tables, and returns the epoch of the file.

    `known_epoch` is the epoch of the file that this one has replaced. A backup has its own epoch. A
    plain copy has the same epoch but may lack entries, so it gets a new one.
    """
    migrate(connection)
    if known_epoch is not None:
        with transaction(connection):
            if read_meta(connection, "epoch") == known_epoch:
                connection.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (new_epoch(),))
                disown(connection)
    return read_meta(connection, "epoch")
