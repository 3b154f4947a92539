"""A node is cut off from the database, from the bus or from both, also in one direction: the other node goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.server.helpers.servers import Process, process
from tests.server.helpers.socket_reader import PATIENCE
from tests.stores.postgres.faults import Lost, Proxy
from turnwire.client import Client
from turnwire.client.conversation import ClientConversation
from turnwire.dialects.v2 import frames as f
from turnwire.errors import TurnwireError

# A short lease, and a short patience with the database. A silent connection is given up sooner, too.
FIRST = """
import functools
from turnwire.stores.postgres import connection, reader
connection.ANSWER_SECONDS = 2.0
for module in (connection, reader):
    module.CONNECT_SECONDS, module.COMMAND_SECONDS = 3.0, 4.0
from turnwire.server import service
from turnwire.stores import open_store as opening
service.EngineSettings = functools.partial(service.EngineSettings, lease=4.0, recheck=0.1)
opening.open_store = functools.partial(opening.open_store, patience=0.3)
"""
BOTH_WAYS: tuple[Lost, ...] = ("request", "answer")


@asynccontextmanager
async def node(path: Path, name: str, store: str, bus: str) -> AsyncIterator[Process]:
    """`turnwire serve`, in a thread: the proxy of this process carries its first messages."""
    environ = {"TURNWIRE_STORE": store, "TURNWIRE_NODE": name, "TURNWIRE_BUS": bus}
    given: Any = {name: each for name, each in environ.items() if each}
    serving = process(path, first=FIRST, **given)
    server = await asyncio.to_thread(serving.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(serving.__exit__, None, None, None)


async def insist(talk: ClientConversation, text: str, own_id: str) -> None:
    """Sends a message until it is acknowledged, always under the same id."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await talk.send(text, own_id)
                return
            except TurnwireError as refused:
                if refused.code != "STORAGE_UNAVAILABLE":
                    raise
                await asyncio.sleep(0.1)


async def until(happened: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await happened():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.1)  # each look is a request, and their rate is limited


async def until_growing(talk: ClientConversation) -> None:
    """Waits for the first piece of an answer."""
    async with asyncio.timeout(PATIENCE):
        async for frame in talk:
            if isinstance(frame, f.AssistantChunk) and frame.payload.partial:
                return


async def messages(client: Client, name: str) -> dict[str, Any]:
    path = f"/api/conversations/{name}/messages"
    found: dict[str, Any] = await client.request("GET", path, after=0, limit=500)
    return found


def said_in(log: dict[str, Any]) -> list[str]:
    events = [item["event"] for item in log["messages"]]
    return [
        each["payload"]["client_message_id"] for each in events if each["type"] == "user.message"
    ]


async def scene(
    path: Path, store: str, cut: str, how: tuple[Lost, ...] | None, proxy: Proxy
) -> None:
    """The owner is cut off in the middle of an answer. A person goes on at the other node, and later at the first."""
    ours = proxy.address if cut != "the bus" else store
    buses = {"the bus": (proxy.address, store), "the database": (f"unix://{path}/bus",) * 2}
    bus, other_bus = buses.get(cut, ("", ""))
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(node(path, "one", ours, bus))
        two = await stack.enter_async_context(node(path, "two", store, other_bus))
        near_client = await stack.enter_async_context(Client(one.url, one.token))
        far_client = await stack.enter_async_context(Client(two.url, two.token))
        name = await near_client.create("demo", options={"delay": 0.01})
        near = await stack.enter_async_context(near_client.conversation(name))
        far = await stack.enter_async_context(far_client.conversation(name))
        await near.send("long", "m-1")
        await until_growing(far)
        if how is None:
            proxy.go_away()
        else:
            proxy.fall_silent(*how, also_new=True)
        await insist(far, "hello", "m-2")
        proxy.come_back()
        proxy.speak_again()
        await insist(near, "hello", "m-3")

        async def is_over() -> bool:
            log = await messages(far_client, name)
            kinds = [item["event"]["type"] for item in log["messages"]]
            return kinds.count("assistant.complete") == 3

        await until(is_over)
        log = await messages(far_client, name)
        assert said_in(log) == ["m-1", "m-2", "m-3"]
        numbers = [item["message_sequence"] for item in log["messages"]]
        assert [each for each in numbers if each is not None] == list(range(1, log["head"] + 1))
        assert (await messages(near_client, name))["messages"] == log["messages"]


@pytest.mark.parametrize(
    ("cut", "how"),
    [
        ("the database", None),
        ("the database", BOTH_WAYS),
        ("the database", ("answer",)),
        ("the database", ("request",)),
        ("the bus", BOTH_WAYS),
        ("the bus", ("answer",)),
        ("both", None),
        ("both", BOTH_WAYS),
        ("both", ("request",)),
    ],
)
async def test_a_node_is_cut_off_and_nothing_is_lost_or_doubled(
    cut: str, how: tuple[Lost, ...] | None, tmp_path: Path, postgres: str
) -> None:
    async with Proxy(postgres) as proxy:
        await scene(tmp_path, postgres, cut, how, proxy)
