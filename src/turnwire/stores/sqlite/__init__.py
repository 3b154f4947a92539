"""The default store: the log in one SQLite file."""

from turnwire.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
