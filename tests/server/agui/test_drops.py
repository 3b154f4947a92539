"""A client of AG-UI whose connection is dropped again and again has everything, once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx

from tests.server.agui.test_runs import body, history, says
from tests.server.helpers.events import events_of
from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving
from tests.turn_streams.agui.helpers.judges import judged

DROPS = 100
AGENT = {"agent": "demo", "options": {"delay": 0.002}}


def test_a_hundred_drops_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        drops, talks = 0, 0
        while drops < DROPS:
            talks += 1
            thread = f"thread-{talks}"
            new = says("think, use a tool, a long answer", f"m-{talks}")
            runs: list[dict[str, Any]] = []
            sent = body(new, thread=thread, turnwire=AGENT)
            address = f"/agui/threads/{thread}/stream"
            last: str | None = None
            has_ended = False
            while not has_ended:
                if runs:
                    # Every other time with the id of the last event, otherwise with all messages.
                    place = {"Last-Event-ID": last} if last and len(runs) % 2 else {}
                    stream_of = events_of(http, "GET", address, headers=place)
                else:
                    stream_of = events_of(http, "POST", "/agui", json=sent)
                async with stream_of as stream:
                    count = 0

                    def is_cut(event: dict[str, Any], most: int = 4 + drops % 9) -> bool:
                        nonlocal count
                        count += event["type"].endswith(("_CONTENT", "_ARGS", "_START"))
                        return count > most or event["type"] in ("RUN_FINISHED", "RUN_ERROR")

                    _, event = await stream.until(is_cut)
                    last = stream.last_id or last
                    events = [data for _, data in stream.read]
                has_ended = event["type"] in ("RUN_FINISHED", "RUN_ERROR")
                drops += not has_ended
                runs.append({"messages": [] if runs else [new], "events": events})
            [told] = await asyncio.to_thread(judged, [runs])
            assert told["errors"] == []
            assert told["messages"] == await history(http, thread)

    play(tmp_path, scene)
