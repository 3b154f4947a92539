"""Every address that streams events has the same heartbeats, limits and access from other pages."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.events import Events, events_of
from tests.server.helpers.http_scenes import play
from tests.server.helpers.listening_client import until
from tests.server.helpers.servers import Serving
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.people import OWNER
from turnwire.settings import Settings

SAID = {"id": "m-1", "role": "user"}
AISDK = {**SAID, "parts": [{"type": "text", "text": "hello"}]}
AGUI = {**SAID, "content": "hello"}
RUN: dict[str, Any] = {
    "runId": "run-1",
    "state": None,
    "tools": [],
    "context": [],
    "forwardedProps": {},
}
PAGE = {"Origin": "https://app.example"}
OTHER = {"Origin": "https://evil.example"}
ENDS = ["assistant.complete", "[DONE]", "RUN_FINISHED"]  # the last events of a whole stream
DOORS = ["turns", "turns again", "chat", "chat again", "agui", "agui again"]


def follow(
    door: str, http: httpx.AsyncClient, name: str, **more: Any
) -> AbstractAsyncContextManager[Events]:
    """Opens the stream of a turn: of a new message, or again of the turn that runs."""
    match door:
        case "turns":
            headers = {"Idempotency-Key": "m-1", **more.pop("headers", {})}
            path = f"/api/conversations/{name}/turns"
            return events_of(http, "POST", path, json={"content": "hello"}, headers=headers)
        case "turns again":
            return events_of(http, "GET", f"/api/conversations/{name}/turns?key=m-1", **more)
        case "chat":
            sent = {"id": name, "messages": [AISDK], "trigger": "submit-message"}
            return events_of(http, "POST", "/api/chat", json=sent, **more)
        case "chat again":
            return events_of(http, "GET", f"/api/chat/{name}/stream", **more)
        case "agui":
            sent = {**RUN, "threadId": name, "messages": [AGUI]}
            return events_of(http, "POST", "/agui", json=sent, **more)
        case _:
            return events_of(http, "GET", f"/agui/threads/{name}/stream", **more)


async def began(door: str, server: Serving) -> str:
    """Returns a conversation. A stream that is followed again needs a turn that runs."""
    talk = await server.service.engine.create("demo", user=OWNER)
    if door.endswith("again"):
        await talk.send("hello", user=OWNER, client_message_id="m-1")
    return talk.id


def test_the_usual_heartbeat_comes_after_fifteen_seconds() -> None:
    assert Settings().heartbeat_seconds == 15


@pytest.mark.parametrize("door", DOORS)
def test_a_quiet_stream_has_comments_as_heartbeats(door: str, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with follow(door, http, await began(door, server)) as stream:
            reading = asyncio.create_task(stream.all())
            await until(lambda: len(stream.comments) >= 2)
            reading.cancel()

    play(tmp_path, scene, made_agents={"demo": DemoAgent(silent=True)}, heartbeat_seconds=1)


@pytest.mark.parametrize("door", DOORS)
def test_only_a_page_on_the_list_may_read_a_stream(door: str, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await began(door, server)
        async with follow(door, http, name, headers=PAGE) as stream:
            told = stream.response.headers
            assert told["access-control-allow-origin"] == PAGE["Origin"]
        for method in ("POST", "GET"):
            path = stream.response.request.url.raw_path.decode()
            asks = {**OTHER, "Access-Control-Request-Method": method}
            refused = await http.options(path, headers=asks)
            assert "access-control-allow-origin" not in refused.headers
            refused = await http.request(method, path, headers=OTHER)
            assert "access-control-allow-origin" not in refused.headers

    agents = {"demo": DemoAgent(silent=True)}
    play(tmp_path, scene, made_agents=agents, origins=[PAGE["Origin"]])


@pytest.mark.parametrize("door", DOORS)
def test_a_stream_counts_as_a_connection_of_its_user(door: str, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await began(door, server)
        async with follow(door, http, name):
            await until(lambda: len(server.service.hub) == 1)
            refused = await http.get(f"/agui/threads/{name}/stream")
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
        await until(lambda: not len(server.service.hub))

    agents = {"demo": DemoAgent(silent=True)}
    play(tmp_path, scene, made_agents=agents, max_connections_per_user=1)


@pytest.mark.parametrize("door", [door for door in DOORS if not door.endswith("again")])
def test_a_slow_reader_of_any_stream_is_cut_off(door: str, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await began(door, server)
        async with follow(door, http, name) as stream:
            asks = {"Prefer": "wait=120", "Accept": "application/json"}
            ended = await http.get(f"/api/conversations/{name}/turns?key=m-1", headers=asks)
            assert ended.json()["state"] == "ended"
            assert server.service.backlog.total < 4 << 20, "what waits is bounded"
            with pytest.raises((AssertionError, httpx.RemoteProtocolError)):
                await stream.until(lambda data: any(end in str(data) for end in ENDS))

    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.5)
    play(tmp_path, scene, made_agents={"demo": agent})


@pytest.mark.parametrize("door", ["chat", "agui"])
def test_a_first_message_that_is_refused_creates_no_conversation(door: str, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        picture = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"}
        image = {"type": "image", "source": {"type": "url", "value": picture["url"]}}
        sent: list[dict[str, Any]]
        if door == "chat":
            path = "/api/chat"
            sent = [
                {"id": "new", "messages": [{**SAID, "parts": [each]}]} for each in (picture, {})
            ]
        else:
            path = "/agui"
            messages = [[{**SAID, "content": [each]}] for each in (image, {"type": "audio"})]
            sent = [{**RUN, "threadId": "new", "messages": each} for each in messages]
        codes = [(await http.post(path, json=each)).json()["error"]["code"] for each in sent]
        assert codes == ["NOT_SUPPORTED", "INVALID_PAYLOAD"]
        assert (await http.get("/api/conversations")).json()["conversations"] == []

    play(tmp_path, scene, made_agents={"demo": DemoAgent()})


@pytest.mark.parametrize("door", DOORS)
def test_the_login_of_an_application_is_enough_for_a_stream(door: str, tmp_path: Path) -> None:
    async def by_cookie(scope: Any) -> str | None:
        given = dict(scope["headers"]).get(b"cookie", b"").decode()
        return "ann" if given == "session=anns" else None

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        talk = await server.service.engine.create("demo", user="ann")
        if door.endswith("again"):
            await talk.send("hello", user="ann", client_message_id="m-1")
        login = {"Cookie": "session=anns"}
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as plain:
            async with follow(door, plain, talk.id, headers={**login, **PAGE}) as stream:
                assert stream.response.status_code == 200
            asked = stream.response.request
            for headers, status in (({**login, **OTHER}, 403), ({"Cookie": "session=x"}, 401)):
                refused = await plain.request(
                    asked.method, asked.url, headers={**headers, "Accept": "text/event-stream"}
                )
                assert refused.status_code == status, headers
        assert (await talk.status()).turn_id == 1, "the refused requests have sent nothing"
        assert not (await talk.status()).queue

    agents = {"demo": DemoAgent(silent=True)}
    play(tmp_path, scene, made_agents=agents, authenticate=by_cookie, origins=[PAGE["Origin"]])


@pytest.mark.parametrize("door", ["/api/chat", "/agui/threads"])
def test_the_chats_and_threads_of_another_user_do_not_exist(door: str, tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await began("chat again", server)
        async with server.http(await server.token_of("bob")) as bob:
            told = (await bob.get(f"{door}/{name}/messages")).json()
            assert told == {"messages": []}
            stream = await bob.get(f"{door}/{name}/stream")
            assert "hello" not in stream.text
            assert (await bob.post(f"{door}/{name}/stop", json={})).status_code == 204
        shown = (await http.get(f"/api/conversations/{name}")).json()
        assert shown["status"]["running"], "and nothing has happened to it"

    play(tmp_path, scene, made_agents={"demo": DemoAgent(silent=True)})
