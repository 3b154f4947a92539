"""The real Claude Code in isolation: its Bash finds no token of the owner, no database, no credential."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agents.claude.helpers.real_claude import bash, programs, until
from tests.agents.helpers.isolation_probe import (
    FILES,
    SECRET,
    UNPRIVILEGED,
    WAYS,
    Place,
    isolation,
    place,
    stranger,
)
from tests.server.helpers.servers import Serving, serving
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.process.installation import find_cli
from turnwire.agents.isolation import find_user
from turnwire.ports import Isolation
from turnwire.testing.model_api import ModelApi, Say, ToolUse, claude_environment

KEY = "sk-the-real-credential"


def claude(api: ModelApi, home: Path, env: Mapping[str, str] = {}, **more: Any) -> ClaudeAgent:
    home.mkdir(mode=0o777, exist_ok=True)
    home.chmod(0o777)
    return ClaudeAgent(
        {"model": "claude-sonnet-4-5", "allowed_tools": ["Bash"]},
        env={**claude_environment(api.url, home), "ANTHROPIC_API_KEY": KEY, **env},
        titles=False,
        start_seconds=180.0,
        **more,
    )


async def ask(server: Serving, cwd: Path) -> dict[str, Any]:
    """A user of the server sends the script's prompt to Claude. Returns the result of the turn."""
    async with server.rpc(await server.token_of("mallory")) as client:
        client.patience = 180.0
        await client.join(cwd=str(cwd))
        frames = await client.query("Do it.")
        result: dict[str, Any] = frames[-1]["data"]
        return result


def told(api: ModelApi) -> str:
    """Returns the output of commands that the model received."""
    return str(api.requests[-1].tool_results)


def can_be_run_by_that_user() -> bool:
    """Returns whether another user can run the program."""
    cli = find_cli()
    assert cli is not None
    uid = find_user(UNPRIVILEGED).uid
    done = subprocess.run(["test", "-x", cli], user=uid, check=False)
    return done.returncode == 0


def spy(there: Place) -> str:
    """Returns a command for Bash that prints every secret it can find."""
    files = " ".join(str(there.data / name) for name in FILES)
    found = "ANTHROPIC_API_KEY=[^ ]*|sk-the[a-z-]*|tw_[A-Za-z0-9_-]*|a-secret-of-the-owner|SQLite"
    return (
        f"{{ cat {files} {there.data}/*; env; cat /proc/[0-9]*/environ; cat $HOME/.claude*/*; "
        f"}} 2>/dev/null | tr '\\0' '\\n' | grep -aoE '{found}' | sort -u; "
        "echo looked > mark; echo the end"
    )


@pytest.mark.parametrize("by", WAYS)
async def test_bash_finds_neither_the_owners_secrets_nor_the_credential(by: str) -> None:
    with place() as there, stranger():
        way = isolation(by, there.data)
        if way is None:
            return
        for name in FILES[:3]:  # the server makes its own
            (there.data / name).unlink()
        how = {"agent_user": UNPRIVILEGED} if by == "user" else {"agent_isolation": by}
        async with ModelApi(Say([bash(spy(there))]), "Done.") as api:
            agents = {"claude": claude(api, there.top / "home")}
            more: dict[str, Any] = {"agent": "claude", "roots": [str(there.work)], **how}
            async with serving(there.data, agents=agents, **more) as server:
                result = await ask(server, there.work)
                if by == "user" and not can_be_run_by_that_user():
                    assert "Permission denied" in str(result)
                    return
                assert result["result"] == "Done."
                said = told(api)
                assert "the end" in said
                assert (there.work / "mark").exists()
                assert KEY not in said
                assert SECRET not in said
                assert server.token not in said
                assert "SQLite" not in said
                assert "ANTHROPIC_API_KEY=sk-ant-turnwire-" in said, "so it has a stand-in"
                assert {request.headers["x-api-key"] for request in api.requests} == {KEY}


async def test_without_all_that_it_finds_everything() -> None:
    with place() as there, stranger():
        for name in FILES[:3]:
            (there.data / name).unlink()
        async with ModelApi(Say([bash(spy(there))]), "Done.") as api:
            agents = {"claude": claude(api, there.top / "home", hide_credential=False)}
            more: dict[str, Any] = {"agent": "claude", "roots": [str(there.work)]}
            async with serving(there.data, agents=agents, agent_isolation="off", **more) as server:
                await ask(server, there.work)
                said = told(api)
                assert KEY in said
                assert server.token in said
                assert SECRET in said


