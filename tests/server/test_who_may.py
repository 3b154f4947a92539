"""A door that opens only to the right person, on loopback too. Each control has its test."""

from __future__ import annotations

import asyncio
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cost import grows_linearly
from tests.server.raw import Headers, request, upgrade
from tests.server.serving import Serving, serving
from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.dialects.v2.close_codes import CLOSES_WITH
from turnwire.ports import Token
from turnwire.server.access.auth import cookie_in, cookie_name
from turnwire.server.access.gate import Gate
from turnwire.server.access.keys import Keys, Who, digest_of, owner_file
from turnwire.server.access.public import Public
from turnwire.server.api.changes import Listener
from turnwire.server.sockets.hub import Seat
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing import ManualClock


def host_of(server: Serving) -> str:
    return server.url.removeprefix("http://")


async def connect(server: Serving, name: str, headers: Headers) -> str:
    """What became of a WebSocket with these headers: `in`, or the code of the refusal."""
    path = f"/ws/conversations/{name}?protocol=v2"
    frames, code, _ = await upgrade(server.url, path, headers)
    if not code:
        return "in"
    [error] = frames
    assert error["type"] == "session.error"
    assert error["sequence"] == 1
    assert code == CLOSES_WITH[error["payload"]["code"]]
    return str(error["payload"]["code"])


async def page_of(server: Serving, protocol: str = "turnwire.v2") -> Headers:
    """What a page sends, had with a one-time link: with a request, and with a WebSocket."""
    link = await server.service.keys.link(server.owner)
    async with server.http() as http:
        entered = await http.post("/enter", json={"link": link})
    assert entered.status_code == 201
    told, key = entered.headers["set-cookie"], entered.json()["page_key"]
    assert "HttpOnly" in told
    assert "SameSite=strict" in told
    return [
        ("Cookie", told.partition(";")[0]),
        ("X-Turnwire-Page", key),
        ("Sec-WebSocket-Protocol", f"{protocol}, page.{key}"),
    ]


