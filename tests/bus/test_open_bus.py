"""A bus by its address: the right class, no password in any message, and refusals that say why."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.bus.servers import BusServer, NatsServer, ValkeyServer
from turnwire.bus import extra
from turnwire.bus.address import BadBusAddress, BusAddress
from turnwire.bus.nats import NatsBus
from turnwire.bus.open_bus import open_bus
from turnwire.bus.postgres import PostgresBus
from turnwire.bus.server_bus import BusRefused
from turnwire.bus.unix import UnixBus
from turnwire.bus.valkey import ValkeyBus
from turnwire.errors import TurnwireError

PATIENCE = 30.0


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("postgresql://user@host/database", PostgresBus),
        ("postgres://user@host/database", PostgresBus),
        ("nats://host:4222", NatsBus),
        ("tls://host:4222", NatsBus),
        ("valkey://host", ValkeyBus),
        ("valkeys://host", ValkeyBus),
        ("redis://host:6379/0", ValkeyBus),
        ("rediss://host", ValkeyBus),
        ("valkey+unix:///run/valkey.sock", ValkeyBus),
        ("unix:///run/turnwire", UnixBus),
    ],
)
async def test_the_scheme_of_an_address_chooses_the_bus(url: str, kind: type) -> None:
    assert isinstance(open_bus(url, cluster="blue-1"), kind)


@pytest.mark.parametrize(
    "url",
    ["", "host:4222", "http://host", "nats:/host", "nats://host:port", "unix://host/x", "unix://"],
)
def test_an_address_that_cannot_be_read_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadBusAddress) as refused:
        open_bus(url)
    assert "The address of" in refused.value.message
    assert not url or url not in refused.value.message.replace("unix://", "")


@pytest.mark.parametrize("cluster", ["", "a.b", "a b", "a/b", "*", "blü"])
def test_the_name_of_a_cluster_has_plain_characters(cluster: str) -> None:
    with pytest.raises(BadBusAddress, match="letters, digits"):
        open_bus("unix:///run/turnwire", cluster=cluster)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("nats://user:p%40ss@host:1", "nats://user:***@host:1"),
        ("nats://p%40ss@host", "nats://***@host"),
        ("nats://host", "nats://host"),
        ("valkey://:p%40ss@host/1", "valkey://:***@host/1"),
        ("redis://host/?password=p%40ss&db=1", "redis://host/?password=***&db=1"),
        ("valkey+unix:///run/socket", "valkey+unix:///run/socket"),
        ("postgresql://user@host/db?host=/run", "postgresql://user@host/db?host=/run"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    address = BusAddress(url, ("nats", "valkey", "valkey+unix", "redis", "postgresql"))
    assert str(address) == shown
    assert "p@ss" not in repr(address)
    if "p%40ss" in url:
        assert address.without_secrets("p@ss, p%40ss!") == "***, ***!"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://host/db", "The bus on PostgreSQL needs asyncpg.*'turnwire\\[postgres\\]'"),
        ("nats://host", "The bus on NATS needs nats.*'turnwire\\[nats\\]'"),
        ("redis://host", "The bus on Valkey needs valkey.*'turnwire\\[valkey\\]'"),
    ],
)
def test_a_bus_without_its_extra_says_what_to_install(
    url: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(TurnwireError, match=said):
        open_bus(url)


def test_no_driver_is_imported_before_a_bus_needs_it() -> None:
    program = (
        "import sys, turnwire.engine, turnwire.testing, turnwire.bus.sealed, turnwire.bus.failover\n"
        "from turnwire.bus.open_bus import open_bus\n"
        "for url in ('nats://h', 'redis://h', 'postgresql://h/d', 'unix:///x'): open_bus(url)\n"
        "print({'asyncpg', 'nats', 'valkey'} & {*sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("set()\n", "")


# --- servers that refuse --------------------------------------------------------------------------


def nats_with_password() -> tuple[BusServer, str]:
    server = NatsServer("--user", "ann", "--pass", "right")
    return server, f"nats://ann:wrong-password@127.0.0.1:{server.port}"


def valkey_with_password() -> tuple[BusServer, str]:
    server = ValkeyServer("--requirepass", "right")
    return server, f"valkey+unix://:wrong-password@{server.folder}/socket"


@pytest.fixture(params=[nats_with_password, valkey_with_password])
def wrong_password(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server with a wrong password."""
    server, url = request.param()
    yield url
    server.stop()


