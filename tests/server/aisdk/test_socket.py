"""The socket of the AI SDK: its streams, what ends them, and who may connect."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.aisdk.helpers.socket_client import ChatClient
from tests.server.aisdk.test_chat import history, parts, says
from tests.server.helpers.http_scenes import play
from tests.server.helpers.listening_client import until
from tests.server.helpers.raw_http import Headers, upgrade
from tests.server.helpers.servers import Serving
from turnwire.agents.demo import DemoAgent


def to(server: Serving, token: str | None = None, path: str = "/ws/chat") -> ChatClient:
    return ChatClient(server.url, token or server.token, path)


async def status(server: Serving, http: httpx.AsyncClient) -> Any:
    """Returns the state of the only conversation."""
    [made] = (await http.get("/api/conversations")).json()["conversations"]
    return await (await server.service.engine.open(made["id"])).status()


async def ended(server: Serving, http: httpx.AsyncClient) -> None:
    """Waits until the turn of the only conversation has ended."""
    [made] = (await http.get("/api/conversations")).json()["conversations"]
    async with server.client(made["id"]) as client:
        states = [each["payload"] for each in client.frames if each["type"] == "session.state"]
        if states[-1]["running"]:
            await client.until("session.state", lambda frame: not frame["payload"]["running"])


# --- streams --------------------------------------------------------------------------------------


def test_requests_share_a_socket_and_each_has_numbers_of_its_own(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server) as client:
            for number in range(5):
                await client.send(f"r-{number}", says("think, use a tool"), f"chat-{number}")
            for _ in range(5):
                await client.find(lambda frame: frame["type"] == "end")
            for number in range(5):
                chunks = client.chunks(f"r-{number}")
                assert (chunks[0]["type"], chunks[-1]["type"]) == ("start", "finish")
            assert only(server)._streams == {}
            assert only(server).conversation_id is None

    play(tmp_path, scene)


def only(server: Serving) -> Any:
    """Returns the server's end of the only connection."""
    [connection] = server.service.hub._connections
    return connection


def test_a_turn_that_runs_is_resumed_and_an_ended_one_is_not(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server) as client, to(server) as other:
            await client.put("resume", "r-0", id="chat-1", headers={}, body={})
            assert (await client.next())["type"] == "no-active"
            slow = {"delay": 0.002}
            await client.send("r-1", says("think, use a tool, long"), options=slow)
            await client.chunk("r-1", "text-delta")
            await other.put("resume", "r-1", id="chat-1", headers={}, body={})
            assert await other.next() == {"type": "start", "requestId": "r-1"}
            await client.until("r-1", "end")
            await other.until("r-1", "end")
            await other.put("resume", "r-2", id="chat-1", headers={}, body={})
            assert (await other.until("r-2", "no-active", "start"))["type"] == "no-active"
            assert client.chunks("r-1")[0]["type"] == "start"
            texts = [
                "".join(c.get("delta", "") for c in each.chunks("r-1") if "text" in c["type"])
                for each in (client, other)
            ]
        assert texts[0] == texts[1] != ""
        assert texts[0] == "".join(
            each["text"] for each in parts((await history(http))[-1], "text")
        )

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("path", "is_stopped"), [("/ws/chat", False), ("/ws/chat?abort=stop", True)]
)
def test_an_abort_ends_the_stream_and_on_demand_the_turn(
    path: str, is_stopped: bool, tmp_path: Path
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server, path=path) as client:
            await client.put("abort", "never begun")
            await client.send("r-1", says("long"), options={"delay": 0.002})
            await client.chunk("r-1", "text-delta")
            await client.put("abort", "r-1")
            await until(lambda: not only(server)._streams)
            if is_stopped:
                await ended(server, http)
            else:
                await client.put("resume", "r-2", id="chat-1")
                assert (await client.until("r-2", "start", "no-active"))["type"] == "start"
                await client.until("r-2", "end")
            assert not [f for f in client.frames if f["requestId"] == "r-1" and f["type"] == "end"]
        told = (await history(http))[-1]["metadata"]["turnwire"]["state"]
        assert told == ("interrupted" if is_stopped else "ended")

    play(tmp_path, scene)


def test_a_message_that_is_removed_from_the_queue_ends_its_stream(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server) as client:
            await client.send("r-1", says("ask me"))
            await client.until("r-1", "end")
            await client.send("r-2", says("later", "m-2"))
            await until(lambda: "r-2" in only(server)._streams)
            state = await status(server, http)
            [queued] = state.queue
            talk = only(server)._streams["r-2"].talk
            await talk.change_queue("remove", queued.queue_id)
            assert "queue" in (await client.until("r-2", "error"))["errorText"]
            assert only(server)._streams == {}

    play(tmp_path, scene)


def test_a_conversation_that_is_deleted_ends_the_connection(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server) as client:
            await client.send("r-1", says("long"), options={"delay": 0.05})
            await client.chunk("r-1", "text-delta")
            name = only(server).conversation_id
            assert (await http.delete(f"/api/conversations/{name}")).status_code < 300
            assert await client.until_closed() == 4504
            assert client.frames[-1]["type"] == "error"

    play(tmp_path, scene)


# --- refusals -------------------------------------------------------------------------------------


