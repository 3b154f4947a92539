"""The base class for sessions of agents that run one turn at a time in this process."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from uuid import uuid4

from turnwire.agents.agent_turn import AgentTurn, Denied
from turnwire.agents.client_tools import client_tools_of
from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message
from turnwire.ports import SessionStart

__all__ = ["TurnSession"]

_log = logging.getLogger("turnwire")


class TurnSession(LocalSession, ABC):
    """Makes the events of turns: their ids, their order, and a result for each call.

    A subclass implements `run_turn`. Everything that it says, calls and asks, it does with its
    AgentTurn. What it keeps between two turns is lost if the session is closed.

    Example:

        class CounterSession(TurnSession):
            def __init__(self, name, start):
                super().__init__(name, start)
                self.turns = 0

            async def run_turn(self, turn):
                self.turns += 1
                await turn.say(f"This is turn {self.turns} of this session.")
    """

    def __init__(self, name: str, start: SessionStart) -> None:
        """Takes the name of the agent and the start of `open`. A resumed session keeps its id.

        Raises AgentGone if the tools of the front end are invalid.
        """
        super().__init__()
        self.native_session_id = start.native_session_id or f"{name}-{uuid4()}"
        self.conversation_id = start.conversation_id
        self.client_tools = client_tools_of(start.options)
        self.whose = (name, self.native_session_id, None, None)  # the first fields of every event
        self._history = start.history
        self._turn: AgentTurn | None = None
        self._running: asyncio.Future[None] | None = None

    @abstractmethod
    async def run_turn(self, turn: AgentTurn) -> None:
        """Runs one turn, which ends when this returns.

        An exception ends the turn as failed. An interrupt cancels it: CancelledError is raised where
        it waits.
        """

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Runs a turn with the message."""
        self._begin(AgentTurn(self, content, run=turn_uuid))

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Continues the turn, or runs one with the answer if another process has asked."""
        self._check_open()
        for reply in replies:
            is_taken = self._turn is not None and self._turn._take(reply)
            if resumed and not is_taken and reply.kind == "question":
                turn = AgentTurn(self, [], "" if reply.answer is None else reply.answer)
                self._begin(turn, None if reply.in_words else reply)

    async def interrupt(self) -> None:
        """Cancels the turn."""
        self._check_open()
        if self._running is not None:
            self._running.cancel()

    def _begin(self, turn: AgentTurn, reply: Reply | None = None) -> None:
        self._check_open()
        self.say(ev.TurnStarted(*self.whose))
        if reply is not None:
            self.say_result(reply.request_id, turn.answer or "")
        self._turn = turn
        self._running = asyncio.ensure_future(self.run_turn(turn))
        self._start(self._end(turn, self._running, time.monotonic()))

    async def _end(self, turn: AgentTurn, running: asyncio.Future[None], begun: float) -> None:
        """Waits for the turn, then ends it accordingly."""
        ended: NormalizedStreamEvent = ev.TurnCompleted(*self.whose, "end_turn")
        try:
            await running
        except asyncio.CancelledError:
            if self._is_over:
                raise
            ended = ev.TurnCompleted(*self.whose, interrupted=True)
        except Denied:
            pass  # the result of the call says so
        except Exception as error:
            _log.exception("A turn of the agent %r failed.", self.whose[0])
            ended = ev.TurnFailed(
                *self.whose, "function_failed", f"{type(error).__name__}: {error}"
            )
        turn._finish()
        self._turn = self._running = None
        failed = isinstance(ended, ev.TurnFailed)
        summary = ev.ResultSummary(
            *self.whose,
            "error" if failed else "success",
            failed,
            duration_ms=round((time.monotonic() - begun) * 1000),
            cost_usd=turn.cost_usd,
            usage=turn.usage,
        )
        self.say(ended, summary)

    # --- used by the turns --------------------------------------------------------------------

    def say(self, *events: NormalizedStreamEvent) -> None:
        """Emits these events in one batch."""
        self._say(*events)

    def say_result(self, call: str, text: str, *, is_error: bool = False) -> None:
        """Emits the result of a tool call."""
        block = ToolResultBlock(call, text, is_error, "failed" if is_error else "completed")
        self._say(ev.UserMessage(*self.whose, [block], "tool"))

    async def let_read(self) -> None:
        """Waits while too many events are unread."""
        await self._let_read()

    async def entries(self) -> list[Message]:
        """Returns the log of the conversation."""
        return [] if self._history is None else await self._history()
