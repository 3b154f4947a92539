"""The port Store on a PostgreSQL database."""

from turnwire.stores.postgres.schema import migrate
from turnwire.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore", "migrate"]
