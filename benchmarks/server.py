"""Measures the processor time of the server in this process; its clients run in another one.

- `delta`: a delta from an agent's process to a socket, compared with copying its line.
- `handwritten`: a delta in one and in ten conversations, compared with a plain FastAPI socket.
- `fanout`: a frame to 500 clients, compared with writing the same bytes to 500 sockets with uvloop.
- `idle`: memory of an idle connection.
- `slow`: the delay of deltas at 199 clients, with and without one client that does not read.
- `rpc`: a delta over RPC, compared with the same over v2.
- `storm`: 1,000 clients that reconnect for 50 messages, compared with a bare websockets server.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import socket
import statistics
import sys
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop
from websockets.asyncio.server import ServerConnection, serve

from benchmarks.by_hand import by_hand
from benchmarks.engine import DELTAS, WHOSE, Talker, turn_of
from benchmarks.measuring import Measures, judged, run
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.local import LocalSession
from turnwire.agents.process import plain_environment
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.engine.fanout.follow import Place
from turnwire.ports import Agent, AgentSession, SessionStart
from turnwire.server.access.keys import owner_file
from turnwire.server.app import create_app
from turnwire.server.tcp.listen import Server, address_of, bind
from turnwire.settings import Settings

ROUNDS = 3
CLIENTS = 500
IDLE = 1000
STORM = 1000
MESSAGES = 50
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Serving:
    """A server in this process."""

    def __init__(self, url: str, token: str, service: Any) -> None:
        self.url = url
        self.token = token
        self.engine = service.engine
        self.hub = service.hub
        self.service = service

    def address(self, conversation_id: str) -> str:
        """Returns the address at which a conversation is followed."""
        return f"{self.url}/ws/conversations/{conversation_id}?protocol=v2"


@asynccontextmanager
async def serving(folder: Path, agents: dict[str, Agent], **other: Any) -> AsyncIterator[Serving]:
    """Starts a server that listens."""
    settings = Settings(
        data_dir=str(folder),
        port=0,
        protocol_v2=True,
        on_disconnect="continue",
        made_agents=agents,
        ping_seconds=600,
        **other,
    )
    listener = bind(settings, any_port=True)
    app = create_app(settings)
    ready = asyncio.Event()

    async def announce() -> None:
        ready.set()

    server = Server(app, settings, listener, announce)
    running = asyncio.create_task(server._serve([listener]))
    await ready.wait()
    try:
        token = owner_file(folder).read_text().strip()
        yield Serving(address_of(listener), token, await app.start())
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def sinks(
    url: str,
    token: str,
    count: int,
    words: str = "",
    times: int = 1,
    at_once: int = 0,
    say: str = "",
) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """Starts clients. Each call of the result waits for the clients' next line."""
    given = [url, token, str(count), str(at_once), words, str(times), say]
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "benchmarks.sink", *given],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    stdout = process.stdout

    async def told() -> str:
        return (await stdout.readline()).decode().strip()

    try:
        yield told
    finally:
        process.kill()
        await process.wait()


