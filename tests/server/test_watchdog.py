"""The watchdog of the event loop names a blocking function, and costs nothing on a quiet loop."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests.server.helpers.servers import serving
from turnwire.server.tcp.watchdog import Watchdog

PATIENCE = 60.0
NEVER = 3600.0  # seconds that no loop is held for


def hold_the_loop(watchdog: Watchdog) -> None:
    """Blocks the loop until the watchdog has looked."""
    before, until = watchdog.looks, time.monotonic() + PATIENCE
    while watchdog.looks == before:
        assert time.monotonic() < until, "the watchdog does not look"
        time.sleep(0.001)


async def true(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # a thread makes it true
            await asyncio.sleep(0.005)


def watchdogs() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "turnwire-watchdog"]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if "was held" in each.getMessage()]


def test_the_function_that_blocks_the_loop_is_logged_by_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        watchdog = Watchdog(0.02)
        watchdog.start()
        try:
            watchdog.wake()
            hold_the_loop(watchdog)
            await true(lambda: bool(warnings(caplog)))
            assert watchdog.pauses >= 1
            assert watchdog.longest > watchdog.threshold
        finally:
            watchdog.stop()

    asyncio.run(scene())
    [said] = warnings(caplog)
    assert "hold_the_loop (server/test_watchdog.py:" in said
    assert "scene" in said


def test_warnings_are_not_repeated_but_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        watchdog = Watchdog(0.02)
        watchdog.start()
        try:
            for _ in range(3):
                before = watchdog.pauses
                watchdog.wake()
                hold_the_loop(watchdog)
                await true(lambda before=before: watchdog.pauses > before)  # type: ignore[misc]
        finally:
            watchdog.stop()
        assert watchdog.pauses >= 3

    began = time.monotonic()
    asyncio.run(scene())
    told = len(warnings(caplog))
    assert told <= 1 + (time.monotonic() - began) // 10


def wait_for_work(jobs: SimpleQueue[None]) -> None:
    """Waits like the thread of a store: the queue is written in C, so this is the innermost frame."""
    jobs.get()


def hold_the_interpreter(watchdog: Watchdog) -> None:
    """Compute in steps during which no other thread gets its turn, until the watchdog has looked."""
    before, until = watchdog.looks, time.monotonic() + PATIENCE
    while watchdog.looks == before:
        assert time.monotonic() < until, "the watchdog does not look"
        sum(range(2_000_000))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a clock for each thread")
def test_a_thread_that_waits_for_work_is_not_blamed(caplog: pytest.LogCaptureFixture) -> None:
    jobs: SimpleQueue[None] = SimpleQueue()
    writer = threading.Thread(target=wait_for_work, args=(jobs,), name="idle-writer")

    def is_named() -> bool:
        return any("hold_the_interpreter" in each for each in warnings(caplog))

    async def scene() -> None:
        watchdog = Watchdog(0.005)
        watchdog.log_every = 0  # other pauses, of a busy machine, must not hide this one
        watchdog.start()
        try:
            async with asyncio.timeout(PATIENCE):
                while not is_named():
                    watchdog.wake()
                    await asyncio.to_thread(hold_the_interpreter, watchdog)
        finally:
            watchdog.stop()

    writer.start()
    try:
        asyncio.run(scene())
    finally:
        jobs.put(None)
        writer.join()
    assert not any("wait_for_work" in each for each in warnings(caplog))
    assert not any("idle-writer" in each for each in warnings(caplog))


def test_a_callback_that_waits_for_a_lock_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        watchdog = Watchdog(0.02)
        watchdog.start()
        never = threading.Event()

        def wait_for_a_lock() -> None:
            before, until = watchdog.looks, time.monotonic() + PATIENCE
            while watchdog.looks == before:
                assert time.monotonic() < until, "the watchdog does not look"
                never.wait(0.1)

        try:
            watchdog.wake()
            wait_for_a_lock()
            await true(lambda: bool(warnings(caplog)))
        finally:
            watchdog.stop()

    asyncio.run(scene())
    assert "wait_for_a_lock" in warnings(caplog)[0]


def test_an_idle_loop_is_not_logged_and_soon_not_watched(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        watchdog = Watchdog(NEVER)
        watchdog.start()
        try:
            assert not watchdog.is_awake
            for _ in range(2):
                watchdog.wake()
                assert watchdog.is_awake
                await true(lambda: not watchdog.is_awake)
            assert watchdog.pauses == watchdog.looks == 0
        finally:
            watchdog.stop()

    asyncio.run(scene())
    assert warnings(caplog) == []


def test_work_that_nothing_has_announced_is_watched_too() -> None:
    async def scene() -> None:
        watchdog = Watchdog(NEVER)
        watchdog.start()
        until = time.monotonic() + PATIENCE
        try:
            while not watchdog.is_awake:
                assert time.monotonic() < until, "no watchdog looks"
                await asyncio.sleep(0)  # busy, but nothing is held
        finally:
            watchdog.stop()

    asyncio.run(scene())


def test_a_sleeping_watchdog_sees_a_function_that_blocks_the_loop_for_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def compute(watchdog: Watchdog) -> None:
        until = time.monotonic() + PATIENCE
        while not watchdog.looks:
            assert time.monotonic() < until, "the watchdog does not look"

    async def scene() -> None:
        watchdog = Watchdog(0.02)
        watchdog.start()
        try:
            compute(watchdog)
            await true(lambda: bool(warnings(caplog)))
        finally:
            watchdog.stop()

    asyncio.run(scene())
    assert "compute" in warnings(caplog)[0]


def test_the_watchdog_stops_at_once_and_leaves_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "turnwire")

    async def scene() -> None:
        watchdog = Watchdog(NEVER)
        watchdog.stop()  # it was not started
        watchdog.start()
        assert len(watchdogs()) == 1
        watchdog.wake()
        watchdog.stop()
        assert watchdogs() == []
        watchdog.stop()
        watchdog.wake()

    asyncio.run(scene())
    assert "longest pause" in caplog.text


def test_a_threshold_of_zero_switches_the_watchdog_off() -> None:
    async def scene() -> None:
        watchdog = Watchdog(0)
        watchdog.start()
        watchdog.wake()
        assert not watchdog.is_awake
        assert watchdogs() == []
        watchdog.stop()

    asyncio.run(scene())


def test_a_server_logs_the_blocking_function_and_leaves_no_thread(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held: list[Watchdog] = []

    async def look_up_slowly(scope: Mapping[str, Any]) -> str | None:
        hold_the_loop(held[0])
        return None

    def is_named() -> bool:
        return any("look_up_slowly" in each for each in warnings(caplog))

    async def scene() -> None:
        chosen: dict[str, Any] = {"authenticate": look_up_slowly, "slow_loop_seconds": 0.02}
        async with serving(tmp_path, **chosen) as server, server.http("none") as http:
            held.append(server.service.watchdog)
            held[0].log_every = 0  # other pauses, of a busy machine, must not hide this one
            async with asyncio.timeout(PATIENCE):
                while not is_named():
                    assert (await http.get("/api/inbox")).status_code == 401
            healthy = (await http.get("/healthz")).json()
            assert healthy["status"] == "ok"
            assert healthy["longest_pause_ms"] >= 20
        assert watchdogs() == []

    asyncio.run(scene())
