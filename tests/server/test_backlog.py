"""The backlog of one client and of all clients: large frames, slow readers, and their end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import msgspec

from tests.server.helpers.listening_client import Listener, listening, until
from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.stalled_client import stalled
from tests.server.helpers.v2_client import PATIENCE
from turnwire.agents.demo import DemoAgent
from turnwire.core.pieces import LARGE
from turnwire.dialects.rpc.projector import Line
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.sent import Sent
from turnwire.server.api.responses import json_list
from turnwire.server.rpc.written import Written
from turnwire.server.sockets.backlog import Backlog
from turnwire.server.sockets.peer import Client
from turnwire.server.tcp.listen import WebSocket

HUGE = 6_000_000  # bytes: more than the kernel takes for a client that does not read
CLOSE = b"\x88\x02" + (4001).to_bytes(2, "big")  # the close frame, with its code


def a_frame(size: int, text: str = "x") -> Sent:
    chunk = p.Chunk("b", "m", 0, True, text * size, 1)
    return Sent(f.AssistantChunk("c", 1, None, "2026-01-01T00:00:00.000Z", "t", chunk))


def clients_of(server: Serving) -> list[Client]:
    return [each for each in server.service.hub._connections if isinstance(each, Client)]


def wire_of(client: Client) -> WebSocket:
    assert isinstance(client._wire, WebSocket)
    return client._wire


async def a_slow_one(server: Serving, name: str) -> tuple[Client, socket.socket]:
    """A client that has got its first frames, and then reads nothing."""
    known = set(clients_of(server))
    sock = await stalled(server, name)
    await until(lambda: len(clients_of(server)) > len(known))
    [client] = set(clients_of(server)) - known
    wire_of(client).close_timeout = PATIENCE  # seconds until it is aborted
    line = wire_of(client).transport.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # or the kernel takes it all
    await until(lambda: client.outlet.is_idle)
    return client, sock


async def read_again(client: Client, sock: socket.socket) -> bytes:
    """Returns the bytes up to the close frame or the end of the connection."""
    line = wire_of(client).transport.get_extra_info("socket")
    for end, name in ((line, socket.SO_SNDBUF), (sock, socket.SO_RCVBUF)):
        end.setsockopt(socket.SOL_SOCKET, name, 1 << 20)  # else it takes long
    raw = bytearray()
    loop = asyncio.get_running_loop()
    while not raw.endswith(CLOSE):
        piece = await asyncio.wait_for(loop.sock_recv(sock, 1 << 16), PATIENCE)
        if not piece:
            break
        raw += piece
    return bytes(raw)


def test_a_slow_reader_that_reads_again_gets_4001(tmp_path: Path) -> None:
    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.5)

    async def run() -> None:
        async with serving(tmp_path, agents={"demo": agent}, ping_seconds=600) as server:
            talk = await server.service.engine.create("demo")
            slow, sock = await a_slow_one(server, talk.id)
            await talk.send("hello")
            async with asyncio.timeout(PATIENCE):
                await slow.gone.wait()
            assert slow.code == 4001
            assert (await read_again(slow, sock)).endswith(CLOSE)
            sock.close()

    asyncio.run(run())


def test_a_slow_reader_gets_4001_in_the_middle_of_a_large_frame(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, ping_seconds=600) as server:
            slow, sock = await a_slow_one(server, await server.begin())
            slow.outlet.put(a_frame(HUGE))
            for _ in range(3):
                slow.outlet.put(a_frame(1_000_000))  # beyond the limit of the backlog
            async with asyncio.timeout(PATIENCE):
                await slow.gone.wait()
            raw = await read_again(slow, sock)
            assert raw.endswith(CLOSE)
            assert len(raw) < HUGE / 2, "it need not read the rest of the frame before"
            sock.close()

    asyncio.run(run())


def test_the_socket_of_a_slow_reader_holds_little_of_a_large_frame(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, ping_seconds=600) as server:
            slow, sock = await a_slow_one(server, await server.begin())
            transport = wire_of(slow).transport
            sent = a_frame(HUGE)
            held: list[int] = []
            slow.outlet.put(sent)

            def is_full() -> bool:
                held.append(transport.get_write_buffer_size())
                return slow.outlet._begun is sent  # it waits until the client takes more

            await until(is_full)
            assert max(held) <= 2 * LARGE
            assert slow.outlet.waiting_bytes >= HUGE, "what is not sent counts as waiting"
            assert server.service.backlog.total >= HUGE
            sock.close()
            await until(lambda: server.service.backlog.total == 0)

    asyncio.run(run())


def test_large_frames_arrive_whole_and_in_their_order(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            listener: Listener = await listening(server, await server.begin())
            await until(lambda: b'"session.state"' in listener.read)
            [client] = clients_of(server)
            sizes = [10, LARGE + 1, 20, 2 * LARGE, LARGE - 1_000, 30]
            for size in sizes:
                client.outlet.put(a_frame(size, "\u6c34" if size == 20 else "x"))
            await until(lambda: listener.read.endswith(b"}") and len(listener.messages()) >= 9)
            frames = [msgspec.json.decode(message) for message in listener.messages()]
            assert [frame["sequence"] for frame in frames] == list(range(1, len(frames) + 1))
            assert [len(frame["payload"]["text"]) for frame in frames[-6:]] == sizes

    asyncio.run(run())


def test_the_pieces_of_a_large_frame_are_its_bytes() -> None:
    sent = a_frame(3 * LARGE)
    assert b"".join(sent.pieces(17)) == sent.at(17)
    line = Line("whole", None)
    line._written = b"y" * (3 * LARGE)
    written = Written(b"{", line)
    assert written.is_large
    assert b"".join(written.pieces(1)) == written.at(1)
    views = [piece for piece in written.pieces(1) if isinstance(piece, memoryview)]
    assert views[-1].obj is line.written, "no client has a copy of its own"


def test_all_clients_together_hold_no_more_than_the_limit(tmp_path: Path) -> None:
    """The clients with the largest backlog are disconnected; a shared frame counts once."""

    async def run() -> None:
        most = 3 * HUGE
        async with serving(tmp_path, ping_seconds=600, max_buffered_bytes=most) as server:
            name = await server.begin()
            slow = [await a_slow_one(server, name) for _ in range(4)]
            shared = a_frame(HUGE)
            for client, _ in slow:
                client.outlet.put(shared)
            await until(lambda: all(client.outlet._begun is shared for client, _ in slow))
            total = server.service.backlog.total
            assert HUGE <= total < 2 * HUGE
            slow[1][0].outlet.receive([a_frame(HUGE), a_frame(HUGE), a_frame(HUGE)])
            async with asyncio.timeout(PATIENCE):
                await slow[1][0].gone.wait()
            assert slow[1][0].code == 4001
            assert server.service.backlog.total == total
            assert len(clients_of(server)) == 3, "no other client has to go"
            for _, sock in slow:
                sock.close()
            await until(lambda: server.service.backlog.total == 0)

    asyncio.run(run())


class CountedOutlet:
    """An outlet that counts how often its backlog is read."""

    asked = 0

    def __init__(self, backlog: Backlog, size: int) -> None:
        self.backlog = backlog
        self.sent: Sent | None = a_frame(size)
        self.backlog.hold(self, self.sent)

    @property
    def waiting_bytes(self) -> int:
        CountedOutlet.asked += 1
        return 0 if self.sent is None else self.sent.size

    def cut_off(self) -> None:
        assert self.sent is not None
        self.backlog.let_go(self.sent)
        self.sent = None


def test_the_search_for_the_slowest_readers_asks_each_client_once() -> None:
    clients = 400
    backlog = Backlog(most=100_000)
    outlets = [CountedOutlet(backlog, 1_000 + number) for number in range(clients)]
    CountedOutlet.asked = 0
    backlog.check()
    assert backlog.total <= 100_000
    kept = [each for each in outlets if each.sent is not None]
    assert 0 < len(kept) < clients / 2
    assert kept == outlets[: len(kept)], "those for whom least waits"
    assert CountedOutlet.asked <= clients
    backlog.check()
    assert CountedOutlet.asked <= clients, "below the limit, none is asked"


def test_a_long_list_is_made_in_slices() -> None:
    async def run() -> None:
        count, most, since = 20_000, 0, 0

        def form(number: int) -> dict[str, int]:
            nonlocal most, since
            since += 1
            most = max(most, since)
            return {"number": number}

        making = asyncio.create_task(json_list("items", list(range(count)), form, head=7))
        while not making.done():
            since = 0
            await asyncio.sleep(0)
        answer, sent = await making, bytearray()
        sizes: list[int] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sizes.append(len(message.get("body", b"")))
            sent.extend(message.get("body", b""))

        async def receive() -> MutableMapping[str, Any]:
            raise AssertionError("nothing is read")

        await answer({"type": "http"}, receive, send)
        assert msgspec.json.decode(sent) == {
            "items": [{"number": n} for n in range(count)],
            "head": 7,
        }
        assert int(answer.headers["content-length"]) == len(sent)
        assert most < count / 4
        assert max(sizes) < len(sent) / 4, "it is sent in chunks"

    asyncio.run(run())
