"""Checks a whole database, and repairs it if asked to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct, structs

from turnwire.core.conversation.state import STATE_LEVEL
from turnwire.core.times import iso
from turnwire.stores.fsck import tables
from turnwire.stores.fsck.database import BACKUP, Database, Unreadable
from turnwire.stores.fsck.finding import Finding
from turnwire.stores.fsck.mending import Mending
from turnwire.stores.fsck.reading import read_case
from turnwire.stores.fsck.rules import examine
from turnwire.stores.fsck.writing import write_mended

__all__ = ["Check", "Report"]

_DAY = 86_400_000
_HELD = "A live process uses it: stop that process first."
_NEWER = "A newer Turnwire has written it: update Turnwire first."


class Report(Struct, frozen=True):
    """The number of checked conversations and entries, and the findings."""

    conversations: int
    entries: int
    findings: list[Finding]

    @property
    def left(self) -> list[Finding]:
        """The findings that are not repaired."""
        return [finding for finding in self.findings if not finding.repaired]


class Check:
    """One run: the whole database, one conversation at a time."""

    def __init__(
        self,
        db: Database,
        *,
        now: int,
        repair: bool,
        has_died: Callable[[str], bool],
        progress: Callable[[int, int], None],
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
        self._has_new_indexes = False

    async def run(self) -> Report:
        """Checks everything."""
        found, can_go_on = await self._db.check_storage(repair=self._repair)
        self._findings += found
        if can_go_on:
            for look in (
                self._look_at_rows,
                self._look_at_blobs,
                self._look_at_conversations,
                self._settle_blobs,
                self._look_at_words,
                self._look_at_counters,
            ):
                await self._attempt(look)
        return Report(self._conversations, self._entries, self._findings)

    async def _attempt(self, look: Callable[[], Awaitable[None]], name: str | None = None) -> None:
        """Reports an unreadable part of the database, and lets the check continue with the rest.

        A repair builds the indexes again, and tries once more.
        """
        try:
            await look()
        except Unreadable as failure:
            repaired = self._repair and await self._restored(look)
            left = BACKUP if self._repair and not repaired else None
            self._findings.append(
                Finding("file_damaged", str(failure), name, repaired=repaired, left=left)
            )

    async def _restored(self, look: Callable[[], Awaitable[None]]) -> bool:
        try:
            if not self._has_new_indexes:
                self._has_new_indexes = True
                await self._db.restore_indexes()
            await look()
        except Unreadable:
            return False
        return True

    # --- tables ---------------------------------------------------------------------------------

    async def _look_at_rows(self) -> None:
        async with self._db.snapshot():
            found = await tables.orphaned_rows(self._db)
        for finding in found:
            if self._repair:
                async with self._db.transaction():
                    if finding.kind == "conversation_missing":
                        assert finding.conversation_id is not None
                        await tables.make_again(self._db, finding.conversation_id, iso(self._now))
                    else:
                        await tables.remove_left_over(self._db, finding)
            self._findings.append(structs.replace(finding, repaired=self._repair))

    async def _look_at_words(self) -> None:
        found = [each async for each in self._db.wrong_words()]
        if self._repair and found:
            await self._db.index_again([key for key, _ in found])
        self._findings += [structs.replace(f, repaired=self._repair) for _, f in found]

    async def _look_at_counters(self) -> None:
        found = [*await tables.wrong_stored(self._db), *await self._db.wrong_counters()]
        if self._repair and found:
            async with self._db.transaction():
                await tables.count_stored(self._db)
                await self._db.count_all()
        self._findings += [structs.replace(each, repaired=self._repair) for each in found]

    # --- blobs ----------------------------------------------------------------------------------

    async def _look_at_blobs(self) -> None:
        for finding in await tables.bad_blobs(self._db):
            self._bad_blobs.add(_blob(finding))
            self._findings.append(finding)

    async def _settle_blobs(self) -> None:
        """Reports unused blobs, after all conversations are checked, and repairs blobs.

        A damaged blob is never removed: its bytes may still be useful.
        """
        known = self._bad_blobs | self._needed_blobs
        unused = await tables.unused_blobs(self._db, iso(self._now - _DAY))
        self._findings += [each for each in unused if _blob(each) not in known]
        if not self._repair:
            return
        for place, finding in enumerate(self._findings):
            if finding.kind == "blob_unused":
                self._findings[place] = await self._removed(finding)
            elif finding.kind == "blob_damaged":
                self._findings[place] = await self._accepted(finding)

    async def _removed(self, finding: Finding) -> Finding:
        async with self._db.transaction():
            gone = await self._db.remove_blob(_blob(finding))
        return structs.replace(finding, repaired=gone, left=None if gone else _HELD)

    async def _accepted(self, finding: Finding) -> Finding:
        if _blob(finding) in self._blobs_of_held:
            return structs.replace(finding, left=_HELD)
        async with self._db.transaction():
            await tables.accept_blob(self._db, _blob(finding))
        return structs.replace(finding, repaired=True)

    # --- conversations --------------------------------------------------------------------------

    async def _look_at_conversations(self) -> None:
        names = await self._db.names()
        done, total = 0, sum(head for _, head in names)
        for name, head in names:

            async def look(name: str = name) -> None:
                await self._look_at(name)

            await self._attempt(look, name)
            done += head
            self._progress(done, total)

    async def _look_at(self, name: str) -> None:
        async with self._db.snapshot():
            examined = await self._examine(name)
        if examined is None:  # the conversation was deleted meanwhile
            return
        m, held = examined
        findings = m.findings
        if findings and self._repair:
            mended = None if held else await self._mend(name)
            findings = self._left_to_owner(m) if mended is None else mended
        self._conversations += 1
        self._entries += len(m.entries)
        self._needed_blobs |= m.blob_uses
        self._findings += findings

    async def _mend(self, name: str) -> list[Finding] | None:
        """Checks a conversation again while it is locked, writes it, and verifies the result.

        Returns None if a live process uses the conversation.
        """
        async with self._db.transaction():
            if not await self._db.lock(name):
                return None
            examined = await self._examine(name)
            if examined is None:
                return []
            m, held = examined
            if held:
                return None
            await write_mended(self._db, m, self._now)
            again = await self._examine(name)
            left = {(f.kind, f.place) for f in again[0].findings} if again else set()
            return [structs.replace(f, repaired=(f.kind, f.place) not in left) for f in m.findings]

    def _left_to_owner(self, m: Mending) -> list[Finding]:
        self._blobs_of_held |= m.blob_uses
        left = _NEWER if m.case.level > STATE_LEVEL else _HELD
        return [structs.replace(finding, left=left) for finding in m.findings]

    async def _examine(self, name: str) -> tuple[Mending, bool] | None:
        case = await read_case(self._db, name)
        return None if case is None else examine(case, self._now, self._bad_blobs, self._has_died)


def _blob(finding: Finding) -> str:
    assert finding.place is not None
    return finding.place.removeprefix("blob ")
