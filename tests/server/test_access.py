"""Access: each user has their own conversations, and an application brings its own users."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.server.helpers.browser_page import host_of
from tests.server.helpers.raw_http import request, upgrade
from tests.server.helpers.servers import serving
from tests.server.helpers.socket_access import connect
from turnwire.server.access.keys import Keys, Who

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
                    ("GET", "/api/conversations/missing", None),
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


def test_the_log_and_the_audit_trail_name_the_user(tmp_path: Path) -> None:
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


def test_a_permission_allows_no_more_than_the_agent_has_offered(tmp_path: Path) -> None:
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


# --- an application's own users ------------------------------------------------------------------


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
                ([basic], "FORBIDDEN"),  # a browser adds it to requests of every page
                ([("Authorization", "Bearer unknown")], "UNAUTHORIZED"),
                ([carl, carl], "UNAUTHORIZED"),
                ([("Authorization", f"Bearer {server.token}")], "in"),
            ):
                assert await connect(server, name, [here, *given]) == told, given
                given = [here, *given, ("Content-Type", "application/json")]
                made = await request(server.url, "POST", "/api/conversations", given, b"{}")
                status = {"in": 201, "FORBIDDEN": 403, "UNAUTHORIZED": 401}[told]
                assert made[0] == status, given

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


def test_a_user_who_is_just_connecting_is_disconnected_too(tmp_path: Path) -> None:
    """The user is known, but not connected: the conversation is still being read."""

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
