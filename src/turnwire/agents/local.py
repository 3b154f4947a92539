"""The base class for sessions of agents that run in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
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
_PATIENCE = 5.0  # seconds that a cancelled task may take to end
_MOST = 512  # unread events before backpressure stops the agent


class LocalSession:
    """Emits the events of its tasks in batches. A subclass implements `prompt` and `deliver`."""

    def __init__(self) -> None:
        self._out: list[NormalizedStreamEvent] = []
        self._ready = asyncio.Event()
        self._taken = asyncio.Event()
        self._tasks = BackgroundTasks(self._finished)
        self._closed = False
        self._died: str | None = None
        self._questions = QuestionRules()
        self._take: Callable[[list[NormalizedStreamEvent]], bool] | None = None

    async def events(self) -> AsyncIterator[list[NormalizedStreamEvent]]:
        """Yields batches: all events that are ready at the same time."""
        while True:
            await self._ready.wait()
            if self._out:
                batch, self._out = self._out, []
                self._taken.set()
                if not self._is_over:
                    self._ready.clear()
                yield batch
                del batch  # frees a large batch before the next one, which may come much later
            elif self._died is not None:
                raise AgentGone(self._died)
            elif self._closed:
                return
            else:
                self._ready.clear()

    def push_batches(self, take: Callable[[list[NormalizedStreamEvent]], bool]) -> None:
        """Offers batches of `_hand_over` to `take` first. A batch that it refuses is yielded."""
        self._take = take

    async def close(self) -> list[EndedProcess]:
        """Cancels all tasks. Returns an empty list, because no process has to be ended."""
        self._closed = True
        self._ready.set()
        if tasks := self._tasks.cancel():
            _, left = await asyncio.wait(tasks, timeout=_PATIENCE)
            if left:
                _log.error(
                    "%d tasks of an agent do not end when they are cancelled. They are left running,"
                    " and what they emit is dropped: an agent must not suppress CancelledError.",
                    len(left),
                )
        return []

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Does nothing; a subclass overrides this if it has a choice."""

    async def control(self, control: Control) -> ControlResult:
        """Refuses every control; a subclass overrides this for the controls it supports."""
        raise Refused("NOT_SUPPORTED", f"This agent has no {name_of(control)}.")

    # --- for subclasses -----------------------------------------------------------------------

    @property
    def _is_over(self) -> bool:
        return self._closed or self._died is not None

    def _check_open(self) -> None:
        if self._is_over:
            raise AgentGone(self._died or "This session was closed.")

    def _say(self, *events: NormalizedStreamEvent) -> None:
        """Emits these events together: they are never split over two batches.

        Raises BadQuestion if an event asks a question that cannot be answered.
        """
        if not self._is_over:
            for event in events:
                self._questions.feed(event)
            self._out.extend(events)
            self._ready.set()

    def _hand_over(self, events: list[NormalizedStreamEvent]) -> None:
        """Emits events that came together, at once if possible.

        Call it once for all events that are ready: a batch that is taken at once is not joined with
        the next one.
        """
        if self._out or self._is_over or self._take is None or not self._take(events):
            self._say(*events)

    async def _let_read(self, most: int = _MOST) -> None:
        """Waits while more than `most` events are unread, so that memory stays bounded."""
        while len(self._out) > most and not self._is_over:
            self._taken.clear()
            await self._taken.wait()

    def _die(self, why: str) -> None:
        """Ends the session like a crash: `events` raises AgentGone with this reason."""
        if not self._is_over:
            self._died = why
            self._ready.set()
            self._tasks.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._tasks.run(work)

    def _finished(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, BadQuestion):
                _log.error("An agent asked an invalid question.", exc_info=error)
            self._die(AgentGone.broken(error).message)
