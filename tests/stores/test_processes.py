"""Several processes use one file, and one of them may be killed at any moment."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stores.helpers.committing_process import ENTRIES, TALKS
from tests.stores.helpers.sql import rows_of
from turnwire.ports import NewConversation, Owned
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import NOW, Writing, begin

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def child(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone when the block is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stores.helpers.committing_process", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_two_processes_write_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    rounds = 30

    async def here() -> None:
        store = await SqliteStore.open(path)
        talk = await begin(store, "here")
        with child("speak", str(path), "there", str(rounds)) as process:
            for number in range(rounds):
                await talk.say(str(number))
            assert await asyncio.to_thread(process.wait) == 0
        for number in range(TALKS):
            stored = await store.entries(f"there-{number}")
            assert [e.sequence for e in stored] == list(range(1, rounds * ENTRIES + 1))
        assert len(await store.entries("here")) == rounds
        await store.close()

    asyncio.run(here())


def test_a_process_that_lost_a_conversation_writes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def here() -> None:
        store = await SqliteStore.open(path)
        first = await begin(store, owner="parent")
        await store.release(first.claim)
        with child("hold", str(path)) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == "held\n"
            claim = await store.claim("c", "parent", now=NOW + 1000, lease=1000)
            row = await store.conversation("c")
            assert row is not None
            await Writing(store, claim, row.state).say("by the parent")
            process.stdin.write("\n")
            process.stdin.flush()
            assert await asyncio.to_thread(process.stdout.readline) == "fenced\n"
        assert len(await store.entries("c")) == 2
        await store.close()

    asyncio.run(here())


@pytest.mark.parametrize("after", [0, 1, 7, 50, 200])
def test_a_killed_process_leaves_whole_commits_and_all_that_had_returned(
    tmp_path: Path, after: int
) -> None:
    path = tmp_path / "log.db"
    told: Counter[str] = Counter()
    with child("speak", str(path), "c", "1000000") as process:
        assert process.stdout is not None
        for _ in range(after + 1):
            told[process.stdout.readline().split()[0]] += 1
        process.kill()  # it is in the middle of commits: it does nothing else
        for line in process.stdout:  # the output before its death
            if line.endswith("\n"):
                told[line.split()[0]] += 1

    async def look() -> None:
        store = await SqliteStore.open(path)
        for number in range(TALKS):
            name = f"c-{number}"
            row = await store.conversation(name)
            assert row is not None
            stored = await store.entries(name, limit=10**6)
            audit = await store.audit(conversation_id=name, limit=10**6)
            assert row.head == row.state.head == len(stored) == len(audit) * ENTRIES
            assert [e.sequence for e in stored] == list(range(1, row.head + 1))
            assert len(audit) >= told[name], "a commit had returned and is not there"
            claim = await store.claim(name, "next", now=10**15, lease=1)
            await Writing(store, claim, row.state).say("and on it goes")
        await store.close()

    asyncio.run(look())
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows_of(path, "SELECT count(*) FROM messages") == rows_of(
        path, "SELECT count(*) FROM search"
    )


def test_a_process_that_closes_the_file_does_not_disturb_the_others(tmp_path: Path) -> None:
    """The last process to close the file checkpoints it. Another process must not act as the last."""
    path = tmp_path / "log.db"

    def visit() -> int:
        look = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1])\n"
        look += "print(db.execute('SELECT count(*) FROM messages').fetchone()[0]); db.close()"
        ended = subprocess.run(
            [sys.executable, "-c", look, str(path)], capture_output=True, check=True
        )
        return int(ended.stdout)

    async def here() -> None:
        store = await SqliteStore.open(path)
        talk = await begin(store)
        for number in range(1, 4):
            await talk.say(str(number))
            assert len(await store.entries("c")) == number  # readers come while the writer is there
            assert await asyncio.to_thread(visit) == number
        await store.close()

    asyncio.run(here())
    assert rows_of(path, "SELECT count(*) FROM messages") == [(3,)]


def test_a_refused_claim_does_not_lock_the_store_out_after_the_write_of_another(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        path = tmp_path / "turnwire.db"
        async with SqliteStore.open(path) as mine, SqliteStore.open(path) as theirs:
            await mine.create(NewConversation("c", "demo", "2026-01-01T00:00:00.000Z"))
            await theirs.claim("c", "another", now=0, lease=10_000)
            with pytest.raises(Owned):
                await mine.claim("c", "me", now=0, lease=10_000)
            await theirs.create(NewConversation("theirs", "demo", "2026-01-01T00:00:00.000Z"))
            await mine.create(NewConversation("mine", "demo", "2026-01-01T00:00:00.000Z"))

    asyncio.run(scene())
