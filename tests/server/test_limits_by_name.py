"""Every refusal because of a limit names the setting of the limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.server.helpers.frame_checks import play
from tests.server.helpers.servers import Serving
from tests.server.helpers.v2_client import PATIENCE

Scene: TypeAlias = Callable[[Serving], Awaitable[str]]


async def many_frames(server: Serving) -> str:
    client = await server.client(await server.begin()).come()
    for number in range(8):
        await client.send("session.heartbeat", f"h-{number}")
    error = await client.until("session.error")
    return str(error["payload"]["message"])


async def frame(server: Serving, payload: Any) -> str:
    client = await server.client(await server.begin()).come()
    await client.send("user.message", "m-1", content=payload)
    return str((await client.until("session.error"))["payload"]["message"])


async def large_frame(server: Serving) -> str:
    return await frame(server, "x" * 3000)


async def wide_frame(server: Serving) -> str:
    return await frame(server, [1] * 400)


async def deep_frame(server: Serving) -> str:
    value: Any = "x"
    for _ in range(12):
        value = [value]
    return await frame(server, value)


async def long_queue(server: Serving) -> str:
    client = await server.client(await server.begin()).come()
    await client.say("question", "m-1")
    await client.state("waiting_input")
    await client.say("hello", "m-2")
    await client.say("hello", "m-3")
    return str((await client.answer("m-3"))["payload"]["message"])


async def connection(server: Serving) -> str:
    name = await server.begin()
    await server.client(name).come()
    second = await server.client(name).come(until_ready=False)
    return str((await second.until("session.error"))["payload"]["message"])


async def refused(server: Serving, method: str, path: str, **request: Any) -> str:
    """Returns the refusal of a user who sends requests until one is refused."""
    async with server.http(await server.token_of("ann")) as http:
        for _ in range(10):
            answer = await http.request(method, path, **request)
            if answer.status_code >= 400:
                return str(answer.json()["error"]["message"])
    raise AssertionError("nothing was refused")


async def many_requests(server: Serving) -> str:
    return await refused(server, "GET", "/api/conversations")


async def large_body(server: Serving) -> str:
    return await refused(server, "POST", "/api/conversations", json={"title": "x" * 3000})


async def blob(server: Serving) -> str:
    headers = {"content-type": "text/plain"}
    return await refused(server, "POST", "/api/blobs", content=b"x" * 3000, headers=headers)


async def many_conversations(server: Serving) -> str:
    return await refused(server, "POST", "/api/conversations", json={"agent": "demo"})


@pytest.mark.parametrize(
    ("scene", "settings"),
    [
        (many_frames, {"frames_at_once": 3, "frames_per_second": 0}),
        (large_frame, {"max_frame_bytes": 2000}),
        (wide_frame, {"max_items": 300}),
        (deep_frame, {"max_depth": 8}),
        (long_queue, {"max_queue": 1}),
        (connection, {"max_connections": 1}),
        (connection, {"max_connections_per_user": 1}),
        (connection, {"connects_at_once": 1, "connects_per_second": 0}),
        (many_requests, {"requests_at_once": 3, "requests_per_second": 0}),
        (large_body, {"max_body_bytes": 2000}),
        (blob, {"max_blob_bytes": 2000}),
        (blob, {"max_user_blob_bytes": 2000}),
        (many_conversations, {"max_conversations_per_user": 1}),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_a_refusal_names_its_setting(
    tmp_path: Path, scene: Scene, settings: dict[str, Any]
) -> None:
    async def run(server: Serving) -> None:
        async with asyncio.timeout(PATIENCE):
            said = await scene(server)
        assert all(name in said for name in settings), said

    play(tmp_path, run, **settings)
