"""Three servers are restarted one after the other, under load, with clients that stay."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.server.helpers.servers import Process, process
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.client.conversation import ClientConversation
from turnwire.stores.open_store import open_store
from turnwire.stores.words import text_of

_CLIENTS = 6
_NODES = 3


class Balancer:
    """Sends each connection to the next server of a list, which it learns late."""

    def __init__(self) -> None:
        self.servers: list[Process] = []
        self._next = itertools.count()

    def place(self, conversation_id: str) -> tuple[str, str]:
        """Returns the address of a conversation, and the token."""
        server = self.servers[next(self._next) % len(self.servers)]
        address = server.url.replace("http", "ws", 1)
        return f"{address}/ws/conversations/{conversation_id}", server.token


async def talk_until(
    client: ClientConversation, name: str, is_over: Callable[[], bool]
) -> list[str]:
    """Sends messages one after the other. Returns those that were acknowledged."""
    said: list[str] = []
    while not (is_over() and said):
        text = f"hello {len(said)} of {name}"
        async with asyncio.timeout(PATIENCE):
            await client.ask(text)
        said.append(text)
    return said


@pytest.mark.volume
@pytest.mark.needs_sqlite(reason="uses a database of its own")
def test_a_rolling_restart_of_three_servers_loses_and_doubles_nothing(
    tmp_path: Path, postgres: str
) -> None:
    environ: dict[str, Any] = {
        "TURNWIRE_PROTOCOL_V2": "true",
        "TURNWIRE_STORE": postgres,
        "TURNWIRE_DRAIN_GRACE": "60",
    }

    async def scene(stack: ExitStack) -> None:
        balancer = Balancer()

        async def start(number: int) -> Process:
            named = {**environ, "TURNWIRE_NODE": f"node-{number}"}
            return await asyncio.to_thread(stack.enter_context, process(tmp_path, **named))

        balancer.servers = await asyncio.gather(*map(start, range(_NODES)))
        names = [await balancer.servers[0].begin() for _ in range(_CLIENTS)]
        is_over = False
        async with AsyncExitStack() as clients, asyncio.TaskGroup() as group:
            talking = {}
            for name in names:
                find = partial(balancer.place, name)
                client = ClientConversation(*find(), find=find)
                await clients.enter_async_context(client)
                talking[name] = group.create_task(talk_until(client, name, lambda: is_over))
            for number in range(_NODES):
                old = balancer.servers[number]
                old.popen.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(old.popen.wait, PATIENCE) == 0
                balancer.servers[number] = await start(_NODES + number)
            is_over = True
        store = await open_store(postgres)
        try:
            for name in names:
                said = talking[name].result()
                entries = await store.entries(name, limit=10_000)
                kept = [text_of(each.entry) for each in entries if each.entry.role == "user"]
                assert kept == said, "lost, doubled or out of order"
                turns = await store.turns(name)
                assert [turn.end.error for turn in turns] == [None] * len(said)
            assert {node.node for node in await store.nodes()} == {"node-3", "node-4", "node-5"}
        finally:
            await store.close()
        print(sum(len(task.result()) for task in talking.values()), "messages")

    with ExitStack() as stack:
        asyncio.run(scene(stack))
