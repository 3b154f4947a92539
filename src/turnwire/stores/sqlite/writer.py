"""One thread that writes. What is asked for at the same time is written to the disk at once."""

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

_BATCH = 1024  # jobs in one transaction
_FULL = "The disk of the log is full. Make room on it: the server then goes on by itself."
_PROBE = "INSERT INTO meta VALUES ('probe', 0) ON CONFLICT DO UPDATE SET value = 1 - value"
_LAST_SECONDS = 2.0  # how long closing goes on to erase; the next process does the rest


class Job(Generic[T]):
    """Something to write, all or nothing. It may be run twice: a first attempt was rolled back."""

    __slots__ = ("error", "future", "must", "result")

    must: bool  # it has happened already: on a full disk the ballast is let go for it
    future: asyncio.Future[T]  # whoever waits for it
    result: T
    error: Exception | None

    def run(self, db: apsw.Cursor) -> T:
        """Write it. Whatever this raises takes back what it wrote, and nothing else."""
        raise NotImplementedError

    def settle(self, db: apsw.Cursor) -> None:
        """Write what can wait for the end of the transaction, after every job has run.

        The search index belongs here: it writes all that it has whenever a savepoint is set, so an
        entry between two savepoints costs three times as much as one of many at the end.
        """

    def release(self) -> None:
        """Frees what was written: the event loop goes on with the same long answer at once."""


class _Call(Job[T]):
    __slots__ = ("_run",)

    def __init__(self, run: Callable[[apsw.Cursor], T], must: bool) -> None:
        self._run = run
        self.must = must

    def run(self, db: apsw.Cursor) -> T:
        return self._run(db)


_Jobs: TypeAlias = list[Job[Any]]


class Writer:
    """Takes jobs from any number of tasks and event loops, in the order in which they come."""

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
        self._version = 0  # of what others have written
        self._db = connection.cursor()  # one for all: making one costs more than using it
        ballast.keep()
        self._gathered: dict[asyncio.AbstractEventLoop, _Jobs] = {}
        self._waiting: SimpleQueue[_Jobs | None] = SimpleQueue()  # None: the end
        self._gate = Lock()
        self._closed = False
        self._thread = Thread(target=self._work, name="turnwire-writer", daemon=True)
        self._thread.start()

    def write(self, job: Job[T]) -> asyncio.Future[T]:
        """Ask for it. The future is done when it is on disk, or is known not to be.

        It is handed over when everything that is ready in this loop has run. Of many tasks that
        were woken up together the first would otherwise be written alone, and the others wait.
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
        """The same for a function."""
        return self.write(_Call(run, must))

    def look(self) -> None:
        """The file may have been replaced: open the new one. From any thread; does not wait."""
        self._waiting.put([])

    def erase_deleted(self) -> None:
        """Something was deleted: erase it when it is committed. To be called by a job."""
        self._eraser.is_wanted = True

    def probe(self, db: apsw.Cursor) -> None:
        """Changes one page, always the same one. To be called as a job.

        On a full disk that may still succeed, with room that the write-ahead log has already.
        """
        if not self._ballast.has_room:
            raise StorageUnavailable(_FULL, cause="FullError")
        db.execute(_PROBE)

    def hand_over(self) -> None:
        """Give what this loop has asked for to the thread."""
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
        """Write what was handed over, then end. Waits for it."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    # --- in the thread --------------------------------------------------------------------------

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
            del batch, jobs  # nothing is kept alive while the next is waited for
        self._erase_the_rest()
        if self._connection is not None:
            close_quietly(self._connection)
        self._ballast.remove()

    def _next_jobs(self) -> _Jobs | None:
        """Wait for the next jobs, and erase meanwhile what was deleted."""
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
            # Another file at the path is left for the next job, which is told of it.
            if self._connection is None or not self._is_its_file():
                self._eraser.put_off()
                return False
            work(self._connection)
        except (StorageUnavailable, *STORAGE_ERRORS):
            self._eraser.put_off()
            return False
        except Exception:  # this thread has to go on
            _log.exception("What was deleted could not be erased.")
            self._eraser.put_off()
            return False
        return True

    def _is_its_file(self) -> bool:
        """Whether the file at the path is the one that was opened. Raises StorageUnavailable."""
        file = self._file
        file.look(self._connection)
        return file.generation == file.opened

    def _look(self) -> None:
        """Write only to the file that is at the path."""
        if self._is_its_file() and self._connection is not None:
            version = self._file.look_inside(self._connection, self._version)
            if version != self._version:  # another process may have deleted something, and died
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
            "The log's file was replaced by another. Nothing of this was written; ask again.",
            cause="replaced",
        )

    def _write_all(self, batch: _Jobs) -> None:
        if self._ballast.is_released:  # what is left of the disk is for what must be written
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
        """All in one transaction."""
        try:
            self._attempt(batch, savepoints=False)
        except STORAGE_ERRORS:
            raise
        except Exception:  # one was refused, which is rare: again, so that it fails alone
            self._attempt(batch, savepoints=True)

    def _one_by_one(self, batch: _Jobs) -> None:
        """Each in a transaction of its own: one may not fit where another does."""
        for number, job in enumerate(batch):
            try:
                self._attempt_alone(job)
            except apsw.BusyError as busy:  # it was waited for long enough
                _fail(batch[number:], busy)
                return
            except Exception as failure:
                _fail([job], failure)

    def _attempt_alone(self, job: Job[Any]) -> None:
        try:
            self._attempt([job], savepoints=False)
        except (apsw.FullError, apsw.IOError):  # a disk may be too full even for what is shared
            if not job.must or not self._ballast.release():
                raise
            self._attempt([job], savepoints=False)

    def _attempt(self, batch: _Jobs, *, savepoints: bool) -> None:
        db = self._db
        with transaction(db.connection):
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
            raise  # everything is in doubt, and may be rolled back already
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
    """Wake up those who wait, each loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, _Jobs] = {}
    for job in batch:
        job.release()
        by_loop.setdefault(job.future.get_loop(), []).append(job)
    for loop, told in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, told)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _resolve(batch: _Jobs) -> None:
    for job in batch:
        if job.future.done():  # whoever waited was cancelled; it is written all the same
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
