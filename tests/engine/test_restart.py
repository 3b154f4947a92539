"""Stops and crashes: the next engine finds a true log, and answers reach the next agent."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from tests.engine.helpers.guarantees import check_again, check_end, check_stopped
from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.simulation import World
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.ports import Owned

PROMPTS = ["long", "tool", "question", "permission", "background", "subagent long", "error"]


async def test_a_stop_during_many_turns_leaves_every_log_true(path: Path) -> None:
    before = asyncio.all_tasks()
    talks = []
    async with engine_on(path) as engine:
        for number in range(21):
            talk = await engine.create("demo", options={"delay": 0.001})
            await talk.send(PROMPTS[number % len(PROMPTS)])
            await talk.send("hello", client_message_id="second")
            talks.append(talk.id)
        late = [asyncio.create_task(_send_unless_refused(engine, name)) for name in talks]
    await asyncio.gather(*late)
    assert asyncio.all_tasks() == before
    async with engine_on(path) as engine:
        for name in talks:
            row = await engine.store.conversation(name)
            assert row is not None
            c = row.state
            assert c.turn is None or c.turn.phase == "suspended"
            assert c.state != "streaming"
            asked = {request.request_id for request in c.requests}
            assert c.tools.keys() <= asked
            again = await (await engine.open(name)).send("hello", client_message_id="second")
            assert again.duplicate


async def _send_unless_refused(engine: Engine, name: str) -> None:
    with suppress(Refused, Owned):
        await (await engine.open(name)).send("one more")


@pytest.mark.needs_sqlite(reason="looks into the file")
async def test_a_server_that_crashes_again_during_recovery_loses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path / "log.db", Options(on_disconnect="continue"), survive=True)
    await world.begin()
    world.someone_speaks()
    await world.settle()
    [session] = world.agent.live
    session.begins()
    session.calls_a_tool()
    session.asks()
    await world.settle()
    world.someone_speaks()
    await world.settle()
    for _ in range(2):
        await world.server_falls()  # the second time before the recovery has settled
    await world.settle()
    status = await world.talk.status()
    assert (status.state, status.running, status.turn_id) == ("waiting_input", False, 1)
    await world.server_falls()
    await world.settle()
    await world.talk.answer(status.requests[0].request_id, "blue")
    await world.settle()
    [session] = world.agent.live
    session.ends()
    await world.settle()
    world.agent_works()
    world.agent_is_done()
    await world.settle()
    await world.stop()
    await check_stopped(world)
    await world.start_again()
    await check_again(world)
    await check_end(world)
    await world.stop()
    assert [len(session.prompts) for session in world.agent.sessions] == [1, 1]


async def test_a_late_decision_does_not_reach_a_new_agents_request_with_the_same_id(
    path: Path,
) -> None:
    agent = ScriptedAgent()
    async with engine_on(path, agent=agent) as engine:
        talk = await engine.create("demo")
        async with Watcher(talk) as seen:
            await talk.send("one")
            first = await agent.opened()
            first.begins()
            first.wants()
            old = (await seen.until(f.AssistantPermissionRequest)).payload
            first.dies()
            await seen.until(f.AssistantComplete)
            await talk.send("two")
            second = await agent.opened()
            second.begins()
            second.wants()
            new = (await seen.until(f.AssistantPermissionRequest)).payload
            assert list(second.asked) == list(first.asked)  # both agents use the same id
            with pytest.raises(Refused) as refused:
                await talk.decide(old.request_id, "allow")
            assert refused.value.code == "CONVERSATION_INTERRUPTED"
            await talk.decide(new.request_id, "allow")
            result = await seen.until(f.AssistantToolResult)
            assert result.payload.tool_use_id == new.tool_use_id


async def test_an_answer_to_an_agent_that_has_just_died_reaches_the_next_one(path: Path) -> None:
    agent = ScriptedAgent()
    async with engine_on(path, agent=agent) as engine:
        talk = await engine.create("demo")
        async with Watcher(talk) as seen:
            await talk.send("hello")
            first = await agent.opened()
            first.begins()
            first.asks()
            asked = (await seen.until(f.AssistantRequestInput)).payload
            first.dies()  # the engine does not know it yet
            await talk.answer(asked.question_id, "blue")
            went_on = await seen.until(f.TurnStarted, lambda frame: frame.turn_id == 1)
            assert went_on.payload.origin == "resume"
            result = (await seen.until(f.AssistantToolResult)).payload
            assert (result.tool_use_id, result.is_error) == (asked.question_id, False)
            assert "blue" in str(result.content)
            agent.live[0].ends()
            complete = (await seen.until(f.AssistantComplete)).payload
            assert not complete.is_error
            assert len(agent.sessions) == 2
