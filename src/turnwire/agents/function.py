"""An agent that is one async function, called for each turn."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from inspect import getdoc, isasyncgenfunction, isawaitable
from typing import Any, TypeAlias
from uuid import uuid4

from turnwire.agents.agent_turn import AgentTurn, Denied, words_of
from turnwire.agents.client_tools import CLIENT_TOOLS, client_tools_of
from turnwire.agents.local import LocalSession
from turnwire.agents.yielded import Yielded, carry_out
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message
from turnwire.ports import AgentCapabilities, SessionStart

__all__ = ["AgentFunction", "FunctionAgent", "agent"]

_log = logging.getLogger("turnwire")

# Returns when the turn has ended, with the rest of the answer or None; or yields the pieces of the
# answer and what to do in between.
# A yield of a question or a tool call returns a text; the type of Python's generators has one type
# for all yields, so it is not checked here.
AgentFunction: TypeAlias = Callable[
    [AgentTurn], Awaitable[str | None] | AsyncGenerator[Yielded, Any]
]


def agent(
    name: str, *, client_tools: bool = False, images: bool = False, files: Sequence[str] = ()
) -> Callable[[AgentFunction], FunctionAgent]:
    """Makes an agent of an async function, or of an async generator.

    A generator yields text, and `Ask`, `UseTool`, `UseClientTool`, `Think` and `Plan` to do more.
    `client_tools`: the function calls tools of the front end, if that offers some.
    `images`, `files`: it takes pictures, and files of these types (`application/pdf`, `text/*`,
    `*/*`). It finds them in `turn.content`, with their bytes in base64 as `data`.

    Example:

        @agent("waiter")
        async def waiter(turn):
            yield "Good evening! "
            size = turn.answer or (yield Ask("Which size?", ["small", "large"]))
            yield f"One {size} soup, coming."
    """
    if not isinstance(name, str):
        raise TypeError('An agent has a name: write @agent("name") above the function.')
    return lambda function: FunctionAgent(
        name, function, client_tools=client_tools, images=images, files=files
    )


class FunctionAgent:
    """Calls an async function for each turn. The turn ends when the function returns.

    Example:

        async def answer(turn):
            size = turn.answer or await turn.ask("Which size?", ["small", "large"])
            await turn.say(f"One {size} soup, coming.")

        agent = FunctionAgent("waiter", answer)

    A text that the function returns is said, too. An exception ends the turn as failed. An
    interrupt cancels the function.
    """

    def __init__(
        self,
        name: str,
        function: AgentFunction,
        *,
        client_tools: bool = False,
        images: bool = False,
        files: Sequence[str] = (),
    ) -> None:
        """Takes the same options as the decorator `agent`."""
        self.name = name
        self.function = function
        self.description = (getdoc(function) or "A Python function.").splitlines()[0]
        self.capabilities = AgentCapabilities(
            images=images,
            files=list(files),
            options=[CLIENT_TOOLS] if client_tools else [],
            questions_survive=True,
            takes_recap=False,  # it reads `AgentTurn.history`
            reasons=True,
        )

    def unavailable(self) -> str | None:
        """Returns None: a function is always available."""
        return None

    async def version(self) -> str | None:
        """Returns None: a function has no version."""
        return None

    async def open(self, start: SessionStart) -> FunctionSession:
        """Opens a session. A resumed session keeps its id.

        Raises AgentGone if the tools of the front end are invalid.
        """
        session_id = start.native_session_id or f"{self.name}-{uuid4()}"
        return FunctionSession(self, session_id, start)


class FunctionSession(LocalSession):
    """An agent session of a FunctionAgent."""

    def __init__(self, agent: FunctionAgent, session_id: str, start: SessionStart) -> None:
        super().__init__()
        self.native_session_id = session_id
        self.conversation_id = start.conversation_id
        self.client_tools = client_tools_of(start.options)
        self.whose = (agent.name, session_id, None, None)  # the first four fields of every event
        self._function = agent.function
        self._history = start.history
        self._turn: AgentTurn | None = None
        self._running: asyncio.Future[None] | None = None

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Calls the function with the message."""
        self._begin(AgentTurn(self, content, run=turn_uuid))

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Continues the function, or calls it with the answer if another process has asked."""
        self._check_open()
        for reply in replies:
            is_taken = self._turn is not None and self._turn._take(reply)
            if resumed and not is_taken and reply.kind == "question":
                turn = AgentTurn(self, [], words_of(reply.answer))
                self._begin(turn, None if reply.in_words else reply)

    async def interrupt(self) -> None:
        """Cancels the function."""
        self._check_open()
        if self._running is not None:
            self._running.cancel()

    def _begin(self, turn: AgentTurn, reply: Reply | None = None) -> None:
        self._check_open()
        self.say(ev.TurnStarted(*self.whose))
        if reply is not None:
            self.say_result(reply.request_id, words_of(reply.answer))
        self._turn = turn
        self._running = asyncio.ensure_future(_run(self._function, turn))
        self._start(self._end(turn, self._running, time.monotonic()))

    async def _end(self, turn: AgentTurn, running: asyncio.Future[None], begun: float) -> None:
        """Waits for the function, then ends the turn accordingly."""
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
            _log.exception("The function of the agent %r failed.", self.whose[0])
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


async def _run(function: AgentFunction, turn: AgentTurn) -> None:
    """Calls the function, and carries out what it yields."""
    try:
        if isasyncgenfunction(function):
            await _carry_out_all(function(turn), turn)
            return
        called = function(turn)
        if not isawaitable(called):
            raise TypeError("The function is not async: write `async def`.")
        if said := await called:
            await turn.say(said)
    except SystemExit as error:  # it would end the whole server
        raise RuntimeError(f"It has called sys.exit({error.code!r}): return instead.") from error


async def _carry_out_all(values: AsyncGenerator[Yielded, Any], turn: AgentTurn) -> None:
    async with aclosing(values):
        with suppress(StopAsyncIteration):
            value = await anext(values)
            while True:
                try:
                    answer = await carry_out(turn, value)
                except Exception as error:  # the generator may handle it
                    value = await values.athrow(error)
                else:
                    value = await values.asend(answer)
