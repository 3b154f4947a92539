"""Credentials on a real server: tokens, links, cookies, tickets, and revoking them."""

from __future__ import annotations

import asyncio
import re
import stat
from pathlib import Path

import pytest

from tests.helpers.cost_growth import grows_linearly
from tests.server.helpers.browser_page import host_of, page_of
from tests.server.helpers.raw_http import request, upgrade
from tests.server.helpers.servers import serving
from tests.server.helpers.socket_access import connect
from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.ports import Token
from turnwire.server.access.auth import cookie_in, cookie_name
from turnwire.server.access.keys import Keys, digest_of, owner_file
from turnwire.server.api.changes import Listener
from turnwire.server.sockets.hub import Seat
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing import ManualClock

# --- CVE-2025-49596, CVE-2026-22812, CVE-2026-112346: no access without a key -------------------------


def test_a_client_without_a_key_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            name, host = await server.begin(), host_of(server)
            from_here = [("Host", host), ("Origin", f"http://{host}")]
            for given in (
                [],
                [("Authorization", "Bearer ")],
                [("Authorization", "Bearer wrong")],
                [("Authorization", f"Basic {server.token}")],
                [("Authorization", server.token)],
                [("Authorization", f"Bearer {server.token}"), ("Authorization", "Bearer x")],
                [("Cookie", f"turnwire={server.token}")],
                [("Cookie", f"{cookie_name(host)}={server.token}")],
                [("Cookie", '"; =;; a="b')],
                [("Sec-WebSocket-Protocol", f"turnwire.v2, ticket.{server.token}")],
            ):
                assert await connect(server, name, [*from_here, *given]) == "UNAUTHORIZED", given
                status, told, _ = await request(
                    server.url, "GET", "/api/conversations", [*from_here, *given]
                )
                assert (status, told["www-authenticate"]) == (401, "bearer"), given

    asyncio.run(run())


