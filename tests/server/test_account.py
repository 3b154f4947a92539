"""The account of the user: `GET /api/me`, and signing out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect as open_socket
from websockets.typing import Origin, Subprotocol

from tests.server.helpers.browser_page import host_of, page_of
from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.socket_access import connect
from tests.server.helpers.socket_reader import PATIENCE


async def browser_of(server: Serving) -> httpx.AsyncClient:
    """Returns the requests of a page that has signed in with a link."""
    cookie, key, _ = await page_of(server)
    headers = {"Cookie": cookie[1], "X-Turnwire-Page": key[1], "Origin": server.url}
    return with_headers(server, headers)


def with_headers(server: Serving, headers: dict[str, str]) -> httpx.AsyncClient:
    """Returns requests with these headers, and without a token."""
    http = server.http()
    del http.headers["Authorization"]
    http.headers.update(headers)
    return http


async def by_header(scope: Any) -> str | None:
    """Authenticates the users of an application."""
    return dict(scope["headers"]).get(b"x-user", b"").decode() or None


def test_a_user_is_told_who_they_are_and_how_they_signed_in(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, authenticate=by_header) as server:
            async with await browser_of(server) as page:
                told = (await page.get("/api/me")).json()
            assert (told["name"], told["is_owner"], told["signed_in_by"]) == (
                "owner",
                True,
                "browser",
            )
            assert told["since"] < told["until"]
            async with server.http(await server.token_of("ann")) as http:
                told = (await http.get("/api/me")).json()
            assert (told["name"], told["is_owner"], told["signed_in_by"]) == ("ann", False, "token")
            assert told["token_name"]
            assert "until" not in told
            async with with_headers(server, {"X-User": "carl"}) as http:
                told = (await http.get("/api/me")).json()
            assert told == {"name": "carl", "is_owner": False, "signed_in_by": "application"}

    asyncio.run(run())


def test_a_browser_that_signs_out_loses_its_cookie_its_sockets_and_its_tickets(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            name = await server.begin()
            async with await browser_of(server) as page, await browser_of(server) as other:
                ticket = (await page.post("/api/tickets")).json()["ticket"]
                used = (await page.post("/api/tickets")).json()["ticket"]
                address = (
                    f"{server.url.replace('http', 'ws', 1)}/ws/conversations/{name}?protocol=v2"
                )
                offer = [Subprotocol("turnwire.v2"), Subprotocol(f"ticket.{used}")]
                socket = await open_socket(
                    address,
                    origin=Origin(server.url),
                    subprotocols=offer,
                    proxy=None,
                    max_queue=None,
                )
                gone = await page.post("/api/sign-out")
                assert gone.status_code == 204
                assert "Max-Age=0" in gone.headers["set-cookie"]
                async with asyncio.timeout(PATIENCE):
                    await socket.wait_closed()
                assert socket.close_code == 4502
                assert (await page.get("/api/me")).status_code == 401
                assert (await page.post("/api/sign-out")).status_code == 401
                assert (await other.get("/api/me")).status_code == 200, "another browser stays"
            host = host_of(server)
            here = [("Host", host), ("Origin", f"http://{host}")]
            unused = ("Sec-WebSocket-Protocol", f"turnwire.v2, ticket.{ticket}")
            assert await connect(server, name, [*here, unused]) == "UNAUTHORIZED"
            await server.service._background.done()
            rows = await server.service.store.audit(conversation_id=None, after=0, limit=100)
            assert [row.by for row in rows if row.action == "token_revoked"] == ["owner"]

    asyncio.run(run())


def test_a_token_and_a_user_of_the_application_do_not_sign_out_here(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, authenticate=by_header) as server:
            async with server.http() as http:
                refused = await http.post("/api/sign-out")
                assert refused.status_code == 403
                assert "turnwire token revoke" in refused.json()["error"]["message"]
                assert (await http.get("/api/me")).status_code == 200
            async with with_headers(server, {"X-User": "carl"}) as http:
                refused = await http.post("/api/sign-out")
                assert refused.status_code == 403
                assert "logout_url" in refused.json()["error"]["message"]

    asyncio.run(run())
