"""A file that was just opened, made ready to be written to."""

from __future__ import annotations

import apsw

from turnwire.stores.sqlite.backup import disown
from turnwire.stores.sqlite.schema import migrate, new_epoch, read_meta, transaction

__all__ = ["prepare"]


def prepare(connection: apsw.Connection, known_epoch: str | None) -> str:
    """Bring its tables up to date, and return its epoch.

    `known_epoch`: that of another file, in whose place this one was put. A backup has an epoch of
    its own. A plain copy has the same one, but nobody knows what it lacks: it gets another.
    """
    migrate(connection)
    if known_epoch is not None:
        with transaction(connection):
            if read_meta(connection, "epoch") == known_epoch:
                connection.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (new_epoch(),))
                disown(connection)
    return read_meta(connection, "epoch")
