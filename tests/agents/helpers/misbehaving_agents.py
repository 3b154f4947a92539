"""Agents that break the agent port, for tests of its containment."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import msgspec

from tests.agents.helpers.processes import STUBBORN, program
from turnwire.agents.local import LocalSession
from turnwire.core import controls as c
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock
from turnwire.core.content import Content
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import AgentCapabilities, AgentGone, AgentSession, SessionStart

WHOSE = ("strange", "s-1", None, None)
STARTED = ev.TurnStarted(*WHOSE)
SAID = ev.AssistantMessage(*WHOSE, "m-1", 0, [TextBlock("Hello.", "completed")])
ENDED = ev.TurnCompleted(*WHOSE, "end_turn")
FIGURES = ev.ResultSummary(*WHOSE, "success", False)


class StrangeAgent:
    """Answers every prompt with the batches that it was given; some ways to be worse."""

    name = "strange"
    capabilities = AgentCapabilities(controls=["mcp_status"])

    def __init__(
        self, batches: list[list[NormalizedStreamEvent]] | None = None, how: str = ""
    ) -> None:
        self._batches = batches
        self._how = how
        if how == "modest":
            self.capabilities = AgentCapabilities()
        if how == "boasts":
            self.capabilities = AgentCapabilities(controls=["mcp_status", "models"])

    def unavailable(self) -> str | None:
        return "It is on strike." if self._how == "on strike" else None

    async def open(self, start: SessionStart) -> AgentSession:
        if self._how == "refuses":
            raise AgentGone("It does not want to.")
        if self._how == "crashes":
            raise ValueError("a mistake")
        said = msgspec.structs.replace(SAID, message_id=uuid4().hex)
        return StrangeSession(self._batches or [[STARTED, said, ENDED, FIGURES]], self._how)


class StrangeSession(LocalSession):
    """See StrangeAgent."""

    native_session_id = "s-1"

    async def control(self, control: c.Control) -> c.ControlResult:
        match control:
            case c.McpStatus():
                return c.McpServers([c.McpServer("files", "connected")])
            case c.McpReconnect(server="broken"):
                raise ValueError("a mistake")
            case c.McpReconnect(server="gone"):
                raise AgentGone("It has left.")
            case c.McpReconnect():
                os._exit(3)
            case _:
                return await super().control(control)

    def __init__(self, batches: list[list[NormalizedStreamEvent]], how: str) -> None:
        super().__init__()
        self._batches = batches
        self._how = how

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        if self._how != "immortal":
            self._check_open()
        match self._how:
            case "breaks" | "breaks badly":
                self._start(self._break())
                return
            case "breaks with a thread stuck":
                asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
                raise ValueError("a mistake")
            case "half a character":
                half = TextBlock("caf\udce9", "completed")
                self._batches = [
                    [STARTED, msgspec.structs.replace(SAID, content=[half]), ENDED, FIGURES]
                ]
            case "prints":
                print("this is not a line of the protocol")
                sys.stdout.flush()
            case "starts processes":
                self._child = await asyncio.create_subprocess_exec(
                    *program(STUBBORN), stdout=asyncio.subprocess.PIPE, start_new_session=True
                )
                assert self._child.stdout is not None
                await self._child.stdout.readline()
            case "exits":
                sys.stderr.write("I have had enough.\n")
                sys.stderr.flush()
                os._exit(7)
            case _:
                pass
        self._start(self._play())

    async def _break(self) -> None:
        raise ValueError("caf\udce9" if self._how == "breaks badly" else "a mistake")

    async def _play(self) -> None:
        for batch in self._batches:
            await self._let_read(0)
            self._say(*batch)

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        self._say(*(result_of(reply.request_id) for reply in replies))

    async def interrupt(self) -> None:
        pass

    async def close(self) -> list[EndedProcess]:
        if self._how == "never closes":
            await asyncio.Event().wait()
        return await super().close()


def result_of(tool_use_id: str) -> ev.UserMessage:
    """A result for a call."""
    block = ToolResultBlock(tool_use_id, "done", False, "completed")
    return ev.UserMessage(*WHOSE, [block], "tool")


class Namesake(StrangeAgent):
    """Has the name of another."""

    name = "demo"


def make(how: str = "", **_: Any) -> StrangeAgent:
    """Makes the agent, for `module:attribute`."""
    return StrangeAgent(how=how)
