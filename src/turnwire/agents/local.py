"""An agent that runs in this very process: what all of those have in common."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from msgspec import UNSET, UnsetType

from turnwire.background import BackgroundTasks
from turnwire.core.controls import Control, ControlResult, name_of
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.question_rules import BadQuestion, QuestionRules
from turnwire.ports import AgentGone

__all__ = ["LocalSession"]

_log = logging.getLogger("turnwire")
_MOST = 512  # events that may wait for the reader before the agent waits for it


class LocalSession:
    """Hands out what its tasks say. Whoever inherits from it adds what a prompt means."""

    def __init__(self) -> None:
        self._out: list[NormalizedStreamEvent] = []
        self._ready = asyncio.Event()
        self._taken = asyncio.Event()
        self._tasks = BackgroundTasks(self._finished)
        self._closed = False
        self._died: str | None = None
        self._questions = QuestionRules()

    async def events(self) -> AsyncIterator[list[NormalizedStreamEvent]]:
        """What happens, in batches of what is ready together."""
        while True:
            await self._ready.wait()
            if self._out:
                batch, self._out = self._out, []
                self._taken.set()
                if not self._is_over:
                    self._ready.clear()
                yield batch
                del batch  # it may be large, and the next may come much later
            elif self._died is not None:
                raise AgentGone(self._died)
            elif self._closed:
                return
            else:
                self._ready.clear()

    async def close(self) -> list[EndedProcess]:
        """Stop whatever runs. There is no process of its own to end."""
        self._closed = True
        self._ready.set()
        if tasks := self._tasks.cancel():
            await asyncio.wait(tasks)
        return []

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """There is only one of each, unless whoever inherits says otherwise."""

    async def control(self, control: Control) -> ControlResult:
        """It can do none of them, unless whoever inherits says otherwise."""
        raise Refused("NOT_SUPPORTED", f"This agent has no {name_of(control)}.")

    # --- for those who inherit ----------------------------------------------------------------

    @property
    def _is_over(self) -> bool:
        return self._closed or self._died is not None

    def _check_open(self) -> None:
        if self._is_over:
            raise AgentGone(self._died or "This session was closed.")

    def _say(self, *events: NormalizedStreamEvent) -> None:
        """These happened together: they are never split over two batches.

        Raises BadQuestion for a question that no person could answer.
        """
        if not self._is_over:
            for event in events:
                self._questions.feed(event)
            self._out.extend(events)
            self._ready.set()

    async def _let_read(self, most: int = _MOST) -> None:
        """Wait while more than this is unread, so that memory stays bounded."""
        while len(self._out) > most and not self._is_over:
            self._taken.clear()
            await self._taken.wait()

    def _die(self, why: str) -> None:
        """End as a process does that crashes."""
        if not self._is_over:
            self._died = why
            self._ready.set()
            self._tasks.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._tasks.run(work)

    def _finished(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, BadQuestion):
                _log.error("An agent asked what cannot be asked.", exc_info=error)
            self._die(AgentGone.broken(error).message)