# --- CVE-2025-52882, CVE-2026-44211, CVE-2023-26114, CVE-2025-24010: pages from elsewhere ---------


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
def test_a_page_from_elsewhere_is_refused(
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


def test_two_origins_are_none(tmp_path: Path) -> None:
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
    """Another port of this machine is the same site for a cookie, but another page."""

    async def run() -> None:
        async with serving(tmp_path) as server:
            given = [("Host", host_of(server)), *await page_of(server)]
            given += [("Sec-Fetch-Site", site)] if site else []
            got, _, _ = await request(server.url, "GET", "/api/conversations", given)
            assert got == status

    asyncio.run(run())


# --- CVE-2025-66416, CVE-2025-64443: names that lead here ----------------------------------------


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


# --- CVE-2025-49596, CVE-2026-22812, CVE-2026-112346: nobody without a key -------------------------


def test_nobody_comes_in_without_a_key(tmp_path: Path) -> None:
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
    file = owner_file(tmp_path / "data")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert token.encode() not in (tmp_path / "data" / "turnwire.db").read_bytes()
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
    """What looks at a link without being asked, to show what is there or to be quick, does not."""

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
    """It was the whole token. A page that has one is told to open a new link: 401."""

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


# --- CVE-2026-59216: each sees their own ------------------------------------------------------------


def test_a_conversation_is_its_creators_and_the_owners(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            ann, ben = await server.token_of("ann"), await server.token_of("ben")
            name = await server.begin(user="ann")
            async with server.client(name, ann) as client:
                await client.say("secret words and a question", "m-1")
                asked = await client.until("assistant.request_input")
            item = asked["payload"]["inbox_item_id"]
            async with server.http(ben) as http:
                for method, path, body in [
                    ("GET", f"/api/conversations/{name}", None),
                    ("PATCH", f"/api/conversations/{name}", {"title": "mine"}),
                    ("DELETE", f"/api/conversations/{name}", None),
                    ("GET", f"/api/conversations/{name}/messages", None),
                    ("GET", f"/api/conversations/{name}/export", None),
                    ("GET", f"/api/audit?conversation={name}", None),
                    ("POST", f"/api/inbox/{item}/answer", {"answer": "mine"}),
                    ("GET", "/api/conversations/nobodys", None),
                ]:
                    answer = await http.request(method, path, json=body)
                    assert answer.status_code == 404, (method, path)
                assert (await http.get("/api/conversations")).json() == {"conversations": []}
                assert (await http.get("/api/inbox")).json() == {"items": []}
                assert (await http.get("/api/search?q=secret")).json() == {"hits": []}
                assert (await http.get("/api/audit")).status_code == 403
            given = [("Host", host_of(server)), ("Authorization", f"Bearer {ben}")]
            assert await connect(server, name, given) == "CONVERSATION_NOT_FOUND"
            for token in (ann, server.token):
                async with server.http(token) as http:
                    assert (await http.get(f"/api/conversations/{name}")).status_code == 200
                    assert len((await http.get("/api/conversations")).json()["conversations"]) == 1
                    assert len((await http.get("/api/inbox")).json()["items"]) == 1
                    assert (await http.get("/api/search?q=secret")).json()["hits"]

    asyncio.run(run())


def test_who_said_what_is_written_down(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            ann = await server.token_of("ann")
            name = await server.begin(user="ann")
            async with server.client(name, ann) as client:
                await client.say("hello", "m-1")
                said = await client.until("user.message")
                assert said["payload"]["by"] == "ann"
                await client.state("active")
            async with server.http() as http:
                rows = (await http.get(f"/api/audit?conversation={name}")).json()["audit"]
            assert {"connected"} <= {row["action"] for row in rows}
            assert all(row["by"] in ("ann", None) for row in rows)

    asyncio.run(run())


def test_nobody_opens_more_with_a_permission_than_the_agent_has_offered(tmp_path: Path) -> None:
    everything = {"type": "addDirectories", "directories": ["/"], "destination": "userSettings"}

    async def run() -> None:
        async with serving(tmp_path) as server:
            ann = await server.token_of("ann")
            name = await server.begin(user="ann")
            async with server.client(name, ann) as client, server.http(ann) as http:
                await client.say("permission", "m-1")
                asked = (await client.until("assistant.permission_request"))["payload"]
                answer = {"request_id": asked["request_id"], "decision": "allow"}
                refused = {**answer, "remember": [everything]}
                await client.send("user.permission_response", "m-2", **refused)
                assert (await client.answer("m-2"))["payload"]["code"] == "INVALID_PAYLOAD"
                (item,) = (await http.get("/api/inbox")).json()["items"]
                address = f"/api/inbox/{item['inbox_item_id']}/answer"
                said = await http.post(
                    address, json={"decision": "allow", "remember": [everything]}
                )
                assert said.json()["error"]["code"] == "INVALID_PAYLOAD"
                taken = {**answer, "remember": asked["suggestions"]}
                await client.send("user.permission_response", "m-3", **taken)
                assert (await client.answer("m-3"))["type"].endswith("ack")
                await client.end_of(1)

    asyncio.run(run())


def test_a_directory_that_is_not_open_is_refused_with_those_that_are(tmp_path: Path) -> None:
    roots = [str(tmp_path / name) for name in ("one", "two")]
    for root in roots:
        Path(root).mkdir()

    async def run() -> None:
        async with serving(tmp_path / "data", roots=roots) as server:
            async with server.http(await server.token_of("ann")) as http:
                wish = {"agent": "demo", "cwd": "/etc"}
                refused = (await http.post("/api/conversations", json=wish)).json()["error"]
            assert refused["code"] == "FORBIDDEN"
            assert f"below {roots[0]}, {roots[1]} (the setting `roots`)" in refused["message"]
        async with serving(tmp_path / "other") as server:
            async with server.http() as http:
                refused = (await http.post("/api/conversations", json=wish)).json()["error"]
            assert "the setting `roots` is empty" in refused["message"]

    asyncio.run(run())


# --- revoking ------------------------------------------------------------------------------------


def test_revoking_a_token_cuts_who_is_connected_with_it(tmp_path: Path) -> None:
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
    """Somebody on the list who cannot be looked after."""

    def tick(self) -> None:
        raise ZeroDivisionError


def test_a_defect_ends_neither_signs_of_life_nor_revoking(
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


def test_what_is_revoked_here_opens_nothing_from_that_moment(tmp_path: Path) -> None:
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


# --- an application's own users ------------------------------------------------------------------


def test_what_opens_nothing_any_more_is_forgotten_after_a_while(tmp_path: Path) -> None:
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


def test_an_application_brings_its_own_users(tmp_path: Path) -> None:
    async def authenticate(scope: Any) -> str | None:
        given = dict(scope["headers"]).get(b"x-user")
        if given == b"broken":
            raise ZeroDivisionError
        return None if given is None else given.decode()

    async def run() -> None:
        async with serving(tmp_path, authenticate=authenticate) as server:
            host = host_of(server)
            name = await server.begin(user="carl")
            here = [("Host", host), ("Origin", f"http://{host}")]
            assert await connect(server, name, [*here, ("X-User", "carl")]) == "in"
            dora = [*here, ("X-User", "dora")]
            assert await connect(server, name, dora) == "CONVERSATION_NOT_FOUND"
            assert await connect(server, name, here) == "UNAUTHORIZED"
            assert await connect(server, name, [*here, ("X-User", "broken")]) == "INTERNAL_ERROR"
            assert await connect(server, name, [*here, ("X-User", "owner")]) == "FORBIDDEN"
            elsewhere = [("Host", host), ("Origin", "http://evil.example"), ("X-User", "carl")]
            assert await connect(server, name, elsewhere) == "FORBIDDEN"

    asyncio.run(run())


def test_users_of_an_application_come_with_a_key_of_its_own_kind(tmp_path: Path) -> None:
    """A Bearer that Turnwire does not know is the application's to judge; then no page is needed."""

    async def authenticate(scope: Any) -> str | None:
        headers = dict(scope["headers"])
        keys = (b"Bearer carls.jwt", b"Basic Y2FybA==")
        return "carl" if headers.get(b"authorization") in keys else None

    async def run() -> None:
        async with serving(tmp_path, authenticate=authenticate) as server:
            name, host = await server.begin(user="carl"), host_of(server)
            here, carl = ("Host", host), ("Authorization", "Bearer carls.jwt")
            origin, evil = ("Origin", f"http://{host}"), ("Origin", "http://evil.example")
            basic = ("Authorization", "Basic Y2FybA==")
            for given, told in (
                ([carl], "in"),
                ([carl, origin], "in"),
                ([carl, evil], "FORBIDDEN"),
                ([basic, origin], "in"),
                ([basic], "FORBIDDEN"),  # a browser adds it to what any page asks for
                ([("Authorization", "Bearer somebody")], "UNAUTHORIZED"),
                ([carl, carl], "UNAUTHORIZED"),
                ([("Authorization", f"Bearer {server.token}")], "in"),
            ):
                assert await connect(server, name, [here, *given]) == told, given
                given = [here, *given, ("Content-Type", "application/json")]
                made = await request(server.url, "POST", "/api/conversations", given, b"{}")
                status = {"in": 201, "FORBIDDEN": 403, "UNAUTHORIZED": 401}[told]
                assert made[0] == status, given

    asyncio.run(run())


# --- pages on the list ---------------------------------------------------------------------------


def test_a_page_on_the_list_may_read_what_it_is_answered_and_no_other(tmp_path: Path) -> None:
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


def test_a_user_of_an_application_has_a_name(tmp_path: Path, caplog: Any) -> None:
    async def authenticate(scope: Any) -> Any:
        return 7

    async def run() -> None:
        async with serving(tmp_path, authenticate=authenticate) as server, server.http("") as http:
            answer = await http.get("/api/conversations", headers={"Authorization": ""})
            assert (answer.status_code, answer.json()["error"]["code"]) == (500, "INTERNAL_ERROR")

    asyncio.run(run())
    assert "Settings.authenticate returns a user's name, a str, or None; not int" in caplog.text


def test_an_application_can_cut_a_user_off(tmp_path: Path) -> None:
    async def authenticate(scope: Any) -> str | None:
        given = dict(scope["headers"]).get(b"authorization", b"").decode()
        return given.removeprefix("Bearer user-") if "user-" in given else None

    async def run() -> None:
        async with serving(tmp_path, authenticate=authenticate) as server:
            carls = await server.client(await server.begin(user="carl"), "user-carl").come()
            doras = await server.client(await server.begin(user="dora"), "user-dora").come()
            owners = await server.client(await server.begin()).come()
            server.app.disconnect("carl")
            assert await carls.until_closed() == 4502
            assert carls.frames[-1]["payload"]["code"] == "UNAUTHORIZED"
            carls.check()
            for other in (doras, owners):
                await other.say("hello", "m-1")
                await other.end_of(1)
                await other.leave()

    asyncio.run(run())


def test_a_ticket_from_before_a_sign_out_opens_nothing(tmp_path: Path) -> None:
    async def authenticate(scope: Any) -> str | None:
        given = dict(scope["headers"]).get(b"authorization", b"").decode()
        return given.removeprefix("Bearer user-") if "user-" in given else None

    async def run() -> None:
        async with serving(tmp_path, authenticate=authenticate) as server:
            name, host = await server.begin(user="carl"), host_of(server)
            here = [("Host", host), ("Origin", f"http://{host}")]

            async def ticket(user: str) -> tuple[str, str]:
                async with server.http(f"user-{user}") as http:
                    given = (await http.post("/api/tickets")).json()["ticket"]
                return ("Sec-WebSocket-Protocol", f"turnwire.v2, ticket.{given}")

            before, other = await ticket("carl"), await ticket("dora")
            link = await server.service.keys.link(Who("carl", "user:carl"))
            server.app.disconnect("carl")
            assert await connect(server, name, [*here, before]) == "UNAUTHORIZED"
            assert await server.service.keys.enter(link) is None
            doras = await server.begin(user="dora")
            assert await connect(server, doras, [*here, other]) == "in", "others keep theirs"
            again = await ticket("carl")
            assert await connect(server, name, [*here, again]) == "in", "who signs in again may"

    asyncio.run(run())


def test_tickets_of_a_sign_out_are_void_for_another_server_too(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            keys = server.service.keys
            ticket, _ = await keys.ticket(Who("carl", "user:carl"))
            server.app.disconnect("carl")
            await server.service._background.done()
            other = Keys(server.service.store, server.service.engine.clock)
            assert await other.take_ticket(ticket) is None

    asyncio.run(run())


def test_a_user_who_is_just_being_let_in_is_cut_off_too(tmp_path: Path) -> None:
    """They are known already, but not connected yet: their conversation is still looked up."""

    async def authenticate(scope: Any) -> str | None:
        return "carl" if (b"x-user", b"carl") in scope["headers"] else None

    async def run() -> None:
        async with serving(tmp_path, authenticate=authenticate) as server:
            name, look_up = await server.begin(user="carl"), server.service.talk

            async def late(*args: Any, **more: Any) -> Any:
                server.app.disconnect("carl")
                return await look_up(*args, **more)

            server.service.talk = late  # type: ignore[method-assign]
            path = f"/ws/conversations/{name}?protocol=v2"
            given = [("Host", host_of(server)), ("X-User", "carl")]
            frames, code, _ = await upgrade(server.url, path, given)
            assert (frames[-1]["payload"]["code"], code) == ("UNAUTHORIZED", 4502)

    asyncio.run(run())


# --- cookies --------------------------------------------------------------------------------------


def cookie_from(*lines: str) -> str | None:
    headers = [(b"cookie", line.encode("latin-1")) for line in lines]
    return cookie_in({"type": "http", "headers": headers}, "turnwire_1")


def test_a_long_cookie_costs_what_its_length_says() -> None:
    """Anybody can send one, and the standard library's parser takes the square of its length."""

    def line(length: int) -> str:
        return 'turnwire_1="' + "\\a" * length + '"'

    assert grows_linearly(cookie_from, line, 16_000)
