"""Slow clients: those that do not read or answer are disconnected, and others are not affected."""

from __future__ import annotations

import asyncio
import hashlib
import socket
from pathlib import Path

import msgspec
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.helpers.loop_time import own_time
from tests.server.helpers.breakable_connection import line_to
from tests.server.helpers.listening_client import listening, until
from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.stalled_client import stalled
from tests.server.helpers.v2_client import PATIENCE, Client
from turnwire.agents.demo import DemoAgent
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2 import sent as sending
from turnwire.dialects.v2.codec import Encoded, encode
from turnwire.dialects.v2.frames import Frame
from turnwire.server.sockets.outlet import Outlet
from turnwire.server.sockets.peer import Client as ServerClient
from turnwire.server.tcp.listen import WebSocket


def only_client(server: Serving) -> ServerClient:
    [client] = server.service.hub._connections
    assert isinstance(client, ServerClient)
    return client


def test_a_slow_reader_is_disconnected_and_the_others_get_everything(tmp_path: Path) -> None:
    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.5)

    async def run() -> None:
        async with serving(tmp_path, agents={"demo": agent}) as server:
            name = (await server.service.engine.create("demo")).id
            sock = await stalled(server, name)
            await until(lambda: len(server.service.hub) == 1)
            slow = only_client(server)
            waiting = []
            async with server.client(name) as client:
                await client.say("hello", "m-1")
                while not slow.gone.is_set():
                    await client.next()
                    waiting.append(slow.outlet._size)
                await client.end_of(1)
                await client.state("active")
            assert slow.code == 4001
            # The frames of one step stay together, so the last step may exceed the limit.
            assert max(waiting) < (1 << 20) + (1 << 19)
            sock.close()
            rows = await server.service.store.audit(conversation_id=name)
            codes = [row.data["code"] for row in rows if row.action == "disconnected"]
            assert 4001 in codes

    asyncio.run(run())


@pytest.mark.parametrize("text", ["a" * 1000, "\u6c34" * 1000, "\U0001f30a" * 1000])
def test_the_backlog_is_counted_in_bytes(text: str) -> None:
    chunk = f.AssistantChunk(
        *("c", 1, None, "2026-01-01T00:00:00.000Z", "t"), p.Chunk("b", "m", 0, True, text, 1)
    )
    sent = sending.Sent(chunk)
    counted = sent.size
    written = len(sent.at(1))
    assert abs(counted - written) <= sending._ENVELOPE
    assert sent.size == counted, "the size that is added and the size that is subtracted are equal"


BUFFER = 1 << 20  # as the setting is


def watched(outlet: Outlet) -> list[int]:
    """Records the backlog at each publish: it never exceeds the limit by more than one step."""
    sizes: list[int] = []
    receive = outlet.receive

    def count(together: list[sending.Sent]) -> None:
        receive(together)
        sizes.append(outlet._size)
        assert outlet._size == sum(sent.size for sent in outlet._waiting)
        assert outlet._size <= BUFFER + sum(sent.size for sent in together)

    outlet.receive = count  # type: ignore[method-assign, assignment]
    return sizes


def test_one_slow_reader_among_two_hundred_is_disconnected_and_the_others_lose_nothing(
    tmp_path: Path,
) -> None:
    agent = DemoAgent(delay=0, flood=4, flood_seconds=0.4)

    async def run() -> None:
        async with serving(
            tmp_path, agents={"demo": agent}, buffer_bytes=BUFFER, ping_seconds=600
        ) as server:
            talk = await server.service.engine.create("demo")
            sock = await stalled(server, talk.id)
            there = server.service.hub
            await until(lambda: len(there) == 1)
            slow = only_client(server)
            assert isinstance(slow._wire, WebSocket)
            line = slow._wire.transport.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # or the kernel takes it all
            waited = watched(slow.outlet)
            others = [await listening(server, talk.id) for _ in range(199)]
            await until(lambda: all(b'"session.state"' in each.read for each in others))
            await talk.send("hello")
            async with asyncio.timeout(PATIENCE):
                await slow.gone.wait()
            assert slow.code == 4001
            assert max(waited) > BUFFER, "it was cut off because of that"
            end = b'"conversation.updated"'  # the last that a turn causes
            await until(lambda: all(end in each.read[-2_000:] for each in others))
            assert not any(each.lost for each in others)
            assert len(there) == 199
            told = set()
            for each in others:
                frames = [msgspec.json.decode(message) for message in each.messages()]
                assert [f["sequence"] for f in frames] == list(range(1, len(frames) + 1))
                live = [{**frame, "sequence": 0} for frame in frames[3:]]
                told.add(hashlib.sha256(msgspec.json.encode(live)).digest())
            assert len(told) == 1, "everyone has got the same"
            sock.close()

    asyncio.run(run())


