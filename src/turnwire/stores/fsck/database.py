"""What fsck needs of a store: how its tables are read and written, and what only it has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from turnwire.ports import Claim, Commit
from turnwire.stores.commit_rows import Row
from turnwire.stores.fsck.finding import Finding

__all__ = ["BACKUP", "Database", "Unreadable"]

BACKUP = "It cannot be repaired. Restore a backup."


class Unreadable(Exception):
    """The database itself reports that stored data is damaged."""


class Database(Protocol):
    """A store, as fsck uses it.

    Statements are SQL that every store understands, with arguments $1, $2, ... Every method may
    raise Unreadable.
    """

    own_tables: Sequence[str]
    """Tables with a `conversation_id` that only this store has."""

    count_again: str
    """The statement that adds $2 bytes and $3 conversations to the counter of the user $1."""

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        """Returns the rows of a statement."""

    async def run(self, sql: str, rows: Sequence[Row]) -> None:
        """Runs a statement once for each row of arguments."""

    def snapshot(self) -> AbstractAsyncContextManager[None]:
        """Returns a context in which all reads see the same state."""

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Returns a context whose writes are committed together."""

    async def lock(self, conversation_id: str) -> bool:
        """Keeps other processes from writing to a conversation until the transaction ends.

        Returns False if another process does not let go of it.
        """

    async def names(self) -> list[Any]:
        """Returns the id and the head of every conversation, parents before their forks."""

    # --- the whole database ---------------------------------------------------------------------

    async def check_storage(self, *, repair: bool) -> tuple[list[Finding], bool]:
        """Checks the storage itself. Returns findings, and whether the tables can be checked."""

    async def restore_indexes(self) -> None:
        """Builds the indexes of the tables again."""

    def wrong_words(self) -> AsyncIterator[tuple[Any, Finding]]:
        """Yields findings of the search index, each with a key for `index_again`."""

    async def index_again(self, keys: Sequence[Any]) -> None:
        """Indexes what `wrong_words` has found."""

    async def wrong_counters(self) -> list[Finding]:
        """Returns findings of counters that only this store has."""

    async def count_all(self) -> None:
        """Corrects these counters."""

    # --- one conversation -----------------------------------------------------------------------

    async def entries_changed(
        self, conversation_id: str, changed: Sequence[int], *, moved: bool
    ) -> None:
        """Updates the search index: entries were written (`changed`, by sequence number) or moved."""

    async def written(self, conversation_id: str) -> None:
        """Updates everything else that only this store keeps of a conversation."""

    async def add_audit(self, rows: Sequence[Row]) -> None:
        """Adds rows to the audit trail."""

    async def commit(
        self, conversation_id: str, owner: str, make: Callable[[Claim], Commit]
    ) -> None:
        """Claims a conversation, writes a commit, and releases the conversation."""

    async def remove_blob(self, blob_id: str) -> bool:
        """Deletes a blob that no conversation uses. Returns whether it was deleted."""