async def test_a_stand_in_is_good_for_calls_of_the_model_and_no_longer_than_its_program(
    tmp_path: Path,
) -> None:
    command = bash("echo at $ANTHROPIC_BASE_URL with $ANTHROPIC_API_KEY .")
    async with ModelApi(Say([command]), "Done.") as api:
        agents = {"claude": claude(api, tmp_path / "home")}
        data, work = tmp_path / "data", tmp_path / "work"
        work.mkdir()
        async with serving(data, agents=agents, agent="claude", roots=[str(work)]) as server:
            await ask(server, work)
            url, token = told(api).partition("at ")[2].partition(" .")[0].split(" with ")
            assert url != api.url
            async with httpx.AsyncClient(base_url=url, trust_env=False) as thief:
                body = {
                    "model": "m",
                    "max_tokens": 9,
                    "messages": [{"role": "user", "content": "x"}],
                }
                for headers in ({}, {"x-api-key": "guessed"}, {"authorization": f"Bearer {KEY}"}):
                    refused = await thief.post("/v1/messages", json=body, headers=headers)
                    assert refused.status_code == 401
                mine = {"x-api-key": token}
                for path in ("/v1/files", "/v1/messages/batches", "/v1/organizations/api_keys"):
                    refused = await thief.post(path, json=body, headers=mine)
                    assert refused.status_code == 403
                answer = await thief.post("/v1/messages", json=body, headers=mine)
                assert answer.status_code == 200
                assert api.requests[-1].headers["x-api-key"] == KEY
                assert KEY not in str(answer.headers) + answer.text
        await until(lambda: not programs())
        async with httpx.AsyncClient(base_url=url, trust_env=False) as thief:
            with pytest.raises(httpx.ConnectError):
                await thief.post("/v1/messages", json=body, headers=mine)


@pytest.mark.parametrize("name", ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])
async def test_a_token_is_kept_from_tools_as_a_key_is(tmp_path: Path, name: str) -> None:
    env = {"ANTHROPIC_API_KEY": "", name: KEY, "ANTHROPIC_CUSTOM_HEADERS": f"X-Gateway: {KEY}-too"}
    async with ModelApi(Say([bash("env")]), "Done.") as api:
        agents = {"claude": claude(api, tmp_path / "home", env)}
        data, work = tmp_path / "data", tmp_path / "work"
        work.mkdir()
        async with serving(data, agents=agents, agent="claude", roots=[str(work)]) as server:
            assert (await ask(server, work))["result"] == "Done."
            assert "PWD=" in told(api)
            assert KEY not in told(api)
            assert {request.headers["authorization"] for request in api.requests} == {
                f"Bearer {KEY}"
            }
            assert {request.headers["x-gateway"] for request in api.requests} == {f"{KEY}-too"}


async def test_the_files_of_claude_may_be_in_the_data_directory(tmp_path: Path) -> None:
    """The home of the server's user may be the data directory."""
    data, work = tmp_path / "data", tmp_path / "work"
    work.mkdir()
    async with ModelApi(
        Say([bash(f"cat {data}/owner-token; ls {data}")]), "Done.", "Again."
    ) as api:
        agents = {"claude": claude(api, tmp_path / "unused")}
        env = claude_environment(api.url, data)
        del env["CLAUDE_CONFIG_DIR"]
        agents["claude"]._env = {**env, "ANTHROPIC_API_KEY": KEY}
        async with serving(data, agents=agents, agent="claude", roots=[str(work)]) as server:
            assert (await ask(server, work))["result"] == "Done."
            assert server.token not in told(api)
            assert list((data / ".claude" / "projects").rglob("*.jsonl")), (
                "it has written its record"
            )


async def test_reading_the_data_is_denied_by_claudes_own_rules_as_well(tmp_path: Path) -> None:
    """Without isolation by the system the file tools still refuse; commands are not limited."""
    data, work = tmp_path / "data", tmp_path / "work"
    work.mkdir()
    read = ToolUse("Read", {"file_path": str(data / "owner-token")}, id="read_1")
    async with ModelApi(Say([read]), "Done.") as api:
        agent = ClaudeAgent(
            {
                "model": "claude-sonnet-4-5",
                "allowed_tools": ["Read"],
                "settings": '{"permissions": {"deny": ["Bash(whoami)"]}}',
            },
            env=claude_environment(api.url, tmp_path / "home"),
            titles=False,
            start_seconds=180.0,
        )
        how: dict[str, Any] = {"agent": "claude", "roots": [str(work)], "agent_isolation": "off"}
        async with serving(data, agents={"claude": agent}, **how) as server:
            agent.isolate(Isolation("none", [str(data)]))
            await ask(server, work)
            assert server.token not in told(api)
            assert "denied" in told(api)
