"""The real opencode over the Agent Client Protocol, against a scripted model. It needs npm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents.acp.helpers.real_opencode import opencode_environment
from tests.agents.acp.helpers.sessions import Talk, opened
from turnwire.agents.acp import AcpAgent
from turnwire.core import events as ev
from turnwire.testing.agent_listener import processes_below_us, still_running
from turnwire.testing.model_api import Fail, ModelApi, Say, Text, Thinking, ToolUse

SLEEP = ToolUse("bash", {"command": "sleep 1000", "description": "Sleep"})


class Opencode:
    """Sessions of opencode with a scripted model."""

    def __init__(self, program: Path, home: Path, work: Path) -> None:
        self._program = program
        self._home = home
        self._work = work

    @asynccontextmanager
    async def session(self, api: ModelApi, **start: Any) -> AsyncIterator[Talk]:
        env = opencode_environment(api.url, self._home)
        command = [str(self._program), "acp"]
        agent = AcpAgent("opencode", command, env=env, roots=[self._work], start_seconds=200)
        async with opened(agent, **start) as talk:
            yield talk


@pytest.fixture
def opencode(program: Path, home: Path, tmp_path: Path) -> Opencode:
    return Opencode(program, home, tmp_path)


async def test_text_thinking_and_usage_come_through(opencode: Opencode) -> None:
    async with (
        ModelApi(Say([Thinking("Hm."), Text("Hello there.", cuts=3)])) as api,
        opencode.session(api) as talk,
    ):
        assert await talk.turn("hello") == "Hello there."
        thought = [e.text for e in talk.events if isinstance(e, ev.ContentDelta)]
        assert "".join(thought) == "Hm.Hello there."
        summary = talk.first(ev.ResultSummary)
        assert summary is not None
        assert summary.usage is not None
        assert (summary.usage.output_tokens or 0) > 0
        init = talk.first(ev.SessionInit)
        assert init is not None
        assert (init.model, init.permission_mode) == ("fake/fake-model", "build")


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_command_waits_for_a_permission(opencode: Opencode, decision: str) -> None:
    call = ToolUse("bash", {"command": "echo hi", "description": "Say hi"})
    async with (
        ModelApi(Say(["I run it.", call]), "All done.") as api,
        opencode.session(api) as talk,
    ):
        await talk.say("run it")
        asked = await talk.asked()
        assert asked.input["command"] == "echo hi"
        assert [each["kind"] for each in asked.suggestions] == ["allow_always"]
        await talk.decide(decision)
        await talk.turn_ends(1)
        (result,) = talk.results()
        assert result.is_error == (decision == "deny")
        if decision == "allow":
            assert result.content == "hi\n"
            assert talk.text().endswith("All done.")


async def test_a_plan_of_the_to_do_tool_is_a_plan(opencode: Opencode) -> None:
    todos = [{"id": "1", "content": "Look", "status": "in_progress", "priority": "high"}]
    async with (
        ModelApi(Say([ToolUse("todowrite", {"todos": todos})]), "Planned.") as api,
        opencode.session(api) as talk,
    ):
        await talk.turn("plan it")
        plan = talk.first(ev.PlanUpdated)
        assert plan is not None
        assert [(item.content, item.status) for item in plan.items] == [("Look", "in_progress")]


async def test_an_interrupt_ends_the_command(opencode: Opencode) -> None:
    async with ModelApi(Say([SLEEP])) as api, opencode.session(api) as talk:
        await talk.say("sleep")
        await talk.decide("allow")
        async with asyncio.timeout(60):
            while not (ours := sleepers()):  # noqa: ASYNC110  # in another process
                await asyncio.sleep(0.05)
        await talk.session.interrupt()
        await talk.turn_ends(1)
        end = talk.first(ev.TurnCompleted)
        assert end is not None
        assert end.interrupted
        assert await still_running(ours, 30) == []


def sleepers() -> set[Any]:
    return {each for each in processes_below_us() if each.name == "sleep"}


async def test_a_session_is_resumed_and_knows_what_was_said(opencode: Opencode) -> None:
    async with ModelApi("One.", "Two.") as api:
        async with opencode.session(api) as talk:
            await talk.turn("first")
            name = talk.session.native_session_id
        async with opencode.session(api, native_session_id=name) as talk:
            assert await talk.turn("second") == "Two."
        told = json.dumps(api.requests[-1].messages)
        assert "first" in told
        assert "One." in told


async def test_a_wrong_key_fails_the_turn(opencode: Opencode) -> None:
    async with (
        ModelApi(Fail(401, "Incorrect API key")) as api,
        opencode.session(api) as talk,
    ):
        await talk.turn("hello")
        failed = talk.first(ev.TurnFailed)
        assert failed is not None
        assert "Incorrect API key" in failed.message
