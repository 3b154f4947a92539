"""An engine on a disk that is full or fails at times: no accepted input is lost, and it goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.engine.helpers.watcher import PATIENCE, Watcher
from tests.stores.helpers.faulty_disk import FaultyDisk, faulty_disk
from tests.stores.helpers.sql import rows_of
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.ports import StorageUnavailable
from turnwire.stores.sqlite import SqliteStore, ballast
from turnwire.stores.sqlite.ballast import Ballast
from turnwire.stores.sqlite.fsck import check
from turnwire.testing.store_samples import NOW, begin

KIB = 1024
BALLAST = 512 * KIB
LONG = "word " * 20_000


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyDisk]:
    """A disk of this test; its quota limits the free space."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with faulty_disk(folder) as disk:
        monkeypatch.setattr(ballast, "free_bytes", lambda folder: disk.free())
        monkeypatch.setattr(ballast, "_MARGIN", 64 * KIB)
        monkeypatch.setattr(ballast, "_LOOK_AGAIN", 0.0)
        yield disk


@asynccontextmanager
async def engine_on(disk: FaultyDisk, delay: float = 0) -> AsyncIterator[Engine]:
    path = disk.folder / "turnwire.db"
    store = await SqliteStore.open(path, vfs=disk.name, ballast=BALLAST)
    try:
        async with Engine(store, {"demo": DemoAgent(delay=delay)}) as engine:
            yield engine
    finally:
        await store.close()


async def fill(talk: Talk) -> int:
    """Say things until the disk is full. How many were taken."""
    for number in range(10_000):
        if not await _taken(talk, f"{number} {LONG}", f"fill-{number}"):
            return number
    raise AssertionError("the disk has no end")


async def _taken(talk: Talk, text: str, name: str) -> bool:
    try:
        await talk.send(text, client_message_id=name)
    except StorageUnavailable as full:
        said = (full.code, full.retryable, "full" in full.message)
    else:
        return True
    assert said == ("STORAGE_UNAVAILABLE", True, True)
    return False


async def until(it_is_so: Callable[[], Awaitable[bool]]) -> None:
    """Ask again and again, and let others work in between."""
    async with asyncio.timeout(PATIENCE):
        while not await it_is_so():
            await asyncio.to_thread(int)


# --- the ballast --------------------------------------------------------------------------------


def test_the_ballast_takes_up_room_while_the_log_is_open(disk: FaultyDisk) -> None:
    path = disk.folder / "turnwire.db"
    kept = disk.folder / "turnwire.db-ballast"

    async def scene() -> None:
        store = await SqliteStore.open(path, ballast=BALLAST)
        await begin(store)
        assert _blocks(kept) >= BALLAST, "with real blocks, not a hole"
        other = await SqliteStore.open(path, ballast=BALLAST)
        await other.close()
        await begin(store, "d")
        assert _blocks(kept) >= BALLAST, "who goes first does not take it from the others"
        await store.close()
        assert _names(disk.folder) == ["turnwire.db"]
        none = await SqliteStore.open(path, ballast=0)
        await begin(none, "e")
        assert "turnwire.db-ballast" not in _names(disk.folder)
        await none.close()

    asyncio.run(scene())


def _blocks(path: Path) -> int:
    return path.stat().st_blocks * 512


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_ballast_that_does_not_fit_is_done_without(disk: FaultyDisk) -> None:
    disk.quota = 100 * KIB
    kept = Ballast(str(disk.folder / "log.db"), BALLAST)
    kept.keep()
    assert not kept.path.exists()
    assert not kept.release(), "there is nothing to let go"
    assert kept.is_released, "but the disk is full"
    disk.quota = None
    kept.keep()
    assert kept.path.stat().st_size == BALLAST
    assert not kept.is_released
    assert not kept.release(), "a disk with room needs none"
    kept.remove()
    nowhere = Ballast(str(disk.folder / "no folder" / "log.db"), BALLAST)
    nowhere.keep()
    assert not nowhere.path.exists()


# --- a full disk --------------------------------------------------------------------------------


