"""The gate: the host names of a server, and the origins that may use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from turnwire.core.error_codes import Refused
from turnwire.server.access.gate import Gate, header, headers_of, is_loopback

Scope = dict[str, Any]


def scope(*headers: tuple[str, str], scheme: str | None = "http") -> Scope:
    """A request with these headers."""
    given = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    made: Scope = {"type": "http", "headers": given}
    return made if scheme is None else {**made, "scheme": scheme}


def gate(
    *hosts: str,
    address: str = "127.0.0.1",
    origins: tuple[str, ...] = (),
    is_secure: Callable[[str], bool] | None = None,
) -> Gate:
    more = {} if is_secure is None else {"is_secure": is_secure}
    return Gate(address=address, hosts=hosts, origins=origins, **more)


def refusal(check: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as refused:
        check()
    assert refused.value.code == "FORBIDDEN"
    return refused.value


# --- the name of the server -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:8000", "LOCALHOST:8000", "[::1]:8000"],
)
def test_every_server_answers_to_the_names_of_its_own_machine(host: str) -> None:
    for address in ("127.0.0.1", "::1", "0.0.0.0"):
        assert gate(address=address).host(scope(("Host", host))) == host.lower()


def test_a_server_answers_to_its_address_and_to_the_names_of_its_setting() -> None:
    named = gate("Chat.Example", "[fe80::1]", address="Box.Local")
    for host in ("chat.example", "CHAT.example:80", "box.local", "[fe80::1]:80"):
        assert named.host(scope(("Host", host))) == host.lower()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "",
        ":80",
        "localhost:port",
        "localhost:99999",
        "[::1",
        "me@localhost",
        "localhost/path",
        "localhost?query",
        "localhost#fragment",
    ],
)
def test_a_request_that_calls_the_server_by_another_name_is_refused(host: str) -> None:
    refusal(lambda: gate().host(scope(("Host", host))))


def test_a_server_that_other_machines_reach_answers_to_every_number_but_to_no_other_name() -> None:
    """A page can give itself a name that leads to the server, but not a number."""
    for open_to_all in (gate(address="0.0.0.0"), gate(address="box.local")):
        assert open_to_all.host(scope(("Host", "10.0.0.1:80"))) == "10.0.0.1:80"
        assert open_to_all.host(scope(("Host", "[fe80::2]"))) == "[fe80::2]"
        refusal(lambda own=open_to_all: own.host(scope(("Host", "evil.example"))))  # type: ignore[misc]


def test_a_request_has_exactly_one_host_header() -> None:
    refusal(lambda: gate().host(scope()))
    refusal(lambda: gate().host(scope(("Host", "localhost"), ("host", "localhost"))))


# --- the page that asks ---------------------------------------------------------------------------


def test_a_page_of_the_server_itself_is_allowed() -> None:
    for without in (True, False):
        asks = scope(("Origin", "http://LOCALHOST:8000"))
        gate().origin(asks, "localhost:8000", without=without)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost",
        "http://localhost:8001",
        "localhost:8000",
        "",
        "file://",
        "https://app.example.evil",
    ],
)
def test_a_page_of_another_origin_is_not_allowed(origin: str) -> None:
    guarded = gate(origins=("https://app.example",))
    for without in (True, False):
        asks = scope(("Origin", origin))
        refused = refusal(lambda: guarded.origin(asks, "localhost:8000", without=without))  # noqa: B023
        assert "`origins`" in refused.message, "the setting that would let it in"


def test_a_page_on_the_list_may() -> None:
    guarded = gate(origins=("https://app.example/", "HTTP://BOX"))
    for origin in ("https://APP.example", "http://box"):
        guarded.origin(scope(("Origin", origin)), "localhost:8000", without=False)


def test_only_where_it_is_allowed_a_request_needs_no_origin() -> None:
    gate().origin(scope(), "localhost", without=True)
    refusal(lambda: gate().origin(scope(), "localhost", without=False))


def test_a_page_without_an_address_counts_as_no_page() -> None:
    asks = scope(("Origin", "null"))
    gate().origin(asks, "localhost", without=True)
    refusal(lambda: gate().origin(asks, "localhost", without=False))


def test_two_origins_are_refused_even_if_both_are_good() -> None:
    good = ("Origin", "http://localhost")
    refusal(lambda: gate().origin(scope(good, good), "localhost", without=True))


@pytest.mark.parametrize("scheme", ["https", "wss"])
def test_over_tls_the_servers_own_page_is_an_https_page(scheme: str) -> None:
    secure = scope(("Origin", "https://localhost"), scheme=scheme)
    gate().origin(secure, "localhost", without=False)
    plain = scope(("Origin", "http://localhost"), scheme=scheme)
    refusal(lambda: gate().origin(plain, "localhost", without=False))


@pytest.mark.parametrize("scheme", ["http", "ws", None])
def test_without_tls_an_https_page_of_the_same_name_gets_a_hint_at_the_proxy(
    scheme: str | None,
) -> None:
    asks = scope(("Origin", "https://localhost"), scheme=scheme)
    refused = refusal(lambda: gate().origin(asks, "localhost", without=False))
    assert "`public_url`" in refused.message, "the setting for a server behind a proxy"


def test_with_a_tls_proxy_only_the_proxys_name_is_an_https_origin() -> None:
    behind = gate("chat.example", is_secure=lambda host: host == "chat.example")
    behind.origin(scope(("Origin", "https://chat.example")), "chat.example", without=False)
    behind.origin(scope(("Origin", "http://localhost")), "localhost", without=False)
    plain = scope(("Origin", "http://chat.example"))
    refusal(lambda: behind.origin(plain, "chat.example", without=False))


def test_the_origin_of_a_page_on_the_list_is_returned_as_it_was_sent() -> None:
    listed = gate(origins=("https://app.example",))
    assert listed.knows_pages
    assert listed.page(scope(("Origin", "https://APP.example"))) == "https://APP.example"
    for other in (
        [],
        [("Origin", "https://evil.example")],
        [("Origin", "https://app.example")] * 2,
    ):
        assert listed.page(scope(*other)) is None
    assert gate().knows_pages is False
    assert gate().page(scope()) is None


# --- addresses and headers ------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "LocalHost"])
def test_loopback_addresses_are_known(address: str) -> None:
    assert is_loopback(address) is True


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "10.0.0.1", "chat.example", "localhost.example", "", "X127.0.0.1"]
)
def test_other_addresses_are_no_loopback(address: str) -> None:
    assert is_loopback(address) is False


def test_the_name_of_a_header_is_found_in_any_case_and_its_value_may_be_any_bytes() -> None:
    given = scope(("X-One", "a\xff"), ("x-two", "b"), ("X-TWO", "c"))
    assert headers_of(given, b"x-one") == ["a\xff"]
    assert headers_of(given, b"x-two") == ["b", "c"]
    assert headers_of(given, b"x-three") == []


def test_a_header_that_comes_twice_has_no_value() -> None:
    given = scope(("X-One", "a"), ("X-Two", "b"), ("X-Two", "c"))
    assert header(given, b"x-one") == "a"
    assert header(given, b"x-two") is None
    assert header(given, b"x-three") is None
