"""The system clock when it is set during a wait, and the manual clock."""

from __future__ import annotations

import asyncio

import pytest

from turnwire.engine.clock import SystemClock
from turnwire.testing.clock import ManualClock

pytestmark = pytest.mark.needs_sqlite(reason="needs no store")


def test_a_duration_passes_although_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        clock = SystemClock()
        passed = asyncio.Event()
        clock.call_after(20, passed.set)
        set_back = clock.now() - 3_600_000
        monkeypatch.setattr(SystemClock, "now", lambda self: set_back)
        async with asyncio.timeout(10):
            await passed.wait()

    asyncio.run(scene())


def test_a_timer_can_be_cancelled() -> None:
    async def scene() -> None:
        clock = SystemClock()
        rung: list[str] = []
        over = asyncio.Event()
        clock.call_after(1, lambda: rung.append("called off"))()
        clock.call_after(5, over.set)
        await over.wait()
        assert not rung

    asyncio.run(scene())


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_jump_of_a_manual_clock_does_not_change_a_duration(jump: int) -> None:
    clock = ManualClock()
    rung: list[str] = []
    clock.call_after(1000, lambda: rung.append("a while"))
    clock.call_at(clock.now() + 1000, lambda: rung.append("a time of day"))
    clock.jump(jump)
    clock.forward(0.999)
    assert rung == ([] if jump < 0 else ["a time of day"])
    clock.forward(0.001)
    assert rung[-1] == "a while"


def test_a_manual_clock_runs_due_timers_at_once() -> None:
    clock = ManualClock()
    rung: list[str] = []
    clock.call_at(clock.now() - 1, lambda: rung.append("long ago"))()
    clock.call_at(clock.now(), lambda: rung.append("now"))()
    assert rung == ["long ago", "now"]
    clock.forward(1)
    assert rung == ["long ago", "now"]


def test_a_manual_clock_forgets_cancelled_and_past_timers() -> None:
    clock = ManualClock()
    rung: list[str] = []
    off = clock.call_at(clock.now() + 1000, lambda: rung.append("called off"))
    clock.call_after(1000, lambda: rung.append("a while"))
    off()
    clock.forward(1)
    off()  # ending twice does no harm
    assert rung == ["a while"]
    assert (clock._timers, clock._whiles) == ([], set())
