"""Checks a whole file, and repairs it if asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
from msgspec import Struct, structs

from turnwire.core.message import BlobRef
from turnwire.core.times import iso
from turnwire.ports import StorageUnavailable
from turnwire.stores.sqlite.connection import close_quietly, connect
from turnwire.stores.sqlite.fsck import file
from turnwire.stores.sqlite.fsck.beside import (
    is_held,
    mend_blobs,
    mend_owner,
    mend_partials,
    mend_queue,
    mend_receipts,
)
from turnwire.stores.sqlite.fsck.calls import mend_calls, mend_results, place_requests
from turnwire.stores.sqlite.fsck.case import Case, read_case
from turnwire.stores.sqlite.fsck.finding import Finding
from turnwire.stores.sqlite.fsck.mending import Mending
from turnwire.stores.sqlite.fsck.numbers import mend_numbers
from turnwire.stores.sqlite.fsck.requests import mend_requests
from turnwire.stores.sqlite.fsck.search import index_again, wrong_words
from turnwire.stores.sqlite.fsck.turns import mend_turns, place_ends
from turnwire.stores.sqlite.fsck.write import write_mended
from turnwire.stores.sqlite.schema import migrate, transaction

__all__ = ["Report", "check", "entries_in"]

_BUSY = 5000  # how long a repair waits for other writers, in milliseconds
_DAY = 86_400_000
# Errors of a file that exists but cannot be read.
_BROKEN = ("CorruptError", "IOError", "NotADBError")


class Report(Struct, frozen=True):
    """The number of checked conversations and entries, and the findings."""

    conversations: int
    entries: int
    findings: list[Finding]

    @property
    def left(self) -> list[Finding]:
        """The findings that are not repaired."""
        return [finding for finding in self.findings if not finding.repaired]


def check(
    path: Path,
    *,
    now: int,
    repair: bool = False,
    has_died: Callable[[str], bool] = lambda owner: False,
    progress: Callable[[int], None] = lambda done: None,
) -> Report:
    """Checks everything in the file. Other processes may use the file meanwhile.

    A conversation with a live owner is checked, but never repaired.

    - `has_died`: returns whether the process of an owner has surely died; its lease then no longer
      counts.
    - `progress`: called with the number of checked entries.
    """
    if not path.exists():
        raise StorageUnavailable(f"The file {path} does not exist.")
    try:
        db = connect(str(path), busy_ms=_BUSY, writes=repair)
    except StorageUnavailable as failure:
        if failure.data.get("cause") not in _BROKEN:
            raise
        unreadable = Finding("file_damaged", failure.message, left=_BACKUP if repair else None)
        return Report(0, 0, [unreadable])
    try:
        return _Check(db, now, repair, has_died, progress).run()
    finally:
        close_quietly(db)


def entries_in(path: Path) -> int:
    """Returns the approximate number of entries to check; 0 if the file cannot be read."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return int(db.execute("SELECT coalesce(sum(head), 0) FROM conversations").get)
        finally:
            db.close()
    except apsw.Error:
        return 0


_BACKUP = "It cannot be repaired. Restore a backup."
_HELD = "A live process uses it: stop that process first."