async def raw_upgrade(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accepts a WebSocket with the minimum that a client needs, and sends a first state."""
    head = await reader.readuntil(b"\r\n\r\n")
    key = next(line for line in head.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key"))
    accept = b64encode(hashlib.sha1(key.split(b": ")[1] + _MAGIC).digest())
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + ws_frame(b'"session.state"')
    )


def ws_frame(payload: bytes) -> bytes:
    """Returns a text message as a server sends it."""
    size = len(payload)
    if size < 126:
        return bytes((0x81, size)) + payload
    return bytes((0x81, 126)) + size.to_bytes(2, "big") + payload


# --- delta ---------------------------------------------------------------------------------------

_COPIED = """
import sys, time
line = b'{"type":"assistant.chunk","conversation_id":"' + b"x" * 230 + b'"}\\n'
for n in range(int(sys.argv[1])):
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    time.sleep(float(sys.argv[2]))
print("the end", flush=True)
sys.stdin.read()
"""


async def copied(pieces: int, pause: float) -> float:
    """Returns the processor time for a line that is read from a process and written to a socket."""
    clients: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw_upgrade(reader, writer)
        clients.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, sinks(f"http://127.0.0.1:{port}/?", "", 1, "the end") as told:
        assert await told() == "there"
        child = await asyncio.create_subprocess_exec(
            *[sys.executable, "-c", _COPIED, str(pieces), str(pause)],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        began = time.process_time()
        assert child.stdout is not None
        async for line in child.stdout:
            clients[0].write(ws_frame(line[:-1]))
            await clients[0].drain()
            if line == b"the end\n":
                break
        taken = time.process_time() - began
        assert await told() == "seen"
        child.kill()
        await child.wait()
        clients[0].close()
    return taken / pieces


async def delta(folder: Path) -> bool:
    """Measures an agent in its own process with one client."""
    met = [await _delta(folder / "many", "as they come", DELTAS, 0, pairs=5)]
    met.append(await _delta(folder / "alone", "each by itself", 300, 0.002, pairs=15))
    return all(met)


def _talker(pieces: int, pause: float) -> Agent:
    """Returns an agent in its own process that says a number of deltas."""
    env = {**plain_environment(), "PYTHONPATH": str(Path(__file__).parent.parent)}
    given = {"together": 1, "pieces": pieces, "pause": pause}
    return ChildAgent("benchmarks.engine:Talker", env=env, **given)


async def _delta(folder: Path, what: str, pieces: int, pause: float, *, pairs: int) -> bool:
    """Alternates turns with copied lines, so that other load affects both."""
    ours, floor = [], []
    async with serving(folder, {"talker": _talker(pieces, pause)}) as server:
        talk = await server.engine.create("talker")
        follow = sinks(server.address(talk.id), server.token, 1, '"assistant.complete"')
        async with follow as told:
            assert await told() == "there"
            for pair in range(pairs + 1):
                began = time.process_time()
                await talk.send("go")
                assert await told() == "seen"
                taken = time.process_time() - began
                if pair > 0:  # the first pair is a warm-up
                    ours.append(taken / pieces)
                    floor.append(await copied(pieces, pause))
    mine, least = statistics.median(ours), statistics.median(floor)
    print(f"  {what}: a copied line {least * 1e6:.1f} us, a delta {mine * 1e6:.1f} us")
    ratios = (turn / lines for turn, lines in zip(ours, floor, strict=True))
    return judged(what, statistics.median(ratios), 2.5)


# --- by hand -------------------------------------------------------------------------------------


async def handwritten(folder: Path) -> bool:
    """Measures few conversations, each delta by itself, where a small server is at its best."""
    return all([await _handwritten(folder / str(count), count) for count in (1, 10)])


async def _handwritten(folder: Path, count: int) -> bool:
    pieces, pause, pairs = 150, 0.002 * count, 7
    end = '"assistant.complete"'
    ours, theirs = [], []
    async with (
        serving(folder, {"talker": _talker(pieces, pause)}) as server,
        by_hand(pieces, pause) as (hand, url),
        AsyncExitStack() as stack,
    ):
        talks = [await server.engine.create("talker") for _ in range(count)]
        follow = [sinks(server.address(talk.id), server.token, 1, end) for talk in talks]
        told_by_us = [await stack.enter_async_context(each) for each in follow]
        follow = [sinks(f"{url}/ws/{number}?x=", "", 1, end) for number in range(count)]
        told_by_hand = [await stack.enter_async_context(each) for each in follow]
        for told in (*told_by_us, *told_by_hand):
            assert await told() == "there"
        for pair in range(pairs + 1):
            began = time.process_time()
            for talk in talks:
                await talk.send("go")
            for told in told_by_us:
                assert await told() == "seen"
            by_us = time.process_time() - began
            began = time.process_time()
            await hand.ask()
            for told in told_by_hand:
                assert await told() == "seen"
            if pair > 0:  # the first pair is a warm-up
                ours.append(by_us)
                theirs.append(time.process_time() - began)
    each = count * pieces / 1e6
    mine, least = statistics.median(ours) / each, statistics.median(theirs) / each
    print(f"  {count} conversations: by hand {least:.1f} us, a delta {mine:.1f} us")
    ratios = (turn / lines for turn, lines in zip(ours, theirs, strict=True))
    return judged(f"{count} conversations", statistics.median(ratios), 1.0)


# --- rpc -----------------------------------------------------------------------------------------

_PAIRS = 30


async def rpc(folder: Path) -> bool:
    """Alternates turns for one client of each protocol, with the same number of frames."""
    alone, together = _talker(200, 0.001), Talker(10, DELTAS)
    met = [await _rpc(folder / "alone", "each by itself", alone, 200)]
    met.append(await _rpc(folder / "many", "ten together", together, DELTAS))
    return all(met)


async def _rpc(folder: Path, what: str, agent: Agent, pieces: int) -> bool:
    taken: dict[str, list[float]] = {"v2": [], "rpc": []}
    async with serving(folder, {"talker": agent}) as server, AsyncExitStack() as held:
        doors = {}
        for door in taken:
            talk = await server.engine.create("talker")
            follow = sinks(server.address(talk.id), server.token, 1, '"assistant.complete"')
            if door == "rpc":
                call = {"id": "1", "method": "connect", "params": {"conversation": talk.id}}
                follow = sinks(
                    *(f"{server.url}/ws/rpc?", server.token, 1, '"type":"result"'),
                    say=json.dumps(call),
                )
            doors[door] = (talk, await held.enter_async_context(follow))
            assert await doors[door][1]() == "there"
        for pair in range(_PAIRS + 1):
            for door, (talk, told) in doors.items():
                began = time.process_time()
                await talk.send("go")
                assert await told() == "seen"
                if pair > 0:  # the first pair is a warm-up
                    taken[door].append((time.process_time() - began) / pieces)
    # The two short turns follow each other, so that other load affects both.
    pairs = zip(taken["rpc"], taken["v2"], strict=True)
    ratio = statistics.median(over_rpc / v2 for over_rpc, v2 in pairs)
    v2, over_rpc = statistics.median(taken["v2"]), statistics.median(taken["rpc"])
    print(f"  {what}: a delta over v2 {v2 * 1e6:.1f} us, over RPC {over_rpc * 1e6:.1f} us")
    return judged(what, ratio, 1.2)


# --- fanout --------------------------------------------------------------------------------------

_SPOKEN = 100  # deltas
_PAUSE = 0.02  # seconds between two deltas
_LAST = '"assistant.complete"'


async def raw_writes(frames: list[bytes]) -> float:
    """Returns the processor time for the same frames to 500 sockets, at the same rate."""
    clients: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw_upgrade(reader, writer)
        clients.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, backlog=1000)
    port = server.sockets[0].getsockname()[1]
    async with server, sinks(f"http://127.0.0.1:{port}/?", "", CLIENTS, _LAST) as told:
        assert await told() == "there"
        began = time.process_time()
        for frame in frames:
            written = ws_frame(frame)
            for client in clients:
                client.transport.write(written)
            await asyncio.sleep(_PAUSE)
        assert await told() == "seen"
        taken = time.process_time() - began
        for client in clients:
            client.close()
    return taken


async def fanout(folder: Path) -> bool:
    """Sends a turn of 100 deltas to 500 clients."""
    ours, floor = [], []
    async with serving(folder, {"talker": Talker(1, _SPOKEN, _PAUSE)}) as server:
        frames = await _frames_of_a_turn(server)
        size = sum(map(len, frames)) / len(frames)
        print(f"  {len(frames)} frames of {size:.0f} bytes to each of {CLIENTS} clients")
        for _ in range(ROUNDS):
            talk = await server.engine.create("talker")
            async with sinks(server.address(talk.id), server.token, CLIENTS, _LAST) as told:
                assert await told() == "there"
                began = time.process_time()
                await talk.send("go")
                assert await told() == "seen"
                ours.append(time.process_time() - began)
            floor.append(await raw_writes(frames))
    writes = len(frames) * CLIENTS
    print(f"  a raw write    {statistics.median(floor) / writes * 1e6:6.1f} us")
    print(f"  a frame        {statistics.median(ours) / writes * 1e6:6.1f} us")
    return judged("times", statistics.median(ours) / statistics.median(floor), 2.2)


async def _frames_of_a_turn(server: Serving) -> list[bytes]:
    """Returns the frames that a follower gets of a turn."""
    talk = await server.engine.create("talker")
    frames: list[bytes] = []
    said = False
    async with aclosing(server.engine.follow(talk.row, Place(), "bench")) as sent:
        async for each in sent:
            if said:
                frames.append(each.at(len(frames)))
            elif isinstance(each.frame, f.SessionState):
                await talk.send("go")
                said = True
            if isinstance(each.frame, f.AssistantComplete):
                break
    return frames


# --- idle ----------------------------------------------------------------------------------------


def resident() -> int:
    """Returns the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


async def idle(folder: Path) -> bool:
    """Measures 1,000 idle connections."""
    async with serving(folder, {"demo": DemoAgent()}) as server:
        talk = await server.engine.create("demo")
        address = server.address(talk.id)
        async with sinks(address, server.token, 200) as told:  # warm-up
            await told()
        gc.collect()
        before = resident()
        async with sinks(address, server.token, IDLE) as told:
            assert await told() == "there"
            gc.collect()
            each = (resident() - before) / IDLE
    return judged("KiB for each", each / 1024, 30)


# --- slow ----------------------------------------------------------------------------------------

_PIECES = 100
_FILLER = "x" * 1500
# Bytes that may wait for a client; one that does not read is disconnected during the turn.
_BUFFER = 20_000


class Clocked(LocalSession):
    """A session that says the current time repeatedly."""

    native_session_id = "session-1"

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Starts the answer."""
        self._start(self._talk(turn_uuid))

    async def _talk(self, message: str) -> None:
        block = TextBlock("", "in_progress")
        self._say(
            ev.TurnStarted(*WHOSE),
            ev.MessageStarted(*WHOSE, message, "bench"),
            ev.ContentStarted(*WHOSE, message, 0, block),
        )
        for _ in range(_PIECES):
            await asyncio.sleep(0.04)
            text = f"{time.monotonic_ns()} {_FILLER}"
            self._say(ev.ContentDelta(*WHOSE, message, 0, "text", text))
            await self._let_read(0)
        self._say(
            ev.MessageDiscarded(*WHOSE, message, 0, "retry"),
            ev.TurnCompleted(*WHOSE, "end_turn"),
            ev.ResultSummary(*WHOSE, "success", False),
        )

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Does nothing: the agent asks no questions."""

    async def interrupt(self) -> None:
        """Does nothing: the agent ignores interrupts."""


class Clock(Talker):
    """An agent with sessions of Clocked."""

    async def open(self, start: SessionStart) -> AgentSession:
        """Opens a session."""
        return Clocked()


async def slow(folder: Path) -> bool:
    """Alternates a turn for 199 reading clients with the same plus one that does not read."""
    late: dict[int, list[float]] = {0: [], 1: []}
    async with serving(folder, {"talker": Clock(1)}, buffer_bytes=_BUFFER) as server:
        for stalled in (0, 1) * ROUNDS:
            talk = await server.engine.create("talker")
            late[stalled].append(await _late(server, talk, 199, stalled))
    without, with_slow = statistics.median(late[0]), statistics.median(late[1])
    print(
        f"  99 of 100 deltas arrive within {without:,.0f} us, with a slow reader {with_slow:,.0f} us"
    )
    print(f"  {'times':<34}{with_slow / without:7.2f}")
    return True


async def _late(server: Serving, talk: Talk, count: int, stalled: int) -> float:
    """Returns the microseconds within which 99 of 100 deltas arrive."""
    given = [server.address(talk.id), server.token, str(count), str(stalled)]
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "benchmarks.late", *given],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        told = await process.stdout.readline()
        if stalled:
            assert told == b"stalled\n"
            await asyncio.to_thread(until_there_are, 1, server)
            _shrink(server)
            process.stdin.write(b"\n")
            told = await process.stdout.readline()
        assert told == b"there\n"
        await talk.send("go")
        late, pieces = (await process.stdout.readline()).split()
        assert int(pieces) == count * _PIECES, "a delta was lost"
        await asyncio.to_thread(until_there_are, count, server)  # no other client is disconnected
        return float(late)
    finally:
        process.kill()
        await process.wait()
        await asyncio.to_thread(until_there_are, 0, server)


