"""What an agent's session offers, over every interface of a real server, for owner and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agents.acp.helpers.sessions import scripted
from tests.server.helpers.frame_checks import play, refused
from tests.server.helpers.servers import Serving
from turnwire.client import ClientConversation

SMALL = {"option": "effort", "name": "Effort", "kind": "thought_level"}


def agents(place: Path) -> dict[str, Any]:
    """The scripted agent, which works outside of the server's own directory."""
    (place / "work").mkdir()
    return {"scripted": scripted(place / "work")}


async def begin(server: Serving, place: Path, user: str | None = None) -> str:
    talk = await server.service.engine.create("scripted", user=user, cwd=str(place / "work"))
    return talk.id


def test_over_v2_a_client_sees_new_offers_and_chooses_of_them(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await begin(server, tmp_path)
        async with server.client(name) as client:
            able = client.frames[0]["payload"]["capabilities"]
            assert "offers" not in able
            await client.send("session.control", "c-1", control="models")
            told = (await client.answer("c-1"))["payload"]["result"]["models"]
            assert [each["model"] for each in told] == ["small", "large"]
            offers = (await server.service.engine.status(name)).offers
            assert offers is not None
        async with server.client(name) as client:
            able = client.frames[0]["payload"]["capabilities"]
            assert able["offers"] == offers
            assert (able["models"], able["permission_modes"]) == (
                ["small", "large"],
                ["ask", "code"],
            )
            assert able["session_options"][0] == {
                **SMALL,
                "values": [{"value": "low", "name": "Low"}],
            }
            await client.send("session.set_model", "m-1", model="large")
            assert (await client.answer("m-1"))["payload"]["model"] == "large"
            await client.send("session.set_permission_mode", "p-1", mode="code")
            assert (await client.answer("p-1"))["payload"]["mode"] == "code"
            wish = {"control": "set_session_option", "option": "effort", "value": "high"}
            await client.send("session.control", "e-1", **wish)
            assert (await client.answer("e-1"))["payload"]["result"] == {"control": "done"}
            status = await server.service.engine.status(name)
            assert status.session_options["effort"] == "high"
            await refused(client, "session.set_model", "INVALID_PAYLOAD", model="huge")

    play(tmp_path / "data", scene, agents=agents(tmp_path), roots=[tmp_path / "work"])


def test_over_http_and_rpc_the_same_can_be_chosen(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await begin(server, tmp_path)
        place = f"/api/conversations/{name}"
        async with server.http() as http:
            wish = {"control": "set_session_option", "option": "web", "value": True}
            done = await http.post(f"{place}/control", json=wish)
            assert done.status_code == 200, done.text
            changed = await http.patch(place, json={"model": "large", "permission_mode": "code"})
            assert changed.status_code == 200, changed.text
            answer = await http.patch(place, json={"model": "huge"})
            assert answer.status_code == 400
            assert "Choose one of: small, large" in answer.text
        async with server.rpc() as client:
            able = (await client.join(conversation=name))["capabilities"]
            assert (able["models"], able["permission_modes"]) == (
                ["small", "large"],
                ["ask", "code"],
            )
            assert [each["option"] for each in able["session_options"]] == ["effort", "web"]
            wish = {"option": "effort", "value": "high"}
            assert await client.result("setSessionOption", **wish) == {"control": "done"}
            told = await client.result("getSessionOptions")
            assert told["values"] == {"effort": "high", "web": True}
            now = (await client.result("getCapabilities"))["session_options"][0]
            assert [each["value"] for each in now["values"]] == ["low", "high"]
            assert await client.result("setModel", model="small") == {"model": "small"}

    play(tmp_path / "data", scene, agents=agents(tmp_path), roots=[tmp_path / "work"])


def test_other_users_choose_models_and_thinking_only(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        ann = await server.token_of("ann")
        name = await begin(server, tmp_path, "ann")
        async with server.client(name, token=ann) as client:
            await client.send("session.control", "c-1", control="session_options")
            await client.answer("c-1")
        async with server.client(name, token=ann) as client:
            able = client.frames[0]["payload"]["capabilities"]
            assert able["models"] == ["small", "large"]
            assert "permission_modes" not in able
            assert [each["option"] for each in able["session_options"]] == ["effort"]
            await refused(client, "session.set_permission_mode", "FORBIDDEN", mode="code")
            web = {"control": "set_session_option", "option": "web", "value": True}
            await refused(client, "session.control", "FORBIDDEN", "y", **web)
            low = {"control": "set_session_option", "option": "effort", "value": "low"}
            await client.send("session.control", "e-1", **low)
            assert (await client.answer("e-1"))["payload"]["result"] == {"control": "done"}
        async with server.http(ann) as http:
            place = f"/api/conversations/{name}"
            answer = await http.patch(place, json={"permission_mode": "code"})
            assert answer.status_code == 403
            assert "The owner can open more with `permission_modes`" in answer.text
            assert (await http.post(f"{place}/control", json=web)).status_code == 403
            assert (await http.patch(place, json={"model": "large"})).status_code == 200

    play(tmp_path / "data", scene, agents=agents(tmp_path), roots=[tmp_path / "work"])


def test_a_fork_of_the_owner_keeps_what_was_chosen(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await begin(server, tmp_path)
        address = f"{server.url.replace('http', 'ws')}/ws/conversations/{name}"
        async with ClientConversation(address, server.token) as talk:
            await talk.ask("hello")
            await talk.set_permission_mode("code")
        async with server.http() as http:
            made = await http.post(f"/api/conversations/{name}/fork", json={})
            assert made.status_code == 201, made.text
            status = await server.service.engine.status(made.json()["id"])
            assert (status.permission_mode, status.model) == ("code", "small")

    play(tmp_path / "data", scene, agents=agents(tmp_path), roots=[tmp_path / "work"])