def test_a_frame_that_cannot_be_meant_is_refused_by_its_request(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        good = {"id": "chat-1", "messages": [says("hello")], "body": {}}
        wrong: list[tuple[str, dict[str, Any], str]] = [
            ("shout", {}, "Invalid value 'shout'"),
            ("send", {"id": "chat-1"}, "messages"),
            ("send", {**good, "messages": []}, "at least one message"),
            ("send", {**good, "body": {"agent": 4}}, "agent"),
            ("send", {**good, "body": {"agent": "missing"}}, "missing"),
            ("send", {**good, "trigger": "shout"}, "trigger"),
            ("send", {**good, "messages": [{**says("x"), "role": "system"}]}, "system"),
            ("resume", {"id": "chat-1", "lastSequence": 3}, "lastSequence"),
            ("send", {**good, "messages": [{**says("x"), "parts": [{"type": "text"}]}]}, "`text`"),
        ]
        async with to(server) as client:
            for number, (kind, more, said) in enumerate(wrong):
                await client.put(kind, f"r-{number}", **more)
                told = await client.next()
                assert (told["type"], told["requestId"]) == ("error", f"r-{number}")
                assert said in told["errorText"], told
            for frame in (
                "nonsense",
                "[]",
                '{"type": "send"}',
                '{"type": "abort", "requestId": 4}',
            ):
                await client.socket.send(frame)
                told = await client.next()
                assert (told["type"], told["requestId"]) == ("error", "")
            await client.put("abort", "r" * 129)
            assert (await client.next())["requestId"] == ""
            assert await history(http) == []

    play(tmp_path, scene)


def test_a_message_of_an_unknown_turn_gets_an_error(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server) as client:
            await client.send("r-1", says("hello"))
            await client.until("r-1", "end")
            await client.send("r-2", {"id": "turn-999", "role": "assistant", "parts": []})
            assert "no turn 999" in (await client.until("r-2", "error"))["errorText"]

    play(tmp_path, scene)


def test_a_socket_has_so_many_streams_and_each_id_once(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server) as client:
            for number in range(16):
                chat = f"chat-{number}"
                await client.send(f"r-{number}", says("long"), chat, options={"delay": 0.5})
            await client.chunk("r-15", "start")
            await client.send("r-3", says("hello"), "another")
            assert "requestId" in (await client.until("r-3", "error"))["errorText"]
            await client.send("r-16", says("hello"), "another")
            assert "16 streams" in (await client.until("r-16", "error"))["errorText"]

    play(tmp_path, scene)


def test_the_chats_of_another_user_do_not_exist(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with to(server) as client, to(server, await server.token_of("bob")) as bob:
            await client.send("r-1", says("long"), name, options={})
            await client.chunk("r-1", "start")
            await bob.put("resume", "r-1", id=name)
            assert (await bob.next())["type"] == "no-active"

    play(tmp_path, scene)


def test_without_protocol_v2_there_is_no_socket_for_chats(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with to(server) as client:
            await client.send("r-1", says("hello"))
            assert (await client.next())["type"] == "error"

    play(tmp_path, scene, protocol_v2=False)


# --- connections ----------------------------------------------------------------------------------


async def knock(server: Serving, headers: Headers, path: str = "/ws/chat") -> tuple[int, str]:
    """Returns the close code, 0 if the client was let in; and the subprotocol."""
    host = server.url.removeprefix("http://")
    say = b'{"type": "resume", "requestId": "1", "id": "none"}'
    frames, code, spoken = await upgrade(server.url, path, [("Host", host), *headers], say=say)
    [answer] = frames
    assert answer["type"] == ("error" if code else "no-active")
    return code, spoken


def test_the_socket_for_chats_has_the_same_access_control(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        token = ("Authorization", f"Bearer {server.token}")
        here, there = ("Origin", server.url), ("Origin", "https://evil.example")
        allowed = ("Origin", "https://chat.example")
        assert (await knock(server, [token]))[0] == 0
        assert (await knock(server, [token, allowed]))[0] == 0
        assert (await knock(server, []))[0] == 4502
        assert (await knock(server, [("Authorization", "Bearer x")]))[0] == 4502
        assert (await knock(server, [token, there]))[0] == 4503
        assert (await knock(server, [token], "/ws/chat?abort=perhaps"))[0] == 4505
        for origin in (here, allowed):
            ticket = (await http.post("/api/tickets")).json()["ticket"]
            offered = ("Sec-WebSocket-Protocol", f"turnwire.chat, ticket.{ticket}")
            assert await knock(server, [offered, origin]) == (0, "turnwire.chat")
            assert (await knock(server, [offered, origin]))[0] == 4502, "it is good once"
        evil = [("Host", "evil.example"), token]
        assert (await upgrade(server.url, "/ws/chat", evil))[1] == 4503

    play(tmp_path, scene, origins=["https://chat.example"])


def test_a_revoked_token_closes_a_socket_of_chats(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        secret, token = await server.service.keys.make("test", None)
        async with to(server, secret) as client:
            await client.send("r-1", says("hello"))
            await client.until("r-1", "end")
            await server.service.store.revoke_token(token.token_id, at="2026-01-01T00:00:00.000Z")
            assert await client.until_closed() == 4502

    play(tmp_path, scene)


def test_a_socket_of_chats_that_is_not_read_is_cut_off(tmp_path: Path) -> None:
    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.5)

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        client = to(server)
        client.ahead = 1
        await client.open(client.address)
        raw = client.socket.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.socket.transport.pause_reading()
        await client.send("r-1", says("hello"))
        await until(lambda: len(server.service.hub) == 1)
        slow = only(server)
        async with asyncio.timeout(60):
            await slow.gone.wait()
        assert slow.code == 4001
        client.drop()
        await ended(server, http)
        async with to(server) as again:
            await again.send("r-1", says("hello"))  # the same message: it is taken once
            await again.until("r-1", "end")
            assert again.chunks("r-1")[-1]["type"] == "finish"
        assert len(await history(http)) == 2

    play(tmp_path, scene, agents={"demo": agent})