class _Check:
    def __init__(
        self,
        db: apsw.Connection,
        now: int,
        repair: bool,
        has_died: Callable[[str], bool],
        progress: Callable[[int], None],
    ) -> None:
        self._db = db
        self._now = now
        self._repair = repair
        self._has_died = has_died
        self._progress = progress
        self._findings: list[Finding] = []
        self._bad_blobs: set[str] = set()
        self._needed_blobs: set[str] = set()  # all blobs that conversations need
        self._blobs_of_held: set[str] = set()  # a live process may read them
        self._conversations = self._entries = 0

    def run(self) -> Report:
        if self._look_at_file():
            for look in (
                self._look_at_rows,
                self._look_at_blobs,
                self._look_at_conversations,
                self._settle_blobs,
                self._look_at_words,
            ):
                with self._attempt():
                    look()
        return Report(self._conversations, self._entries, self._findings)

    # --- the file -------------------------------------------------------------------------------

    def _look_at_file(self) -> bool:
        """Checks the file itself. Returns whether its content can be checked."""
        old = file.old_schema(self._db)
        if old is not None:
            if self._repair:
                migrate(self._db)
            self._findings.append(structs.replace(old, repaired=self._repair))
            if not self._repair:
                return False
        found = file.damage(self._db)
        if found and self._repair:
            with self._attempt(), transaction(self._db):
                file.restore_indexes(self._db)
            left = {finding.what for finding in file.damage(self._db)}
            found = [
                structs.replace(
                    each,
                    repaired=each.what not in left,
                    left=_BACKUP if each.what in left else None,
                )
                for each in found
            ]
        self._findings += found
        return True

    def _look_at_rows(self) -> None:
        for finding in file.orphaned_rows(self._db):
            if self._repair:
                with transaction(self._db):
                    if finding.kind == "conversation_missing":
                        assert finding.conversation_id is not None
                        file.make_again(self._db, finding.conversation_id, iso(self._now))
                    else:
                        file.remove_left_over(self._db, finding)
            self._findings.append(structs.replace(finding, repaired=self._repair))

    def _look_at_words(self) -> None:
        found = list(wrong_words(self._db))
        if self._repair and found:
            with transaction(self._db):
                for number, _ in found:
                    index_again(self._db, number)
        self._findings += [structs.replace(f, repaired=self._repair) for _, f in found]

    # --- blobs ----------------------------------------------------------------------------------

    def _look_at_blobs(self) -> None:
        for finding in file.bad_blobs(self._db):
            self._bad_blobs.add(_blob(finding))
            self._findings.append(finding)

    def _settle_blobs(self) -> None:
        """Reports unused blobs, after all conversations are checked, and repairs blobs.

        A damaged blob is never removed: its bytes may still be useful.
        """
        known = self._bad_blobs | self._needed_blobs
        unused = file.unused_blobs(self._db, iso(self._now - _DAY))
        self._findings += [each for each in unused if _blob(each) not in known]
        if not self._repair:
            return
        for place, finding in enumerate(self._findings):
            if finding.kind == "blob_unused":
                self._findings[place] = self._removed(finding)
            elif finding.kind == "blob_damaged":
                self._findings[place] = self._accepted(finding)

    def _removed(self, finding: Finding) -> Finding:
        with transaction(self._db):
            self._db.execute(
                "DELETE FROM blobs WHERE blob_id = ?1"
                " AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_id = ?1)",
                (_blob(finding),),
            )
            gone = bool(self._db.changes())
        return structs.replace(finding, repaired=gone, left=None if gone else _HELD)

    def _accepted(self, finding: Finding) -> Finding:
        """Removes the digest of a damaged blob: no entry refers to its bytes any more."""
        if _blob(finding) in self._blobs_of_held:
            return structs.replace(finding, left=_HELD)
        with transaction(self._db):
            self._db.execute("UPDATE blobs SET sha256 = NULL WHERE blob_id = ?", (_blob(finding),))
        return structs.replace(finding, repaired=True)

    def _find_blob(self, blob_id: str) -> BlobRef | None:
        """Returns the blob's own type and size; None if the blob is missing, damaged or empty."""
        if blob_id in self._bad_blobs:
            return None
        found = "SELECT blob_id, mime_type, length(data) FROM blobs WHERE blob_id = ?"
        row = self._db.execute(found, (blob_id,)).fetchone()
        return None if row is None or not row[2] else BlobRef(*row)

    def _has_blob(self, blob_id: str) -> bool:
        found = "SELECT EXISTS (SELECT 1 FROM blobs WHERE blob_id = ?)"
        return bool(self._db.execute(found, (blob_id,)).get)

    # --- conversations --------------------------------------------------------------------------

    def _look_at_conversations(self) -> None:
        found = self._db.execute("SELECT conversation_id, head FROM conversations")
        sizes: list[tuple[str, int]] = list(found)
        done = 0
        for name, head in sizes:
            with self._attempt(name):
                self._look_at(name)
            done += head
            self._progress(done)

    def _look_at(self, name: str) -> None:
        self._db.execute("BEGIN")
        try:
            examined = self._examine(name)
        finally:
            if self._db.in_transaction:  # a disk error ends the transaction
                self._db.execute("ROLLBACK")
        if examined is None:  # the conversation was deleted meanwhile
            return
        m, _ = examined
        self._conversations += 1
        self._entries += len(m.entries)
        self._needed_blobs |= m.blob_uses
        if not m.findings:
            return
        if self._repair:
            self._findings += self._mend(name)
        else:
            self._findings += m.findings

    def _mend(self, name: str) -> list[Finding]:
        """Checks a conversation again under the write lock, writes it, and verifies the result."""
        with transaction(self._db):
            examined = self._examine(name)
            if examined is None:
                return []
            m, held = examined
            if held:
                self._blobs_of_held |= m.blob_uses
                return [structs.replace(finding, left=_HELD) for finding in m.findings]
            write_mended(self._db.cursor(), m, self._now)
            again = self._examine(name)
            left = {(f.kind, f.place) for f in again[0].findings} if again else set()
            return [structs.replace(f, repaired=(f.kind, f.place) not in left) for f in m.findings]

    def _examine(self, name: str) -> tuple[Mending, bool] | None:
        case = read_case(self._db, name)
        return None if case is None else self._mended(case)

    def _mended(self, case: Case) -> tuple[Mending, bool]:
        m = Mending(case, iso(self._now), self._find_blob, self._has_blob)
        held = is_held(case, self._now, self._has_died)
        mend_numbers(m)
        mend_blobs(m)
        mend_turns(m)
        mend_calls(m)
        mend_requests(m)
        mend_results(m)
        mend_queue(m)
        mend_receipts(m)
        mend_partials(m)
        mend_owner(m, self._now, held)
        place_ends(m)
        place_requests(m)
        return m, held

    @contextmanager
    def _attempt(self, name: str | None = None) -> Iterator[None]:
        """Reports an unreadable part of the file, and lets the check continue with the rest."""
        try:
            yield
        except (apsw.CorruptError, apsw.IOError, apsw.NotADBError) as failure:
            left = _BACKUP if self._repair else None
            self._findings.append(Finding("file_damaged", str(failure), name, left=left))


def _blob(finding: Finding) -> str:
    assert finding.place is not None
    return finding.place.removeprefix("blob ")