def test_a_token_in_the_address_is_no_key(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            for word in ("token", "access_token", "ticket", "link"):
                path = f"/api/conversations?{word}={server.token}"
                status, _, _ = await request(server.url, "GET", path, [("Host", host_of(server))])
                assert status == 401

    asyncio.run(run())


def test_only_its_owner_can_read_the_token(tmp_path: Path) -> None:
    async def run() -> str:
        async with serving(tmp_path / "data") as server:
            assert server.token.startswith("tw_")
            return server.token

    token = asyncio.run(run())
    assert not any(
        token.encode() in each.read_bytes()
        for each in (tmp_path / "data").iterdir()
        if each.name.startswith("turnwire.db")
    )
    file = owner_file(tmp_path / "data")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    file.chmod(0o644)
    assert asyncio.run(run()) == token, "it stays the same over restarts"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "and is closed again"
    file.unlink()
    assert asyncio.run(run()) != token, "a lost one is replaced"


def test_a_link_lets_one_browser_in_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, server.http() as http:
            wish = {"link": await server.service.keys.link(server.owner)}
            entered = await http.post("/enter", json=wish)
            assert entered.status_code == 201
            assert re.match(r"turnwire_\d+=tw_", entered.headers["set-cookie"])
            again = await http.post("/enter", json=wish)
            assert (again.status_code, again.json()["error"]["code"]) == (403, "FORBIDDEN")
            assert "turnwire token link" in again.json()["error"]["message"]
            assert "set-cookie" not in again.headers

    asyncio.run(run())


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT"])
def test_only_a_page_uses_a_link_up(tmp_path: Path, method: str) -> None:
    """A program that opens links in advance or for a preview does not use them up."""

    async def run() -> None:
        async with serving(tmp_path) as server, server.http() as http:
            link = await server.service.keys.link(server.owner)
            looked = await http.request(method, "/enter", params={"link": link})
            assert looked.status_code == (200 if method in ("GET", "HEAD") else 405)
            assert "set-cookie" not in looked.headers
            page = {"Origin": "http://evil.example"}
            assert (await http.post("/enter", json={"link": link}, headers=page)).status_code == 403
            assert (await http.post("/enter", json={"link": link})).status_code == 201

    asyncio.run(run())


def test_a_cookie_alone_opens_nothing(tmp_path: Path) -> None:
    """A browser sends it to every port of the host: to servers of others, too."""

    async def run() -> None:
        async with serving(tmp_path) as server:
            name, host = await server.begin(), host_of(server)
            here = [("Host", host), ("Origin", f"http://{host}")]
            cookie, key, protocol = await page_of(server)
            _, others_key, others_protocol = await page_of(server)
            for given, in_socket, status in (
                ([cookie, key, protocol], "in", 200),
                ([cookie], "UNAUTHORIZED", 401),
                ([key, protocol], "UNAUTHORIZED", 401),
                ([cookie, others_key, others_protocol], "UNAUTHORIZED", 401),
            ):
                assert await connect(server, name, [*here, *given]) == in_socket
                for path in ("/api/conversations", f"/api/conversations/{name}/export"):
                    got, _, _ = await request(server.url, "GET", path, [*here, *given])
                    assert got == status, (given, path)

    asyncio.run(run())


def test_a_cookie_of_before_page_keys_opens_nothing(tmp_path: Path) -> None:
    """The old cookie was the whole token. Its page is told to open a new link: 401."""

    async def run() -> None:
        async with serving(tmp_path) as server:
            token = Token("old", "browser", "page", None, iso(0), None)
            await server.service.store.add_token(token, digest_of("tw_old"))
            host = host_of(server)
            for more in ([], [("X-Turnwire-Page", "")], [("X-Turnwire-Page", "tw_old")]):
                given = [("Host", host), ("Cookie", f"{cookie_name(host)}=tw_old"), *more]
                got, _, _ = await request(server.url, "GET", "/api/agents", given)
                assert got == 401

    asyncio.run(run())


# --- tickets -----------------------------------------------------------------------------------


def test_a_ticket_opens_one_socket(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, server.http() as http:
            name, host = await server.begin(), host_of(server)
            ticket = (await http.post("/api/tickets")).json()["ticket"]
            given = [
                ("Host", host),
                ("Origin", f"http://{host}"),
                ("Sec-WebSocket-Protocol", f"turnwire.v2, ticket.{ticket}"),
            ]
            path = f"/ws/conversations/{name}?protocol=v2"
            frames, code, chosen = await upgrade(server.url, path, given)
            assert (frames[0]["type"], code) == ("session.connected", 0)
            assert chosen == "turnwire.v2", "never the one that holds the ticket"
            assert await connect(server, name, given) == "UNAUTHORIZED", "and only once"
            ticket = (await http.post("/api/tickets")).json()["ticket"]
            elsewhere = [
                ("Host", host),
                ("Origin", "http://evil.example"),
                ("Sec-WebSocket-Protocol", f"turnwire.v2, ticket.{ticket}"),
            ]
            assert await connect(server, name, elsewhere) == "FORBIDDEN"

    asyncio.run(run())


# --- revoking ------------------------------------------------------------------------------------


def test_revoking_a_token_disconnects_its_clients(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            secret, token = await server.service.keys.make("laptop", "ann")
            name = await server.begin(user="ann")
            client = await server.client(name, secret).come()
            other = await server.client(name).come()
            now = "2026-01-01T00:00:00.000Z"
            assert await server.service.store.revoke_token(token.token_id, at=now)
            assert await client.until_closed() == 4502
            assert client.frames[-1]["payload"]["code"] == "UNAUTHORIZED"
            client.check()
            given = [("Host", host_of(server)), ("Authorization", f"Bearer {secret}")]
            assert await connect(server, name, given) == "UNAUTHORIZED"
            await other.say("hello", "m-1")
            await other.end_of(1)
            await other.leave()

    asyncio.run(run())


class Defective(Listener):
    """A listener whose heartbeat raises an error."""

    def tick(self) -> None:
        raise ZeroDivisionError


def test_a_defect_ends_neither_heartbeats_nor_revoking(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with serving(tmp_path, heartbeat_seconds=1) as server:
            hub, store = server.service.hub, server.service.store
            tokens, failed = store.tokens, asyncio.Event()

            async def fail() -> list[Token]:
                store.tokens = tokens  # type: ignore[method-assign]
                failed.set()
                raise ZeroDivisionError

            store.tokens = fail  # type: ignore[method-assign]
            defective = Defective(server.owner)
            hub.add(defective, Seat(server.owner))
            secret, token = await server.service.keys.make("laptop", "ann")
            client = await server.client(await server.begin(user="ann"), secret).come()
            await failed.wait()
            await client.until("session.heartbeat_ack")
            await store.revoke_token(token.token_id, at="2026-01-01T00:00:00.000Z")
            assert await client.until_closed() == 4502
            hub.remove(defective)

    asyncio.run(run())
    told = {record.message for record in caplog.records}
    assert {"a connection cannot be checked", "tokens cannot be checked"} <= told


def test_a_revoked_token_gets_no_ticket_and_no_link(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            keys, store = server.service.keys, server.service.store
            secret, token = await keys.make("laptop", "ann")
            name = await server.begin(user="ann")
            async with server.http(secret) as http:
                given = (await http.post("/api/tickets")).json()["ticket"]
                who = await keys.holder(secret, "token")
                assert who is not None
                link = await keys.link(who)
                # As another process does it: this one has just looked, and still trusts the token.
                assert await store.revoke_token(token.token_id, at="2026-01-01T00:00:00.000Z")
                refused = await http.post("/api/tickets")
                assert refused.status_code == 401
                assert refused.json()["error"]["code"] == "UNAUTHORIZED"
                with pytest.raises(Refused):
                    await keys.link(who)
                assert await keys.enter(link) is None
            offered = [
                ("Host", host_of(server)),
                ("Origin", server.url),
                ("Sec-WebSocket-Protocol", f"turnwire.v2, ticket.{given}"),
            ]
            assert await connect(server, name, offered) == "UNAUTHORIZED"

    asyncio.run(run())


def test_a_revoked_token_opens_nothing_from_that_moment(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            secret, token = await server.service.keys.make("laptop", "ann")
            name = await server.begin(user="ann")
            client = await server.client(name, secret).come()
            async with server.http(secret) as http:
                assert (await http.get("/api/inbox")).status_code == 200
                looking = asyncio.create_task(server.service.keys.holder(secret, "token"))
                assert await server.app.revoke(token.token_id)
                await looking
                assert (await http.get("/api/inbox")).status_code == 401
                assert await client.until_closed() == 4502
                assert not await server.app.revoke(token.token_id)

    asyncio.run(run())


def test_expired_tokens_and_tickets_are_deleted_after_a_while(tmp_path: Path) -> None:
    day = 24 * 3600

    async def run() -> None:
        clock = ManualClock()
        store = await SqliteStore.open(tmp_path / "turnwire.db")
        keys = Keys(store, clock)
        await keys.owner(tmp_path)
        _, token = await keys.make("laptop", "ann")
        _, page = await keys.make("browser", None, "page")
        await store.revoke_token(token.token_id, at=iso(clock.now()))
        clock.forward(29 * day)
        await keys.forget()
        there = {each.token_id for each in await store.tokens()}
        assert {token.token_id, page.token_id} < there, "people may want to look at them"
        clock.forward(2 * day)
        await keys.forget()
        assert page.token_id in {each.token_id for each in await store.tokens()}
        clock.forward(30 * day)
        await keys.forget()
        assert [each.name for each in await store.tokens()] == ["owner"]
        await store.close()

    asyncio.run(run())


# --- cookies --------------------------------------------------------------------------------------


def cookie_from(*lines: str) -> str | None:
    headers = [(b"cookie", line.encode("latin-1")) for line in lines]
    return cookie_in({"type": "http", "headers": headers}, "turnwire_1")


def test_parsing_a_long_cookie_takes_time_in_proportion_to_its_length() -> None:
    """Every client can send a cookie, and the standard library parses it in quadratic time."""

    def line(length: int) -> str:
        return 'turnwire_1="' + "\\a" * length + '"'

    assert grows_linearly(cookie_from, line, 16_000)
