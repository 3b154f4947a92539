"""Runs one conversation's agent: opened when needed, always read, closed when idle or told to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import Agent, AgentGone, AgentSession, SessionStart

__all__ = ["AgentRunner"]

_Lost = tuple[str, str | None, bool, list[i.EndedProcess]]


class AgentRunner:
    """Takes commands without waiting; what comes of them arrives as events, or as a loss.

    `heard` gets each batch of events, `lost` the end of the agent where it was not asked for.
    Commands are carried out one after the other, but a stop overtakes everything.
    """

    def __init__(
        self,
        agent: Agent,
        start: Callable[[], SessionStart],
        heard: Callable[[list[NormalizedStreamEvent]], None],
        lost: Callable[[str, str | None, bool, list[i.EndedProcess]], None],
    ) -> None:
        self._agent = agent
        self._start = start
        self._heard = heard
        self._lost = lost
        self._session: AgentSession | None = None
        self._reader: asyncio.Task[None] | None = None
        self._commands: deque[e.Command] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._side_tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_open(self) -> bool:
        """Whether an agent is there, or is coming."""
        return self._session is not None or bool(self._commands) or self._worker is not None

    @property
    def native_session_id(self) -> str | None:
        """What the agent calls its session."""
        return self._session.native_session_id if self._session else None

    def tell(self, command: e.Command) -> None:
        """Have it done soon."""
        if isinstance(command, e.StopAgent):
            self._stop(command)
            return
        self._commands.append(command)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())

    async def close(self) -> list[i.EndedProcess]:
        """End the agent and everything that is on its way to it."""
        self._commands.clear()
        for task in (self._worker, *self._side_tasks):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        self._worker = None
        return await self._end_session()

    # --- commands -----------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while self._commands:
                command = self._commands.popleft()
                try:
                    await self._do(command)
                except AgentGone as gone:
                    await self._end_session()
                    self._lost("agent_lost", gone.message, False, [])
        finally:
            self._worker = None

    async def _do(self, command: e.Command) -> None:
        match command:
            case e.Prompt(turn=turn, content=content):
                session = await self._open()
                uuid = f"{self._start().conversation_id}:{turn.turn_id}"
                await session.prompt(content, turn_uuid=uuid)
            case e.Deliver(replies=replies, resume=resume):
                session = await self._open()
                await session.deliver(replies, resumed=resume)
            case e.CloseAgent():
                await self._end_session()
            case _:
                pass

    async def _open(self) -> AgentSession:
        if self._session is None:
            self._session = await self._agent.open(self._start())
            self._reader = asyncio.create_task(self._read(self._session))
        return self._session

    async def _end_session(self) -> list[i.EndedProcess]:
        session, self._session = self._session, None
        reader, self._reader = self._reader, None
        if session is None:
            return []
        ended = await session.close()
        if reader is not None and reader is not asyncio.current_task():
            reader.cancel()
            with suppress(asyncio.CancelledError):
                await reader
        return ended

    async def _read(self, session: AgentSession) -> None:
        """Always reads on: an agent never waits for us."""
        message: str | None = None
        try:
            async for batch in session.events():
                self._heard(batch)
        except AgentGone as gone:
            message = gone.message
        if self._session is session:  # it ended, and nobody had asked for that
            ended = await self._end_session()
            self._lost("agent_lost", message, False, ended)

    # --- stopping -----------------------------------------------------------------------------

    def _stop(self, command: e.StopAgent) -> None:
        self._commands.clear()
        stop = self._force() if command.force or self._session is None else self._ask()
        task = asyncio.create_task(stop)
        self._side_tasks.add(task)
        task.add_done_callback(self._side_tasks.discard)

    async def _ask(self) -> None:
        if self._session is not None:
            with suppress(AgentGone):  # then its reader says so
                await self._session.interrupt()

    async def _force(self) -> None:
        """End it with everything it started; also one that is just being opened."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker
        ended = await self._end_session()
        self._lost("stopped", None, True, ended)
