"""Notices when the event loop is held, and logs for how long and by what.

A timer on the loop measures how late it is called. Meanwhile a thread looks at the timer from outside: where
it is overdue, the thread takes the stacks of what runs at that moment. Both sleep while the server is idle:
requests and frames wake them (`stir`), and once a second the thread looks whether the process works.
What begins to hold the loop a second after the last sign of work, and for less than a second, may go unseen.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import threading
import time
from collections import Counter, deque
from pathlib import PurePath
from types import FrameType

__all__ = ["Watchdog"]

_log = logging.getLogger("turnwire")

_PERIOD = 0.0125  # seconds between two calls of the timer, at most
_WINDOW = 1.0  # seconds until the watchdog asks whether there is still something to watch
_IDLE_LOOK = 1.0  # seconds between two looks at a process that is idle
_BUSY = 0.05  # share of one processor from which on the process counts as working
_LOG_EVERY = 10.0  # seconds between two warnings; those in between are counted
_FRAMES = 8  # of a stack that are told, the innermost first
_OTHERS = 3  # other threads that are told
# A thread whose innermost frame is in one of these files waits for work.
_WAITING = ("threading.py", "queue.py", "thread.py", "selectors.py", "socket.py")


class Watchdog:
    """Watches the loop that it was started on. `threshold` 0: it watches nothing."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.longest = 0.0  # seconds that the loop was held at most
        self.work = 0.0  # seconds of processor time of the loop's thread during that pause
        self.pauses = 0  # how often it was held for longer than the threshold
        self.log_every = _LOG_EVERY
        self.looks = 0  # how often the thread has looked at what holds the loop
        # Of the timer. What it measures is too short by this at most.
        self._period = min(threshold / 4, _PERIOD)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stopped = False
        self._due: float | None = None  # when the timer has to be called; none: it sleeps
        self._asked: float | None = (
            None  # when the thread has asked the sleeping loop to be watched
        )
        self._stirred = False  # in this window
        self._busy_at = 0.0  # thread time of the loop when the timer was last called
        self._until = 0.0  # the end of the window
        self._used = 0.0  # processor time of the process when the window began
        self._over: deque[tuple[float, float]] = deque()  # pauses that have ended: length, work
        self._told_at = -math.inf
        self._untold = 0
        self._untold_longest = 0.0

    @property
    def is_awake(self) -> bool:
        """Whether it watches at the moment. It sleeps while the server is idle."""
        return self._due is not None

    def start(self) -> None:
        """Watch the running loop, and the thread that it runs in."""
        if not self.threshold:
            return
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="turnwire-watchdog", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread and the timer, and log the longest pause."""
        if self._thread is None:
            return
        self._stopped = True
        self._wake.set()
        self._thread.join()
        self._thread = None
        if self._timer is not None:
            self._timer.cancel()
        _log.info("The event loop's longest pause was %.0f ms.", self.longest * 1000)

    def reset(self) -> None:
        """Forget the longest pause so far."""
        self.longest = self.work = 0.0

    # --- on the loop ----------------------------------------------------------------------------

    def stir(self) -> None:
        """Watch from now on: something has come that may take long."""
        self._stirred = True
        if self._due is None and self._loop is not None and not self._stopped:
            now = time.monotonic()
            self._begin_window(now)
            self._busy_at = time.thread_time()
            self._set_timer(now)
            self._wake.set()

    def _begin_window(self, now: float) -> None:
        self._stirred = False
        self._until = now + _WINDOW
        self._used = time.process_time()

    def _set_timer(self, now: float) -> None:
        assert self._loop is not None
        self._due = now + self._period
        self._timer = self._loop.call_later(self._period, self._tick)

    def _tick(self) -> None:
        assert self._due is not None
        now = time.monotonic()
        self._measure(now - self._due)
        if now >= self._until:
            if not self._stirred and time.process_time() - self._used < _BUSY * _WINDOW:
                self._due = None
                return
            self._begin_window(now)
        self._set_timer(now)

    def _measure(self, late: float) -> None:
        """Note that the loop could not do something for so long."""
        busy = time.thread_time()
        work, self._busy_at = min(busy - self._busy_at, late + self._period), busy
        if late > self.longest:
            self.longest, self.work = late, work
        if late > self.threshold:
            self.pauses += 1
            self._over.append((late, work))

    def _answer(self) -> None:
        """The thread has asked: the process works, but nothing has stirred."""
        if self._asked is not None:
            late, self._asked = time.monotonic() - self._asked, None
            self._measure(late)
        self.stir()

    # --- in the thread --------------------------------------------------------------------------

    def _watch(self, loop_thread: int) -> None:
        seen: Counter[str] = (
            Counter()
        )  # what ran during the present pause, by how often it was seen
        while not self._stopped:
            while self._over:
                self._tell(*self._over.popleft(), seen)
                seen.clear()
            due = self._due or self._asked
            if due is None:
                self._sleep()
                continue
            late = time.monotonic() - due
            if late > self.threshold:
                seen[_what_runs(loop_thread)] += 1
                self.looks += 1
                self._wake.wait(self.threshold)
            else:
                self._wake.wait(self.threshold - late)
            self._wake.clear()

    def _sleep(self) -> None:
        """Wait until something stirs. If the process works although nothing has stirred, ask the loop."""
        before = time.process_time()
        is_stirred = self._wake.wait(_IDLE_LOOK)
        self._wake.clear()
        if not is_stirred and time.process_time() - before > _BUSY * _IDLE_LOOK:
            assert self._loop is not None
            self._asked = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:  # the loop has ended without a stop
                self._stopped = True

    def _tell(self, length: float, work: float, seen: Counter[str]) -> None:
        """Log a pause, unless another one was logged just before."""
        now = time.monotonic()
        if now < self._told_at + self.log_every:
            self._untold += 1
            self._untold_longest = max(self._untold_longest, length)
            return
        ran = seen.most_common(1)[0][0] if seen else "it was over before it could be seen"
        more = ""
        if self._untold:
            more = (
                f" Since the last warning there were {self._untold} more, "
                f"of {self._untold_longest * 1000:.0f} ms at most."
            )
        _log.warning(
            "The event loop was held for %.0f ms, %.0f ms of them by work in its own thread: %s.%s",
            length * 1000,
            work * 1000,
            ran,
            more,
        )
        self._told_at, self._untold, self._untold_longest = now, 0, 0.0


def _what_runs(loop_thread: int) -> str:
    """Return the stack of the loop's thread; if that only waits to run, those of other threads."""
    frames = sys._current_frames()
    own = frames.pop(loop_thread, None)
    frames.pop(threading.get_ident(), None)
    if own is None or ("asyncio" not in _file_of(own) and not _waits(own)):
        return _stack(own)
    others = [_stack(frame) for frame in frames.values() if not _waits(frame)]
    return "; ".join(["it waited while other threads ran", *others[:_OTHERS]])


def _waits(frame: FrameType) -> bool:
    return PurePath(frame.f_code.co_filename).name in _WAITING


def _file_of(frame: FrameType) -> str:
    return "/".join(PurePath(frame.f_code.co_filename).parts[-2:])


def _stack(frame: FrameType | None) -> str:
    """Return the innermost functions of a stack, each with its file and line."""
    told: list[str] = []
    while frame is not None and len(told) < _FRAMES:
        told.append(f"{frame.f_code.co_qualname} ({_file_of(frame)}:{frame.f_lineno})")
        frame = frame.f_back
    return " < ".join(told) or "nothing"