def test_on_a_full_disk_input_is_refused_and_events_are_written(disk: FaultyDisk) -> None:
    async def scene() -> None:
        async with engine_on(disk) as engine:
            rules = Options(max_queue=10_000, on_disconnect="continue")
            waits = await engine.create("demo", conversation_id="waits", rules=rules)
            other = await engine.create("demo", conversation_id="other", rules=rules)
            async with Watcher(waits) as seen, Watcher(other) as beside:
                await other.send("question", client_message_id="q")
                asked = (await beside.until(f.AssistantRequestInput)).payload.question_id
                await waits.send("question")
                await seen.state("waiting_input")
                disk.quota = disk.used() + 300 * KIB
                taken = await fill(waits)
                assert taken >= 1
                assert disk.failed
                ballast_there = "turnwire.db-ballast" in _names(disk.folder)
                assert ballast_there, "what people ask for does not cost the ballast"
                # The running turn has to end, and its end has to be written.
                status = await other.status()
                assert status.turn_id is not None
                with pytest.raises(StorageUnavailable):
                    await other.send(LONG * 5, client_message_id="no room")
                disk.quota = None
                await other.answer(asked, "Blue", client_message_id="a")
                await beside.until(f.AssistantComplete)
                again = await waits.send(f"{taken} {LONG}", client_message_id=f"fill-{taken}")
                assert not again.duplicate, "a refusal leaves no trace"
                queue = (await waits.status()).queue
                names = [item.client_message_id for item in queue]
                assert names == [f"fill-{number}" for number in range(taken + 1)]

    asyncio.run(scene())
    assert not check(disk.folder / "turnwire.db", now=NOW).left


def test_a_turn_that_runs_when_the_disk_fills_up_ends_with_the_room_of_the_ballast(
    disk: FaultyDisk,
) -> None:
    async def scene() -> None:
        async with engine_on(disk, delay=0.001) as engine:
            talk = await engine.create("demo", conversation_id="talk")
            async with Watcher(talk) as seen:
                await talk.send("think tool subagent", client_message_id="m-1")
                await seen.until(f.AssistantThinking)
                disk.quota = disk.used()  # not a byte more
                end = await seen.until(f.AssistantComplete)
                assert not end.payload.is_error
                assert disk.failed
                assert "turnwire.db-ballast" not in _names(disk.folder)
                for _ in range(2):
                    with pytest.raises(StorageUnavailable, match="full"):
                        await talk.send("more", client_message_id="m-2")
                disk.quota = None
                assert not (await talk.send("hello", client_message_id="m-2")).duplicate
                await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
                assert "turnwire.db-ballast" in _names(disk.folder), "it is there again"

    asyncio.run(scene())
    assert not check(disk.folder / "turnwire.db", now=NOW).findings


def test_when_even_the_ballast_is_used_up_the_turn_waits_for_room(disk: FaultyDisk) -> None:
    async def scene() -> None:
        async with engine_on(disk, delay=0.001) as engine:
            talk = await engine.create("demo", conversation_id="talk")
            async with Watcher(talk) as seen:
                await talk.send("think tool", client_message_id="m-1")
                await seen.until(f.AssistantThinking)
                disk.quota = 0
                failed = disk.failed

                async def has_failed() -> bool:
                    return disk.failed > failed

                await until(has_failed)
                assert not seen.of(f.AssistantComplete), "nothing is told that is not written"
                disk.quota = None
                assert not (await seen.until(f.AssistantComplete)).payload.is_error

    asyncio.run(scene())
    assert not check(disk.folder / "turnwire.db", now=NOW).findings


def test_a_server_that_stops_on_a_full_disk_leaves_a_log_that_the_next_makes_true(
    disk: FaultyDisk,
) -> None:
    async def fall() -> None:
        async with engine_on(disk, delay=0.001) as engine:
            talk = await engine.create("demo", conversation_id="talk")
            async with Watcher(talk) as seen:
                await talk.send("long", client_message_id="m-1")
                await seen.until(f.AssistantChunk)
                disk.quota = 0

    async def rise() -> None:
        async with engine_on(disk) as engine:
            talk = await engine.open("talk")
            status = await talk.wake()
            assert (status.state, status.running) == ("interrupted", False)

    asyncio.run(fall())
    disk.quota = None
    for table in ("conversations", "nodes"):
        rows_of(disk.folder / "turnwire.db", f"UPDATE {table} SET lease_until = 0")
    asyncio.run(rise())
    assert not check(disk.folder / "turnwire.db", now=NOW).findings


