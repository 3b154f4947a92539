"""Options that a client may choose for an agent: none of them is a command or code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.helpers.servers import Serving, serving
from turnwire.agents.claude import ClaudeAgent, StdioServer
from turnwire.agents.claude.extensions.hooks import HookCall, hook
from turnwire.agents.claude.options import types
from turnwire.testing.model_api import ModelApi, Say, ToolUse, claude_environment


@hook("PreToolUse", optional=True)
def careful(call: HookCall) -> None:
    pass


def claude(place: Path) -> ClaudeAgent:
    docs = StdioServer(command="docs", optional=True)
    env = claude_environment("http://127.0.0.1:9", place)
    return ClaudeAgent(hooks=[careful], mcp_servers={"docs": docs}, env=env)


async def begin(server: Serving, token: str, options: Any) -> tuple[int, Any]:
    async with server.http(token) as http:
        body = {"agent": "claude", "options": options}
        answer = await http.post("/api/conversations", json=body)
        return answer.status_code, answer.json()


ANYONE: list[dict[str, Any]] = [
    {"hooks": ["careful"], "mcp_servers": ["docs"]},
    {"max_turns": 3, "output_format": {"type": "json_schema", "schema": {"type": "object"}}},
    {"agents": {"a": {"description": "d", "prompt": "p"}}},
]
OWNER: list[dict[str, Any]] = [
    {"allowed_tools": ["Bash"]},
    {"sandbox": {"enabled": True}},
]
FORBIDDEN: list[dict[str, Any]] = [
    {"mcp_servers": {"evil": {"command": "rm"}}},
    {"mcp_servers": ["evil"]},
    {"hooks": ["os:system"]},
    {"hooks": [{"run": "os:system"}]},
    {
        "agents": {
            "a": {"description": "d", "prompt": "p", "mcpServers": [{"x": {"command": "rm"}}]}
        }
    },
    {"env": {"PATH": "/evil"}},
    {"cli_path": "/evil"},
    {"settings": "{}"},
    {"plugins": []},
    {"add_dirs": ["/etc"]},
    {"setting_sources": ["user"]},
    {"extra_args": {"settings": "x"}},
    {"system_prompt": {"type": "file", "path": "/etc/passwd"}},
]


async def test_a_client_chooses_among_the_registered_options(tmp_path: Path) -> None:
    """CVE-2026-31975: no client can set a command, not even the owner."""
    async with serving(tmp_path, agents={"claude": claude(tmp_path)}) as server:
        ann = await server.token_of("ann")
        for options in ANYONE:
            assert (await begin(server, ann, options))[0] == 201, options
        for options in OWNER:
            status, said = await begin(server, ann, options)
            assert status == 400
            assert "that you may choose; there is: agents, client_tools, disallowed_tools" in str(
                said
            )
            assert (await begin(server, server.token, options))[0] == 201, options
        for options in FORBIDDEN:
            for token in (ann, server.token):
                status, said = await begin(server, token, options)
                assert (status, said["error"]["code"]) == (400, "INVALID_PAYLOAD"), options


async def test_the_list_of_agents_names_the_options_that_a_client_may_choose(
    tmp_path: Path,
) -> None:
    owners = [*types.FOR_ANYONE, *types.FOR_OWNER]
    async with serving(tmp_path, agents={"claude": claude(tmp_path)}) as server:
        for user, there in (("ann", types.FOR_ANYONE), (None, owners)):
            async with server.http(await server.token_of(user)) as http:
                [agent] = (await http.get("/api/agents")).json()["agents"]
                assert agent["options"] == there


async def test_the_list_of_agents_says_what_each_is_and_can_do(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.http() as http:
        [agent] = (await http.get("/api/agents")).json()["agents"]
        assert agent["description"].startswith("Needs no key and no network.")
        assert agent["version"] is None
        assert {"name": "is_free", "text": "costs nothing"} in agent["abilities"]


async def test_only_the_owner_may_choose_a_mode_that_asks_nothing(tmp_path: Path) -> None:
    free = {"permission_mode": "bypassPermissions"}
    async with serving(tmp_path, agents={"claude": claude(tmp_path)}) as server:
        ann = await server.token_of("ann")
        async with server.http(ann) as hers, server.http() as owners:
            for http, may in ((hers, False), (owners, True)):
                [agent] = (await http.get("/api/agents")).json()["agents"]
                modes = agent["capabilities"]["permission_modes"]
                assert ("bypassPermissions" in modes, "acceptEdits" in modes) == (may, True)
            body = {"agent": "claude"}
            refused = await hers.post("/api/conversations", json={**body, **free})
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
            assert (await owners.post("/api/conversations", json={**body, **free})).is_success
            name = (await hers.post("/api/conversations", json=body)).json()["id"]
            place = f"/api/conversations/{name}"
            assert (await hers.patch(place, json=free)).status_code == 403
            async with server.client(name, token=ann) as client:
                info = next(each for each in client.frames if each["type"] == "session.connected")
                assert "bypassPermissions" not in str(info["payload"]["capabilities"])
                await client.send("session.set_permission_mode", "m", mode="bypassPermissions")
                answer = await client.answer("m")
                assert answer["payload"]["code"] == "FORBIDDEN", answer
            async with server.rpc(ann) as rpc:
                connected = await rpc.join(name)
                assert "bypassPermissions" not in connected["capabilities"]["permission_modes"]
                said = await rpc.refused("setPermissionMode", mode="bypassPermissions")
                assert "Only the owner" in str(said)
            assert (await owners.patch(place, json=free)).is_success
            for http, mode in ((hers, None), (owners, "bypassPermissions")):
                fork = (await http.post(f"{place}/fork", json={})).json()
                assert fork["status"].get("permission_mode") == mode, (
                    "a fork does not get the option"
                )


async def test_a_structured_result_can_be_chosen_in_every_protocol(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"beans": {"type": "integer"}}}
    form = {"output_format": {"type": "json_schema", "schema": schema}}
    beans = {"beans": 3}
    async with ModelApi(Say([ToolUse("StructuredOutput", beans, id="form_1")])) as api:
        agent = ClaudeAgent(env=claude_environment(api.url, tmp_path / "home"))
        data, agents = tmp_path / "data", {"claude": agent}
        async with serving(data, agents=agents, roots=[str(tmp_path)]) as server:
            async with server.rpc() as rpc:
                name = (await rpc.join(provider="claude", options=form))["conversation"]
                said = [frame["data"] for frame in await rpc.query("count")]
                assert said[-1]["type"] == "result"
                assert said[-1]["structured_output"] == beans
            async with server.rpc() as later:
                await later.join(name)
                again = await later.said("result")
                assert again["data"]["structured_output"] == beans
            async with server.client(name) as client:
                [turn] = client.view().turns
                assert turn.end.structured_output == beans


async def test_a_file_is_named_from_where_the_agent_works(tmp_path: Path) -> None:
    """A conversation without a directory, as an imported one, works in the first of the roots."""
    work = tmp_path / "work"
    work.mkdir()
    expected = [("notes.txt", "user.message.ack"), ("../notes.txt", "session.error")]
    async with (
        serving(tmp_path / "data", roots=[str(work)]) as server,
        server.client(await server.begin()) as client,
    ):
        for number, (path, answer) in enumerate(expected):
            content = [{"type": "file_ref", "path": path}]
            await client.send("user.message", f"m-{number}", content=content)
            assert (await client.answer(f"m-{number}"))["type"] == answer, path
        await client.end_of(1)
