"""An agent that writes every call and every event into the journal before it sends the event."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType, structs

from tests.prove.helpers.journal import Handed, Journal, Opened, Said, Stopped, Took, read
from turnwire.agents.demo import DemoAgent
from turnwire.agents.demo.agent import DemoSession
from turnwire.agents.demo.script import short_key
from turnwire.agents.guard import running
from turnwire.agents.wire import runs_as_child
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult, Done
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import AgentSession, SessionStart

SERVER = "PROVE_SERVER"  # in the environment of an agent's process: the pid of its server


def work_key(talk: str, turn: int, session: str) -> str:
    """Returns the key that is in the ids of all output of a session for a prompt."""
    return short_key(f"{talk}:{turn}", session)


class WitnessAgent:
    """The demo. As a process of its own it starts another one, which would stay for ever."""

    name = "witness"

    def __init__(self, journal: str, **options: Any) -> None:
        self._journal = Path(journal)
        self._agent = DemoAgent(**options)
        self.capabilities = structs.replace(
            self._agent.capabilities,
            commands=["session.set_model", "session.control"],
            models=["slow", "fast"],
            controls=["mcp_reconnect"],
        )

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        journal = Journal(self._journal)
        pids = []
        if runs_as_child():
            tool = await asyncio.create_subprocess_exec("sleep", "1000", start_new_session=True)
            pids = [os.getppid(), os.getpid(), tool.pid]
        table = running()
        processes = [(pid, table[pid].began) for pid in pids if pid in table]
        session = await self._agent.open(start)
        return WitnessSession(session, journal, start.conversation_id, processes)


class WitnessSession:
    """A session whose name is in the ids of all its output."""

    def __init__(
        self, session: DemoSession, journal: Journal, talk: str, processes: list[tuple[int, str]]
    ) -> None:
        self._session = session
        self._journal = journal
        self._talk = talk
        self._name = session.key
        server = int(os.environ.get(SERVER, os.getpid()))
        journal.write(Opened(talk=talk, session=self._name, server=server, processes=processes))

    @property
    def native_session_id(self) -> str | None:
        return self._session.native_session_id

    async def events(self) -> AsyncIterator[list[NormalizedStreamEvent]]:
        async for batch in self._session.events():
            self._write_down(batch)
            yield batch

    def _write_down(self, batch: list[NormalizedStreamEvent]) -> None:
        for event in batch:  # its own record of the session, which outlives its process
            if isinstance(event, ev.UserMessage) and event.message_id is not None:
                took = Took(talk=self._talk, session=self._name, message=event.message_id)
                self._journal.write(took)
        messages = [event.message_id for event in batch if isinstance(event, ev.AssistantMessage)]
        told = [event for event in batch if isinstance(event, ev.UserMessage)]
        results = [
            (block.tool_use_id, bool(block.is_error))
            for event in told
            for block in event.content
            if isinstance(block, ToolResultBlock)
        ]
        discarded = [event.message_id for event in batch if isinstance(event, ev.MessageDiscarded)]
        if messages or results or discarded:
            self._journal.write(
                Said(
                    talk=self._talk,
                    session=self._name,
                    messages=messages,
                    results=results,
                    discarded=discarded,
                )
            )

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        turn = int(turn_uuid.rpartition(":")[2])
        is_known = not content
        handed = Handed(talk=self._talk, session=self._name, turn=turn, is_known=is_known)
        self._journal.write(handed)
        await self._session.prompt(content, turn_uuid=turn_uuid)

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        return await self._session.steer(content, message_id=message_id)

    async def has_taken(self, message_id: str) -> bool:
        lines = await asyncio.to_thread(read, self._journal.path)
        return any(isinstance(line, Took) and line.message == message_id for line in lines)

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        names = [reply.request_id for reply in replies]
        handed = Handed(talk=self._talk, session=self._name, replies=names, resumed=resumed)
        self._journal.write(handed)
        await self._session.deliver(replies, resumed=resumed)

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        await self._session.choose(model=model, permission_mode=permission_mode)

    async def control(self, control: Control) -> ControlResult:
        return Done()

    async def interrupt(self) -> None:
        self._journal.write(Stopped(talk=self._talk, session=self._name, how="asked"))
        await self._session.interrupt()

    async def close(self) -> list[EndedProcess]:
        self._journal.write(Stopped(talk=self._talk, session=self._name, how="closed"))
        return await self._session.close()
