"""All clients of a dead node come to another one at once, and get what they have missed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.server.helpers.servers import Process, process
from tests.server.helpers.socket_reader import PATIENCE


async def say(server: Process, name: str, first: int, last: int) -> int:
    """Holds some turns. Returns the number of the last entry."""
    async with server.client(name) as one:
        for number in range(first, last):
            await one.say("hello", f"m-{number}")
            await one.end_of(number)
        await one.state("active")
        return one.cursor


async def come(
    server: Process, name: str, query: str = ""
) -> tuple[ClientConnection, list[int], str]:
    """Returns a connection, the numbers of the replayed entries, and the epoch."""
    address = f"{server.url.replace('http', 'ws')}/ws/conversations/{name}?protocol=v2{query}"
    headers = {"Authorization": f"Bearer {server.token}"}
    client = await connect(
        address,
        additional_headers=headers,
        proxy=None,
        open_timeout=PATIENCE,
        ping_interval=None,  # all clients are in this one process, which may be slow
    )
    numbers, epoch = [], ""
    async for raw in client:
        frame = json.loads(raw)
        epoch = frame["payload"].get("epoch", epoch)
        number = frame["payload"].get("message_sequence")
        if frame["type"] == "message.replay" and number is not None:
            numbers.append(number)
        if frame["type"] == "session.state":
            break
    return client, numbers, epoch


@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.volume)])
def test_the_clients_of_a_dead_node_come_to_another(tmp_path: Path, count: int) -> None:
    async def scene(dying: Process, other: Process) -> None:
        name = await dying.begin()
        seen = await say(dying, name, 1, 4)
        crowd = await asyncio.gather(*(come(dying, name) for _ in range(count)))
        [epoch] = {epoch for _, _, epoch in crowd}
        assert {tuple(numbers) for _, numbers, _ in crowd} == {tuple(range(1, seen + 1))}
        dying.kill()
        await asyncio.gather(*(client.wait_closed() for client, _, _ in crowd))
        missed = f"&last_sequence={seen}&epoch={epoch}"
        back = await asyncio.gather(*(come(other, name, missed) for _ in crowd))
        assert {tuple(numbers) for _, numbers, _ in back} == {()}
        few, rest = back[:10], back[10:]
        await asyncio.gather(*(client.close() for client, _, _ in rest))
        head = await say(other, name, 4, 6)
        assert head > seen
        for client, numbers, _ in few:  # live, at the node that runs the conversation now
            async with asyncio.timeout(PATIENCE):
                while not numbers or numbers[-1] < head:
                    payload = json.loads(await client.recv())["payload"]
                    number = payload.get("message_sequence")
                    if number is not None:
                        numbers.append(number)
            assert numbers == list(range(seen + 1, head + 1))
        await asyncio.gather(*(client.close() for client, _, _ in few))

    patient = {"TURNWIRE_PONG_SECONDS": "60"}
    with process(tmp_path, **patient) as dying, process(tmp_path, **patient) as other:  # type: ignore[arg-type]
        asyncio.run(scene(dying, other))
