"""Runs a scene with a server and an HTTP client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from tests.server.helpers.servers import Serving, serving

Scene = Callable[[Serving, httpx.AsyncClient], Awaitable[None]]
QUICK = {"delay": 0}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def play(path: Path, scene: Scene, **settings: Any) -> None:
    async def run() -> None:
        async with serving(path, **settings) as server, server.http() as http:
            await scene(server, http)

    asyncio.run(run())
