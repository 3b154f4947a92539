"""Agents for the tests of the page: TURNWIRE_AGENTS=web.tests.python.agents:NAME."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncGenerator
from zlib import decompress

from turnwire import AgentTurn, Ask, agent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.demo.agent import DemoSession
from turnwire.core.content import Content, LoadedFile, TextContent
from turnwire.core.controls import ContextUsage, ContextUsed, Control, ControlResult
from turnwire.ports import AgentCapabilities, SessionStart

__all__ = ["Bold", "Filling", "actor", "editor", "gardener", "reader"]


class Bold(DemoAgent):
    """The demo, with a choice of permission modes."""

    capabilities = AgentCapabilities(
        commands=[*DemoAgent.capabilities.commands, "session.set_permission_mode"],
        options=DemoAgent.capabilities.options,
        permission_modes=["default", "plan", "bypassPermissions"],
        questions_survive=True,
        controls=DemoAgent.capabilities.controls,
        forks=True,
    )


class Filling(DemoAgent):
    """The demo, with a context of 200,000 tokens. A message that is a number sets how many are used."""

    name = "filling"
    capabilities = AgentCapabilities(
        commands=DemoAgent.capabilities.commands,
        options=DemoAgent.capabilities.options,
        controls=["context_usage"],
    )

    async def open(self, start: SessionStart) -> DemoSession:
        """Opens a session of the demo that knows its context."""
        opened = await super().open(start)
        return FillingSession(opened.options, opened.session_id, opened.cwd)


class FillingSession(DemoSession):
    """A session whose context has a size."""

    used = 0

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Reads the number of tokens."""
        [first] = content
        if isinstance(first, TextContent) and first.text.isdigit():
            self.used = int(first.text)
        await super().prompt(content, turn_uuid=turn_uuid)

    async def control(self, control: Control) -> ControlResult:
        """Returns how full the context is."""
        if isinstance(control, ContextUsage):
            return ContextUsed(self.used, 200_000)
        return await super().control(control)


@agent("reader", images=True, files=["application/pdf", "application/zip"])
async def reader(turn: AgentTurn) -> AsyncGenerator[str | Ask, str]:
    """Says which files it was given."""
    if turn.text == "fail":
        raise ValueError("The reader failed, as it was asked to.")
    if turn.text == "ask me":
        yield Ask("Shall I read?", ["Yes", "No"])
    for part in turn.content:
        if isinstance(part, LoadedFile) and part.data is not None:
            yield f"I have read {part.path}: {len(b64decode(part.data))} bytes. "
    yield "That is all."


@agent("editor")
async def editor(turn: AgentTurn) -> AsyncGenerator[str, str]:
    """Asks for the permission for a call of `Edit`, whose input is the message."""
    async with turn.tool("Edit", json.loads(turn.text), needs_permission=True) as call:
        call.result = "edited"
    yield "Done."


@agent("gardener")
async def gardener(turn: AgentTurn) -> AsyncGenerator[str, str]:
    """Asks for the permission for a tool that only this agent knows; the message is its input."""
    async with turn.tool("cut_hedge", json.loads(turn.text), needs_permission=True) as call:
        call.result = "cut"
    yield "Done."


@agent("actor")
async def actor(turn: AgentTurn) -> AsyncGenerator[str, str]:
    """Does what the message lists: says a text, calls a tool, fails, or waits until it is stopped.

    The message is compressed JSON in base64, so that the page shows none of its texts twice.
    """
    for step in json.loads(decompress(b64decode(turn.text))):
        if "say" in step:
            yield step["say"]
        elif "fail" in step:
            raise ValueError(step["fail"])
        elif "tool" in step:
            async with turn.tool(step["tool"], step["input"]) as call:
                for piece in step.get("output", []):
                    await (call.output(piece) if piece else turn.ask("Go on?", ["Yes", "No"]))
                call.result = step["result"]
        else:
            await asyncio.Event().wait()
