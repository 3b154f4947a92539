"""Turnwire mounted in another application."""

from __future__ import annotations

import asyncio
import logging
import socket
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from tests.server.helpers.v2_client import Client
from turnwire import Settings, create_app
from turnwire.agents.demo import DemoAgent
from turnwire.server.access.keys import owner_file


def test_a_fastapi_application_mounts_turnwire(tmp_path: Path) -> None:
    chat = create_app(
        Settings(data_dir=str(tmp_path), protocol_v2=True, made_agents={"demo": DemoAgent()})
    )
    app = FastAPI(lifespan=chat.lifespan)
    app.mount("/chat", chat)

    @app.get("/own")
    async def own() -> str:
        return "mine"

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            config = uvicorn.Config(app, log_level="warning", ws="websockets-sansio")
            server = uvicorn.Server(config)
            running = asyncio.create_task(server._serve([listener]))
            try:
                await talk(url)
            finally:
                server.should_exit = True
                await running

    async def talk(url: str) -> None:
        async with httpx.AsyncClient(
            base_url=url, trust_env=False, transport=httpx.AsyncHTTPTransport(retries=5)
        ) as http:
            assert (await http.get("/own")).json() == "mine"
            assert (await http.get("/chat/healthz")).json()["status"] == "ok"
            assert (await http.get("/chat/api/conversations")).status_code == 401
            refused = (await http.put("/chat/api/conversations")).json()
            assert refused["error"]["code"] == "METHOD_NOT_ALLOWED", (
                "it is ours, not the framework's"
            )
            token = owner_file(tmp_path).read_text().strip()
            http.headers["Authorization"] = f"Bearer {token}"
            begun = await http.post("/chat/api/conversations", json={"options": {"delay": 0}})
            async with Client(f"{url}/chat", begun.json()["id"], token) as client:
                await client.say("hello", "m-1")
                await client.end_of(1)
                await client.state("active")

    asyncio.run(run())


@pytest.mark.parametrize(("chosen", "warnings"), [(None, 1), (False, 0), (True, 0)])
def test_an_app_without_a_choice_of_protocol_v2_warns_at_its_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, chosen: bool | None, warnings: int
) -> None:
    agents = {"demo": DemoAgent()}
    chat = create_app(Settings(data_dir=str(tmp_path), protocol_v2=chosen, made_agents=agents))

    async def run() -> None:
        async with chat.lifespan():
            pass

    with caplog.at_level(logging.WARNING, "turnwire"):
        asyncio.run(run())
    assert caplog.text.count("Settings(protocol_v2=True)") == warnings
