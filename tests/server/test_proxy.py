"""A server with another public address than the one that it listens on."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.proxy import proxy
from tests.server.helpers.servers import serving
from tests.server.helpers.socket_reader import PATIENCE
from tests.server.helpers.v2_client import Client
from turnwire.client import Client as OurClient
from turnwire.server.access.public import Public


@pytest.mark.parametrize("strips", [True, False], ids=["stripped", "left"])
def test_below_a_part_of_a_proxys_addresses_everything_works(tmp_path: Path, strips: bool) -> None:
    async def run() -> None:
        to: list[str] = []
        async with (
            proxy("/tw", to, strips=strips) as before,
            serving(tmp_path, public_url=f"{before}/tw") as server,
        ):
            to.append(server.url)
            link = await server.service.keys.link(server.owner)
            async with httpx.AsyncClient(
                base_url=before, trust_env=False, timeout=PATIENCE
            ) as browser:
                await look(browser, link)
            # A program, with its token: the conversation over a WebSocket, through the proxy.
            name = await server.begin()
            async with Client(f"{before}/tw", name, server.token) as client:
                await client.say("hello", "m-1")
                await client.end_of(1)
            assert await OurClient(f"{before}/tw", server.token).create()
            # A client on this machine needs no proxy and no prefix.
            async with server.http() as direct:
                assert (await direct.get("/api/agents")).status_code == 200
                assert (await direct.get("/tw/api/agents")).status_code == 200

    async def look(browser: httpx.AsyncClient, link: str) -> None:
        assert '<base href="/tw/"' in (await browser.get("/tw/enter", params={"link": link})).text
        entered = await browser.post("/tw/enter", json={"link": link})
        assert entered.status_code == 201
        browser.headers["X-Turnwire-Page"] = entered.json()["page_key"]
        assert "; Path=/tw/;" in entered.headers["set-cookie"]
        page = await browser.get("/tw/")
        assert '<base href="/tw/"' in page.text
        assets = re.findall(r'="\./(assets/[^"]+)"', page.text)
        assert assets
        for asset in assets:
            assert (await browser.get(f"/tw/{asset}")).status_code == 200
        # The cookie is sent along, and the page is from here.
        origin = {"Origin": str(browser.base_url).rstrip("/")}
        begun = await browser.post("/tw/api/conversations", json={}, headers=origin)
        assert begun.status_code == 201
        async with browser.stream("GET", "/tw/api/changes", headers=origin) as changes:
            assert changes.status_code == 200
            async for line in changes.aiter_lines():
                assert line == "retry: 1000"
                break

    asyncio.run(run())


def test_the_names_of_the_proxy_are_known_and_its_cookies_are_for_https(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            serving(tmp_path, public_url="https://Chat.Example/a/tw/") as server,
            server.http() as http,
        ):
            link = await server.service.keys.link(server.owner)
            there = {"Host": "chat.example"}
            entered = await http.post("/enter", json={"link": link}, headers=there)
            assert "; Path=/a/tw/;" in entered.headers["set-cookie"]
            assert "; Secure" in entered.headers["set-cookie"]
            # A proxy that calls the server by its address: its page is still ours.
            page = {"Origin": "https://chat.example"}
            assert (await http.get("/api/agents", headers=page)).status_code == 200
            elsewhere = {"Origin": "https://elsewhere.example"}
            assert (await http.get("/api/agents", headers=elsewhere)).status_code == 403

    asyncio.run(run())


@pytest.mark.parametrize(
    ("scope", "path", "raw_path"),
    [
        ({"path": "/api/x", "raw_path": b"/api/x"}, "/tw/api/x", b"/tw/api/x"),
        ({"path": "/tw/c/ü", "raw_path": b"/tw/c/%C3%BC"}, "/tw/c/ü", b"/tw/c/%C3%BC"),
        ({"path": "/tw"}, "/tw/", None),
        ({"path": "/twice"}, "/tw/twice", None),
        ({"path": "/chat/new", "root_path": "/chat"}, "/tw/new", None),
    ],
)
def test_a_request_names_the_public_address(
    scope: dict[str, Any], path: str, raw_path: bytes | None
) -> None:
    placed = Public("https://chat.example/tw").place(scope)
    assert (placed["root_path"], placed["path"], placed.get("raw_path")) == ("/tw", path, raw_path)
    assert Public("https://chat.example").place(scope) is scope
