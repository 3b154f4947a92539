"""A test that hangs fails, and says what it waits for."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.helpers.time_limit import TookTooLong, time_limit


def test_a_task_that_waits_forever_is_ended_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    async def waits_for_what_never_comes() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)  # the time is over now, not before
        await asyncio.Event().wait()

    with pytest.raises(TookTooLong), time_limit(60):
        asyncio.run(waits_for_what_never_comes())
    assert "waits_for_what_never_comes" in capsys.readouterr().err


def test_a_limit_within_a_limit_leaves_the_outer_one_as_it_was() -> None:
    outer = signal.getsignal(signal.SIGALRM)
    with time_limit(5):
        pass
    assert signal.getsignal(signal.SIGALRM) is outer
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 5
