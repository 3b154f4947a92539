"""Agents that hang, flood, send invalid events, die or never start: the conversation stays true."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agents.helpers.misbehaving_agents import StrangeAgent
from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import Watcher, engine_on, talk_with
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.state import Options
from turnwire.core.message import TextPart, ToolCallPart, ToolResultPart
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.sent import Sent
from turnwire.engine import Engine, EngineSettings, SlowReader
from turnwire.ports import Agent
from turnwire.testing.agent_listener import processes_below_us

pytestmark = pytest.mark.needs_sqlite(reason="looks into the file")


async def is_closed(engine: Engine, conversation_id: str) -> bool:
    """Tool closure: every call in the log has its one result."""
    calls: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for stored in await engine.store.entries(conversation_id, limit=10_000):
        for part in stored.entry.parts:
            if isinstance(part, ToolCallPart):
                calls[part.payload.tool_call_id] += 1
            elif isinstance(part, ToolResultPart):
                results[part.payload.tool_call_id] += 1
    return bool(calls) and calls == results


def test_a_process_that_ignores_a_stop_is_ended_by_force(path: Path) -> None:
    async def scene() -> None:
        agent = ChildAgent("demo", delay=0.001, obey_interrupt=False, grace=0.1)
        async with engine_on(path, agent=agent) as engine:
            rules = Options(interrupt_grace=0.05)
            talk = await engine.create("demo", options={}, rules=rules)
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                await talk.interrupt(1, user="ann")
                receipt = (await seen.until(f.ConversationInterrupted)).payload
                assert (receipt.forced, receipt.acknowledged, receipt.by) == (True, False, "ann")
                assert receipt.processes
                assert not wait_until_gone([process.pid for process in receipt.processes])
                assert (await seen.until(f.AssistantComplete)).payload.interrupted
                await seen.state("interrupted")

    asyncio.run(scene())


def test_the_receipt_of_a_killed_agent_says_that_the_stop_was_forced(path: Path) -> None:
    async def scene() -> None:
        agent = ChildAgent("demo", delay=0.001, obey_interrupt=False)
        async with engine_on(path, agent=agent) as engine:
            rules = Options(interrupt_grace=600)
            talk = await engine.create("demo", options={}, rules=rules)
            before = processes_below_us()
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                await talk.interrupt(1, user="ann")
                for process in processes_below_us() - before:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
                receipt = (await seen.until(f.ConversationInterrupted)).payload
                assert (receipt.reason, receipt.lost) == ("user", True)
                assert (receipt.acknowledged, receipt.forced) == (False, False)

    asyncio.run(scene())


def waiting() -> int:
    """Returns the bytes that wait for followers."""
    return sum(each.size for each in gc.get_objects() if type(each) is Sent)


def test_a_flood_ends_and_only_a_follower_that_does_not_read_is_disconnected(path: Path) -> None:
    """A megabyte a second for ten seconds. The backlog of each follower stays bounded."""
    most = 2 << 20

    async def scene() -> None:
        # Counting the backlog blocks the loop, on a busy machine for seconds.
        settings = EngineSettings(buffer_bytes=most, lease=120)
        async with engine_on(path, settings=settings) as engine:
            talk = await talk_with(engine, flood=1, flood_seconds=10)
            slow = talk.follow()
            assert isinstance(await anext(slow), f.SessionConnected)
            async with Watcher(talk) as seen:
                began = asyncio.get_running_loop().time()
                await talk.send("hello")
                waited = []
                for _ in range(19):  # every half a megabyte
                    came = 0
                    while came < 500_000:
                        came += len((await seen.until(f.AssistantChunk)).payload.text)
                    waited.append(waiting())
                assert most / 2 < max(waited) < most + (1 << 20)
                assert waited[-1] < most / 2  # the slow one was cut off long ago
                with pytest.raises(SlowReader):
                    async for _ in slow:
                        pass
                whole = await seen.until(f.AssistantChunk, lambda frame: not frame.payload.partial)
                assert asyncio.get_running_loop().time() - began > 9
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            assert len(whole.payload.text) > 9_000_000
            pieces = [chunk.payload for chunk in seen.of(f.AssistantChunk) if chunk.payload.partial]
            flood = [piece for piece in pieces if piece.block_id == whole.payload.block_id]
            assert "".join(piece.text for piece in flood) == whole.payload.text
            async with Watcher(talk) as again:
                assert again.view().messages == seen.view().messages
            number = whole.payload.message_sequence
            assert number is not None
            [stored] = await engine.store.entries(talk.id, after=number - 1, limit=1)
            [part] = stored.entry.parts
            assert isinstance(part, TextPart)
            assert part.payload.text == whole.payload.text

    asyncio.run(scene())


def test_pieces_that_are_ready_together_are_one_frame(path: Path) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                await seen.until(f.TurnStarted)
                session = await agent.opened()
                session.begins()
                for number in range(5000):
                    session.speaks(f"{number} ", finishes=number == 4999)
                session.ends()
                await seen.until(f.AssistantComplete)
            chunks = [chunk.payload for chunk in seen.of(f.AssistantChunk)]
            assert len(chunks) <= 4  # one or two partials, and the whole text
            assert "".join(c.text for c in chunks if c.partial) == chunks[-1].text

    asyncio.run(scene())


def test_half_a_character_is_published_as_it_is_stored(path: Path) -> None:
    """Such text comes from file names that are not UTF-8."""
    name = b"caf\xe9.txt".decode(errors="surrogateescape")

    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                session = await agent.opened()
                session.begins()
                session.speaks(name, finishes=False)
                await seen.until(f.AssistantChunk)
                session.speaks(name, finishes=True)
                session.reads(name)
                call = await seen.until(
                    f.AssistantToolCall, lambda frame: not frame.payload.partial
                )
                session.prints()
                session.ends()
                assert not (await seen.until(f.AssistantComplete)).payload.is_error
            assert call.payload.input["path"] == "caf\ufffd.txt"
            pieces = [chunk.payload.text for chunk in seen.of(f.AssistantChunk)]
            assert pieces == ["[1] caf\ufffd.txt"] * 2 + ["[1] caf\ufffd.txt" * 2]
            async with Watcher(talk) as again:
                assert again.view().messages == seen.view().messages

    asyncio.run(scene())


def test_an_agent_that_dies_during_a_character_is_reported_as_gone(
    path: Path,
) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=StrangeAgent(how="breaks badly")) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                end = (await seen.until(f.AssistantComplete)).payload
                assert end.error is not None
                assert "caf\ufffd" in end.error.message
                await seen.state("error")

    asyncio.run(scene())


def test_invalid_lines_of_an_agent_are_ignored(path: Path) -> None:
    async def scene() -> None:
        agent = ChildAgent("demo", delay=0, garbage=True)
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("tool")
                assert not (await seen.until(f.AssistantComplete)).payload.is_error
                await seen.state("active")
            assert await is_closed(engine, talk.id)

    asyncio.run(scene())


def test_an_agent_that_is_killed_in_a_tool_leaves_a_true_log_and_can_go_on(path: Path) -> None:
    async def scene() -> None:
        agent = ChildAgent("demo", delay=0, die=True)
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("tool")
                call = await seen.until(f.AssistantToolCall)
                result = await seen.until(f.AssistantToolResult)
                assert result.payload.tool_use_id == call.payload.tool_use_id
                assert result.payload.is_error
                end = (await seen.until(f.AssistantComplete)).payload
                assert end.error is not None
                assert end.error.code == "agent_lost"
                state = await seen.state("interrupted")
                assert not state.payload.running
                assert await is_closed(engine, talk.id)
                await talk.send("hello")
                assert not (await seen.until(f.AssistantComplete)).payload.is_error

    asyncio.run(scene())


@pytest.mark.parametrize(
    "agent",
    [
        ChildAgent("demo", never_start=True, start_seconds=0.2),
        StrangeAgent(how="refuses"),
        StrangeAgent(how="crashes"),
    ],
    ids=["in time", "at all", "without a mistake"],
)
def test_an_agent_that_does_not_start_fails_its_turn(path: Path, agent: Agent) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                end = (await seen.until(f.AssistantComplete)).payload
                assert end.error is not None
                assert end.error.code == "AGENT_UNAVAILABLE"
                assert not (await seen.state("error")).payload.running

    asyncio.run(scene())


def test_an_agent_that_never_starts_can_be_stopped(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=DemoAgent(never_start=True)) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                await talk.interrupt(1)
                assert (await seen.until(f.AssistantComplete)).payload.interrupted
                await seen.state("interrupted")

    asyncio.run(scene())


def test_an_agent_that_breaks_while_it_speaks_ends_its_turn(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=StrangeAgent(how="breaks")) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("hello")
                assert (await seen.until(f.AssistantComplete)).payload.is_error
                await seen.state("error")

    asyncio.run(scene())
