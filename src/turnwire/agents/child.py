"""Runs any agent in a guarded child process, which can neither block nor outlive its server."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import UNSET, UnsetType, structs

from turnwire.agents import wire
from turnwire.agents.process import GuardedProcess, plain_environment
from turnwire.agents.registry import make
from turnwire.background import BackgroundTasks
from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import (
    NormalizedStreamEvent,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from turnwire.ports import (
    Agent,
    AgentCapabilities,
    AgentGone,
    AgentSession,
    DescribesItself,
    ForgetsSessions,
    Isolation,
    ReadsHistory,
    RunsCommands,
    SessionStart,
)

__all__ = ["ChildAgent"]

_log = logging.getLogger("turnwire")
_LONGEST = 256 << 20  # maximum bytes of a line
_LEAVE = 2.0  # seconds for an idle agent to exit by itself


class ChildAgent:
    """Runs another agent in a child process. `options` are that agent's constructor arguments."""

    def __init__(
        self,
        agent: str,
        *,
        env: Mapping[str, str] | None = None,
        start_seconds: float = 30.0,
        grace: float = 3.0,
        **options: Any,
    ) -> None:
        self._target = agent
        self._env = env
        self._start_seconds = start_seconds
        self._grace = grace
        self._options = options
        self._agent: Agent = make(agent, **options)  # describes the agent; opens no session
        self.name = self._agent.name
        # An agent from outside Turnwire counts as one that runs commands, unless it says otherwise.
        is_foreign = ":" in agent and not isinstance(self._agent, RunsCommands)
        self.runs_commands = is_foreign or getattr(self._agent, "runs_commands", False)
        self._isolation: Isolation | None = None

    def isolate(self, isolation: Isolation | None) -> None:
        """Sets the isolation of all processes that start from now on."""
        self._isolation = isolation

    def exposed_credential(self) -> str | None:
        """Returns the exposed credential that the agent reports, or None."""
        return self._agent.exposed_credential() if isinstance(self._agent, RunsCommands) else None

    @property
    def capabilities(self) -> AgentCapabilities:
        """Returns the capabilities of the agent."""
        return self._agent.capabilities

    def unavailable(self) -> str | None:
        """Returns why the agent cannot be used, or None if it can."""
        return self._agent.unavailable()

    @property
    def description(self) -> str:
        """Returns the description of the agent."""
        return self._agent.description if isinstance(self._agent, DescribesItself) else ""

    async def version(self) -> str | None:
        """Returns the version of the agent, or None."""
        return await self._agent.version() if isinstance(self._agent, DescribesItself) else None

    async def forget(self, conversation_id: str, native_session_id: str | None) -> None:
        """Deletes the data that the agent has stored for a session."""
        if isinstance(self._agent, ForgetsSessions):
            await self._agent.forget(conversation_id, native_session_id)

    async def open(self, start: SessionStart) -> AgentSession:
        """Starts the child process and opens the agent in it. Raises AgentGone if that fails."""
        # -P: a file in the conversation's directory must not replace a module.
        command = [sys.executable, "-P", "-m", "turnwire.agents.run_child"]
        plain = plain_environment(self._isolation)
        process = await GuardedProcess.start(
            command,
            cwd=start.cwd,
            env=plain if self._env is None else self._env,
            grace=self._grace,
            lease=start.lease,
            isolation=self._isolation,
            keep=[sys.prefix, sys.base_prefix, Path(__file__).parents[2]],
        )
        session = ChildSession(process, start.history)
        # The guard enforces the lease. The child asks for the log when it needs it.
        own = structs.replace(start, lease=None, pieces=[], history=None)
        has_history = start.history is not None
        try:
            async with asyncio.timeout(self._start_seconds):
                await session.begin(wire.Open(self._target, own, self._options, has_history))
        except BaseException as error:
            await process.end()
            if isinstance(error, TimeoutError):
                seconds = f"{self._start_seconds:g} seconds"
                raise AgentGone(f"The agent did not start within {seconds}.") from None
            raise
        return session


