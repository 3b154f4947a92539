"""Unauthenticated connections are limited, time out, and do not keep users out."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.server.helpers.raw_http import request, upgrade
from tests.server.helpers.servers import ROOT, Serving, process, serving
from turnwire.server.tcp.connections import TcpConnections, address_group
from turnwire.server.tcp.open_files import files_needed, fit_connections
from turnwire.settings import Settings

LOW = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))"
# On SIGUSR1: no file can be opened any more, but for a few.
NO_FILES = """
import os, resource, signal
def lower(*_):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = max(int(each) for each in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 4, hard))
signal.signal(signal.SIGUSR1, lower)
"""


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # no event announces it
        await asyncio.sleep(0.01)


def connect(url: str) -> socket.socket:
    place = urlsplit(url)
    made = socket.create_connection((place.hostname, place.port), 10)
    made.setblocking(False)
    return made


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(65536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


async def trickle(sock: socket.socket, byte: bytes = b"a") -> None:
    """Send a byte now and then until the server closes the connection."""
    while not is_closed(sock):
        try:
            sock.send(byte)
        except OSError:
            return
        await asyncio.sleep(0.02)


async def is_let_in(server: Serving) -> bool:
    async with server.http() as http:
        answer = await http.get("/api/agents")
    async with server.client(await server.begin()) as client:
        await client.say("hello", "m-1")
        await client.end_of(1)
    return answer.status_code == 200


# --- how many ---------------------------------------------------------------------------------------


def test_idle_connections_keep_no_user_out(tmp_path: Path) -> None:
    async def run() -> None:
        limits: dict[str, Any] = {"max_connections": 10, "max_waiting_connections": 30}
        async with serving(tmp_path, **limits, max_waiting_connections_per_address=20) as server:
            idle = [connect(server.url) for _ in range(300)]
            await until(lambda: sum(map(is_closed, idle)) >= 280)
            assert await is_let_in(server)
            for sock in idle:
                sock.close()

    asyncio.run(run())


def test_more_idle_connections_than_files_keep_no_user_out(tmp_path: Path) -> None:
    """A real process that may open 160 files, and 300 connections that say nothing."""
    with process(tmp_path, first=LOW) as server:
        idle = [connect(server.url) for _ in range(300)]
        headers = {"Authorization": f"Bearer {server.token}"}
        for _ in range(5):
            answer = httpx.get(f"{server.url}/api/agents", headers=headers, trust_env=False)
            assert answer.status_code == 200
        for sock in idle:
            sock.close()


def test_without_files_newcomers_are_closed_and_the_log_is_not_filled(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        with process(tmp_path, first=NO_FILES) as server:
            async with server.client(await server.begin()) as client:  # not to be closed for others
                await client.say("hello", "m-1")
                await client.end_of(1)
                server.popen.send_signal(signal.SIGUSR1)
                crowd = [connect(server.url) for _ in range(50)]
                await until(lambda: sum(map(is_closed, crowd)) >= 45)
                await client.say("hello", "m-2")
                await client.end_of(2)
                for sock in crowd:
                    sock.close()
            assert server.stop() == 0

    asyncio.run(run())
    assert len(capfd.readouterr().err.splitlines()) <= 2


def test_a_connection_at_work_is_not_closed_for_a_newcomer() -> None:
    connections = TcpConnections(most=3, most_waiting=10, most_waiting_per_address=10)
    first, second, third = (connections.admit("10.0.0.1") for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    connections.mark_working(first)
    fourth = connections.admit("10.0.0.2")
    assert fourth is not None
    assert (first.is_dropped, second.is_dropped, third.is_dropped) == (False, True, False)
    connections.mark_working(third)
    connections.mark_working(fourth)
    assert connections.admit("10.0.0.3") is None, "all are at work"
    connections.mark_waiting(third)
    assert connections.admit("10.0.0.3") is not None
    assert third.is_dropped


def test_one_address_uses_up_only_its_own_share() -> None:
    connections = TcpConnections(most=100, most_waiting=6, most_waiting_per_address=3)
    other = connections.admit("10.0.0.2")
    assert other is not None
    for _ in range(20):
        assert connections.admit("10.0.0.1") is not None
    assert not other.is_dropped
    assert (len(connections), connections.waiting) == (4, 4)
    for number in range(20):
        assert connections.admit(f"10.0.1.{number}") is not None
    assert other.is_dropped
    assert (len(connections), connections.waiting) == (6, 6)


def test_a_host_with_many_addresses_counts_once() -> None:
    assert address_group("10.0.0.1") == "10.0.0.1"
    assert address_group("::ffff:10.0.0.1") == "10.0.0.1"
    assert address_group("2001:db8::1") == address_group("2001:db8::ffff:1") == "2001:db8::/64"
    assert address_group("2001:db8:0:1::1") != address_group("2001:db8::1")
    assert address_group("testclient") == "testclient"


def test_connections_fit_the_files_that_may_be_open() -> None:
    usual = Settings()
    assert fit_connections(usual, files_needed(usual)) == (usual, None)
    few, said = fit_connections(usual, 1024)
    assert few.max_connections + few.max_waiting_connections <= 512
    assert few.max_connections_per_user <= few.max_connections // 2
    assert said is not None
    assert "may open 1,024 files" in said


def test_a_limit_of_files_that_is_too_low_is_reported_at_the_start(tmp_path: Path) -> None:
    code = f"{LOW}\nfrom turnwire.cli.main import main; main()"
    words = ["doctor", "--data-dir", str(tmp_path)]
    told = subprocess.run([sys.executable, "-c", code, *words], cwd=ROOT, capture_output=True)
    assert b"this process may open 160 files" in b" ".join(told.stdout.split())


# --- how long ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: x\r\nX: "])
def test_headers_that_do_not_come_end_the_connection(tmp_path: Path, sent: bytes) -> None:
    async def run() -> None:
        async with serving(tmp_path, header_seconds=0.3) as server:
            with connect(server.url) as sock:
                sock.send(sent)
                if sent:
                    await trickle(sock)
                else:
                    await until(lambda: is_closed(sock))

    asyncio.run(run())


def test_slow_headers_of_a_second_request_end_the_connection(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, header_seconds=3.0) as server:
            place = urlsplit(server.url)
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            ask = f"GET /healthz HTTP/1.1\r\nHost: {place.netloc}\r\n"
            for _ in range(3):
                writer.write(f"{ask}\r\n".encode())
                assert b"200 OK" in await reader.readuntil(b'"status":"ok"')
            writer.write(f"{ask}X: ".encode())
            read = asyncio.create_task(reader.read())
            while not read.done():
                writer.write(b"a")
                await asyncio.sleep(0.02)
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize("is_known", [True, False])
def test_a_slow_body_ends_the_connection(tmp_path: Path, is_known: bool) -> None:
    async def run() -> None:
        async with serving(tmp_path, body_seconds=0.3) as server:
            host = urlsplit(server.url).netloc
            token = server.token if is_known else "wrong"
            with connect(server.url) as sock:
                sock.send(
                    f"POST /api/blobs HTTP/1.1\r\nHost: {host}\r\nContent-Type: image/png\r\n"
                    f"Authorization: Bearer {token}\r\nContent-Length: 100000\r\n\r\n".encode()
                )
                await trickle(sock)
            assert await is_let_in(server)

    asyncio.run(run())


def test_a_large_body_has_time_in_proportion(tmp_path: Path) -> None:
    """The pieces take longer than `body_seconds` in total, but each brings more than 16 KiB."""

    async def run() -> None:
        async with serving(tmp_path, body_seconds=1.0) as server:
            place = urlsplit(server.url)
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            size = 30 * 65536
            head = (
                f"POST /api/blobs HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: image/png\r\n"
                f"Authorization: Bearer {server.token}\r\nContent-Length: {size}\r\n\r\n"
            ).encode()
            for _ in range(30):
                writer.write(head + bytes(65536))
                head = b""
                await writer.drain()
                await asyncio.sleep(0.05)
            assert b" 201 " in await reader.readline()
            writer.close()

    asyncio.run(run())


def test_an_answer_that_is_not_taken_ends_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.server.tcp.http_protocol._STALL_SECONDS", 1.0)

    async def run() -> None:
        async with serving(tmp_path) as server, server.http() as http:
            about = {"Content-Type": "image/png"}
            put = await http.post("/api/blobs", content=bytes(9_000_000), headers=about)
            blob_id = put.json()["blob_id"]
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                place = urlsplit(server.url)
                sock.connect((place.hostname, place.port))
                sock.send(
                    f"GET /api/blobs/{blob_id} HTTP/1.1\r\nHost: {place.netloc}\r\n"
                    f"Authorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode()
                )
                sock.setblocking(False)
                await until(lambda: len(server.connections) == 2)
                await until(lambda: len(server.connections) == 1)

    asyncio.run(run())


# --- how often --------------------------------------------------------------------------------------


async def storm(server: Serving, token: str, count: int) -> Counter[str]:
    """Connect as often as that, one after the other: how each attempt ended."""
    path = f"/ws/conversations/{await server.begin()}?protocol=v2"
    given = [("Host", urlsplit(server.url).netloc), ("Authorization", f"Bearer {token}")]
    ends: Counter[str] = Counter()
    for _ in range(count):
        frames, code, _ = await upgrade(server.url, path, given)
        ends[frames[-1]["payload"]["code"] if code else "in"] += 1
    return ends


@pytest.mark.parametrize("is_known", [True, False])
def test_a_storm_of_connects_is_refused(tmp_path: Path, is_known: bool) -> None:
    async def run() -> None:
        limits: dict[str, Any] = {"connects_at_once": 20, "connects_per_second": 0}
        async with serving(tmp_path, **limits) as server:
            token = await server.token_of("ann") if is_known else "wrong"
            name = await server.begin(user="ann")
            ends = await storm(server, token, 50)
            first = "CONVERSATION_NOT_FOUND" if is_known else "UNAUTHORIZED"
            assert ends == {first: 20, "RATE_LIMITED": 30}
            assert await is_let_in(server), "others are not refused"
            rows = await server.service.store.audit(limit=500)
            assert not [row for row in rows if row.conversation_id == name]

    asyncio.run(run())


def test_a_storm_over_rpc_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, connects_at_once=2, connects_per_second=0) as server:
            given = [("Host", urlsplit(server.url).netloc)]
            given += [("Authorization", f"Bearer {server.token}")]
            say = b'{"id": "1", "method": "getCapabilities", "params": {}}'
            ends = [(await upgrade(server.url, "/ws/rpc", given, say=say))[1] for _ in range(4)]
            assert ends == [0, 0, 4003, 4003]

    asyncio.run(run())


def test_a_storm_of_connects_leaves_few_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.server.access.connection_audit._AT_ONCE", 10)
    monkeypatch.setattr("turnwire.server.access.connection_audit._PER_SECOND", 0.0)

    async def run() -> None:
        async with serving(tmp_path) as server:
            assert (await storm(server, server.token, 60))["in"] == 60
            await until(lambda: len(server.service.hub) == 0)
            server.service.connection_audit.write_summary()

            async def rows() -> Counter[str]:
                found = await server.service.store.audit(limit=500)
                return Counter(row.action for row in found)

            await until(lambda: not server.service._background)
            told = await rows()
            assert (told["connected"], told["disconnected"]) == (10, 10)
            counted = [
                row.data
                for row in await server.service.store.audit(limit=500)
                if row.action == "connections_counted"
            ]
            assert [each["count"] for each in counted] == [50]

    asyncio.run(run())


def test_malformed_requests_do_not_fill_the_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            for _ in range(5):
                assert (await request(server.url, "GET x", "/", []))[0] == 400

    asyncio.run(run())
    assert capfd.readouterr().err == ""
