"""Invalid frames on the RPC socket: each gets a typed error, and the connection goes on."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.server.helpers.browser_page import host_of, page_of
from tests.server.helpers.frame_checks import play
from tests.server.helpers.invalid_input import ODD, bent, unmoved
from tests.server.helpers.raw_http import Headers, upgrade
from tests.server.helpers.rpc_client import RpcClient, check_error
from tests.server.helpers.servers import Process, Serving
from turnwire.dialects.rpc.methods import METHODS

SECONDS = float(os.environ.get("TURNWIRE_FUZZ_SECONDS", "5"))


@pytest.mark.parametrize(
    ("frame", "own_id", "code"),
    [
        ("nonsense", None, "INVALID_FORMAT"),
        ("[1]", None, "INVALID_FORMAT"),
        (b"{}", None, "INVALID_FORMAT"),
        ("{}", None, "INVALID_FORMAT"),
        ({"id": 1, "method": "connect"}, None, "INVALID_FORMAT"),
        ({"id": "", "method": "connect"}, None, "INVALID_FORMAT"),
        ({"id": "a"}, "a", "INVALID_FORMAT"),
        ({"id": "a", "method": 5}, "a", "INVALID_FORMAT"),
        ({"id": "a", "method": "connect", "parms": {}}, "a", "INVALID_FORMAT"),
        ({"id": "srv-1", "method": "connect"}, "srv-1", "INVALID_FORMAT"),
        ({"id": "a", "method": "fly"}, "a", "UNKNOWN_MESSAGE_TYPE"),
        ({"id": "a", "method": "query", "params": {}}, "a", "INVALID_PAYLOAD"),
        ({"id": "a", "method": "query", "params": []}, "a", "INVALID_PAYLOAD"),
        ({"id": "a", "method": "query", "params": {"prompt": ""}}, "a", "INVALID_PAYLOAD"),
        ({"id": "a", "method": "query", "params": {"prompt": 5}}, "a", "INVALID_PAYLOAD"),
        ({"id": "a", "method": "connect", "params": {"x": 1}}, "a", "INVALID_PAYLOAD"),
        ('{"id":"a","method":"query","params":{"prompt":"\\ud800"}}', "a", "INVALID_FORMAT"),
        ('{"id":"\\ud800","method":"query","params":{}}', None, "INVALID_FORMAT"),
        ({"id": "srv-7", "result": 1}, "srv-7", "INVALID_QUESTION_ID"),
    ],
)
def test_a_frame_that_is_none_is_refused_and_the_next_is_taken(
    tmp_path: Path, frame: Any, own_id: str | None, code: str
) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.send(frame)
            check_error((await client.answer(own_id))["error"], code)
            await client.join(options={"delay": 0})
            assert (await client.query("hello"))[-1]["data"]["type"] == "result"

    play(tmp_path, scene)


def test_an_error_names_the_wrong_field(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            error = await client.refused("query", promt="hello")
            assert error["message"] == (
                "query: `promt` is not known: correct its name, or leave it out."
            )
            error = await client.refused("fly")
            assert "queryWithContent" in error["message"]

    play(tmp_path, scene)


def test_a_frame_that_is_too_large_too_deep_too_full_or_too_soon(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            error = await client.refused("query", prompt="x" * 20_000)
            check_error(error, "PAYLOAD_TOO_LARGE")
            deep: Any = []
            for _ in range(100):
                deep = [deep]
            check_error(await client.refused("connect", options={"a": deep}), "INVALID_PAYLOAD")
            many: Any = {"a": [[]] * 200}
            error = await client.refused("connect", options=many)
            check_error(error, "INVALID_PAYLOAD")
            assert "No more than 300 objects, lists and entries" in error["message"]
            calls = [await client.call("getCapabilities") for _ in range(12)]
            answers = [await client.answer(call) for call in calls]
            check_error(answers[-1]["error"], "RATE_LIMITED")
            assert answers[-1]["error"]["data"]["retry_after"] > 0

    settings = {"max_frame_bytes": 10_000, "max_items": 300}
    play(tmp_path, scene, **settings, frames_at_once=8, frames_per_second=1)


def test_a_client_that_sends_many_invalid_frames_is_disconnected(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        client = await server.rpc().come()
        for _ in range(30):
            await client.send("nonsense")
        assert await client.until_closed() == 4505

    play(tmp_path, scene)


def test_an_id_with_a_stream_cannot_be_used_again(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join()
            joined = client.frames[-1]["id"]
            await client.send({"id": joined, "method": "getHistory"})
            check_error((await client.answer(joined))["error"], "INVALID_PAYLOAD")

    play(tmp_path, scene)


def test_a_defect_is_reported_and_the_connection_goes_on(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async def broken(**_: Any) -> Any:
            raise ZeroDivisionError

        async with server.rpc() as client:
            await client.join(options={"delay": 0})
            store = server.service.store
            whole, store.conversations = store.conversations, broken  # type: ignore[method-assign]
            check_error(await client.refused("getHistorySessions"), "INTERNAL_ERROR")
            store.conversations = whole  # type: ignore[method-assign]
            assert (await client.query("hello"))[-1]["data"]["type"] == "result"

    play(tmp_path, scene)


def test_an_idle_server_sends_heartbeats(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            await client.join()
            beat = await client.find(lambda f: f.get("type") == "heartbeat")
            assert beat == {"type": "heartbeat", "id": None}

    play(tmp_path, scene, heartbeat_seconds=2)


# --- access ---------------------------------------------------------------------------------------


async def knock(server: Serving, headers: Headers) -> tuple[str, str]:
    """`in`, or the code of the refusal; and the subprotocol."""
    say = b'{"id": "1", "method": "getCapabilities"}'
    frames, code, spoken = await upgrade(
        server.url, "/ws/rpc", [("Host", host_of(server)), *headers], say=say
    )
    if not code:
        return "in", spoken
    [answer] = frames
    assert answer["id"] is None
    assert code == {"UNAUTHORIZED": 4502, "FORBIDDEN": 4503}[answer["error"]["code"]]
    return str(answer["error"]["code"]), spoken


def test_the_rpc_socket_has_the_same_access_control(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        token = ("Authorization", f"Bearer {server.token}")
        cookie = await page_of(server, "turnwire.rpc")
        here, there = ("Origin", server.url), ("Origin", "https://evil.example")
        assert (await knock(server, [token]))[0] == "in"
        assert (await knock(server, [*cookie, here]))[0] == "in"
        assert (await knock(server, []))[0] == "UNAUTHORIZED"
        assert (await knock(server, [("Authorization", "Bearer x")]))[0] == "UNAUTHORIZED"
        assert (await knock(server, [*cookie]))[0] == "FORBIDDEN"
        assert (await knock(server, [*cookie, there]))[0] == "FORBIDDEN"
        assert (await knock(server, [token, there]))[0] == "FORBIDDEN"
        for name in ("turnwire.rpc", "turnwire.v2"):
            async with server.http() as http:
                ticket = (await http.post("/api/tickets")).json()["ticket"]
            offered = ("Sec-WebSocket-Protocol", f"{name}, ticket.{ticket}")
            assert await knock(server, [offered, here]) == ("in", name)
            assert (await knock(server, [offered, here]))[0] == "UNAUTHORIZED", "it is good once"

    play(tmp_path, scene)


def test_a_name_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        headers = [("Host", "evil.example"), ("Authorization", f"Bearer {server.token}")]
        [answer], code, _ = await upgrade(server.url, "/ws/rpc", headers)
        assert (answer["error"]["code"], code) == ("FORBIDDEN", 4503)

    play(tmp_path, scene)


def test_a_connection_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as first:
            await first.join()  # now it has its place
            headers = [("Host", host_of(server)), ("Authorization", f"Bearer {server.token}")]
            [answer], code, _ = await upgrade(server.url, "/ws/rpc", headers)
            assert (answer["error"]["code"], code) == ("RATE_LIMITED", 4003)

    play(tmp_path, scene, max_connections_per_user=1)


def test_a_revoked_token_closes_its_connections(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        secret, token = await server.service.keys.make("test", None)
        client = await server.rpc(secret).come()
        await client.join()
        await server.service.store.revoke_token(token.token_id, at="2026-01-01T00:00:00.000Z")
        assert await client.until_closed() == 4502
        assert client.frames[-1]["error"]["code"] == "UNAUTHORIZED"

    play(tmp_path, scene)


# --- whatever comes -------------------------------------------------------------------------------

FIELDS = [
    "conversation", "last_sequence", "epoch", "tail", "tool_progress", "system_messages",
    "include_partial_messages", "provider", "resume", "model", "system_prompt", "cwd", "title",
    "options", "prompt", "content", "client_message_id", "turn_id", "queue", "mode", "sequence",
    "after", "before", "limit", "offset", "archived", "server", "extra",
]  # fmt: skip
WORDS = ["demo", "hello", "long", "ask", "permission", "off", "output_delta", "hold", "clear"]


def a_frame(chance: random.Random) -> str | bytes:
    """Something like a frame of RPC: right, nearly right, or nothing of the kind."""
    own_id = chance.choice([f"a-{chance.randrange(50)}", f"srv-{chance.randrange(3)}", *ODD])
    frame: dict[str, Any] = {"id": own_id}
    if chance.random() < 0.8:
        frame["method"] = chance.choice([*METHODS, *ODD])
    for name in chance.sample(["params", "result", "error"], chance.randrange(3)):
        names = chance.sample([*FIELDS, "answer", "decision"], 3)
        frame[name] = {each: chance.choice([*ODD, *WORDS]) for each in names}
    return bent(frame, chance)


async def shout(server: Process, name: str, chance: random.Random, end: float) -> int:
    """Sends frames; all that can be answered is answered."""
    loop, sent = asyncio.get_running_loop(), 0
    codes: list[int] = []
    while loop.time() < end:
        client: RpcClient
        async with server.rpc() as client:
            try:
                if chance.random() < 0.7:
                    await client.join(name if chance.random() < 0.5 else None)
                    client.cursor = 0
                for _ in range(10):
                    await client.send(a_frame(chance))
                    sent += 1
                await client.send('{"id": "the end", "method": "getCapabilities"}')
                await client.answer("the end")
            except ConnectionClosed:
                assert client.code is not None
                codes.append(client.code)
    assert set(codes) <= {4505, 1007}, "only who makes no sense has to go"
    return sent


def test_invalid_input_is_answered_and_other_clients_are_not_affected(tmp_path: Path) -> None:
    async def run(server: Process) -> None:
        name = await server.begin()
        end = asyncio.get_running_loop().time() + SECONDS
        async with server.rpc() as witness:
            await witness.join(options={"delay": 0})
            work = [shout(server, name, random.Random(10 + n), end) for n in range(3)]
            sent = asyncio.gather(*work)
            turns = 0
            while not sent.done():
                turns += 1
                await witness.query("hello")
            assert all(await sent)
            assert turns > 1

    with unmoved(tmp_path) as server:
        asyncio.run(run(server))