def until_there_are(count: int, server: Serving) -> None:
    """Waits until this many clients are connected. Raises TimeoutError.

    A disconnected client gets a moment to read the reason.
    """
    latest = time.monotonic() + 10
    while len(server.hub) != count:
        if time.monotonic() > latest:
            raise TimeoutError(f"{len(server.hub)} clients are connected, not {count}")
        time.sleep(0.01)


def _shrink(server: Serving) -> None:
    """Shrinks the send buffers: otherwise the kernel buffers everything for a slow client."""
    for connection in server.hub._connections:
        line = connection._wire.transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


# --- storm ---------------------------------------------------------------------------------------


async def bare(frames: list[str]) -> float:
    """Returns the processor time of a server that has everything in memory."""

    async def handle(socket: ServerConnection) -> None:
        for frame in frames:
            await socket.send(frame)
        await socket.wait_closed()

    async with serve(handle, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url = f"http://127.0.0.1:{port}/?"
        began = time.process_time()
        async with sinks(url, "", STORM, '"session.state"', at_once=100) as told:
            assert await told() == "seen"
        return time.process_time() - began


async def storm(folder: Path) -> bool:
    """Reconnects 1,000 clients, 100 at a time."""
    ours, floor = [], []
    async with serving(folder, {"demo": DemoAgent(delay=0)}, connects_at_once=3 * STORM) as server:
        talk = await server.engine.create("demo")
        while (await server.engine.open(talk.id)).row.head < MESSAGES:
            await turn_of(talk, "hello")
        frames = [each.decode() async for each in first_frames(server, talk.id)]
        print(f"  {len(frames)} frames, {sum(map(len, frames)):,} bytes for each of {STORM}")
        address = server.address(talk.id)
        for _ in range(3):
            began = time.process_time()
            async with sinks(address, server.token, STORM, '"session.state"', at_once=100) as told:
                assert await told() == "seen"
            ours.append(time.process_time() - began)
            floor.append(await bare(frames))
    print(f"  a bare server  {statistics.median(floor):6.2f} s")
    print(f"  this one       {statistics.median(ours):6.2f} s")
    return judged("times", statistics.median(ours) / statistics.median(floor), 2.5)


async def first_frames(server: Serving, conversation_id: str) -> AsyncIterator[bytes]:
    """Yields the frames that a new client gets."""
    row = (await server.engine.open(conversation_id)).row
    number = 0
    async with aclosing(server.engine.follow(row, Place(), "bench")) as sent:
        async for each in sent:
            number += 1
            yield each.encoded.at(number)
            if isinstance(each.frame, f.SessionState):
                return


MEASURES: Measures = {
    "delta": delta,
    "handwritten": handwritten,
    "fanout": fanout,
    "idle": idle,
    "rpc": rpc,
    "slow": slow,
    "storm": storm,
}


if __name__ == "__main__":
    sys.exit(uvloop.run(run(MEASURES, sys.argv[1:])))
