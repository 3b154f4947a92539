"""The page's files, its stream of changes, and the inspector of an entry."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.server.api import page as page_module
from turnwire.server.api.page import FILES, PAGES

Scene = Callable[[Serving, httpx.AsyncClient], Awaitable[None]]


def play(path: Path, scene: Scene, **settings: Any) -> None:
    async def run() -> None:
        async with serving(path, **settings) as server, server.http() as http:
            await scene(server, http)

    asyncio.run(run())


@pytest.mark.parametrize("path", PAGES)
def test_the_page_is_everywhere_it_says_it_is_and_holds_nothing(tmp_path: Path, path: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        http.headers.pop("Authorization")
        answer = await http.get(path.replace("{id}", "any"))
        assert answer.status_code == 200
        assert '<base href="/"' in answer.text
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        for name in re.findall(r'="\./(assets/[^"]+)"', answer.text):
            asset = await http.get(f"/{name}")
            assert asset.status_code == 200
            assert "immutable" in asset.headers["cache-control"]
        assert "<script>" not in answer.text

    play(tmp_path, scene)


def test_the_files_of_an_installed_page_need_no_authentication(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        http.headers.pop("Authorization")
        for path, mime_type in FILES.items():
            answer = await http.get(path)
            assert answer.status_code == 200, path
            assert answer.headers["content-type"] == mime_type
            assert answer.headers["x-content-type-options"] == "nosniff"
            is_icon = mime_type.startswith("image/")
            kept = "public, max-age=86400" if is_icon else "no-cache"
            assert answer.headers["cache-control"] == kept
        manifest = (await http.get("/manifest.webmanifest")).json()
        assert (manifest["start_url"], manifest["scope"]) == ("./", "./")  # also below a path
        for icon in manifest["icons"]:
            assert FILES[f"/{icon['src']}"] == icon["type"]
        page = await http.get("/")
        policy = page.headers["content-security-policy"].split("; ")
        assert {"manifest-src 'self'", "worker-src 'self'"} <= {*policy}
        offline = await http.get("/offline")
        assert offline.headers["content-security-policy"] == page.headers["content-security-policy"]
        assert '<base href="/"' in offline.text
        assert "<script>" not in offline.text

    play(tmp_path, scene)


def test_the_frame_of_diagrams_has_its_own_origin_and_loads_nothing(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        [document] = (Path(page_module.__file__).parents[2] / "web" / "assets").glob(
            "diagram-*.html"
        )
        answer = await http.get(f"/assets/{document.name}")
        policy = dict(
            directive.split(" ", 1)
            for directive in answer.headers["content-security-policy"].split("; ")
        )
        [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
        digest = b64encode(sha256(script.encode()).digest()).decode()
        assert policy == {
            "default-src": "'none'",
            "script-src": f"'sha256-{digest}'",
            "style-src": "'unsafe-inline'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'self'",
            "sandbox": "allow-scripts",
        }
        assert answer.headers["x-content-type-options"] == "nosniff"

    play(tmp_path, scene)


def test_the_page_gets_the_sign_in_address_of_an_application(tmp_path: Path) -> None:
    async def authenticate(scope: Any) -> str | None:
        return None

    told = '<meta name="turnwire-sign-in" content="application">'

    async def guest(server: Serving, http: httpx.AsyncClient) -> None:
        assert told in (await http.get("/")).text

    async def owner(server: Serving, http: httpx.AsyncClient) -> None:
        assert told not in (await http.get("/")).text

    play(tmp_path / "guest", guest, authenticate=authenticate)
    play(tmp_path / "owner", owner)


def test_an_unknown_asset_is_not_found(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        for name in ("nothing.js", "..%2findex.html", "%2e%2e%2f%2e%2e%2fapp.py"):
            assert (await http.get(f"/assets/{name}")).status_code == 404

    play(tmp_path, scene)


def test_an_unknown_address_gets_a_readable_page(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        lost = await http.get("/nowhere", headers={"Accept": "text/html,*/*;q=0.8"})
        assert lost.status_code == 404
        assert "<p>There is nothing at this address.</p>" in lost.text
        assert (await http.get("/nowhere")).json()["error"]["code"] == "NOT_FOUND"

    play(tmp_path, scene)


def test_an_asset_is_compressed_for_a_browser_that_accepts_it(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        script = re.search(r"assets/index-[^\"]+\.js", (await http.get("/")).text)
        assert script is not None
        packed = await http.get(f"/{script[0]}", headers={"Accept-Encoding": "gzip"})
        plain = await http.get(f"/{script[0]}", headers={"Accept-Encoding": "identity"})
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert packed.content == plain.content
        assert plain.headers["content-type"].startswith("text/javascript")

    play(tmp_path, scene)


async def told(lines: AsyncIterator[str]) -> Any:
    """The next event."""
    async for line in lines:
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))["conversations"]
    raise AssertionError("the stream has ended")


def test_a_listener_hears_which_conversations_have_changed(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with http.stream("GET", "/api/changes", timeout=PATIENCE) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.aiter_lines()
            assert await told(lines) is None
            async with server.client(name) as client:
                await client.say("hello", "m-1")
                await client.end_of(1)
            assert await told(lines) == [name]

    play(tmp_path, scene)


def test_a_listener_hears_only_of_the_users_own_conversations(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        anns, bobs = await server.begin("ann"), await server.begin("bob")
        token = await server.token_of("ann")
        async with (
            server.http(token) as ann,
            ann.stream("GET", "/api/changes", timeout=PATIENCE) as stream,
        ):
            lines = stream.aiter_lines()
            assert await told(lines) is None
            for name in (bobs, anns):
                await http.patch(f"/api/conversations/{name}", json={"title": "Mine"})
            assert await told(lines) == [anns]
            for name in (bobs, anns):
                await http.delete(f"/api/conversations/{name}")
            assert await told(lines) == [anns], "also that it is gone"

    play(tmp_path, scene)


def test_a_listener_hears_of_archiving_before_the_agent_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        heard = asyncio.Event()
        end = server.service.engine.end

        async def slowly(conversation_id: str, *, reason: str) -> None:
            await heard.wait()
            await end(conversation_id, reason=reason)

        monkeypatch.setattr(server.service.engine, "end", slowly)
        name = await server.begin()
        async with http.stream("GET", "/api/changes", timeout=PATIENCE) as stream:
            lines = stream.aiter_lines()
            assert await told(lines) is None
            address = f"/api/conversations/{name}"
            archives = asyncio.create_task(http.patch(address, json={"archived": True}))
            assert await told(lines) == [name]
            heard.set()
            assert (await archives).json()["archived"]
            await http.patch(address, json={"archived": False})
            assert await told(lines) == [name], "also that it was taken back"

    play(tmp_path, scene)


def test_a_listener_counts_as_a_connection_and_is_disconnected_as_one(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        secret, token = await server.service.keys.make("test", "ann")
        async with server.http(secret) as ann:
            async with ann.stream("GET", "/api/changes", timeout=PATIENCE) as stream:
                lines = stream.aiter_lines()
                assert await told(lines) is None
                refused = await ann.get("/api/changes", timeout=PATIENCE)
                assert refused.json()["error"]["code"] == "RATE_LIMITED"
                await server.service.store.revoke_token(
                    token.token_id, at="2026-01-01T00:00:00.000Z"
                )
                with pytest.raises(AssertionError, match="ended"):
                    await told(lines)
            assert (await ann.get("/api/changes")).status_code == 401
        assert not len(server.service.hub)

    play(tmp_path, scene, max_connections_per_user=1)


def test_a_server_that_stops_does_not_wait_for_listeners(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        async with http.stream("GET", "/api/changes", timeout=PATIENCE) as stream:
            lines = stream.aiter_lines()
            assert await told(lines) is None
            await server.service.hub.stop()
            with pytest.raises(AssertionError, match="ended"):
                await told(lines)

    play(tmp_path, scene)


def test_the_inspector_shows_an_entry_in_each_protocol(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            await client.say("hello", "m-1")
            await client.end_of(1)
        layers = (await http.get(f"/api/conversations/{name}/messages/1")).json()
        assert layers["frame"]["type"] == "user.message"
        assert layers["entry"]["role"] == "user"
        assert layers["message_sequence"] == layers["frame"]["payload"]["message_sequence"] == 1
        for nothing in ("0", "999", "-1", "x", "1.5"):
            answer = await http.get(f"/api/conversations/{name}/messages/{nothing}")
            assert answer.status_code == 400
        stranger = await server.token_of("ann")
        async with server.http(stranger) as ann:
            answer = await ann.get(f"/api/conversations/{name}/messages/1")
            assert answer.json()["error"]["code"] == "CONVERSATION_NOT_FOUND"

    play(tmp_path, scene)
