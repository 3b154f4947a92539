"""Logs pauses of the event loop: how long each was, and which code ran meanwhile.

A timer on the loop measures how late it is called. A thread checks the timer: while the timer is
overdue, the thread samples the stacks of the running threads. Both sleep while the server is idle.
Requests and frames wake them (`wake`), and once a second the thread checks whether the process is
busy. A pause that begins a second after the last request, and is shorter than a second, may be
missed.
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

_PERIOD = 0.0125  # maximum seconds between two calls of the timer
_WINDOW = 1.0  # seconds of watching after which an idle server is no longer watched
_IDLE_CHECK = 1.0  # seconds between two checks of an idle process
_BUSY = 0.05  # share of one processor from which on the process counts as active
_RAN = 0.1  # share of a pause from which on a thread counts as one that ran
_LOG_EVERY = 10.0  # seconds between two warnings; pauses in between are counted
_FRAMES = 8  # maximum frames of a stack in a warning, the innermost first
_OTHERS = 3  # maximum other threads in a warning
# Innermost files of a thread that waits, for systems without a clock for each thread.
_WAITING = ("threading.py", "queue.py", "thread.py", "selectors.py", "socket.py", "writer.py")


class Watchdog:
    """Watches the event loop that it was started on. A `threshold` of 0 switches it off."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.longest = 0.0  # seconds of the longest pause
        self.longest_processor_time = 0.0  # seconds that the loop's thread computed in that pause
        self.pauses = 0  # number of pauses longer than the threshold
        self.log_every = _LOG_EVERY
        self.looks = 0  # number of samples that were taken
        # Seconds between two calls of the timer. A measured pause is too short by at most this.
        self._period = min(threshold / 4, _PERIOD)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._thread: threading.Thread | None = None
        self._changed = threading.Event()  # the thread has to check again
        self._is_stopped = False
        self._due: float | None = None  # when the timer has to be called; None while it sleeps
        self._asked_at: float | None = None  # when the thread asked the sleeping loop to be watched
        self._was_active = False  # in this window
        self._loop_time = 0.0  # processor time of the loop's thread when the timer was last called
        self._window_end = 0.0
        self._used = 0.0  # processor time of the process when the window began
        self._ended: deque[tuple[float, float]] = deque()  # pauses: length, processor time
        self._logged_at = -math.inf
        self._unlogged = 0
        self._unlogged_longest = 0.0

    @property
    def is_awake(self) -> bool:
        """Returns whether the watchdog is watching. It sleeps while the server is idle."""
        return self._due is not None

    def start(self) -> None:
        """Starts watching the running loop and its thread."""
        if not self.threshold:
            return
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="turnwire-watchdog", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and the timer, and logs the longest pause."""
        if self._thread is None:
            return
        self._is_stopped = True
        self._changed.set()
        self._thread.join()
        self._thread = None
        if self._timer is not None:
            self._timer.cancel()
        _log.info("The event loop's longest pause was %.0f ms.", self.longest * 1000)

    def reset(self) -> None:
        """Resets the longest pause."""
        self.longest = self.longest_processor_time = 0.0

    # --- on the loop ----------------------------------------------------------------------------

    def wake(self) -> None:
        """Starts the timer if it sleeps. Called for each request and frame."""
        self._was_active = True
        if self._due is None and self._loop is not None and not self._is_stopped:
            now = time.monotonic()
            self._begin_window(now)
            self._loop_time = time.thread_time()
            self._set_timer(now)
            self._changed.set()

    def _begin_window(self, now: float) -> None:
        self._was_active = False
        self._window_end = now + _WINDOW
        self._used = time.process_time()

    def _set_timer(self, now: float) -> None:
        assert self._loop is not None
        self._due = now + self._period
        self._timer = self._loop.call_later(self._period, self._tick)

    def _tick(self) -> None:
        assert self._due is not None
        now = time.monotonic()
        self._measure(now - self._due)
        if now >= self._window_end:
            if not self._was_active and time.process_time() - self._used < _BUSY * _WINDOW:
                self._due = None
                return
            self._begin_window(now)
        self._set_timer(now)

    def _measure(self, late: float) -> None:
        """Records a pause of `late` seconds."""
        now = time.thread_time()
        used, self._loop_time = min(now - self._loop_time, late + self._period), now
        if late > self.longest:
            self.longest, self.longest_processor_time = late, used
        if late > self.threshold:
            self.pauses += 1
            self._ended.append((late, used))

    def _wake_for_thread(self) -> None:
        """Starts the timer because the process is active, although no request or frame has come."""
        if self._asked_at is not None:
            late, self._asked_at = time.monotonic() - self._asked_at, None
            self._measure(late)
        self.wake()

    # --- in the thread --------------------------------------------------------------------------

    def _watch(self, loop_thread: int) -> None:
        samples: Counter[str] = Counter()  # what ran during the present pause
        clocks = _ThreadClocks()
        while not self._is_stopped:
            while self._ended:
                self._log_pause(*self._ended.popleft(), samples)
                samples.clear()
            due = self._due or self._asked_at
            if due is None:
                self._sleep()
                continue
            late = time.monotonic() - due
            if late > self.threshold:
                samples[_what_runs(loop_thread, clocks.ran(late))] += 1
                self.looks += 1
                self._changed.wait(self.threshold)
            else:
                clocks.mark()
                self._changed.wait(self.threshold - late)
            self._changed.clear()

    def _sleep(self) -> None:
        """Waits for a request or a frame. Wakes the loop if the process is active without one."""
        before = time.process_time()
        is_changed = self._changed.wait(_IDLE_CHECK)
        self._changed.clear()
        if not is_changed and time.process_time() - before > _BUSY * _IDLE_CHECK:
            assert self._loop is not None
            self._asked_at = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(self._wake_for_thread)
            except RuntimeError:  # the loop has ended without a stop
                self._is_stopped = True

    def _log_pause(self, length: float, used: float, samples: Counter[str]) -> None:
        """Logs a pause, or counts it if another one was logged just before."""
        now = time.monotonic()
        if now < self._logged_at + self.log_every:
            self._unlogged += 1
            self._unlogged_longest = max(self._unlogged_longest, length)
            return
        ran = samples.most_common(1)[0][0] if samples else "it ended before it could be sampled"
        more = ""
        if self._unlogged:
            more = (
                f" Since the last warning there were {self._unlogged} more, "
                f"of {self._unlogged_longest * 1000:.0f} ms at most."
            )
        _log.warning(
            "The event loop was held for %.0f ms, %.0f ms of them by work in its own thread: %s.%s",
            length * 1000,
            used * 1000,
            ran,
            more,
        )
        self._logged_at, self._unlogged, self._unlogged_longest = now, 0, 0.0


class _ThreadClocks:
    """Measures the processor time of each thread since the last mark.

    A stack does not show whether a thread waits: a queue or a lock that is written in C has no
    frame. But a thread that waits uses no processor time. Only Linux has a clock for each thread.
    """

    def __init__(self) -> None:
        self._marked: dict[int, float] = {}

    def mark(self) -> None:
        """Measures from now on."""
        self._marked = _thread_times()

    def ran(self, seconds: float) -> list[int] | None:
        """Returns the ids of the threads that ran in a pause of this length, the busiest first.

        Returns None if the system has no clocks for threads.
        """
        if not _HAS_CLOCKS:
            return None
        used = {ident: now - self._marked.get(ident, 0.0) for ident, now in _thread_times().items()}
        ran = [ident for ident, time_used in used.items() if time_used >= seconds * _RAN]
        return sorted(ran, key=used.__getitem__, reverse=True)


_HAS_CLOCKS = sys.platform == "linux"


def _thread_times() -> dict[int, float]:
    """Returns the processor time of each Python thread by its id; empty without such clocks."""
    times: dict[int, float] = {}
    for thread in threading.enumerate() if _HAS_CLOCKS else ():
        if thread.ident is not None and thread.native_id is not None:
            try:
                # The kernel's number for the clock of a thread. Fails if the thread has ended.
                times[thread.ident] = time.clock_gettime(~thread.native_id << 3 | 6)
            except OSError:
                continue
    return times


def _what_runs(loop_thread: int, ran: list[int] | None) -> str:
    """Returns the stack of the loop's thread if it is in a callback, and of busier threads."""
    frames = sys._current_frames()
    own = frames.pop(loop_thread, None)
    frames.pop(threading.get_ident(), None)
    is_in_callback = own is not None and not _is_between_callbacks(own)
    if ran is None:  # no clocks: guess by the stacks
        waiting = [ident for ident, frame in frames.items() if _looks_waiting(frame)]
        busier = [] if is_in_callback else [each for each in frames if each not in waiting]
    else:
        busier = ran[: ran.index(loop_thread)] if loop_thread in ran else ran
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    others = [
        f"{names.get(each, '?')}: {_stack(frames[each])}" for each in busier if each in frames
    ]
    others = others[:_OTHERS]
    if is_in_callback:
        return "; ".join(
            [_stack(own), *(["meanwhile other threads ran", *others] if others else [])]
        )
    if others:
        return "; ".join(["it waited while other threads ran", *others])
    if ran:
        return _stack(own)
    return "no thread of this process ran: the machine was busy"


def _is_between_callbacks(frame: FrameType) -> bool:
    """Returns whether the loop's thread is in the event loop itself, not in a callback."""
    return "asyncio/" in _file_of(frame) or _file_of(frame).endswith("selectors.py")


def _looks_waiting(frame: FrameType) -> bool:
    return PurePath(frame.f_code.co_filename).name in _WAITING


def _file_of(frame: FrameType) -> str:
    return "/".join(PurePath(frame.f_code.co_filename).parts[-2:])


def _stack(frame: FrameType | None) -> str:
    """Returns the innermost functions of a stack, each with its file and line."""
    told: list[str] = []
    while frame is not None and len(told) < _FRAMES:
        told.append(f"{frame.f_code.co_qualname} ({_file_of(frame)}:{frame.f_lineno})")
        frame = frame.f_back
    return " < ".join(told) or "nothing"
