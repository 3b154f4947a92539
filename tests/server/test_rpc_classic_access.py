"""A front end of the profile `classic` is authenticated, though it offers no subprotocol."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.helpers.browser_page import host_of, page_of
from tests.server.helpers.classic_client import ClassicClient
from tests.server.helpers.http_scenes import play
from tests.server.helpers.raw_http import Headers, upgrade
from tests.server.helpers.servers import Process, Serving, process
from turnwire.agents.demo import DemoAgent

PAGE = "https://chat.example"
UNAUTHORIZED, FORBIDDEN = 4502, 4503


async def ticket_of(http: httpx.AsyncClient, headers: dict[str, str] | None = None) -> str:
    answer = await http.post("/api/tickets", headers=headers)
    assert answer.status_code == 201, answer.text
    return f"&ticket={answer.json()['ticket']}"


def browser(server: Serving | Process, more: str = "", **headers: str) -> ClassicClient:
    """The client in a browser, which sends these headers by itself."""
    return ClassicClient(server.url, "", more=more, headers=headers)


async def talks(client: ClassicClient) -> None:
    """Checks that a client can use the server: a message, its answer, the history."""
    async with client:
        await client.join()
        await client.ask("hello")
        assert client.screen.ends == ["success"]
        assert len((await client.call("getHistory"))["messages"]) == 3


async def refusal(client: ClassicClient) -> int:
    """Returns the code that a client is closed with, before it gets any frame."""
    await client.open()
    code = await client.until_closed()
    assert client.frames == []
    return code


def test_a_program_sends_a_token(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await talks(ClassicClient(server.url, server.token))
        assert await refusal(ClassicClient(server.url, "unknown")) == UNAUTHORIZED
        assert await refusal(browser(server)) == UNAUTHORIZED
        token = {"Authorization": f"Bearer {server.token}"}
        assert await refusal(browser(server, **token, Origin=PAGE)) == FORBIDDEN

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_page_of_another_origin_has_a_ticket_in_its_address(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        given = await ticket_of(http)
        for origin in ({}, {"Origin": "null"}, {"Origin": "https://evil.example"}):
            assert await refusal(browser(server, given, **origin)) == FORBIDDEN
        await talks(browser(server, given, Origin=PAGE))
        assert await refusal(browser(server, given, Origin=PAGE)) == UNAUTHORIZED, "it is good once"
        assert await refusal(browser(server, "&ticket=unknown", Origin=PAGE)) == UNAUTHORIZED
        assert await refusal(browser(server, "&ticket=", Origin=PAGE)) == UNAUTHORIZED
        await talks(browser(server, await ticket_of(http), Origin=server.url))

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)}, origins=[PAGE])


def test_the_conversations_of_a_ticket_are_those_of_its_user(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        own = await server.begin("ann")
        async with server.http(await server.token_of("bob")) as bobs:
            client = browser(server, await ticket_of(bobs), Origin=server.url)
        async with client:
            with pytest.raises(RuntimeError, match="does not exist"):
                await client.join(resume=own)
        async with server.http(await server.token_of("ann")) as anns:
            client = browser(server, await ticket_of(anns), Origin=server.url)
        async with client:
            assert (await client.join(resume=own))["sessionId"] == own

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


@pytest.mark.parametrize(
    "path",
    [
        "/ws/rpc?",
        "/ws/rpc?profile=other&",
        "/ws/chat?profile=classic&",
        "/ws/conversations/{}?protocol=v2&profile=classic&",
    ],
)
def test_no_other_socket_takes_a_ticket_in_its_address(tmp_path: Path, path: str) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        given = (await ticket_of(http)).removeprefix("&")
        headers: Headers = [("Host", host_of(server)), ("Origin", server.url)]
        where = path.format(await server.begin()) + given
        assert (await upgrade(server.url, where, headers))[1] == UNAUTHORIZED
        await talks(browser(server, f"&{given}", Origin=server.url))

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_page_with_a_cookie_fetches_a_ticket_with_its_page_key(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        page = dict(await page_of(server))
        cookie = {"Cookie": page["Cookie"], "Origin": server.url}
        assert await refusal(browser(server, **cookie)) == UNAUTHORIZED, "half of it is not enough"
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as plain:
            assert (await plain.post("/api/tickets", headers=cookie)).status_code == 401
            key = {"X-Turnwire-Page": page["X-Turnwire-Page"]}
            given = await ticket_of(plain, {**cookie, **key})
        await talks(browser(server, given, **cookie))

    play(tmp_path, scene, agents={"demo": DemoAgent(delay=0)})


def test_a_page_with_the_login_of_its_application_needs_nothing_else(tmp_path: Path) -> None:
    async def by_cookie(scope: Any) -> str | None:
        given = dict(scope["headers"]).get(b"cookie", b"").decode()
        return "ann" if given == "session=anns" else None

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        login = {"Cookie": "session=anns"}
        await talks(browser(server, **login, Origin=server.url))
        await talks(browser(server, **login, Origin=PAGE))
        assert await refusal(browser(server, **login)) == FORBIDDEN
        assert await refusal(browser(server, **login, Origin="https://evil.example")) == FORBIDDEN
        assert await refusal(browser(server, Cookie="session=x", Origin=PAGE)) == UNAUTHORIZED
        [row, _] = await server.service.store.conversations(user="ann", limit=5)
        assert row.user == "ann"

    play(
        tmp_path, scene, agents={"demo": DemoAgent(delay=0)}, authenticate=by_cookie, origins=[PAGE]
    )


def test_a_ticket_in_an_address_is_in_no_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scene(server: Process) -> str:
        async with server.http() as http:
            given = await ticket_of(http)
        await talks(browser(server, given, Origin=server.url))
        assert await refusal(browser(server, given, Origin=server.url)) == UNAUTHORIZED
        return given.removeprefix("&ticket=")

    with process(tmp_path) as server:
        ticket = asyncio.run(scene(server))
        server.stop()
    told = capfd.readouterr()
    assert ticket not in server.banner + told.out + told.err
