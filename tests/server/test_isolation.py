"""A server warns if its users are not isolated from the owner, and protects its memory."""

from __future__ import annotations

import logging
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.helpers.isolation_probe import UNPRIVILEGED
from tests.server.helpers.servers import process, serving
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.isolation import choose
from turnwire.data_dir import make_data_dir
from turnwire.engine.clock import SystemClock
from turnwire.errors import TurnwireError
from turnwire.ports import RunsCommands
from turnwire.server.access.keys import Keys
from turnwire.server.service import Service
from turnwire.settings import Settings
from turnwire.stores.sqlite import SqliteStore


def claude() -> ClaudeAgent:
    return ClaudeAgent(env={"ANTHROPIC_API_KEY": "sk-test"})


async def let_in(data: Path, user: str | None) -> str:
    """A token, as `turnwire token create` makes one. Returns its id."""
    make_data_dir(data)
    store = await SqliteStore.open(data / "turnwire.db")
    _, token = await Keys(store, SystemClock()).make("test", user)
    await store.close()
    return token.token_id


async def start(data: Path, **settings: Any) -> str:
    """Starts and stops a server. Returns its messages about users."""
    chosen = {"made_agents": {"claude": claude()}, "agent": "claude", **settings}
    service = await Service.open(Settings(data_dir=str(data), **chosen))
    await service.close()
    return "\n".join(service.risks)


async def any_user(scope: Any) -> str | None:
    return "ann"


def test_which_agents_run_commands() -> None:
    assert isinstance(claude(), RunsCommands)
    assert claude().runs_commands
    assert not isinstance(DemoAgent(), RunsCommands)


@pytest.mark.parametrize("by", ["token", "application"])
async def test_a_server_with_users_and_no_isolation_logs_a_warning(
    tmp_path: Path, by: str, caplog: pytest.LogCaptureFixture
) -> None:
    how: dict[str, Any] = {"agent_isolation": "off"}
    if by == "token":
        await let_in(tmp_path, "ann")
    else:
        how["authenticate"] = any_user
    with caplog.at_level(logging.WARNING, "turnwire"):
        said = await start(tmp_path, **how)
    assert "Users are not isolated from the owner" in said
    assert "agent_isolation is off" in said
    assert "agent_user" in said
    assert said in caplog.text


async def test_with_isolation_it_is_said_only_where_agents_are_roots(tmp_path: Path) -> None:
    await let_in(tmp_path, "ann")
    said = await start(tmp_path)
    if not choose("auto", tmp_path).is_enforced:
        assert "this machine offers no way" in said
    elif os.geteuid() == 0:
        assert "are run by root" in said
        assert await start(tmp_path, agent_user=UNPRIVILEGED) == ""
    else:
        assert said == ""


async def test_a_server_without_other_users_logs_no_warning(tmp_path: Path) -> None:
    assert await start(tmp_path, agent_isolation="off") == "", "there is only the owner"
    token_id = await let_in(tmp_path, "ann")
    demo = {"made_agents": {"demo": DemoAgent()}, "agent": "demo"}
    assert await start(tmp_path, agent_isolation="off", **demo) == ""
    without_key = ClaudeAgent(env={"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)})
    if without_key.unavailable() is not None:
        agents = {"made_agents": {"claude": without_key}}
        assert await start(tmp_path, agent_isolation="off", **agents) == ""
    assert await start(tmp_path, agent_isolation="off") != ""
    store = await SqliteStore.open(tmp_path / "turnwire.db")
    await Keys(store, SystemClock()).revoke(token_id, "owner")
    await store.close()
    assert await start(tmp_path, agent_isolation="off") == ""


async def test_a_credential_that_tools_can_read_is_reported(tmp_path: Path) -> None:
    await let_in(tmp_path, "ann")
    cloud = ClaudeAgent(env={"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_API_KEY": ""})
    said = await start(tmp_path, made_agents={"claude": cloud})
    expected = "Commands that users have claude run can read the credential of its model: "
    assert f"{expected}CLAUDE_CODE_USE_VERTEX is on" in said
    shown = ClaudeAgent(env={"ANTHROPIC_API_KEY": "sk-test"}, hide_credential=False)
    assert f"{expected}hide_credential is off" in await start(
        tmp_path, made_agents={"claude": shown}
    )
    assert expected not in await start(tmp_path)


async def test_a_server_without_the_demanded_isolation_does_not_start(
    tmp_path: Path,
) -> None:
    with pytest.raises(TurnwireError, match="this machine has no such user"):
        await start(tmp_path, agent_user="no-such-user")
    async with serving(tmp_path) as server:  # the store was closed again
        assert server.token


@pytest.mark.needs_sqlite(reason="the server of the test may not use PostgreSQL's socket")
def test_only_root_can_read_the_memory_of_a_server(tmp_path: Path) -> None:
    """The environment of the server may hold the model's credential."""
    # Root without its capabilities counts as an ordinary user.
    like_others = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    with process(tmp_path, under=like_others, OWNERS_SECRET="not for you") as server:
        look = [*like_others, "cat", f"/proc/{server.popen.pid}/environ"]
        done = subprocess.run(look, capture_output=True, check=False)
        assert b"not for you" not in done.stdout
        assert done.returncode != 0
        assert b"denied" in done.stderr or b"not permitted" in done.stderr
