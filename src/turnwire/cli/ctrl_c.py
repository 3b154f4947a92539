"""Ctrl-C in a command that handles several items: the current item is finished or undone."""

from __future__ import annotations

import asyncio
import signal

__all__ = ["STOPPED", "Stop"]

STOPPED = 130  # the exit code: 128 + SIGINT, as shells count


class Stop:
    """Handles Ctrl-C inside `async with`. The first sets `wanted`; the second raises at once."""

    def __init__(self) -> None:
        self.wanted = False

    async def __aenter__(self) -> Stop:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._want)
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    def _want(self) -> None:
        self.wanted = True
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)  # the second one raises
