"""Remembered permission rules over HTTP, v2 and RPC: listed, taken back, and seen by no other user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.server.helpers.servers import Serving, serving
from turnwire.agents.demo.agent import DemoAgent
from turnwire.client import Client


def play(tmp_path: Path, scene: Callable[[Serving], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving(tmp_path, agents={"demo": DemoAgent(delay=0)}, agent="demo") as server:
            await scene(server)

    asyncio.run(run())


async def begin_with_rule(server: Serving, token: str) -> str:
    """Returns a conversation of the token's user, in which the user gave a rule."""
    async with server.http(token) as http:
        name = (await http.post("/api/conversations", json={"agent": "demo"})).json()["id"]
    async with server.client(name, token) as client:
        await client.say("delete something", "m-1")
        asked = (await client.until("assistant.permission_request"))["payload"]
        await client.send(
            "user.permission_response",
            "m-2",
            request_id=asked["request_id"],
            decision="allow",
            remember=asked["suggestions"],
        )
        await client.end_of(1)
    return str(name)


def test_the_rules_of_a_conversation_are_listed_and_taken_back(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await begin_with_rule(server, server.token)
        async with server.http() as http:
            [rule] = (await http.get(f"/api/conversations/{name}/rules")).json()["rules"]
            assert rule.pop("given_at")
            rule_id = rule.pop("rule_id")
            assert (rule.pop("conversation_id"), rule.pop("title")) == (name, "delete something")
            named = {"toolName": "Bash", "ruleContent": "rm -r build"}
            offered = {"type": "addRules", "rules": [named], "behavior": "allow"}
            assert rule == {
                "agent": "demo",
                "tool_name": "Bash",
                "rule": {**offered, "destination": "session"},
                "by": "owner",
                "kept_by": "turnwire",
                "same_input": False,
            }
            async with server.client(name) as client:
                states = [each for each in client.frames if each["type"] == "session.state"]
                assert states[-1]["payload"]["rules"] == 1
                for _ in range(2):
                    gone = await http.delete(f"/api/conversations/{name}/rules/{rule_id}")
                    assert gone.status_code == 204
                await client.until("session.state", lambda state: "rules" not in state["payload"])
            assert (await http.get(f"/api/conversations/{name}/rules")).json() == {"rules": []}

    play(tmp_path, scene)


def test_all_rules_of_a_user_are_listed_in_pages_the_newest_first(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        names = [await begin_with_rule(server, server.token) for _ in range(3)]
        async with server.http() as http:
            found = (await http.get("/api/rules?limit=2")).json()["rules"]
            found += (await http.get("/api/rules?limit=2&offset=2")).json()["rules"]
            assert [each["conversation_id"] for each in found] == names[::-1]
            assert {each["title"] for each in found} == {"delete something"}
            assert (await http.get("/api/rules?limit=0")).status_code == 400

    play(tmp_path, scene)


def test_a_user_neither_sees_nor_takes_back_rules_of_another(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        ann, bob = await server.token_of("ann"), await server.token_of("bob")
        name = await begin_with_rule(server, ann)
        async with server.http(ann) as http:
            [rule] = (await http.get("/api/rules")).json()["rules"]
        async with server.http(bob) as http:
            assert (await http.get("/api/rules")).json() == {"rules": []}
            path = f"/api/conversations/{name}/rules"
            assert (await http.get(path)).status_code == 404
            assert (await http.delete(f"{path}/{rule['rule_id']}")).status_code == 404
        async with server.http() as http:
            assert len((await http.get("/api/rules")).json()["rules"]) == 1, "the owner sees all"

    play(tmp_path, scene)


def test_a_rule_is_taken_back_over_a_socket_and_over_rpc(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async def rule_of(name: str) -> Any:
            async with server.http() as http:
                [rule] = (await http.get(f"/api/conversations/{name}/rules")).json()["rules"]
                return rule["rule_id"]

        one, other = [await begin_with_rule(server, server.token) for _ in range(2)]
        async with server.client(one) as client:
            offered = client.frames[0]["payload"]["capabilities"]["commands"]
            assert "session.forget_rule" in offered
            rule_id = await rule_of(one)
            await client.send("session.forget_rule", "f-1", rule_id=rule_id)
            assert (await client.answer("f-1"))["payload"]["rule_id"] == rule_id
        async with server.rpc() as rpc:
            joined = await rpc.join(other)
            assert "forgetRule" in joined["capabilities"]["methods"]
            rule_id = await rule_of(other)
            assert await rpc.result("forgetRule", rule_id=rule_id) == {"rule_id": rule_id}
        async with server.http() as http:
            assert (await http.get("/api/rules")).json() == {"rules": []}

    play(tmp_path, scene)


def test_a_program_lists_rules_and_takes_them_back(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await begin_with_rule(server, server.token)
        async with Client(server.url, server.token) as client:
            [rule] = [rule async for rule in client.rules()]
            assert (rule.conversation_id, rule.tool_name, rule.by) == (name, "Bash", "owner")
            [same] = [rule async for rule in client.rules(name)]
            assert same.rule_id == rule.rule_id
            assert same.conversation_id == name
            async with client.conversation(name) as talk:
                assert (await talk.forget_rule("r0")).rule_id == "r0"
            await client.forget_rule(name, rule.rule_id)
            assert [rule async for rule in client.rules()] == []

    play(tmp_path, scene)
