"""Sessions with the scripted agent, as a test uses them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from turnwire.agents.acp import AcpAgent
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Reply
from turnwire.ports import SessionStart
from turnwire.testing.agent_listener import Listener
from turnwire.testing.agent_order import EventOrder

PROGRAM = Path(__file__).parent / "scripted_agent.py"
SECONDS = 60.0


def scripted(directory: Path, *, env: dict[str, str] | None = None, **options: Any) -> AcpAgent:
    """The scripted agent, which works in a directory."""
    state = {"SCRIPTED_STATE": str(directory / "sessions.json")}
    command = [sys.executable, "-I", str(PROGRAM)]
    return AcpAgent("scripted", command, env={**state, **(env or {})}, roots=[directory], **options)


class Talk(Listener):
    """A session that is read, with the few things that a test does in it."""

    async def say(self, text: str) -> None:
        ended = self.order.turns_ended
        await self.session.prompt([TextContent(text)], turn_uuid=f"turn-{ended + 1}")

    async def turn(self, text: str) -> str:
        """Runs a whole turn and returns its text."""
        ended, before = self.order.turns_ended, len(self.events)
        await self.say(text)
        await self.turn_ends(ended + 1)
        return self.text(before)

    def text(self, after: int = 0) -> str:
        said = [e for e in self.events[after:] if isinstance(e, ev.AssistantMessage)]
        blocks = [block for event in said for block in event.content]
        return "".join(block.text for block in blocks if isinstance(block, TextBlock))

    async def asked(self) -> ev.PermissionRequested:
        await self.until(lambda: self.first(ev.PermissionRequested) is not None, "a permission")
        found = self.first(ev.PermissionRequested)
        assert found is not None
        return found

    async def decide(self, decision: Any, **more: Any) -> None:
        asked = await self.asked()
        reply = Reply(asked.request_id, "permission", decision=decision, **more)
        await self.session.deliver([reply], resumed=False)

    def results(self) -> list[ToolResultBlock]:
        found = [event for event in self.events if isinstance(event, ev.UserMessage)]
        blocks = [block for event in found for block in event.content]
        return [block for block in blocks if isinstance(block, ToolResultBlock)]


@asynccontextmanager
async def opened(agent: AcpAgent, **start: Any) -> AsyncIterator[Talk]:
    """Opens a session, reads it, closes it, and checks the order of its events."""
    session = await agent.open(SessionStart("talk", **start))
    talk = Talk(session, EventOrder(), SECONDS)
    try:
        yield talk
    finally:
        await session.close()
        await talk.stop()
    assert talk.order.problems == []
