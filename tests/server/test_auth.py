"""Authentication by a token, a ticket, a cookie with its page key, or the application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from turnwire.core.error_codes import ERRORS, Refused
from turnwire.server.access.auth import PAGE_HEADER, Auth, cookie_in, cookie_name
from turnwire.server.access.gate import Gate
from turnwire.server.access.keys import Keys, Who
from turnwire.settings import Authenticate
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

Scope = dict[str, Any]
HOST = "localhost:8000"
HERE = ("Origin", f"http://{HOST}")
EVIL = ("Origin", "http://evil.example")
COOKIE = "turnwire_8000"


def http(*headers: tuple[str, str], method: str = "POST") -> Scope:
    """A request with these headers."""
    given = [(name.encode(), value.encode()) for name, value in headers]
    return {"type": "http", "method": method, "headers": given}


def socket(*headers: tuple[str, str], offers: tuple[str, ...] = ("turnwire.v2",)) -> Scope:
    """A WebSocket with these headers, which offers these subprotocols."""
    return {"type": "websocket", "headers": http(*headers)["headers"], "subprotocols": [*offers]}


def bearer(token: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {token}")


class Door:
    """The real keys on a real store, with an authentication for them."""

    def __init__(self, keys: Keys, authenticate: Authenticate | None) -> None:
        self.keys = keys
        gate = Gate(address="127.0.0.1", hosts=[], origins=["https://app.example"])
        self._auth = Auth(gate, keys, authenticate)

    async def who(self, scope: Scope) -> Who:
        return await self._auth.who(scope, HOST)

    async def refusal(self, scope: Scope) -> Refused:
        with pytest.raises(Refused) as refused:
            await self.who(scope)
        return refused.value

    async def said(self, scope: Scope) -> str | None:
        """Returns the authenticated user, or the code of the refusal."""
        try:
            return (await self.who(scope)).user
        except Refused as refused:
            return refused.code

    async def page(self, who: Who) -> tuple[str, str]:
        """The cookie and the page key of a browser."""
        entered = await self.keys.enter(await self.keys.link(who))
        assert entered is not None
        return entered[0], entered[1]


@asynccontextmanager
async def door(path: Path, authenticate: Authenticate | None = None) -> AsyncIterator[Door]:
    store = await SqliteStore.open(path / "turnwire.db")
    try:
        yield Door(Keys(store, ManualClock()), authenticate)
    finally:
        await store.close()


ANN = Who("ann", "user:ann")


# --- tokens ---------------------------------------------------------------------------------------


async def test_a_token_in_a_header_identifies_the_user(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        secret, token = await at.keys.make("laptop", "ann")
        for given in (bearer(secret), ("authorization", f"BEARER   {secret} ")):
            for scope in (http(given), socket(given)):
                assert await at.who(scope) == Who("ann", token.token_id)
        owners, _ = await at.keys.make("owner", None)
        assert (await at.who(http(bearer(owners)))).is_owner


async def test_a_program_needs_no_origin_but_a_page_has_to_be_ours(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        given = bearer((await at.keys.make("laptop", "ann"))[0])
        for origin, said in (
            ([], "ann"),
            ([HERE], "ann"),
            ([("Origin", "null")], "ann"),
            ([("Origin", "https://app.example")], "ann"),
            ([EVIL], "FORBIDDEN"),
            ([HERE, HERE], "FORBIDDEN"),
        ):
            assert await at.said(http(given, *origin)) == said
            assert await at.said(socket(given, *origin)) == said


async def test_an_invalid_token_opens_nothing(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        secret, _ = await at.keys.make("laptop", "ann")
        cookie, key = await at.page(ANN)
        for given in (
            [],
            [("Authorization", "")],
            [("Authorization", secret)],
            [("Authorization", f"Basic {secret}")],
            [bearer("")],
            [bearer(f"{secret}x")],
            [bearer(f"{cookie}.{key}")],  # a page's halves are no token of a program
            [bearer(secret), bearer(secret)],
        ):
            for scope in (http(*given), socket(*given), http(HERE, *given)):
                assert await at.said(scope) == "UNAUTHORIZED", given


# --- tickets --------------------------------------------------------------------------------------


async def test_a_ticket_opens_one_websocket_of_a_page_of_ours(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        for protocol in ("turnwire.v2", "turnwire.rpc"):
            ticket, _ = await at.keys.ticket(ANN)
            offers = (protocol, f"ticket.{ticket}")
            assert await at.said(socket(EVIL, offers=offers)) == "FORBIDDEN"
            assert await at.said(socket(offers=offers)) == "FORBIDDEN"
            assert await at.said(socket(("Origin", "null"), offers=offers)) == "FORBIDDEN"
            assert await at.who(socket(HERE, offers=offers)) == ANN
            assert await at.said(socket(HERE, offers=offers)) == "UNAUTHORIZED"


async def test_a_ticket_is_offered_second_and_after_a_protocol_of_ours(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        ticket, _ = await at.keys.ticket(ANN)
        given = f"ticket.{ticket}"
        for offers in (
            (given,),
            (given, "turnwire.v2"),
            ("other", given),
            ("turnwire.v2", ticket),
            ("turnwire.v2", f"page.{ticket}"),
            ("turnwire.v2", given, given),
        ):
            assert await at.said(socket(HERE, offers=offers)) == "UNAUTHORIZED", offers
        no_socket = {**http(HERE), "subprotocols": ["turnwire.v2", given]}
        assert await at.said(no_socket) == "UNAUTHORIZED"
        without = socket(HERE)
        del without["subprotocols"]
        assert await at.said(without) == "UNAUTHORIZED"
        assert await at.said(socket(HERE, offers=("turnwire.v2", given))) == "ann"


# --- pages ----------------------------------------------------------------------------------------


async def test_a_page_sends_its_cookie_and_its_key(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        cookie, key = await at.page(ANN)
        half, other = ("Cookie", f"a=b; {COOKIE}={cookie}"), (PAGE_HEADER, key)
        offers = ("turnwire.rpc", f"page.{key}")
        assert await at.said(http(HERE, half, other)) == "ann"
        assert await at.said(socket(HERE, half, offers=offers)) == "ann"
        for scope in (
            http(HERE, other),
            http(HERE, half, (PAGE_HEADER, f"{key}x")),
            http(HERE, ("Cookie", f"{COOKIE}=x"), other),
            http(HERE, ("Cookie", f"turnwire={cookie}"), other),  # of a server on another port
            socket(HERE, half, other),  # a browser's page cannot send this header
            socket(HERE, half, offers=("turnwire.rpc", f"ticket.{key}")),
        ):
            assert await at.said(scope) == "UNAUTHORIZED"


def test_the_name_of_the_header_is_a_part_of_the_protocol() -> None:
    assert PAGE_HEADER == "X-Turnwire-Page"


async def test_a_cookie_without_its_page_key_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        cookie, key = await at.page(ANN)
        usual = ERRORS["UNAUTHORIZED"].meaning
        half, wrong = ("Cookie", f"{COOKIE}={cookie}"), (PAGE_HEADER, f"{key}x")
        for scope, is_usual in (
            (http(HERE), True),
            (http(HERE, half), False),
            (http(HERE, half, wrong), True),
            (http(HERE, wrong), True),
        ):
            refused = await at.refusal(scope)
            assert refused.code == "UNAUTHORIZED"
            assert (refused.message == usual) is is_usual


async def test_a_cookie_works_only_for_pages_of_ours(tmp_path: Path) -> None:
    async with door(tmp_path) as at:
        cookie, key = await at.page(ANN)
        half, other = ("Cookie", f"{COOKIE}={cookie}"), (PAGE_HEADER, key)
        offers = ("turnwire.v2", f"page.{key}")
        for origin, said in (
            ([HERE], "ann"),
            ([("Origin", "https://app.example")], "ann"),
            ([EVIL], "FORBIDDEN"),
            ([("Origin", "null")], "FORBIDDEN"),
            ([], "FORBIDDEN"),
        ):
            assert await at.said(http(half, other, *origin)) == said
            assert await at.said(socket(half, *origin, offers=offers)) == said


async def test_a_page_that_only_reads_needs_no_origin_if_it_is_from_here(tmp_path: Path) -> None:
    """A browser sends no Origin with these, but says where the page is from."""
    async with door(tmp_path) as at:
        cookie, key = await at.page(ANN)
        page = (("Cookie", f"{COOKIE}={cookie}"), (PAGE_HEADER, key))
        for method in ("GET", "HEAD"):
            for site, said in (
                ([], "ann"),
                (["same-origin"], "ann"),
                (["none"], "ann"),
                (["same-site"], "FORBIDDEN"),
                (["cross-site"], "FORBIDDEN"),
            ):
                given = [("Sec-Fetch-Site", each) for each in site]
                assert await at.said(http(*page, *given, method=method)) == said
            assert await at.said(http(*page, EVIL, method=method)) == "FORBIDDEN"
        for method in ("POST", "DELETE", "OPTIONS"):
            given = [("Sec-Fetch-Site", "same-origin")]
            assert await at.said(http(*page, *given, method=method)) == "FORBIDDEN"


# --- an application's own users -------------------------------------------------------------------


async def by_header(scope: Any) -> Any:
    given = dict(scope["headers"]).get(b"X-User")
    return None if given is None else given.decode()


async def test_an_application_names_its_users(tmp_path: Path) -> None:
    async with door(tmp_path, by_header) as at:
        assert await at.who(http(("X-User", "carl"))) == Who("carl", "user:carl")
        assert await at.said(http()) == "UNAUTHORIZED"
        assert await at.said(http(("X-User", "owner"))) == "FORBIDDEN"
        assert await at.said(http(("X-User", ""))) == "FORBIDDEN"


async def test_a_key_of_ours_comes_before_the_application(tmp_path: Path) -> None:
    async with door(tmp_path, by_header) as at:
        secret, _ = await at.keys.make("laptop", "ann")
        carl = ("X-User", "carl")
        assert await at.said(http(bearer(secret), carl)) == "ann"
        assert await at.said(http(bearer("unknown"), carl)) == "carl"
        assert await at.said(http(bearer("unknown"), bearer("unknown"), carl)) == "UNAUTHORIZED"
        cookie, key = await at.page(ANN)
        page = (HERE, ("Cookie", f"{COOKIE}={cookie}"))
        assert await at.said(http(*page, (PAGE_HEADER, key), carl)) == "ann"
        assert await at.said(http(*page, carl)) == "carl"


async def test_a_cookie_counts_only_on_a_page_of_the_server(
    tmp_path: Path,
) -> None:
    async with door(tmp_path, by_header) as at:
        carl = ("X-User", "carl")
        cookie, basic = ("Cookie", "session=x"), ("Authorization", "Basic Y2FybA==")
        for added, said in (
            ([], "carl"),
            ([bearer("carls.jwt")], "carl"),
            ([cookie], "FORBIDDEN"),
            ([basic], "FORBIDDEN"),
            ([cookie, basic], "FORBIDDEN"),
        ):
            for scope in (http(carl, *added), socket(carl, *added)):
                assert await at.said(scope) == said, added
            assert await at.said(http(carl, *added, HERE)) == "carl"
            assert await at.said(http(carl, *added, EVIL)) == "FORBIDDEN"
            assert await at.said(http(carl, *added, method="GET")) == "carl"


async def test_an_application_that_returns_no_name_has_a_defect(tmp_path: Path) -> None:
    async def number(scope: Any) -> Any:
        return 7

    async with door(tmp_path, number) as at:
        with pytest.raises(TypeError):
            await at.who(http())


# --- cookies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "turnwire"),
        ("localhost:8000", "turnwire_8000"),
        ("[::1]", "turnwire"),
        ("[::1]:8000", "turnwire_8000"),
    ],
)
def test_servers_on_several_ports_have_cookies_of_several_names(host: str, name: str) -> None:
    assert cookie_name(host) == name


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ([], None),
        (["a=b"], None),
        (["turnwire_1=tw_x"], "tw_x"),
        (["a=b; turnwire_1=tw_x; c=d"], "tw_x"),
        (["turnwire_12=no;turnwire_1 = tw_x "], "tw_x"),
        (['turnwire_1="X=tw_x"'], "X=tw_x"),
        (["a=turnwire_1", "; ;=;turnwire_1=tw_x"], "tw_x"),
        (["a=b", "c=d", "turnwire_1=tw_x"], "tw_x"),
        (["turnwire_1=first", "turnwire_1=second"], "first"),
        (["xturnwire_1=no"], None),
        (["turnwire_1"], ""),
    ],
)
def test_a_cookie_is_found_among_others(lines: list[str], value: str | None) -> None:
    scope = http(*(("Cookie", line) for line in lines))
    assert cookie_in(scope, "turnwire_1") == value
