"""The gate: where calls that ask a person wait in the process that made them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from turnwire.agents.claude.questions.question_machine import Answer

__all__ = ["Gate"]


class Gate:
    """Waits for answers, for `hold` seconds where the call can be deferred."""

    def __init__(self, hold: float) -> None:
        self.has_background = False  # something works in the background
        self._hold = hold
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._quiet = asyncio.Event()  # nothing works in the background, or it does not count
        self._quiet.set()
        self._leaving = asyncio.Event()

    def give(self, answer: Answer) -> None:
        """Let a call that waits have its answer. The first answer is the answer."""
        waiting = self._waiting.get(answer.reply.request_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def set_background(self, *, working: bool) -> None:
        """While something works in the background the process must stay, and so questions wait."""
        self.has_background = working
        if working and not self._leaving.is_set():
            self._quiet.clear()
        else:
            self._quiet.set()

    def leave(self) -> None:
        """The process is about to be closed: calls that wait are deferred, and calls that still come."""
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
        """For as long as a question is held."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._hold):
                await self._leaving.wait()
        await self._quiet.wait()
