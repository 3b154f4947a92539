"""The working directory of an agent is checked at every start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.controls import McpStatus
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.engine.settings import EngineSettings
from turnwire.ports import AgentCapabilities


def settings(*roots: Path) -> EngineSettings:
    return EngineSettings(roots=[str(root) for root in roots])


async def failure(engine: Engine, cwd: Path | None) -> str:
    """Returns the error of a turn in this directory."""
    talk = await engine.create("demo", cwd=None if cwd is None else str(cwd))
    async with Watcher(talk) as seen:
        await talk.send("hello")
        end = (await seen.until(f.AssistantComplete)).payload
        assert end.is_error
        assert end.error is not None
        return end.error.message


async def test_no_agent_is_started_outside_the_roots(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to("/etc")
    (root / "file").touch()
    agent = ScriptedAgent()
    async with engine_on(tmp_path / "db", agent=agent, settings=settings(root)) as engine:
        for place in (Path("/etc"), root / "link", root / ".." / "..", tmp_path):
            said = await failure(engine, place)
            assert f"may not work in {place}, only below {root}" in said
            assert "setting `roots`" in said
        assert "it is no directory" in await failure(engine, root / "file")
        assert "No such file" in await failure(engine, root / "gone")
        assert agent.starts == [], "not one was opened"


async def test_a_link_is_followed_again_at_every_start(tmp_path: Path) -> None:
    root, inside = tmp_path / "root", tmp_path / "root" / "inside"
    inside.mkdir(parents=True)
    link = root / "link"
    link.symlink_to(inside)
    agent = ScriptedAgent()
    async with engine_on(tmp_path / "db", agent=agent, settings=settings(root)) as engine:
        talk = await engine.create("demo", cwd=str(link))
        async with Watcher(talk) as seen:
            await talk.send("one")
            session = await agent.opened()
            session.begins()
            session.ends()
            await seen.until(f.AssistantComplete)
        assert agent.starts[0].cwd == str(inside), "where it leads, not the link"
        assert agent.starts[0].roots == [str(root)]
    link.unlink()
    link.symlink_to("/etc")
    async with engine_on(tmp_path / "db", agent=agent, settings=settings(root)) as engine:
        talk = await engine.open(talk.id)
        async with Watcher(talk) as seen:
            await talk.send("two")
            end = (await seen.until(f.AssistantComplete, lambda each: each.turn_id == 2)).payload
            assert end.error is not None
            assert "setting `roots`" in end.error.message
        assert len(agent.starts) == 1


async def test_a_conversation_without_a_directory_works_in_the_first_root(tmp_path: Path) -> None:
    """An imported conversation, for example, loses its directory."""
    agent = ScriptedAgent()
    async with engine_on(tmp_path / "db", agent=agent, settings=settings(tmp_path)) as engine:
        talk = await engine.create("demo")
        await talk.send("hello")
        await agent.opened()
        assert agent.starts[0].cwd == str(tmp_path)


async def test_without_roots_only_the_agents_own_directory_is_open(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    async with engine_on(tmp_path / "db", agent=agent, settings=settings()) as engine:
        assert "no directory is allowed" in await failure(engine, tmp_path)
        talk = await engine.create("demo")
        await talk.send("hello")
        await agent.opened()
        assert agent.starts[0].cwd is None


async def test_an_engine_that_has_no_setting_opens_every_directory(tmp_path: Path) -> None:
    """A program or the command line chooses the directory itself."""
    agent = ScriptedAgent()
    async with engine_on(tmp_path / "db", agent=agent) as engine:
        talk = await engine.create("demo", cwd="/etc")
        await talk.send("hello")
        await agent.opened()
        assert (agent.starts[0].cwd, agent.starts[0].roots) == ("/etc", None)


async def test_a_control_is_refused_as_well(tmp_path: Path) -> None:
    """A control opens the agent, which is a start like any other."""
    agent = ScriptedAgent()
    agent.capabilities = AgentCapabilities(commands=["session.control"], controls=["mcp_status"])
    async with engine_on(tmp_path / "db", agent=agent, settings=settings(tmp_path)) as engine:
        talk = await engine.create("demo", cwd="/etc")
        with pytest.raises(Refused) as refused:
            await talk.control(McpStatus())
        assert refused.value.code == "AGENT_UNAVAILABLE"
        assert "setting `roots`" in refused.value.message