def test_a_disconnected_client_comes_back_and_has_everything(tmp_path: Path) -> None:
    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.3)

    async def run() -> None:
        async with serving(tmp_path, agents={"demo": agent}, buffer_bytes=10_000) as server:
            name = (await server.service.engine.create("demo")).id
            slow = server.client(name)
            slow.ahead = 1
            await slow.come()
            async with server.client(name) as client:
                await client.say("hello", "m-1")
                await client.end_of(1)
                await client.state("active")
                assert await slow.until_closed() in (4001, 1006)
                await slow.come()
                assert slow.view().messages == client.view().messages
                await slow.leave()

    asyncio.run(run())


def test_an_idle_connection_gets_heartbeats(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            serving(tmp_path, heartbeat_seconds=1) as server,
            server.client(await server.begin()) as client,
        ):
            for _ in range(2):
                beat = await client.until("session.heartbeat_ack")
                assert beat["payload"] == {}

    asyncio.run(run())


def test_a_client_that_answers_no_ping_is_disconnected_with_a_reason(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, ping_seconds=0.2, pong_seconds=0.2) as server:
            name = await server.begin()
            sock = await stalled(server, name)  # it does not answer anything
            await until(lambda: len(server.service.hub) == 1)
            connection = only_client(server)
            async with own_time() as taken:
                await asyncio.wait_for(connection.gone.wait(), PATIENCE)
            assert taken.seconds < 0.2 + 0.2 + 1
            assert connection.code == 4002
            raw = b""
            loop = asyncio.get_running_loop()
            while piece := await asyncio.wait_for(loop.sock_recv(sock, 65536), PATIENCE):
                raw += piece
            assert b"HEARTBEAT_TIMEOUT" in raw
            assert (4002).to_bytes(2, "big") in raw[-4:]
            sock.close()

    asyncio.run(run())


@pytest.mark.parametrize("last", ["nothing", "half a frame"])
@pytest.mark.parametrize("streams", [False, True])
def test_a_line_that_is_dead_is_noticed(tmp_path: Path, last: str, streams: bool) -> None:
    """Silences the connection without closing it: the client has vanished."""
    ping, pong = 0.2, 1.5

    async def run() -> None:
        async with (
            serving(tmp_path, ping_seconds=ping, pong_seconds=pong) as server,
            line_to(server.url) as line,
        ):
            name = await server.begin(delay=0.01)
            client = Client(line.url, name, server.token)
            await client.come()
            connection = only_client(server)
            wire = connection._wire
            assert isinstance(wire, WebSocket)
            if streams:
                await client.say("flood", "m-1")
                await client.until("assistant.chunk")
            if last == "half a frame":
                client.socket.transport.write(b"\x81\xfe\x10\x00half")
            heard = wire._heard_at
            await until(lambda: last == "nothing" or wire._heard_at > heard)
            line.die()
            async with own_time() as taken:
                await asyncio.wait_for(connection.gone.wait(), PATIENCE)
            assert taken.seconds < ping + pong + 1
            assert connection.code == 4002
            client.drop()

    asyncio.run(run())


def test_a_client_that_sends_a_frame_instead_of_a_pong_and_vanishes_is_disconnected(
    tmp_path: Path,
) -> None:
    ping, pong = 0.2, 1.5
    frame = b'{"type":"session.heartbeat"}'

    async def run() -> None:
        async with serving(tmp_path, ping_seconds=ping, pong_seconds=pong) as server:
            sock = await stalled(server, await server.begin())
            await until(lambda: len(server.service.hub) == 1)
            connection = only_client(server)
            wire = connection._wire
            assert isinstance(wire, WebSocket)
            await until(lambda: wire.pending_ping_payload is not None)
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(sock, bytes((0x81, 0x80 | len(frame), 0, 0, 0, 0)) + frame)
            began = loop.time()
            async with own_time() as taken:
                await asyncio.wait_for(connection.gone.wait(), PATIENCE)
            assert ping + pong - 0.1 < loop.time() - began
            assert taken.seconds < ping + pong + 1
            assert connection.code == 4002
            sock.close()

    asyncio.run(run())


