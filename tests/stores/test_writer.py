"""The writer thread: jobs are written together and fail separately."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import apsw
import pytest

from tests.stores.helpers.sql import rows_of
from turnwire.ports import Conflict, StorageUnavailable
from turnwire.stores.sqlite.ballast import Ballast
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.sqlite.schema import migrate
from turnwire.stores.sqlite.watch import WatchedFile
from turnwire.stores.sqlite.writer import Job, Writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "numbers.db"


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    connection = connect(str(path), busy_ms=0, writes=True)
    migrate(connection)
    connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY)")
    writer = Writer(WatchedFile(str(path)), connection, lambda: connection, Ballast(str(path), 0))
    yield writer
    writer.close()


def add(number: int) -> Callable[[apsw.Cursor], None]:
    def run(db: apsw.Cursor) -> None:
        db.execute("INSERT INTO numbers VALUES (?)", (number,))

    return run


def numbers(path: Path) -> list[int]:
    return [number for (number,) in rows_of(path, "SELECT number FROM numbers ORDER BY number")]


def test_more_than_fits_into_one_transaction_is_written(writer: Writer, path: Path) -> None:
    async def ask() -> None:
        await asyncio.gather(*(writer.call(add(number)) for number in range(3000)))

    asyncio.run(ask())
    assert numbers(path) == list(range(3000))


def test_the_caller_gets_the_result_or_the_error(writer: Writer, path: Path) -> None:
    def broken(db: apsw.Cursor) -> None:
        add(3)(db)
        raise ValueError("a defect")

    async def ask() -> list[object]:
        asked: list[asyncio.Future[object]] = [
            writer.call(add(1)),
            writer.call(add(1)),
            writer.call(lambda db: db.execute("SELECT count(*) FROM numbers").get),
            writer.call(broken),
            writer.call(add(2)),
        ]
        return await asyncio.gather(*asked, return_exceptions=True)

    one, again, count, defect, two = asyncio.run(ask())
    assert (one, count, two) == (None, 1, None)
    assert isinstance(again, Conflict)
    assert isinstance(defect, ValueError)
    assert numbers(path) == [1, 2]


class _Unlucky(Job[None]):
    """A job that meets a full disk in its second run only."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, db: apsw.Cursor) -> None:
        self.runs += 1
        if self.runs == 2:
            raise apsw.FullError("full")
        add(5)(db)


def test_a_disk_that_fails_in_the_retry_fails_no_later_commit(writer: Writer, path: Path) -> None:
    unlucky = _Unlucky()

    async def ask() -> list[object]:
        asked = [writer.write(unlucky), writer.call(add(1)), writer.call(add(1))]
        return await asyncio.gather(*asked, return_exceptions=True)

    lucky, one, again = asyncio.run(ask())
    assert (one, lucky, unlucky.runs) == (None, None, 3)
    assert isinstance(again, Conflict)
    assert numbers(path) == [1, 5]


class _Unsettled(Job[None]):
    """Can be run, and not be settled."""

    def run(self, db: apsw.Cursor) -> None:
        add(7)(db)

    def settle(self, db: apsw.Cursor) -> None:
        raise ValueError("a defect")


def test_a_job_that_fails_at_the_end_of_the_transaction_fails_alone_too(
    writer: Writer, path: Path
) -> None:
    async def ask() -> list[object]:
        asked = [writer.call(add(1)), writer.write(_Unsettled()), writer.call(add(2))]
        return await asyncio.gather(*asked, return_exceptions=True)

    one, defect, two = asyncio.run(ask())
    assert (one, two) == (None, None)
    assert isinstance(defect, ValueError)
    assert numbers(path) == [1, 2]


def test_a_job_after_the_end_of_the_writer_is_refused(writer: Writer, path: Path) -> None:
    async def ask() -> None:
        late = writer.call(add(1))
        writer.close()
        with pytest.raises(StorageUnavailable, match="closed"):
            await late

    asyncio.run(ask())
    assert numbers(path) == []


def test_a_closed_event_loop_is_not_called(writer: Writer, path: Path) -> None:
    ended = Event()

    def slow(db: apsw.Cursor) -> None:
        ended.wait()
        add(1)(db)

    async def ask() -> None:
        writer.call(slow)
        writer.hand_over()

    asyncio.run(ask())
    ended.set()
    writer.close()
    assert numbers(path) == [1]
