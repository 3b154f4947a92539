"""Origins and host names: which pages may use a server, on loopback too."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.server.helpers.browser_page import host_of, page_of
from tests.server.helpers.raw_http import Headers, request, upgrade
from tests.server.helpers.servers import serving
from tests.server.helpers.socket_access import connect
from turnwire.core.error_codes import Refused
from turnwire.server.access.gate import Gate
from turnwire.server.access.public import Public

# --- CVE-2025-52882, CVE-2026-44211, CVE-2023-26114, CVE-2025-24010: pages of other origins -------


@pytest.mark.parametrize(
    ("origin", "bearer", "cookie"),
    [
        ("same", "in", "in"),
        ("https://same", "FORBIDDEN", "FORBIDDEN"),
        (None, "in", "FORBIDDEN"),
        ("null", "in", "FORBIDDEN"),
        ("http://evil.example", "FORBIDDEN", "FORBIDDEN"),
        ("http://127.0.0.1:1", "FORBIDDEN", "FORBIDDEN"),
        ("http://localhost", "FORBIDDEN", "FORBIDDEN"),
        ("file://", "FORBIDDEN", "FORBIDDEN"),
        ("", "FORBIDDEN", "FORBIDDEN"),
        ("https://app.example", "in", "in"),
        ("https://app.example.evil", "FORBIDDEN", "FORBIDDEN"),
    ],
)
def test_a_page_of_another_origin_is_refused(
    tmp_path: Path, origin: str | None, bearer: str, cookie: str
) -> None:
    async def run() -> None:
        async with serving(tmp_path, origins=["https://app.example"]) as server:
            name, host = await server.begin(), host_of(server)
            given: Headers = [("Host", host)]
            if origin is not None:
                said = {"same": f"http://{host}", "https://same": f"https://{host}"}
                given.append(("Origin", said.get(origin, origin)))
            token = ("Authorization", f"Bearer {server.token}")
            assert await connect(server, name, [*given, token]) == bearer
            page = await page_of(server)
            assert await connect(server, name, [*given, *page]) == cookie
            status, _, _ = await request(
                server.url,
                "POST",
                "/api/conversations",
                [*given, *page, ("Content-Type", "application/json")],
                b"{}",
            )
            assert status == (201 if cookie == "in" else 403)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("public_url", "scheme", "host", "origin", "is_allowed"),
    [
        ("", "http", "localhost:7410", "http://localhost:7410", True),
        ("", "http", "localhost:7410", "https://localhost:7410", False),
        ("", "ws", "localhost:7410", "http://localhost:7410", True),
        ("", "ws", "localhost:7410", "https://localhost:7410", False),
        ("", "https", "localhost", "https://localhost", True),  # as a trusted proxy has said
        ("", "https", "localhost", "http://localhost", False),
        ("", "wss", "localhost", "https://localhost", True),
        ("", "wss", "localhost", "http://localhost", False),
        ("https://chat.example", "http", "chat.example", "https://chat.example", True),
        ("https://chat.example", "http", "chat.example", "http://chat.example", False),
        ("https://chat.example", "ws", "chat.example", "http://chat.example", False),
        ("https://chat.example", "https", "chat.example", "http://chat.example", False),
        ("https://chat.example", "http", "localhost:7410", "http://localhost:7410", True),
        ("https://chat.example", "http", "localhost:7410", "https://chat.example", True),
        ("http://chat.example", "http", "chat.example", "http://chat.example", True),
        ("http://chat.example", "http", "chat.example", "https://chat.example", False),
    ],
)
def test_a_page_has_to_be_from_the_scheme_of_the_server(
    public_url: str, scheme: str, host: str, origin: str, is_allowed: bool
) -> None:
    public = Public(public_url)
    gate = Gate(
        address="127.0.0.1", hosts=public.hosts, origins=public.origins, is_secure=public.is_secure
    )
    scope = {"scheme": scheme, "headers": [(b"origin", origin.encode())]}
    if is_allowed:
        gate.origin(scope, host, without=False)
    else:
        with pytest.raises(Refused):
            gate.origin(scope, host, without=True)


def test_an_http_page_of_an_https_address_is_refused_everywhere(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, public_url="https://chat.example") as server:
            name = await server.begin()
            token = ("Authorization", f"Bearer {server.token}")
            given = [("Host", "chat.example"), token]
            for scheme, told, status in (("https", "in", 200), ("http", "FORBIDDEN", 403)):
                page = ("Origin", f"{scheme}://chat.example")
                assert await connect(server, name, [*given, page]) == told
                got, _, _ = await request(server.url, "GET", "/api/agents", [*given, page])
                assert got == status

    asyncio.run(run())


def test_a_request_with_two_origins_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            host = host_of(server)
            given = [("Host", host), ("Authorization", f"Bearer {server.token}")]
            twice = [("Origin", f"http://{host}"), ("Origin", "http://evil.example")]
            path = f"/ws/conversations/{await server.begin()}?protocol=v2"
            frames, code, _ = await upgrade(server.url, path, [*given, *twice])
            assert (frames, code) == ([], 400)
            status, _, _ = await request(server.url, "GET", "/api/inbox", [*given, *twice])
            assert status == 403

    asyncio.run(run())


@pytest.mark.parametrize(
    ("site", "status"),
    [(None, 200), ("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)],
)
def test_a_page_reads_only_where_it_is_from(tmp_path: Path, site: str | None, status: int) -> None:
    """Another port of this machine is the same site for a cookie, but another origin."""

    async def run() -> None:
        async with serving(tmp_path) as server:
            given = [("Host", host_of(server)), *await page_of(server)]
            given += [("Sec-Fetch-Site", site)] if site else []
            got, _, _ = await request(server.url, "GET", "/api/conversations", given)
            assert got == status

    asyncio.run(run())


# --- CVE-2025-66416, CVE-2025-64443: foreign host names ----------------------------------------


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example"],
        ["127.0.0.1.evil.example"],
        ["127.0.0.1", "evil.example"],
        ["127.0.0.1", "127.0.0.1"],
        ["127.0.0.1@evil.example"],
        ["127.0.0.1:80x"],
        ["10.0.0.1"],
        [""],
    ],
)
def test_another_name_is_refused_everywhere(tmp_path: Path, hosts: list[str]) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            given = [("Host", host) for host in hosts]
            token = ("Authorization", f"Bearer {server.token}")
            for method, path in [
                ("GET", "/api/conversations"),
                ("GET", "/healthz"),
                ("GET", "/"),
                ("GET", "/enter?link=x"),
                ("GET", "/nowhere"),
                ("PUT", "/api/conversations"),
                ("POST", "/healthz"),
                ("OPTIONS", "/api/inbox"),
            ]:
                status, _, _ = await request(server.url, method, path, [*given, token])
                assert status in (400, 403), (method, path)
            path = f"/ws/conversations/{await server.begin()}?protocol=v2"
            frames, code, _ = await upgrade(server.url, path, [*given, token])
            assert code in (4503, 400)
            assert [each["payload"]["code"] for each in frames] in ([], ["FORBIDDEN"])

    asyncio.run(run())


def test_names_of_ones_own_are_known() -> None:
    def knows(host: str, **more: Any) -> bool:
        gate = Gate(**{"address": "127.0.0.1", "hosts": [], "origins": [], **more})
        try:
            gate.host({"headers": [(b"host", host.encode())]})
        except Exception:
            return False
        return True

    assert all(map(knows, ["127.0.0.1:7410", "localhost", "LOCALHOST:1", "[::1]:7410"]))
    assert not knows("192.168.1.2")
    assert knows("192.168.1.2", address="0.0.0.0"), "a page cannot call itself by a number"
    assert not knows("chat.example", address="0.0.0.0")
    assert knows("chat.example:443", hosts=["chat.example"])


# --- pages on the list ---------------------------------------------------------------------------


def test_only_a_page_on_the_list_may_read_responses(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, origins=["https://app.example"]) as server:
            here, page = ("Host", host_of(server)), ("Origin", "https://app.example")
            token = ("Authorization", f"Bearer {server.token}")
            asks = [("Access-Control-Request-Method", "PATCH")]
            path = "/api/conversations"
            status, told, _ = await request(server.url, "OPTIONS", path, [here, page, *asks])
            assert status == 204
            assert told["access-control-allow-origin"] == "https://app.example"
            assert told["access-control-allow-credentials"] == "true"
            assert "patch" in told["access-control-allow-methods"]
            assert "authorization" in told["access-control-allow-headers"]
            for given, expected in (([token], 200), ([], 401)):
                status, told, _ = await request(server.url, "GET", path, [here, page, *given])
                assert status == expected, "a refusal can be read as well"
                assert told["access-control-allow-origin"] == "https://app.example"
                assert told["vary"] == "origin"
            for origin in ("https://evil.example", "null", "https://app.example.evil"):
                other = ("Origin", origin)
                for method, given in (("OPTIONS", asks), ("GET", [token]), ("GET", [])):
                    _, told, _ = await request(server.url, method, path, [here, other, *given])
                    assert not [name for name in told if name.startswith("access-control")]
                    assert told["vary"] == "origin"
            elsewhere = [("Host", "evil.example"), page, *asks]
            assert (await request(server.url, "OPTIONS", path, elsewhere))[0] == 403

    asyncio.run(run())