# --- errors of the disk -------------------------------------------------------------------------


async def a_day(disk: FaultyDisk) -> tuple[set[str], set[str]]:
    """Runs a conversation while the disk fails. Returns the accepted and the refused messages."""
    acknowledged: set[str] = set()
    refused: set[str] = set()
    try:
        async with engine_on(disk) as engine:
            rules = Options(on_disconnect="continue")
            talk = await engine.create("demo", conversation_id="talk", rules=rules)
            for name, text in (("m-1", "think tool"), ("m-2", "subagent"), ("m-3", "hello")):
                for _ in range(3):
                    try:
                        await talk.send(text, client_message_id=name)
                    except StorageUnavailable:
                        refused.add(name)
                    else:
                        acknowledged.add(name)
                        break
            await until(lambda: _rests(talk))
    except StorageUnavailable:
        pass
    return acknowledged, refused


async def _rests(talk: Talk) -> bool:
    try:
        status = await talk.status()
    except StorageUnavailable:
        return False
    return not status.running and not status.queue


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
@pytest.mark.parametrize("operation", ["read", "write", "sync"])
def test_an_error_at_any_call_loses_nothing(
    operation: str, number: int, tmp_path: Path, disk: FaultyDisk
) -> None:
    path = disk.folder / "turnwire.db"
    asyncio.run(_create(path))
    disk.fails = {operation: {number, number + 1, number + 2}}
    acknowledged, _ = asyncio.run(a_day(disk))
    disk.fails = {}

    async def look() -> None:
        async with engine_on(disk) as engine:
            row = await engine.store.conversation("talk")
            if row is None:
                assert not acknowledged
                return
            talk = await engine.open("talk")
            async with Watcher(talk) as seen:
                names = {frame.payload.client_message_id for frame in _said(seen)}
                waiting = {item.client_message_id for item in (await talk.status()).queue}
                assert acknowledged <= names | waiting, "an acknowledged message was lost"
                for name in acknowledged:
                    again = await talk.send("?", client_message_id=name + "-again")
                    assert not again.duplicate
                    break

    rows_of(path, "UPDATE conversations SET owner = NULL, lease_until = 0")
    asyncio.run(look())
    assert not check(path, now=NOW).left
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]


async def _create(path: Path) -> None:
    await (await SqliteStore.open(path, ballast=0)).close()


def _said(seen: Watcher) -> list[f.UserMessage]:
    replayed = [frame.payload.event for frame in seen.of(f.MessageReplay)]
    return [frame for frame in replayed if isinstance(frame, f.UserMessage)]


# --- a real disk that is full -------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("not run: no tmpfs can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="not run: mounting needs root")
def test_a_real_disk_that_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "16m") as folder:
        path = folder / "turnwire.db"
        filler = folder / "filler"

        async def scene() -> None:
            store = await SqliteStore.open(path, ballast=2 << 20)
            async with Engine(store, {"demo": DemoAgent(delay=0.001)}) as engine:
                talk = await engine.create("demo", conversation_id="talk")
                async with Watcher(talk) as seen:
                    await talk.send("think tool subagent", client_message_id="m-1")
                    await seen.until(f.AssistantThinking)
                    _fill_up(filler)
                    assert not (await seen.until(f.AssistantComplete)).payload.is_error
                    assert "turnwire.db-ballast" not in _names(folder)
                    with pytest.raises(StorageUnavailable, match="full"):
                        await talk.send("more", client_message_id="m-2")
                    filler.unlink()
                    await until(lambda: _taken(talk, "hello", "m-2"))
                    await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == 2)
            await store.close()

        asyncio.run(scene())
        assert not check(path, now=NOW).findings


def _fill_up(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
