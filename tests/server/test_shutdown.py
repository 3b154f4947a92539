"""An orderly shutdown while clients still send requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.server.helpers.frame_checks import play
from tests.server.helpers.servers import Serving
from tests.server.helpers.v2_client import Client
from turnwire import Settings, create_app
from turnwire.agents.demo import DemoAgent
from turnwire.server.access.keys import owner_file
from turnwire.stores.sqlite import SqliteStore


def test_no_request_during_shutdown_opens_a_conversation_again(tmp_path: Path) -> None:
    begun: list[str] = []

    async def stop(server: Serving) -> None:
        name = await server.begin(delay=0.05)
        begun.append(name)
        async with server.client(name) as client, server.http() as http, server.http() as other:
            await client.say("long", "m-1")
            await client.say("queued", "m-2")
            await client.say("queued behind it", "m-3")
            await client.answer("m-3")
            await client.until("assistant.chunk")
            assert (await http.get("/healthz")).status_code == 200  # so that the line is there
            stopping = asyncio.create_task(server.app.stop())
            told = set()
            while not stopping.done():
                told |= {(await http.get("/api/inbox")).status_code}
            await stopping
            assert told <= {200, 503}
            refused = await http.get("/api/inbox")
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "STORAGE_UNAVAILABLE"
            assert refused.json()["error"]["retryable"]
            assert (await other.get("/readyz")).status_code == 503
            assert await client.until_closed() == 4000
            late = Client(server.url, name, server.token)
            await late.come(until_ready=False)
            assert await late.until_closed() == 4000

    play(tmp_path, stop)

    async def look() -> None:
        store = await SqliteStore.open(tmp_path / "turnwire.db")
        try:
            (turn,) = await store.turns(begun[0], since=0)
            assert turn.end.interrupted
            row = await store.conversation(begun[0])
            assert row is not None
            queued = [waiting.item.client_message_id for waiting in row.state.queue]
            assert queued == ["m-2", "m-3"]
        finally:
            await store.close()

    asyncio.run(look())


@pytest.mark.parametrize("times", [1, 2])
def test_an_application_may_be_started_again(tmp_path: Path, times: int) -> None:
    app = create_app(Settings(data_dir=str(tmp_path), made_agents={"demo": DemoAgent()}))

    async def run() -> None:
        for _ in range(times):
            async with app.lifespan():
                assert (await _health(app)).status_code == 200
            assert (await _health(app)).status_code == 503

    asyncio.run(run())


def test_without_a_lifespan_the_first_request_starts_the_server(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=str(tmp_path), made_agents={"demo": DemoAgent()}))

    async def run() -> None:
        answers = await asyncio.gather(*(_health(app) for _ in range(5)))
        assert {each.status_code for each in answers} == {200}
        assert owner_file(tmp_path).is_file()
        await app.stop()

    asyncio.run(run())


async def _health(app: object) -> httpx.Response:
    transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        return await http.get("/healthz")
