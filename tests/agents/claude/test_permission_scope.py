"""The real Claude Code: a rule of one user does not reach another, and an import brings no permissions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tests.agents.claude.helpers.real_claude import bash, touch
from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.v2_client import Client
from turnwire.agents.claude import ClaudeAgent
from turnwire.cli.main import main
from turnwire.ports import AgentCapabilities
from turnwire.testing.model_api import ModelApi, Say, claude_environment

AT = "2026-01-01T00:00:00.000Z"


def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A directory to work in, a home, and where the data is."""
    work, home, data = tmp_path / "work", tmp_path / "home", tmp_path / "data"
    work.mkdir()
    home.mkdir()
    return work, home, data


def claude(api: ModelApi, home: Path, **options: Any) -> ClaudeAgent:
    return ClaudeAgent(
        {"model": "claude-sonnet-4-5"},
        env={**claude_environment(api.url, home), "IS_SANDBOX": "1"},
        titles=False,
        start_seconds=180.0,
        **options,
    )


async def asks_or_ends(client: Client) -> dict[str, Any]:
    """Returns the first permission request or the end of a turn."""
    client.patience = 180.0  # on a busy machine the real program takes long to start
    seen = ("assistant.permission_request", "assistant.complete")
    return await client.find(lambda frame: frame["type"] in seen)


async def decide(client: Client, asked: dict[str, Any], own_id: str, **more: Any) -> None:
    answer = {"request_id": asked["payload"]["request_id"], "decision": "allow", **more}
    await client.send("user.permission_response", own_id, **answer)
    assert (await client.answer(own_id))["type"].endswith("ack")


async def begin(server: Serving, token: str, work: Path) -> Client:
    async with server.http(token) as http:
        body = {"agent": "claude", "cwd": str(work)}
        answer = await http.post("/api/conversations", json=body)
        return server.client(answer.json()["id"], token)


async def test_always_of_one_user_is_asked_again_of_the_owner(tmp_path: Path) -> None:
    work, home, data = places(tmp_path)
    first, second, third = (Say([touch("a", f"call_{number}")]) for number in (1, 2, 3))
    async with (
        ModelApi(first, second, "Done.", third, "Done, too.") as api,
        serving(data, agents={"claude": claude(api, home)}, roots=[str(work)]) as server,
    ):
        ann = await server.token_of("ann")
        async with await begin(server, ann, work) as client:
            await client.say("make a, twice", "m-1")
            asked = await asks_or_ends(client)
            offered = asked["payload"]["suggestions"]
            assert "addRules" in {rule["type"] for rule in offered}
            assert {rule["destination"] for rule in offered} == {"session"}, (
                "what is offered is true"
            )
            await decide(client, asked, "m-2", remember=offered)
            ended = await client.until("assistant.request_resolved")
            assert ended["payload"]["remembered"] == offered
            end = await asks_or_ends(client)
            assert end["type"] == "assistant.complete", "for ann it holds: the second is not asked"
        assert (work / "a").exists()
        assert not list(work.glob(".claude/*")), "nothing is kept for the directory"
        async with await begin(server, server.token, work) as client:
            await client.say("make a", "m-1")
            asked = await asks_or_ends(client)
            assert asked["type"] == "assistant.permission_request", "the owner is asked"
            offered = asked["payload"]["suggestions"]
            assert {rule["destination"] for rule in offered} == {"session"}
            await decide(client, asked, "m-2")
            await client.end_of(1)


async def test_always_of_the_owner_holds_until_it_is_taken_back(tmp_path: Path) -> None:
    work, home, data = places(tmp_path)
    calls = [Say([bash("python3 -c pass", f"call_{number}")]) for number in range(4)]
    async with (
        ModelApi(*calls[:2], "Done.", calls[2], "Again.", calls[3], "Asked.") as api,
        serving(data, agents={"claude": claude(api, home)}, roots=[str(work)]) as server,
        await begin(server, server.token, work) as client,
        server.http() as http,
    ):
        await client.say("run it, twice", "m-1")
        asked = await asks_or_ends(client)
        offered = asked["payload"]["suggestions"]
        assert {rule["type"] for rule in offered} == {"addRules"}, "no change of the mode"
        await decide(client, asked, "m-2", remember=offered)
        assert (await asks_or_ends(client))["type"] == "assistant.complete", "asked once"
        await client.say("run it once more", "m-3")
        assert (await asks_or_ends(client))["type"] == "assistant.complete", "asked no more"
        assert not list(work.glob(".claude/*")), "Claude keeps nothing for the directory"
        rules = (await http.get("/api/rules")).json()["rules"]
        assert rules, "they are all listed"
        for rule in rules:
            assert rule["kept_by"] == "turnwire"
            of = f"/api/conversations/{rule['conversation_id']}/rules"
            assert (await http.delete(f"{of}/{rule['rule_id']}")).status_code == 204
        assert (await http.get("/api/rules")).json()["rules"] == []
        await client.say("run it at last", "m-4")
        asked = await asks_or_ends(client)
        assert asked["type"] == "assistant.permission_request", "the same process asks again"
        await decide(client, asked, "m-5")
        await client.end_of(3)


def test_an_imported_conversation_asks_and_works_below_the_roots(tmp_path: Path) -> None:
    work, home, data = places(tmp_path)
    head = {
        "kind": "conversation",
        "version": 1,
        "conversation_id": "elsewhere",
        "agent": "claude",
        "created_at": AT,
        "updated_at": AT,
        "state": "active",
        "cwd": "/etc",
        "permission_mode": "bypassPermissions",
        "options": {"allowed_tools": ["Bash"]},
    }
    file = tmp_path / "talk.jsonl"
    lines = [head, {"kind": "end", "entries": 0, "turns": 0}]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    words = ["import", "--json", "--data-dir", str(data), str(file)]
    name = json.loads(CliRunner().invoke(main, words).stdout)["conversation_id"]

    async def scene() -> None:
        where = bash("pwd > here; pwd", "call_1")
        async with (
            ModelApi(Say([where]), "Done.") as api,
            serving(data, agents={"claude": claude(api, home)}, roots=[str(work)]) as server,
            server.client(name) as client,
        ):
            await client.say("where are you?", "m-1")
            asked = await asks_or_ends(client)
            assert asked["type"] == "assistant.permission_request", "nothing runs unasked"
            await decide(client, asked, "m-2")
            await client.end_of(1)
            assert (work / "here").read_text() == f"{work}\n"

    asyncio.run(scene())


async def test_no_directory_of_a_stored_conversation_is_outside_the_roots(tmp_path: Path) -> None:
    """However it came into the store: as by a program, or from a server that had other roots."""
    work, home, data = places(tmp_path)
    async with (
        ModelApi() as api,
        serving(data, agents={"claude": claude(api, home)}, roots=[str(work)]) as server,
    ):
        create = server.service.engine.create
        outside = await create("claude", cwd="/etc")
        beside = await create("claude", cwd=str(work), options={"add_dirs": ["/etc"]})
        for talk, words in ((outside, "setting `roots`"), (beside, f"only below {work}")):
            async with server.client(talk.id) as client:
                client.patience = 180.0
                await client.say("hello", "m-1")
                end = await client.end_of(1)
                assert end["payload"]["is_error"]
                assert "may not work in /etc" in end["payload"]["error"]["message"]
                assert words in end["payload"]["error"]["message"]
        assert api.requests == [], "the model was not asked"


def test_every_narrowing_option_may_be_chosen_by_any_user() -> None:
    able: AgentCapabilities = ClaudeAgent().capabilities
    assert able.narrowing_options
    assert set(able.narrowing_options) <= set(able.options)
