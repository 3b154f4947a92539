"""The server process returns free memory to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Small strings on the heap, and a last one that stays: without help the process keeps the pages below it.
_SCRIPT = """
import asyncio, sys, time
from turnwire.server.tcp import process

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

async def main():
    process.set_up_process()
    process._LOOK = 0.01
    pieces = [str(number) * 200 for number in range(50_000)]
    stays = ["x" * 1_000 for _ in range(10)]
    full = resident()
    del pieces
    giving = asyncio.create_task(process.give_back_memory())
    until = time.monotonic() + 60
    while resident() > full - 20_000_000:
        assert not giving.done(), "this C library cannot give memory back"
        assert time.monotonic() < until, (full, resident())
        await asyncio.sleep(0.01)
    giving.cancel()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc offers it")
def test_memory_of_many_small_pieces_is_given_back() -> None:
    subprocess.run([sys.executable, "-c", _SCRIPT], check=True, timeout=120)
