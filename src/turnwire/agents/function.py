"""An agent that is one async function, called for each turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from inspect import getdoc, isasyncgenfunction, isawaitable
from typing import Any, TypeAlias

from turnwire.agents.agent_turn import AgentTurn
from turnwire.agents.client_tools import CLIENT_TOOLS
from turnwire.agents.turn_session import TurnSession
from turnwire.agents.yielded import Yielded, carry_out
from turnwire.ports import AgentCapabilities, SessionStart

__all__ = ["AgentFunction", "FunctionAgent", "FunctionSession", "agent"]

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

    A generator yields text, and `Ask` or a list of them, `UseTool`, `UseClientTool`, `Think` and `Plan` to do more.
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
        return FunctionSession(self, start)


class FunctionSession(TurnSession):
    """An agent session of a FunctionAgent."""

    def __init__(self, agent: FunctionAgent, start: SessionStart) -> None:
        super().__init__(agent.name, start)
        self._function = agent.function

    async def run_turn(self, turn: AgentTurn) -> None:
        """Calls the function, and carries out what it yields."""
        await _run(self._function, turn)


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
