"""The log in one SQLite file: the embedded default."""

from turnwire.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