def test_a_client_that_only_listens_stays(tmp_path: Path) -> None:
    """The client answers pings, as every WebSocket does by itself, and sends nothing."""

    async def run() -> None:
        async with serving(
            tmp_path, ping_seconds=0.1, pong_seconds=0.1, heartbeat_seconds=1
        ) as server:
            name = await server.begin()
            address = f"{server.url.replace('http', 'ws')}/ws/conversations/{name}?protocol=v2"
            headers = {"Authorization": f"Bearer {server.token}"}
            async with connect(address, additional_headers=headers, proxy=None) as listener:
                beats = 0
                while beats < 2:
                    beats += b"heartbeat_ack" in await listener.recv(decode=False)

    asyncio.run(run())


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_per_user"])
def test_one_connection_too_many_is_refused(tmp_path: Path, limit: str) -> None:
    async def run() -> None:
        async with serving(tmp_path, **{limit: 2}) as server:  # type: ignore[arg-type]
            name = await server.begin()
            async with server.client(name) as one, server.client(name) as two:
                third = server.client(name)
                await third.come(until_ready=False)
                assert await third.until_closed() == 4003
                error = third.frames[0]["payload"]
                assert (error["code"], error["data"]) == ("RATE_LIMITED", {"retry_after": 5})
                await one.say("hello", "m-1")
                await two.end_of(1)
                await one.end_of(1)
            async with server.client(name):
                pass

    asyncio.run(run())


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_per_user"])
def test_the_connection_limit_holds_for_concurrent_connects(tmp_path: Path, limit: str) -> None:
    async def run() -> None:
        async with serving(tmp_path, **{limit: 2}) as server:  # type: ignore[arg-type]
            name = await server.begin()
            crowd = [server.client(name) for _ in range(20)]
            await asyncio.gather(*(each.come(until_ready=False) for each in crowd))
            first = await asyncio.gather(*(each.next() for each in crowd))
            assert [each["type"] for each in first].count("session.connected") == 2
            for client, frame in zip(crowd, first, strict=True):
                if frame["type"] == "session.connected":
                    await client.leave()
                else:
                    assert await client.until_closed() == 4003
            await until(lambda: len(server.service.hub) == 0)
            async with server.client(name), server.client(name):
                pass

    asyncio.run(run())


def test_an_unauthenticated_connection_counts_until_it_is_closed(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, max_waiting_connections_per_address=2) as server:
            name = await server.begin()
            strangers = server.service.hub._strangers
            known = server.token
            async with server.client(name) as client:
                server.token = "tw_unknown"
                silent = [await stalled(server, name) for _ in range(2)]  # they say no goodbye
                await until(lambda: strangers.total() == 2)
                third = server.client(name, "tw_anothers")
                with pytest.raises(InvalidStatus) as refused:
                    await third.come()
                assert refused.value.response.status_code == 429
                assert refused.value.response.headers["Retry-After"] == "5"
                async with server.client(name, known):
                    assert strangers.total() == 2, "strangers do not keep a user out"
                await client.say("hello", "m-1")
                await client.end_of(1)
                async with own_time() as taken:
                    await until(lambda: not strangers)
                assert taken.seconds < 4, "they are cut off"
                async with server.client(name, known), server.client(name, known):
                    assert not strangers, "who is known is none"
                for sock in silent:
                    sock.close()

    asyncio.run(run())


def test_the_server_says_something_before_the_silence_is_too_long(tmp_path: Path) -> None:
    seconds = 3

    async def run() -> None:
        async with serving(tmp_path, heartbeat_seconds=seconds) as server:
            client = await server.client(await server.begin()).come()
            for _ in range(2):
                async with own_time() as taken:
                    await client.until("session.heartbeat_ack")
                assert taken.seconds <= seconds
            await client.leave()

    asyncio.run(run())


def test_a_frame_is_written_once_for_everyone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Frame] = []  # kept, so that none has the id of another

    def count(frame: Frame) -> Encoded:
        written.append(frame)
        return encode(frame)

    monkeypatch.setattr(sending, "encode", count)

    async def run() -> None:
        async with serving(tmp_path) as server:
            name = await server.begin()
            clients = [await server.client(name).come() for _ in range(10)]
            written.clear()
            await clients[0].say("hello", "m-1")
            for client in clients:
                await client.end_of(1)
                await client.state("active")
            kinds = [type(frame).__name__ for frame in written]
            assert kinds.count("AssistantComplete") == kinds.count("UserMessage") == 1
            assert len(written) == len({id(frame) for frame in written})
            assert len(written) < 2 * len(clients[0].frames), kinds
            for client in clients:
                await client.leave()

    asyncio.run(run())
