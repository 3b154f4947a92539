"""A user who is signed out on one node is signed out on all of them, also if the bus is lost meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.bus.servers import NatsServer
from tests.server.helpers.servers import serving


def test_users_of_the_application_are_asked_again_after_the_bus_was_lost(tmp_path: Path) -> None:
    async def authenticate(scope: Any) -> str | None:
        given = dict(scope["headers"]).get(b"authorization", b"").decode()
        return given.removeprefix("Bearer user-") if "user-" in given else None

    async def scene(bus: NatsServer) -> None:
        async with (
            serving(tmp_path, authenticate=authenticate, bus=bus.url) as one,
            serving(tmp_path, authenticate=authenticate, bus=bus.url) as two,
        ):
            carls = await two.client(await two.begin(user="carl"), "user-carl").come()
            owners = await two.client(await two.begin()).come()
            await asyncio.to_thread(bus.kill)
            assert await carls.until_closed() == 4000, "a sign-out may have been missed"
            again = await two.client(carls.conversation_id, "user-carl").come()
            one.app.disconnect("carl")
            assert await again.until_closed() == 4502, "it came over the other bus"
            await owners.say("hello", "m-1")
            await owners.end_of(1)
            await owners.leave()

    server = NatsServer()
    try:
        asyncio.run(scene(server))
    finally:
        server.stop()
