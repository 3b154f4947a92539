"""Reads server-sent events of a response, as a browser does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.server.helpers.socket_reader import PATIENCE

__all__ = ["Event", "Events", "events_of"]

Event = tuple[str | None, Any]  # its id, and its data as JSON (a text if it is not JSON)


class Events:
    """The events of one response."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments: list[str] = []
        self.last_id: str | None = None  # as a browser remembers it
        self.read: list[Event] = []
        self._events = self._parsed()

    async def _parsed(self) -> AsyncIterator[Event]:
        own_id, data = None, None
        async for line in self.response.aiter_lines():
            if line.startswith(":"):
                self.comments.append(line)
            elif line.startswith("id: "):
                own_id = self.last_id = line.removeprefix("id: ")
            elif line.startswith("data: "):
                assert data is None, "one line for each event"
                data = line.removeprefix("data: ")
            elif not line and data is not None:
                self.read.append((own_id, json.loads(data) if data != "[DONE]" else data))
                own_id, data = None, None
                yield self.read[-1]

    async def all(self) -> list[Event]:
        """Returns the events until the response has ended."""
        async with asyncio.timeout(PATIENCE):
            return [event async for event in self._events]

    async def until(self, that: Any) -> Event:
        """Reads until an event has this."""
        async with asyncio.timeout(PATIENCE):
            async for event in self._events:
                if that(event[1]):
                    return event
        raise AssertionError(f"the response has ended: {self.read[-3:]}")


@asynccontextmanager
async def events_of(
    http: httpx.AsyncClient, method: str, path: str, **more: Any
) -> AsyncIterator[Events]:
    """Opens a stream of events."""
    headers = {"Accept": "text/event-stream", **more.pop("headers", {})}
    async with http.stream(method, path, headers=headers, **more) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Events(response)
