"""The gate: holds tool calls that ask a person until an answer comes or the call is deferred."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from turnwire.agents.claude.questions.question_machine import Answer

__all__ = ["Gate"]


class Gate:
    """Waits for answers; at most `hold` seconds if the call can be deferred."""

    def __init__(self, hold: float) -> None:
        self.has_background = False  # background tasks run
        self._hold = hold
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._quiet = asyncio.Event()  # no background tasks run, or the process is closing
        self._quiet.set()
        self._leaving = asyncio.Event()

    def give(self, answer: Answer) -> None:
        """Gives a waiting call its answer. Only the first answer counts."""
        waiting = self._waiting.get(answer.reply.request_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def set_background(self, *, working: bool) -> None:
        """Sets whether background tasks run. While they run, no call is deferred."""
        self.has_background = working
        if working and not self._leaving.is_set():
            self._quiet.clear()
        else:
            self._quiet.set()

    def leave(self) -> None:
        """Defers all waiting and later calls, because the process is about to be closed."""
        self._leaving.set()
        self._quiet.set()

    async def wait(self, call: str, *, can_defer: bool) -> Answer | None:
        """Returns the answer, or None if the call is to be deferred."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[call] = answer
        try:
            if not can_defer:
                return await answer
            patience = asyncio.create_task(self._patience())
            try:
                either: set[asyncio.Future[Any]] = {answer, patience}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                patience.cancel()
            return answer.result() if answer.done() else None
        finally:
            self._waiting.pop(call, None)

    async def _patience(self) -> None:
        """Waits until the hold time is over or the session closes, then for background tasks."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._hold):
                await self._leaving.wait()
        await self._quiet.wait()
