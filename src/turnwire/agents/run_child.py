"""The main program of an agent's child process: reads commands and writes events, one per line."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from contextlib import suppress
from itertools import count

from msgspec import structs

from turnwire.agents import wire
from turnwire.agents.confine import close_to_others
from turnwire.agents.registry import make
from turnwire.background import BackgroundTasks
from turnwire.core.error_codes import Refused
from turnwire.core.message import Message
from turnwire.errors import TurnwireError
from turnwire.ports import AgentGone, AgentSession, SteersTurns

__all__: list[str] = []


class _Output:
    """Writes lines, with backpressure: waits while the server reads too slowly."""

    def __init__(self, transport: asyncio.WriteTransport, flow: _Flow) -> None:
        self._transport = transport
        self._flow = flow

    async def write(self, line: wire.FromAgent) -> None:
        self._transport.write(wire.write(line))
        await self._flow.free.wait()


class _Log:
    """Reads the log of the conversation, which the server has."""

    def __init__(self, output: _Output) -> None:
        self._output = output
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[list[Message]]] = {}

    async def read(self) -> list[Message]:
        """Returns all entries. Raises AgentGone if the server cannot read them."""
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            await self._output.write(wire.History(number))
            return await self._asked[number]
        finally:
            del self._asked[number]

    def take(self, line: wire.Entries) -> None:
        """Hands the entries to the reader that has asked for them, if it still waits."""
        waiting = self._asked.get(line.number)
        if waiting is None or waiting.done():
            return
        if line.failed is None:
            waiting.set_result(line.entries)
        else:
            waiting.set_exception(AgentGone(f"The log cannot be read: {line.failed}"))


class _Flow(asyncio.BaseProtocol):
    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.free = asyncio.Event()
        self.free.set()

    def pause_writing(self) -> None:
        self.free.clear()

    def resume_writing(self) -> None:
        self.free.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.free.set()
        self.closed.set()


async def _run(commands: asyncio.StreamReader, output: _Output) -> None:
    opening = wire.read_to_agent(await commands.readline())
    assert isinstance(opening, wire.Open)
    agent = make(opening.agent, **opening.options)
    log = _Log(output)
    start = (
        structs.replace(opening.start, history=log.read) if opening.has_history else opening.start
    )
    session = await agent.open(start)
    await output.write(wire.Opened(session.native_session_id))
    speaking = asyncio.create_task(_speak(session, output))
    obeying = asyncio.create_task(_obey(session, commands, output, log))
    done, _ = await asyncio.wait([speaking, obeying], return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()  # raises its error now, because `close` of a broken session may hang
    await session.close()
    for task in (speaking, obeying):
        task.cancel()
    for result in await asyncio.gather(speaking, obeying, return_exceptions=True):
        if isinstance(result, Exception):
            raise result


async def _speak(session: AgentSession, output: _Output) -> None:
    async for batch in session.events():
        await output.write(wire.Said(batch, session.native_session_id))


async def _obey(
    session: AgentSession, commands: asyncio.StreamReader, output: _Output, log: _Log
) -> None:
    """Executes the server's commands until the server closes the input."""
    asking = BackgroundTasks()  # so that no other command waits for a control
    while line := await commands.readline():
        match wire.read_to_agent(line):
            case wire.Prompt(content=content, turn_uuid=turn_uuid):
                await session.prompt([*content], turn_uuid=turn_uuid)
            case wire.Steer() | wire.HasTaken() as asked:
                asking.run(_answer(session, asked, output))
            case wire.Deliver(replies=replies, resumed=resumed):
                await session.deliver(replies, resumed=resumed)
            case wire.Choose(model=model, permission_mode=mode, max_thinking_tokens=tokens):
                await session.choose(model=model, permission_mode=mode, max_thinking_tokens=tokens)
            case wire.Ask() as asked:
                asking.run(_control(session, asked, output))
            case wire.Interrupt():
                await session.interrupt()
            case wire.Entries() as entries:
                log.take(entries)
            case wire.Open():
                raise AgentGone("The agent is open already.")


async def _answer(session: object, asked: wire.Steer | wire.HasTaken, output: _Output) -> None:
    yes = False
    with suppress(AgentGone):  # its end is reported by itself
        if not isinstance(session, SteersTurns):
            pass
        elif isinstance(asked, wire.Steer):
            yes = await session.steer([*asked.content], message_id=asked.message_id)
        else:
            yes = await session.has_taken(asked.message_id)
    await output.write(wire.Answered(asked.number, yes=yes))


async def _control(session: AgentSession, asked: wire.Ask, output: _Output) -> None:
    try:
        answer = wire.Answered(asked.number, await session.control(asked.control))
    except Refused as refused:
        answer = wire.Answered(asked.number, None, refused.code, refused.message)
    except AgentGone as gone:
        answer = wire.Answered(asked.number, None, "AGENT_UNAVAILABLE", gone.message)
    except Exception as defect:
        said = AgentGone.broken(defect).message
        answer = wire.Answered(asked.number, None, "AGENT_ERROR", said)
    await output.write(answer)


async def _main() -> None:
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader(limit=256 << 20)  # a prompt may contain images
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin.buffer)
    # Prints of the agent or of a library must not mix with the lines: they go to standard error.
    wire_out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    transport, flow = await loop.connect_write_pipe(_Flow, wire_out)
    output = _Output(transport, flow)
    gone: wire.Gone | None = None
    try:
        await _run(commands, output)
    except TurnwireError as error:
        gone = wire.Gone(error.message)
    except Exception as defect:
        gone = wire.Gone(AgentGone.broken(defect).message, traceback.format_exc())
    if gone is not None:
        await output.write(gone)
    transport.close()
    await flow.closed.wait()  # the last line is written, or the server has ended
    if gone is not None:
        os._exit(1)  # does not wait for a thread that may hang


def main() -> None:
    """Runs the agent that the first line names."""
    close_to_others()  # the agent's options and environment may contain secrets
    wire.mark_child()
    asyncio.run(_main())


if __name__ == "__main__":
    main()
