"""Disconnects clients at a frame, reconnects them, and waits for all frames."""

from __future__ import annotations

import asyncio

from tests.server.helpers.v2_client import Client


async def drop_and_return(client: Client, after: int, over: asyncio.Event) -> None:
    """Reads this many frames, disconnects, reconnects, and stays to the end."""
    ended = asyncio.create_task(over.wait())
    for _ in range(after):
        frame = asyncio.create_task(client.next())
        await asyncio.wait([frame, ended], return_when=asyncio.FIRST_COMPLETED)
        if not frame.done():  # pieces were joined, so that there are not as many this time
            frame.cancel()
            break
    client.drop()
    await client.come()
    await over.wait()
    head = client.frames[0]["payload"]["head"]
    await until_all_is_there(client, head)


async def until_all_is_there(client: Client, least: int) -> None:
    """Waits for all frames that were sent before this heartbeat."""
    own_id = f"end-{len(client.lines)}"
    await client.send("session.heartbeat", own_id)
    await client.answer(own_id)
    assert client.cursor >= least
