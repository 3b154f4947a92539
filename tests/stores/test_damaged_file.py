"""The file is removed, cut short or replaced while it is in use: the store notices it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on, talk_with
from tests.stores.helpers.sql import rows_of
from turnwire.agents.demo import DemoAgent
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, FollowAgain, Talk
from turnwire.ports import Fenced, StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.fsck import check
from turnwire.stores.sqlite.schema import NEWEST
from turnwire.stores.sqlite.watch import WatchedFile
from turnwire.testing.store_samples import LEASE, NOW, Writing, begin


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "turnwire.db"


def in_store(path: Path, scene: Callable[[SqliteStore], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(path)
        try:
            await scene(store)
        finally:
            await store.close()

    asyncio.run(run())


async def again(what: Callable[[], Awaitable[object]]) -> None:
    """Retries until the call works: the first call that notices the damage is told to retry."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(StorageUnavailable):
                await what()
                return


def move(old: Path, new: Path) -> None:
    old.rename(new)


def size_of(path: Path) -> int:
    return path.stat().st_size


def cut(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


# --- the store ----------------------------------------------------------------------------------


def test_a_file_that_was_removed_is_not_written_to(path: Path, tmp_path: Path) -> None:
    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        await talk.say("before")
        move(path, tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(StorageUnavailable, match=r"is missing.*restore a backup"):
                await talk.say("into nothing")
            with pytest.raises(StorageUnavailable, match="is missing"):
                await store.entries("c")
        move(tmp_path / "elsewhere", path)
        await talk.say("after")
        assert len(await store.entries("c")) == 2

    in_store(path, scene)
    assert rows_of(path, "SELECT count(*) FROM messages") == [(2,)]


def test_a_file_that_was_cut_short_is_not_written_to(path: Path) -> None:
    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        await talk.say("word " * 100_000)
        rows_of(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        await talk.say("still well")
        size = size_of(path)
        cut(path, size // 2)
        for _ in range(2):
            with pytest.raises(StorageUnavailable, match=f"cut short, from {size} bytes to"):
                await talk.say("x")
            with pytest.raises(StorageUnavailable, match="cut short"):
                await store.entries("c")

    with suppress(StorageUnavailable):
        in_store(path, scene)
    assert check(path, now=NOW).findings


def test_a_file_that_was_vacuumed_is_still_the_same(path: Path) -> None:
    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        other = await begin(store, "large")
        await other.say("word " * 200_000)
        rows_of(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        await talk.say("one")
        await store.delete("large")
        before = size_of(path)
        rows_of(path, "VACUUM")
        rows_of(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        assert size_of(path) < before
        await talk.say("two")
        assert len(await store.entries("c")) == 2

    in_store(path, scene)


def test_a_file_that_was_replaced_during_erasing_is_noticed_too(path: Path, tmp_path: Path) -> None:
    """The writer thread checks the file itself; the next call must still report it."""

    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        await begin(store, "deleted")
        await talk.say("one")
        await store.backup(str(tmp_path / "copy.db"))
        file = store._writer._file
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute(
                "SELECT * FROM messages"
            ).fetchall()  # it keeps the log from being erased
            await store.delete("deleted")
            move(tmp_path / "copy.db", path)
            async with asyncio.timeout(PATIENCE):
                while file.generation == 0:
                    await asyncio.to_thread(int)
        with pytest.raises(StorageUnavailable, match="was replaced"):
            await talk.say("two")

    in_store(path, scene)


@pytest.mark.parametrize("how", ["by a backup", "by a plain copy"])
def test_a_file_that_was_replaced_is_another_log(path: Path, tmp_path: Path, how: str) -> None:
    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        await talk.say("one")
        copy = tmp_path / "copy.db"
        if how == "by a backup":
            await store.backup(str(copy))
        else:
            rows_of(path, "PRAGMA wal_checkpoint(TRUNCATE)")
            shutil.copy(path, copy)
        await talk.say("two")
        epoch = store.epoch
        move(copy, path)
        with pytest.raises(StorageUnavailable, match=r"was replaced.*Try again"):
            await talk.say("three")
        await again(lambda: store.entries("c"))
        assert store.epoch != epoch, "a client with a cursor of the old log is reset"
        assert len(await store.entries("c")) == 1
        with pytest.raises(Fenced):
            await talk.say("three")
        claim = await store.claim("c", "other", now=NOW, lease=LEASE)
        row = await store.conversation("c")
        assert row is not None
        await Writing(store, claim, row.state).say("instead")
        assert len(await store.entries("c")) == 2

    in_store(path, scene)
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows_of(path, "SELECT count(*) FROM messages") == [(2,)]


def test_a_reader_may_be_the_first_to_notice(path: Path, tmp_path: Path) -> None:
    async def scene(store: SqliteStore) -> None:
        await begin(store)
        epoch = await store.backup(str(tmp_path / "copy.db"))
        await begin(store, "later")
        move(tmp_path / "copy.db", path)
        with pytest.raises(StorageUnavailable, match="replaced"):
            await store.conversations()
        await again(store.conversations)
        assert [row.conversation_id for row in await store.conversations()] == ["c"]
        assert store.epoch == epoch

    in_store(path, scene)


def test_the_wal_of_a_killed_process_does_not_get_into_a_backup(path: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    killed.mkdir()

    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        await talk.say("in the backup")
        await store.backup(str(tmp_path / "copy.db"))
        await talk.say("not in the backup", "nor this")
        for name in ("turnwire.db", "turnwire.db-wal", "turnwire.db-shm"):  # as kill -9 leaves them
            shutil.copy(tmp_path / name, killed / name)

    in_store(path, scene)
    (tmp_path / "copy.db").rename(killed / "turnwire.db")

    async def look(store: SqliteStore) -> None:
        assert len(await store.entries("c")) == 1

    in_store(killed / "turnwire.db", look)
    assert rows_of(killed / "turnwire.db", "PRAGMA integrity_check") == [("ok",)]
    assert (killed / "turnwire.db-wal.left-behind").exists(), "the file is kept"


def test_a_replacing_file_of_another_version_is_migrated_or_refused(
    path: Path, tmp_path: Path
) -> None:
    async def scene(store: SqliteStore) -> None:
        await begin(store)
        for name in ("newer", "sound"):
            await store.backup(str(tmp_path / name))
        rows_of(tmp_path / "newer", "UPDATE meta SET value = ?", NEWEST + 1)
        move(tmp_path / "newer", path)
        for _ in range(3):
            with pytest.raises(StorageUnavailable, match=r"Update Turnwire|replaced"):
                await store.claim("c", "x", now=NOW, lease=1)
        move(tmp_path / "sound", path)
        await again(store.conversations)

    in_store(path, scene)


def test_a_newer_version_that_changes_the_tables_of_a_log_in_use_is_noticed(path: Path) -> None:
    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        await store.entries("c")
        rows_of(path, "UPDATE meta SET value = ? WHERE name = 'schema_version'", NEWEST + 1)
        with pytest.raises(StorageUnavailable, match="Update Turnwire to use it"):
            await talk.say("in the old way")
        with pytest.raises(StorageUnavailable, match="Update Turnwire to use it"):
            await store.entries("c")

    in_store(path, scene)
    assert rows_of(path, "SELECT count(*) FROM messages") == [(0,)]


def test_a_repair_by_another_process_is_noticed(path: Path) -> None:
    async def scene(store: SqliteStore) -> None:
        talk = await begin(store)
        await talk.say("one", "two")
        await store.release(talk.claim)
        epoch = store.epoch
        rows_of(path, "DELETE FROM messages WHERE sequence_num = 1")
        assert not (await asyncio.to_thread(check, path, now=NOW, repair=True)).left
        await store.entries("c")
        assert store.epoch != epoch

    in_store(path, scene)


# --- the engine ---------------------------------------------------------------------------------

QUICK = EngineSettings(recheck=0.05, lease=1.0)


async def backup_after_a_turn(engine: Engine, path: Path) -> tuple[Talk, int]:
    talk = await talk_with(engine)
    async with Watcher(talk) as seen:
        await talk.send("hello", client_message_id="m-1")
        await seen.until(f.AssistantComplete)
        await seen.state("active")
        head = seen.view().cursor
    await engine.store.backup(str(path))
    return talk, head


async def until_cut_off(seen: Watcher) -> None:
    with pytest.raises(FollowAgain):
        await seen.until(f.Frame, lambda frame: False)


def test_followers_are_reset_and_see_the_log_that_was_put_in_place(
    path: Path, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=DemoAgent(delay=0), settings=QUICK) as engine:
            talk, head = await backup_after_a_turn(engine, tmp_path / "copy.db")
            epoch = engine.store.epoch
            async with Watcher(talk) as seen:
                await talk.send("think", client_message_id="m-2")
                await seen.until(f.AssistantComplete)
                move(tmp_path / "copy.db", path)
                await until_cut_off(seen)
                cursor = seen.view().cursor
            assert engine.store.epoch != epoch
            async with Watcher(talk, last_sequence=cursor, epoch=epoch) as again:
                assert again.of(f.SessionReset)[0].payload.reason == "epoch"
                assert again.view().cursor == head
                answer = await talk.send("think", client_message_id="m-2")
                assert not answer.duplicate, "it was not in the backup: it can be said again"
                await again.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)

    asyncio.run(scene())


def test_a_turn_that_runs_when_the_log_is_replaced_writes_nothing_more(
    path: Path, tmp_path: Path
) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()  # whose turn cannot end before the log is replaced
        async with engine_on(path, agent=agent, settings=QUICK) as engine:
            talk = await engine.create("demo", conversation_id="talk")
            async with Watcher(talk) as seen:
                await talk.send("go on and on")
                session = await agent.opened()
                session.begins()
                session.speaks("some words", finishes=False)
                await seen.until(f.AssistantChunk)
                await engine.store.backup(str(tmp_path / "copy.db"))
                [(before,)] = rows_of(tmp_path / "copy.db", "SELECT head FROM conversations")
                move(tmp_path / "copy.db", path)
                await until_cut_off(seen)

            async def woken() -> None:
                status = await talk.wake()
                assert (status.state, status.running) == ("interrupted", False)

            await again(woken)
            stored = await engine.store.entries("talk")
            assert [each.sequence for each in stored] == list(range(1, len(stored) + 1))
            assert len(stored) == before + 1, "only that it was interrupted"

    asyncio.run(scene())
    assert not check(path, now=NOW).left


def test_a_missing_log_is_reported_and_the_turn_goes_on_when_it_is_back(
    path: Path, tmp_path: Path
) -> None:
    async def scene() -> None:
        agent = DemoAgent(delay=0.002)
        async with engine_on(path, agent=agent, settings=QUICK) as engine:
            talk = await engine.create("demo", conversation_id="talk")
            async with Watcher(talk) as seen:
                await talk.send("think tool", client_message_id="m-1")
                await seen.until(f.AssistantThinking)
                move(path, tmp_path / "away")
                with pytest.raises(StorageUnavailable, match="is missing"):
                    await talk.send("and then?", client_message_id="m-2")
                move(tmp_path / "away", path)
                end = await seen.until(f.AssistantComplete)
                assert not end.payload.is_error
                assert not (await talk.send("and then?", client_message_id="m-2")).duplicate

    asyncio.run(scene())
    assert not check(path, now=NOW).left


def test_a_conversation_that_the_other_log_does_not_have_is_not_found(
    path: Path, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=DemoAgent(delay=0), settings=QUICK) as engine:
            await engine.store.backup(str(tmp_path / "copy.db"))
            talk = await talk_with(engine)
            move(tmp_path / "copy.db", path)
            await again(engine.store.conversations)
            with pytest.raises(Refused) as refused:
                await anext(talk.follow())
            assert refused.value.code == "CONVERSATION_NOT_FOUND"

    asyncio.run(scene())


def test_a_file_that_grows_while_it_is_looked_at_was_not_cut_short(tmp_path: Path) -> None:
    """One thread reads the size, the file grows, another thread reads it, then the first compares."""
    path = tmp_path / "log.db"
    path.write_bytes(b"x" * 100)
    file = WatchedFile(str(path))
    file.look()
    place = file._place

    class Slow:
        """A path with a write and another check between reading the size and comparing it."""

        def stat(self) -> os.stat_result:
            found = place.stat()
            file._place = place
            path.write_bytes(b"x" * 200)
            file.look()
            return found

    file._place = Slow()  # type: ignore[assignment]  # only one of its methods is used
    file.look()