class ChildSession:
    """An agent session in a child process."""

    def __init__(self, process: GuardedProcess, history: ReadsHistory | None) -> None:
        self._process = process
        self._history = history
        self._reading = BackgroundTasks()
        self._split = wire.LineSplitter(_LONGEST)
        self._lines: list[wire.FromAgent] = []
        self._name: str | None = None
        self._gone: str | None = None
        self._closed = False
        self._in_turn = False
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}  # what has no answer yet

    @property
    def native_session_id(self) -> str | None:
        """Returns the agent's own id of this session."""
        return self._name

    async def begin(self, opening: wire.Open) -> None:
        """Opens the agent in the child process. Raises AgentGone if that fails."""
        self._process.write(wire.write(opening))
        while not self._lines:
            if not await self._read():
                raise await self._death()
        match self._lines.pop(0):
            case wire.Opened(native_session_id=name):
                self._name = name
            case wire.Gone() as gone:
                raise AgentGone(_why(gone))
            case wire.Said() | wire.Answered() | wire.History():
                raise AgentGone("The agent sent events before it was opened.")

    async def events(self) -> AsyncIterator[list[NormalizedStreamEvent]]:
        """Yields batches of events. Lines that arrived together make one batch."""
        while True:
            batch = self._batch()
            if batch:
                yield batch
            elif self._gone is not None:
                raise AgentGone(self._gone)
            elif not await self._read():
                if self._closed:
                    return
                raise await self._death()

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begins a turn."""
        self._tell(wire.Prompt(_for_child(content), turn_uuid))
        self._in_turn = True

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Delivers a person's answers and decisions."""
        self._tell(wire.Deliver(list(replies), resumed))
        self._in_turn = self._in_turn or resumed

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Changes the model, the permission mode or the maximum of thinking tokens."""
        self._tell(wire.Choose(model, permission_mode, max_thinking_tokens))

    async def control(self, control: Control) -> ControlResult:
        """Sends a control and waits for its result, which the reader of `events` receives."""
        result: ControlResult = await self._ask(lambda number: wire.Ask(number, control))
        return result

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        """Hands a message to the running turn. Returns False if the turn cannot take it."""
        return bool(
            await self._ask(lambda number: wire.Steer(number, _for_child(content), message_id))
        )

    async def has_taken(self, message_id: str) -> bool:
        """Returns whether the session has a message in its own record."""
        return bool(await self._ask(lambda number: wire.HasTaken(number, message_id)))

    async def _ask(self, line: Callable[[int], wire.ToAgent]) -> Any:
        """Sends a line with a number, and waits for the line that answers it."""
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._tell(line(number))
            return await answer
        finally:
            del self._asked[number]

    async def interrupt(self) -> None:
        """Stops the turn."""
        self._tell(wire.Interrupt())

    async def close(self) -> list[EndedProcess]:
        """Ends the process and all its descendants. Returns the processes that a signal ended."""
        self._closed = True
        self._leave_unanswered("This session was closed.")
        self._reading.cancel()
        if self._in_turn:
            return await self._process.end()
        self._process.hang_up()
        return await self._process.end(leave=_LEAVE)

    # --- lines --------------------------------------------------------------------------------

    def _tell(self, line: wire.ToAgent) -> None:
        if self._closed:
            raise AgentGone("This session was closed.")
        if self._gone is not None:
            raise AgentGone(self._gone)
        self._process.write(wire.write(line))

    async def _read(self) -> bool:
        """Reads the available lines. Returns False after the end of the output."""
        data = await self._process.read()
        if not data:
            return False
        for line in self._split.feed(data):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):  # not a line of this protocol
                self._lines.append(wire.read_from_agent(line))
        return True

    def _batch(self) -> list[NormalizedStreamEvent]:
        """Processes the lines that were read and returns their events."""
        batch: list[NormalizedStreamEvent] = []
        for line in self._lines:
            match line:
                case wire.Said(events=events, native_session_id=name):
                    batch += events
                    self._name = name or self._name
                case wire.Answered() as answer:
                    self._answered(answer)
                case wire.History(number=number):
                    self._reading.run(self._send_history(number))
                case wire.Gone() as gone:
                    self._gone = _why(gone)
                    self._leave_unanswered(self._gone)
                case wire.Opened():
                    pass
        self._lines.clear()
        for event in batch:
            if isinstance(event, TurnStarted):
                self._in_turn = True
            elif isinstance(event, TurnCompleted | TurnFailed):
                self._in_turn = False
        return batch

    def _answered(self, line: wire.Answered) -> None:
        waiting = self._asked.get(line.number)
        if waiting is None or waiting.done():
            return
        if line.result is not None or line.yes is not None:
            waiting.set_result(line.yes if line.result is None else line.result)
        else:
            waiting.set_exception(Refused(line.code or "AGENT_ERROR", line.message))

    async def _send_history(self, number: int) -> None:
        try:
            found = [] if self._history is None else await self._history()
            line = wire.Entries(number, found)
        except Exception as failure:  # the agent decides what it can do without the log
            _log.exception("an agent asked for the log of its conversation, which cannot be read")
            line = wire.Entries(number, [], str(failure) or type(failure).__name__)
        with suppress(AgentGone):
            self._tell(line)

    def _leave_unanswered(self, why: str) -> None:
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(AgentGone(why))

    async def _death(self) -> AgentGone:
        """Returns the reason after the process ended by itself.

        Waits for the guard, which ends the remaining processes and reports the exit status.
        """
        await self._process.wait()
        self._gone = self._process.how_it_ended()
        self._leave_unanswered(self._gone)
        return AgentGone(self._gone)


def _why(gone: wire.Gone) -> str:
    if gone.traceback is not None:
        _log.error("An agent failed with an exception.\n%s", gone.traceback)
    return gone.message


def _for_child(content: list[Content]) -> list[wire.PromptContent]:
    """Returns the same content: the child reads every file as one that may have its bytes."""
    return cast("list[wire.PromptContent]", content)
