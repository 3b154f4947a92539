"""The writer thread, which commits jobs that arrive together in one transaction."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeAlias, TypeVar

import apsw

from turnwire.ports import StorageUnavailable
from turnwire.stores.sqlite.ballast import Ballast
from turnwire.stores.sqlite.connection import STORAGE_ERRORS, close_quietly, storage_errors
from turnwire.stores.sqlite.erasing import Eraser
from turnwire.stores.sqlite.schema import transaction
from turnwire.stores.sqlite.watch import WatchedFile

__all__ = ["Job", "Writer"]

T = TypeVar("T")

_log = logging.getLogger("turnwire")

_BATCH = 1024  # maximum number of jobs in one transaction
_FULL = "The disk of the log is full. Free some space: the server then continues by itself."
_PROBE = "INSERT INTO meta VALUES ('probe', 0) ON CONFLICT DO UPDATE SET value = 1 - value"
_LAST_SECONDS = 2.0  # how long shutdown continues to erase; the next process erases the rest


class Job(Generic[T]):
    """A unit of writing, all or nothing.

    It may run twice, because a first attempt may be rolled back.
    """

    __slots__ = ("error", "future", "must", "result")

    # The job records what has happened and cannot be refused. A full disk releases the ballast.
    must: bool
    future: asyncio.Future[T]  # resolved for the caller
    result: T
    error: Exception | None

    def run(self, db: apsw.Cursor) -> T:
        """Writes the job. An exception rolls back what this job wrote, and nothing else."""
        raise NotImplementedError

    def settle(self, db: apsw.Cursor) -> None:
        """Writes what can wait for the end of the transaction, after every job has run.

        The search index belongs here: it flushes its buffer at every savepoint. An entry between
        two savepoints costs three times as much as one of many at the end.
        """

    def release(self) -> None:
        """Frees the written rows at once: the event loop may still hold the same long answer."""


class _Call(Job[T]):
    __slots__ = ("_run",)

    def __init__(self, run: Callable[[apsw.Cursor], T], must: bool) -> None:
        self._run = run
        self.must = must

    def run(self, db: apsw.Cursor) -> T:
        return self._run(db)


_Jobs: TypeAlias = list[Job[Any]]


class Writer:
    """Takes jobs from any number of tasks and event loops, and writes them in order of arrival."""

    def __init__(
        self,
        file: WatchedFile,
        connection: apsw.Connection,
        open_file: Callable[[], apsw.Connection],
        ballast: Ballast,
    ) -> None:
        self._file = file
        self._open_file = open_file
        self._ballast = ballast
        self._eraser = Eraser()
        self._connection: apsw.Connection | None = connection
        self._version = 0  # SQLite's data_version, which changes when another process writes
        # Shared by all jobs: creating a cursor costs more than using one.
        self._db = connection.cursor()
        ballast.keep()
        self._gathered: dict[asyncio.AbstractEventLoop, _Jobs] = {}
        self._waiting: SimpleQueue[_Jobs | None] = SimpleQueue()  # None ends the thread
        self._gate = Lock()
        self._closed = False
        self._thread = Thread(target=self._work, name="turnwire-writer", daemon=True)
        self._thread.start()

    def write(self, job: Job[T]) -> asyncio.Future[T]:
        """Queues a job. Its future is done when the job is on disk, or has failed.

        The job is handed over after everything that is ready in this event loop has run. Of many
        tasks woken together, the first would otherwise be written alone while the others wait.
        """
        if self._closed:
            raise StorageUnavailable("The store is closed.")
        loop = asyncio.get_running_loop()
        job.future = loop.create_future()
        gathered = self._gathered.get(loop)
        if gathered is None:
            self._gathered[loop] = [job]
            loop.call_soon(self.hand_over)
        else:
            gathered.append(job)
        return job.future

    def call(self, run: Callable[[apsw.Cursor], T], *, must: bool = False) -> asyncio.Future[T]:
        """Queues a function as a job."""
        return self.write(_Call(run, must))

    def look(self) -> None:
        """Makes the thread check whether the file was replaced.

        Callable from any thread; does not wait.
        """
        self._waiting.put([])

    def erase_deleted(self) -> None:
        """Requests the erasure of deleted data after the commit. Called by a job."""
        self._eraser.is_wanted = True

    def probe(self, db: apsw.Cursor) -> None:
        """Changes one page, always the same one. Called as a job.

        On a full disk the write may still succeed, with free space inside the write-ahead log.
        """
        if not self._ballast.has_room:
            raise StorageUnavailable(_FULL, cause="FullError")
        db.execute(_PROBE)

    def hand_over(self) -> None:
        """Gives the queued jobs of this event loop to the thread."""
        gathered = self._gathered.pop(asyncio.get_running_loop(), None)
        if gathered is None:
            return
        with self._gate:
            if not self._closed:
                self._waiting.put(gathered)
                return
        _fail(gathered, StorageUnavailable("The store is closed."))
        _resolve(gathered)

    def close(self) -> None:
        """Writes the jobs that were handed over, then ends the thread.

        Blocks until it has ended.
        """
        with self._gate:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    # --- in the writer thread -------------------------------------------------------------------

    def _work(self) -> None:
        going = True
        while going:
            batch: _Jobs = []
            jobs = self._next_jobs()
            while jobs is not None:
                batch += jobs
                if len(batch) >= _BATCH:
                    break
                try:
                    jobs = self._waiting.get_nowait()
                except Empty:
                    break
            going = jobs is not None
            try:
                self._look()
            except Exception as failure:
                _fail(batch, failure)
            else:
                self._write_all(batch)
            _tell(batch)
            del batch, jobs  # free the jobs while the thread waits for the next ones
        self._erase_the_rest()
        if self._connection is not None:
            close_quietly(self._connection)
        self._ballast.remove()

    def _next_jobs(self) -> _Jobs | None:
        """Waits for the next jobs, and erases deleted data meanwhile."""
        while True:
            if self._eraser.is_wanted:
                self._try_to_erase(self._eraser.look)
            pause = self._eraser.pause
            if pause is None or pause > 0:
                try:
                    return self._waiting.get(timeout=pause)
                except Empty:
                    pass
            self._try_to_erase(self._eraser.step)

    def _erase_the_rest(self) -> None:
        until = time.monotonic() + _LAST_SECONDS
        while self._eraser.pause is not None and time.monotonic() < until:
            if not self._try_to_erase(self._eraser.step):
                return

    def _try_to_erase(self, work: Callable[[apsw.Connection], None]) -> bool:
        try:
            # A replaced file is left to the next job, which gets the error.
            if self._connection is None or not self._is_its_file():
                self._eraser.put_off()
                return False
            work(self._connection)
        except (StorageUnavailable, *STORAGE_ERRORS):
            self._eraser.put_off()
            return False
        except Exception:  # the thread must not die
            _log.exception("Erasing deleted data failed; the store will retry.")
            self._eraser.put_off()
            return False
        return True

    def _is_its_file(self) -> bool:
        """Returns whether the file at the path is the one that was opened.

        Raises StorageUnavailable.
        """
        file = self._file
        file.look(self._connection)
        return file.generation == file.opened

    def _look(self) -> None:
        """Checks the file before a write. If it was replaced, opens the new one and raises."""
        if self._is_its_file() and self._connection is not None:
            version = self._file.look_inside(self._connection, self._version)
            if version != self._version:  # another process may have deleted data and crashed
                self._version, self._eraser.is_wanted = version, True
            self._ballast.keep()
            return
        if self._connection is not None:
            connection, self._connection = self._connection, None
            close_quietly(connection)
        with storage_errors():
            self._connection = self._open_file()
        self._db = self._connection.cursor()
        self._eraser.is_wanted = True
        raise StorageUnavailable(
            "The log's file was replaced. Nothing of this was written. Try again.",
            cause="replaced",
        )

    def _write_all(self, batch: _Jobs) -> None:
        # The remaining space is reserved for jobs that must be written.
        if self._ballast.is_released:
            full = StorageUnavailable(_FULL, cause="FullError")
            _fail([job for job in batch if not job.must], full)
            batch = [job for job in batch if job.must]
        if not batch:
            return
        if len(batch) == 1:
            self._one_by_one(batch)
            return
        try:
            self._together(batch)
        except apsw.BusyError as busy:
            _fail(batch, busy)
        except Exception:
            self._one_by_one(batch)

    def _together(self, batch: _Jobs) -> None:
        """Writes all jobs in one transaction."""
        try:
            self._attempt(batch, savepoints=False)
        except STORAGE_ERRORS:
            raise
        except Exception:
            # A job was refused, which is rare. A second run with savepoints lets only that job fail.
            self._attempt(batch, savepoints=True)

    def _one_by_one(self, batch: _Jobs) -> None:
        """Writes each job in its own transaction: on a full disk a small job may still fit."""
        for number, job in enumerate(batch):
            try:
                self._attempt_alone(job)
            except apsw.BusyError as busy:  # the busy timeout has passed already
                _fail(batch[number:], busy)
                return
            except Exception as failure:
                _fail([job], failure)

    def _attempt_alone(self, job: Job[Any]) -> None:
        try:
            self._attempt([job], savepoints=False)
        except (apsw.FullError, apsw.IOError):  # the disk may be too full even for the job alone
            if not job.must or not self._ballast.release():
                raise
            self._attempt([job], savepoints=False)

    def _attempt(self, batch: _Jobs, *, savepoints: bool) -> None:
        db = self._db
        with transaction(db):
            for job in batch:
                job.error = None
                if savepoints:
                    self._run_alone(job)
                else:
                    job.result = job.run(db)
            for job in batch:
                if job.error is None:
                    job.settle(db)

    def _run_alone(self, job: Job[Any]) -> None:
        self._db.execute("SAVEPOINT one")
        try:
            job.result = job.run(self._db)
        except STORAGE_ERRORS:
            raise  # the whole transaction is in doubt, and may be rolled back already
        except Exception as refused:
            _fail([job], refused)
            self._db.execute("ROLLBACK TO one")
        self._db.execute("RELEASE one")


def _fail(batch: _Jobs, failure: Exception) -> None:
    for job in batch:
        job.error = _in_our_words(failure)


def _in_our_words(failure: Exception) -> Exception:
    try:
        with storage_errors():
            raise failure
    except Exception as said:
        return said


def _tell(batch: _Jobs) -> None:
    """Resolves the futures of a batch, with one call for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, _Jobs] = {}
    for job in batch:
        job.release()
        by_loop.setdefault(job.future.get_loop(), []).append(job)
    for loop, told in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, told)
        except RuntimeError:  # the loop is closed, so no task waits
            continue


def _resolve(batch: _Jobs) -> None:
    for job in batch:
        if job.future.done():  # the waiting task was cancelled; the job is written anyway
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
