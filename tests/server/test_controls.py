"""Controls of an agent over every interface of a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.server.helpers import rpc_client as rpc_clients
from tests.server.helpers.frame_checks import check_error, play
from tests.server.helpers.obliging_agent import FILES, Obliging
from tests.server.helpers.servers import Serving
from turnwire.client import ClientConversation
from turnwire.core import controls as c
from turnwire.dialects.v2 import frames as f


def test_over_v2_an_agent_that_takes_its_time_keeps_nothing_waiting(tmp_path: Path) -> None:
    agent = Obliging(delay=0)

    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            offered = client.frames[0]["payload"]["capabilities"]
            assert offered["controls"] == agent.capabilities.controls
            for own_id in ("c-1", "c-1"):
                await client.send("session.control", own_id, control="mcp_reconnect", server="slow")
            await client.send("session.control", "c-2", control="mcp_status")
            status = (await client.answer("c-2"))["payload"]
            told = [{"name": "files", "status": "connected", "tools": ["read"]}]
            assert status["result"] == {"control": "mcp_status", "servers": told}
            agent.go_on.set()
            first, again = [(await client.answer("c-1"))["payload"] for _ in range(2)]
            assert first == {"client_message_id": "c-1", "result": {"control": "done"}}
            assert again == {**first, "duplicate": True}, "it was asked once for both"
            assert agent.asked.count(c.McpReconnect("slow")) == 1

            await client.say("hello", "m-1")
            await client.end_of(1)
            await client.send("user.rewind", "r-1", message_sequence=1)
            done = (await client.answer("r-1"))["payload"]
            assert (done["files"], done["failed"]) == (["a.txt"], ["b.txt"])
            news = await client.until("session.system_event", lambda f: "rewind" in str(f))
            assert news["payload"]["data"]["files"] == ["a.txt"]
            assert agent.asked[-1] == c.RewindFiles(1, f"{name}:1"), "by the name that it was told"

            await client.send("session.set_max_thinking_tokens", "t-1", max_thinking_tokens=0)
            assert (await client.answer("t-1"))["payload"]["max_thinking_tokens"] == 0
            state = await client.until("session.state", lambda f: "max_thinking" in str(f))
            assert state["payload"]["max_thinking_tokens"] == 0

            for server_name, code in {
                "broken": "AGENT_ERROR",
                "gone": "AGENT_UNAVAILABLE",
                "else": "INVALID_PAYLOAD",
            }.items():
                wish = {"control": "mcp_reconnect", "server": server_name}
                await client.send("session.control", f"no-{code}", **wish)
                check_error((await client.answer(f"no-{code}"))["payload"], code)
            await client.send("session.control", "no", control="commands")
            error = (await client.answer("no"))["payload"]
            check_error(error, "NOT_SUPPORTED")
            assert "it has: mcp_status, " in error["message"]
            assert error["data"] == {"type": "session.control"}
        audit = await server.service.store.audit(conversation_id=name)
        actions = [row.action for row in audit]
        assert actions.count("mcp_reconnect") == 4
        assert actions.count("control_failed") == 3

    play(tmp_path, scene, agents={"demo": agent})


def test_work_of_the_demo_in_the_background_is_stopped_and_nothing_is_reported(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.02)
        async with server.client(name) as client:
            offered = client.frames[0]["payload"]["capabilities"]
            assert "session.control" in offered["commands"]
            assert offered["controls"] == ["stop_task"]
            await client.say("background", "m-1")
            await client.end_of(1)
            state = await client.until("session.state", lambda f: "background_tasks" in str(f))
            [task] = state["payload"]["background_tasks"]
            wish = {"control": "stop_task", "task_id": "missing"}
            await client.send("session.control", "no", **wish)
            error = (await client.answer("no"))["payload"]
            check_error(error, "INVALID_PAYLOAD")
            assert error["message"] == "There is no background task 'missing'."
            await client.send("session.control", "c-1", **{**wish, "task_id": task["task_id"]})
            assert (await client.answer("c-1"))["payload"]["result"] == {"control": "done"}
            await client.say("hello", "m-2")
            assert (await client.answer("m-2"))["payload"]["turn_id"] == 2, "there was no report"
            await client.end_of(2)
            news = [frame["payload"] for frame in client.frames]
            [over] = [each for each in news if each.get("subtype") == "task_notification"]
            assert over["data"]["status"] == "stopped"
        assert not (await server.service.engine.status(name)).background_tasks

    play(tmp_path, scene)


def test_controls_work_over_rpc(tmp_path: Path) -> None:
    agent = Obliging(delay=0)

    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            methods = (await client.join())["capabilities"]["methods"]
            assert {"rewindFiles", "getMcpStatus", "toggleMcp", "setMaxThinkingTokens"} <= {
                *methods
            }
            assert "getCommands" not in methods
            assert (await client.result("getMcpStatus"))["servers"][0]["name"] == "files"
            assert (await client.result("getContextUsage"))["total_tokens"] == 10
            assert (await client.result("getModels"))["models"][0]["model"] == "m-1"
            assert await client.result("reconnectMcp", server="files") == {"control": "done"}
            await client.result("toggleMcp", server="files", enabled=False)
            assert agent.asked[-1] == c.McpToggle("files", False)
            rpc_clients.check_error(
                await client.refused("stopTask", task_id="t"), "INVALID_PAYLOAD"
            )
            rpc_clients.check_error(await client.refused("getCommands"), "NOT_SUPPORTED")
            chosen = await client.result("setMaxThinkingTokens", max_thinking_tokens=500)
            assert chosen == {"max_thinking_tokens": 500}
            await client.query("hello")
            would = await client.result("rewindFiles", sequence=1, dry_run=True)
            assert would == {"files": ["a.txt"]}
            done = await client.result("rewindFiles", sequence=1)
            assert done == {"files": ["a.txt"], "failed": ["b.txt"]}

    play(tmp_path, scene, agents={"demo": agent})


def test_controls_work_over_http_and_with_the_python_client(tmp_path: Path) -> None:
    agent = Obliging(delay=0)

    async def scene(server: Serving) -> None:
        name = await server.begin()
        address = f"{server.url.replace('http', 'ws')}/ws/conversations/{name}"
        async with ClientConversation(address, server.token) as talk, server.http() as http:
            assert (await talk.control(c.McpStatus())) == c.McpServers([FILES])
            assert (await talk.set_max_thinking_tokens(100)).max_thinking_tokens == 100
            assert (await talk.set_model("m-1")).model == "m-1"
            assert (await talk.set_permission_mode("plan")).mode == "plan"
            await talk.send("hello")
            async for frame in talk:
                if isinstance(frame, f.AssistantComplete):
                    break
            here = f"/api/conversations/{name}"
            assert await talk.rewind_files(2, dry_run=True) == ["a.txt"]
            back = await http.post(f"{here}/rewind", json={"message_sequence": 2})
            assert back.json() == {"files": ["a.txt"], "failed": ["b.txt"]}
            assert (await http.get(f"{here}/mcp")).json()["servers"][0]["status"] == "connected"
            assert (await http.get(f"{here}/context")).json()["percentage"] == 10.0
            assert (await http.get(f"{here}/models")).json()["models"][0]["name"] == "The first"
            refused = await http.get(f"{here}/commands")
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "NOT_SUPPORTED")
            wish = {"control": "mcp_toggle", "server": "files", "enabled": True}
            assert (await http.post(f"{here}/control", json=wish)).json() == {"control": "done"}
            wrong = await http.post(f"{here}/control", json={"control": "dance"})
            assert wrong.status_code == 400
            chosen = {"model": None, "permission_mode": "default", "max_thinking_tokens": None}
            status = (await http.patch(here, json=chosen)).json()["status"]
            assert (status["model"], status["permission_mode"]) == ("default", "default")
            assert "max_thinking_tokens" not in status

    play(tmp_path, scene, agents={"demo": agent})


@pytest.mark.parametrize(
    "wrong",
    [{"title": " "}, {"permission_mode": "wild"}, {"max_thinking_tokens": -1}, {"model": "m-9"}],
)
def test_several_changes_are_made_together_or_not_at_all(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        here = f"/api/conversations/{name}"
        wanted = {"model": "m-1", "permission_mode": "plan", "title": "Mine", "archived": True}
        async with server.http() as http:
            before = (await http.get(here)).json()
            refused = await http.patch(here, json={**wanted, **wrong})
            assert refused.json()["error"]["code"] == "INVALID_PAYLOAD"
            assert (await http.get(here)).json() == before
            changed = (await http.patch(here, json=wanted)).json()
            status = changed["status"]
            assert (status["model"], status["permission_mode"]) == ("m-1", "plan")
            assert (changed["title"], changed["archived"]) == ("Mine", True)

    play(tmp_path, scene, agents={"demo": Obliging()})
