"""An `HttpAgent` of AG-UI whose connection is dropped again and again has everything, once."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import httpx

from tests.server.agui.test_runs import history
from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from tests.turn_streams.agui.helpers.judges import package

DROPS = 100
SCRIPT = Path(__file__).parent / "helpers" / "drops.mjs"


def test_a_hundred_drops_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        folder = await asyncio.to_thread(package)
        command = ["node", str(SCRIPT), str(folder), server.url, server.token, str(DROPS)]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        told = json.loads(done.stdout)
        assert told["dropped"] >= DROPS
        assert told["inside"] >= DROPS // 2, "most of them were in the middle of an event"
        assert sum(each["resumes"] for each in told["threads"]) >= DROPS // 5
        for thread in told["threads"]:
            assert thread["messages"] == await history(http, thread["id"]), thread["id"]

    play(tmp_path, scene)
