"""Drives an agent session in a test: sends a message, collects all events, answers requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import msgspec

from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import Agent, AgentGone, AgentSession, SessionStart
from turnwire.testing.agent_order import EventOrder

T = TypeVar("T", bound=ev.Event)
SECONDS = 180.0  # the longest that anything may take


def but_for_ids(events: Sequence[NormalizedStreamEvent]) -> str:
    """Returns the events of the demo without ids, to compare two runs."""
    return re.sub("_[0-9a-f]{10}_", "_", msgspec.json.encode(events).decode())


class Ear:
    """Reads a session all the time, and checks the order of its events."""

    def __init__(self, session: AgentSession, known_calls: tuple[str, ...] = ()) -> None:
        self.session = session
        self.events: list[NormalizedStreamEvent] = []
        self.batches: list[list[NormalizedStreamEvent]] = []
        self.order = EventOrder(known_calls)
        self.gone: AgentGone | None = None
        self.said = 0
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for batch in self.session.events():
                self.order.feed(batch)
                self.batches.append(batch)
                self.events += batch
                self._news.set()
        except AgentGone as gone:
            self.gone = gone
        self._news.set()

    async def until(self, done: Callable[[], object]) -> None:
        """Wait for something to be heard."""
        async with asyncio.timeout(SECONDS):
            while not done():
                assert not self.task.done(), f"the agent has ended: {self.gone}"
                self._news.clear()
                await self._news.wait()

    async def say(self, text: str) -> None:
        """A prompt."""
        self.said += 1
        await self.session.prompt([TextContent(text)], turn_uuid=f"turn-{self.said}")

    async def heard(self, kind: type[T], number: int = 1) -> T:
        """The first event of a kind, or a later one; waits for it."""
        await self.until(lambda: len(self.all(kind)) >= number)
        return self.all(kind)[number - 1]

    async def turn_ends(self, number: int = 1) -> ev.TurnCompleted | ev.TurnFailed:
        """The end of a turn, the first or a later one; waits for it."""
        await self.until(lambda: self.order.turns_ended >= number)
        ends = [e for e in self.events if isinstance(e, ev.TurnCompleted | ev.TurnFailed)]
        return ends[number - 1]

    async def ends(self) -> None:
        """Wait for the end of the session."""
        async with asyncio.timeout(SECONDS):
            await self.task

    async def answer(self, answer: object, number: int = 1) -> ev.QuestionAsked:
        """Wait for a question and answer it."""
        asked = await self.heard(ev.QuestionAsked, number)
        await self.session.deliver([Reply(asked.tool_use_id, "question", answer)], resumed=False)
        return asked

    # --- received events ----------------------------------------------------------------------

    def all(self, kind: type[T]) -> list[T]:
        """Returns every event of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        """Returns the finished text of the agent itself."""
        blocks = (
            block
            for event in self.all(ev.AssistantMessage)
            if event.parent_tool_use_id is None
            for block in event.content
        )
        return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> list[ToolUseBlock]:
        """The calls that were made, of helpers as well."""
        blocks = (block for event in self.all(ev.AssistantMessage) for block in event.content)
        return [block for block in blocks if isinstance(block, ToolUseBlock)]

    @property
    def results(self) -> dict[str, ToolResultBlock]:
        """Returns the result of each call."""
        blocks = (block for event in self.all(ev.UserMessage) for block in event.content)
        return {block.tool_use_id: block for block in blocks if isinstance(block, ToolResultBlock)}

    @property
    def kinds(self) -> list[str]:
        """The names of all events; many deltas are one."""
        names: list[str] = []
        for event in self.events:
            name = str(event.__struct_config__.tag)
            if name != "content_delta" or names[-1:] != [name]:
                names.append(name)
        return names


@asynccontextmanager
async def talking(
    agent: Agent,
    native_session_id: str | None = None,
    *,
    known_calls: tuple[str, ...] = (),
    cwd: str | None = None,
    **options: object,
) -> AsyncIterator[Ear]:
    """Opens a session and reads its events; closes it at the end and checks their order."""
    start = SessionStart("conversation-1", native_session_id, cwd, options=dict(options))
    async with asyncio.timeout(SECONDS):
        session = await agent.open(start)
    ear = Ear(session, known_calls)
    try:
        yield ear
    finally:
        async with asyncio.timeout(SECONDS):
            await session.close()
        ear.task.cancel()
        with suppress(asyncio.CancelledError):
            await ear.task
    assert ear.order.problems == []