async def test_a_wrong_password_is_said_at_once(
    wrong_password: str, caplog: pytest.LogCaptureFixture
) -> None:
    bus = open_bus(wrong_password)
    with caplog.at_level(logging.DEBUG), pytest.raises(BusRefused) as refused:
        await asyncio.wait_for(bus.open("a", lambda data: None), PATIENCE)
    assert "refuses this node" in refused.value.message
    assert "wrong-password" not in refused.value.message + caplog.text
    assert not bus.is_connected
    right = open_bus(wrong_password.replace("wrong-password", "right"))
    await right.open("a", lambda data: None)
    assert right.is_connected
    await right.close()


async def test_an_unknown_database_is_said_at_once(empty_database: str) -> None:
    url = empty_database.replace(urlsplit(empty_database).path, "/unknown")
    with pytest.raises(BusRefused, match='database "unknown" does not exist'):
        await open_bus(url).open("a", lambda data: None)


@pytest.fixture
def host(empty_database: str) -> str:
    return parse_qs(urlsplit(empty_database).query)["host"][0]


async def test_a_pooler_that_loses_notifications_is_named(empty_database: str, host: str) -> None:
    parts = urlsplit(empty_database)
    connections = []

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Passes everything but notifications, as a pooler in transaction mode does."""
        up_reader, up_writer = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.5432")
        connections.extend([writer, up_writer])

        async def down() -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    head = await up_reader.readexactly(5)
                    body = await up_reader.readexactly(int.from_bytes(head[1:], "big") - 4)
                    if head[:1] != b"A":
                        writer.write(head + body)

        answers = asyncio.create_task(down())
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                up_writer.write(data)
        up_writer.close()
        await answers
        writer.close()

    async with await asyncio.start_server(forward, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        name = parts.netloc.partition("@")[0]
        url = f"postgresql://{name}@127.0.0.1:{port}{parts.path}?sslmode=disable"
        with pytest.raises(BusRefused, match="pooler in transaction mode"):
            await PostgresBus(url, probe_seconds=0.5).open("a", lambda data: None)
        for writer in connections:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


# --- parts ----------------------------------------------------------------------------------------


class Parts:
    """Two buses on PostgreSQL without a database: one makes parts, the other joins them."""

    def __init__(self) -> None:
        self.sender = PostgresBus("postgresql://host/db")
        self.receiver = PostgresBus("postgresql://host/db", most_bytes=100_000)
        self.received: list[bytes] = []
        self.receiver._receive = self.received.append

    def of(self, data: bytes) -> list[str]:
        return self.sender.parts(data)

    def take(self, *payloads: str) -> None:
        for payload in payloads:
            self.receiver._heard_part(payload)


async def test_a_large_message_is_sent_in_parts_that_fit() -> None:
    parts = Parts()
    data = bytes(range(256)) * 100
    payloads = parts.of(data)
    assert len(payloads) == 5
    assert all(len(payload) < 8000 and "\0" not in payload for payload in payloads)
    parts.take(*payloads, *parts.of(b"small"))
    assert parts.received == [data, b"small"]


async def test_a_lost_part_drops_the_whole_message_and_no_other() -> None:
    parts = Parts()
    large = [parts.of(bytes([number]) * 20_000) for number in range(4)]
    parts.take(*large[0][:-1])  # the last part is lost
    parts.take(*large[1][1:])  # the first part
    parts.take(large[2][0], *large[2][2:])  # one in the middle
    parts.take(*large[3])
    assert parts.received == [bytes([3]) * 20_000]
    assert parts.receiver.dropped["incomplete"] == 2  # of one message no first part came


async def test_equal_messages_have_different_payloads() -> None:
    parts = Parts()
    assert parts.of(b"same") != parts.of(b"same")  # PostgreSQL merges equal ones


@pytest.mark.parametrize("payload", ["", "x", "a.b.c.d.e", "s.1.0.1.!", "s.1.0.2000.eA=="])
async def test_a_payload_that_is_not_of_a_node_is_dropped(payload: str) -> None:
    parts = Parts()
    parts.take(payload)
    assert parts.received == []
    assert sum(parts.receiver.dropped.values()) == 1


async def test_the_number_of_incomplete_messages_is_bounded() -> None:
    parts = Parts()
    for number in range(300):
        parts.take(f"sender{number}.1.0.2.eA==")
    assert len(parts.receiver._partial) == 256
    assert parts.receiver.dropped["incomplete"] == 44
