"""Background tasks are kept until they end, and can be waited for and cancelled together."""

from __future__ import annotations

import asyncio
import gc

import pytest

from turnwire.background import BackgroundTasks


async def test_a_task_is_kept_until_it_ends() -> None:
    tasks, go_on = BackgroundTasks(), asyncio.Event()

    async def work() -> str:
        await go_on.wait()
        return "done"

    task = tasks.run(work())
    gc.collect()
    assert ([*tasks], len(tasks), bool(tasks)) == ([task], 1, True)
    go_on.set()
    assert await task == "done"
    await asyncio.sleep(0)
    assert not tasks


async def test_the_one_that_cancels_the_others_is_spared() -> None:
    ended: list[asyncio.Task[None]] = []
    tasks = BackgroundTasks(ended.append)

    async def cancel() -> None:
        assert tasks.cancel() == [waiting]
        await asyncio.wait([waiting])

    waiting = tasks.run(asyncio.Event().wait())
    cancelling = tasks.run(cancel())
    await cancelling
    await asyncio.sleep(0)
    assert waiting.cancelled()
    assert ended == [waiting, cancelling]


async def test_an_error_is_raised_in_the_waiting_task() -> None:
    tasks = BackgroundTasks()
    await tasks.done()  # there are none

    async def fail() -> None:
        raise ValueError("wrong")

    tasks.run(fail())
    with pytest.raises(ValueError, match="wrong"):
        await tasks.done()
