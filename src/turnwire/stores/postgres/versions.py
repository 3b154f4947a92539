"""The versions of conversations that this process writes to, as of its last commit.

Every commit names the version that it follows. A commit that is sent again on a new connection can
therefore not be written twice, even if the first one is still on its way.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnwire.stores.postgres.connection import DatabaseConnection

__all__ = ["Versions"]


class Versions:
    """By conversation: the version of its row, and the bytes of its state."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def find(self, name: str) -> tuple[int, int] | None:
        """Returns the version and the bytes of the state; None if they are not known."""
        return self._known.get(name)

    def get(self, name: str) -> tuple[int, int]:
        """Returns the version and the bytes of the state, which are known."""
        return self._known[name]

    def set(self, name: str, version: int, state_bytes: int) -> None:
        """Keeps the version of a conversation that this process owns."""
        self._known[name] = (version, state_bytes)

    def forget(self, name: str) -> None:
        """Forgets a conversation that this process does not own any more."""
        self._known.pop(name, None)

    async def read(self, connection: DatabaseConnection, names: Sequence[str]) -> None:
        """Reads the versions of conversations that exist."""
        rows = await connection.fetch(
            "SELECT conversation_id, version, octet_length(state_json) FROM conversations"
            " WHERE conversation_id = ANY($1::text[])",
            list(names),
        )
        for name, version, state_bytes in rows:
            self.set(name, version, state_bytes)
