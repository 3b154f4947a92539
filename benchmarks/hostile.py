"""Measures the event loop's longest pause while one client sends expensive input.

The server runs in its own process, and its watchdog measures. Each input is sent a few times. The
result is the shortest of the longest pauses, because other load can only make a pause longer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

import uvloop
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.measuring import Measures, judged, run
from benchmarks.server import serving
from turnwire.agents.demo import DemoAgent
from turnwire.ports import Agent

TARGET = 50.0  # milliseconds
ROUNDS = 3
ENOUGH = 500.0  # milliseconds: a slower input is not sent again
EXACT = 0.01  # seconds: the threshold of the watchdog, whose resolution is a quarter of it
SETTLE = 0.3  # seconds for work that continues after an answer
FRAME = (1 << 20) - 300  # bytes, with room for the envelope
BLOB = 10_000_000


class Server:
    """A server in another process."""

    def __init__(self, url: str, token: str, process: asyncio.subprocess.Process) -> None:
        self.url = url
        self.token = token
        self._process = process
        self._count = 0

    async def longest(self) -> tuple[float, float]:
        """Returns the longest pause since the last call and the loop's work in it, in ms."""
        await asyncio.sleep(SETTLE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"\n")
        pause, work = (await self._process.stdout.readline()).split()
        return float(pause), float(work)

    def new_id(self) -> str:
        """Returns an unused id."""
        self._count += 1
        return f"hostile-{self._count}"

    async def http(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        kind: str = "application/json",
        *,
        encoded: bool = False,
    ) -> tuple[int, bytes]:
        """Returns the status and the body.

        `encoded` means that the body is already split into chunks.
        """
        place = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        length = "Transfer-Encoding: chunked" if encoded else f"Content-Length: {len(body)}"
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: {kind}\r\n{length}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + body)
            answer = await reader.read()
        except ConnectionError:  # the server refused the request before it had read all of it
            return 0, b""
        finally:
            writer.close()
        first, _, rest = answer.partition(b"\r\n\r\n")
        return int(first.split()[1]) if first else 0, rest

    async def begin(self) -> str:
        """Creates a conversation."""
        status, body = await self.http(
            "POST", "/api/conversations", b'{"agent":"demo","options":{"delay":0}}'
        )
        assert status == 201, body
        return str(json.loads(body)["id"])

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ClientConnection]:
        """Opens a WebSocket."""
        async with connect(
            self.url.replace("http", "ws", 1) + path,
            additional_headers={"Authorization": f"Bearer {self.token}"},
            max_size=None,
            compression=None,
            ping_interval=None,
        ) as socket:
            yield socket

    @asynccontextmanager
    async def v2(self) -> AsyncIterator[ClientConnection]:
        """Follows a new conversation over protocol v2."""
        path = f"/ws/conversations/{await self.begin()}?protocol=v2"
        async with self.socket(path) as socket:
            await until(socket, "session.state")
            yield socket

    async def raw(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Opens a WebSocket that can send arbitrary bytes."""
        place = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        key = b64encode(os.urandom(16)).decode()
        path = f"/ws/conversations/{await self.begin()}?protocol=v2"
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {self.token}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        await reader.readuntil(b'"session.state"')
        return reader, writer


Input: TypeAlias = Callable[[Server], Awaitable[str]]


async def until(socket: ClientConnection, *words: str) -> dict[str, Any]:
    """Returns the first frame that contains one of these words."""
    async with asyncio.timeout(60):
        while True:
            text = str(await socket.recv())
            if any(word in text for word in words):
                return dict(json.loads(text))


# --- frames ---------------------------------------------------------------------------------------


def frame(make: Callable[[str], str]) -> Input:
    """Returns an input that sends a v2 frame, made with a new id."""

    async def send(server: Server) -> str:
        own_id = server.new_id()
        async with server.v2() as socket:
            await server.longest()
            await socket.send(make(own_id))
            return await answer_to(socket)

    return send


async def answer_to(socket: ClientConnection) -> str:
    """Returns the result of a frame in one word."""
    told = await until(socket, '.ack"', "session.error")
    return str(told["payload"].get("code") or "taken")


def message(content: str) -> Input:
    """Returns an input that sends a message with this JSON as its content."""

    def make(own_id: str) -> str:
        head = f'{{"type":"user.message","client_message_id":"{own_id}","payload":{{"content":'
        return f"{head}{content}}}}}"

    return frame(make)


def in_control(value: str) -> Input:
    """Returns an input that sends this JSON in a frame of unknown type."""
    return frame(lambda own_id: f'{{"type":"x","client_message_id":"{own_id}","payload":{value}}}')


def rpc(call: str, *, first: bool = True) -> Input:
    """Returns an input that sends an RPC call.

    `first` means that a conversation is opened first.
    """

    async def send(server: Server) -> str:
        own_id = server.new_id()
        async with server.socket("/ws/rpc") as socket:
            if first:
                begun = json.dumps({"conversation": await server.begin()})
                await socket.send(f'{{"id":"1","method":"connect","params":{begun}}}')
                await until(socket, '"result"')
            await server.longest()
            await socket.send(call.replace("ID", own_id, 1))
            told = await until(socket, f'"id":"{own_id}"', '"error":{')
            return str((told.get("error") or {}).get("code") or "taken")

    return send


def permission(value: str) -> Input:
    """Returns an input that allows a tool call, with this JSON as its changed input."""

    async def send(server: Server) -> str:
        async with server.v2() as socket:
            said = {"type": "user.message", "payload": {"content": "permission"}}
            await socket.send(json.dumps(said))
            asked = await until(socket, '"assistant.permission_request"')
            name = json.dumps(asked["payload"]["request_id"])
            await server.longest()
            await socket.send(
                f'{{"type":"user.permission_response","client_message_id":"{server.new_id()}",'
                f'"payload":{{"request_id":{name},"decision":"allow","updated_input":{value}}}}}'
            )
            return await answer_to(socket)

    return send


def bytes_on_a_socket(data: bytes, end: bytes) -> Input:
    """Returns an input that sends bytes on a WebSocket.

    `end` has bytes that the server answers, or that end the connection.
    """

    async def send(server: Server) -> str:
        reader, writer = await server.raw()
        await server.longest()
        try:
            writer.write(data + end)
            async with asyncio.timeout(60):
                while piece := await reader.read(1 << 16):
                    if b"heartbeat_ack" in piece or b"session.error" in piece:
                        return "taken"
        except ConnectionError:
            pass
        finally:
            writer.close()
        return "cut off"

    return send


def ws(opcode: int, payload: bytes = b"") -> bytes:
    """Returns a WebSocket frame of a client, with a mask of zeros."""
    return bytes((opcode, 0x80 | len(payload))) + bytes(4) + payload


# --- requests -------------------------------------------------------------------------------------


def request(method: str, path: str, body: bytes, kind: str = "application/json") -> Input:
    """Returns an input that sends a request.

    `ID` in the path is replaced by a conversation's id.
    """

    async def send(server: Server) -> str:
        where = path.replace("ID", await server.begin()) if "ID" in path else path
        await server.longest()
        status, _ = await server.http(method, where, body, kind)
        return str(status)

    return send


def chunks(body: bytes) -> Input:
    """Returns an input that sends a request body in chunks of one byte."""

    async def send(server: Server) -> str:
        await server.longest()
        encoded = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
        status, _ = await server.http("POST", "/api/conversations", encoded, encoded=True)
        return str(status)

    return send


def headers(line: str, path: str = "/healthz") -> Input:
    """Returns an input that sends the maximum size of headers, without a token.

    `PORT` in the headers is replaced by the server's port.
    """

    async def send(server: Server) -> str:
        place = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        await server.longest()
        lines = line.replace("PORT", str(place.port)) * max(1, 60_000 // len(line))
        head = f"GET {path} HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
        try:
            writer.write(f"{head}{lines}\r\n".encode())
            answer = await reader.read()
        except ConnectionError:
            answer = b""
        finally:
            writer.close()
        return answer.split()[1].decode() if answer else "cut off"

    return send


async def search(server: Server) -> str:
    """Searches for 16 kB of words in a long message that has them at its end."""
    async with server.v2() as socket:
        await say(socket, server, json.dumps("ab " * 20_000 + "zq"))
        await until(socket, '"assistant.complete"')
    await server.longest()
    status, _ = await server.http("GET", f"/api/search?q={quote('zq ' * 5_300)}")
    return str(status)


async def say(socket: ClientConnection, server: Server, content: str) -> str:
    """Sends a message with this JSON as its content."""
    head = f'{{"type":"user.message","client_message_id":"{server.new_id()}","payload":'
    await socket.send(f'{head}{{"content":{content}}}}}')
    return await answer_to(socket)


async def queue(server: Server) -> str:
    """Fills the queue with messages of maximum size while a question is open."""
    async with server.v2() as socket:
        await say(socket, server, '"permission"')
        await until(socket, '"assistant.permission_request"')
        await server.longest()
        return [await say(socket, server, CONTROLS) for _ in range(16)][-1]


async def fetch_blob(server: Server) -> str:
    """Reads the largest blob."""
    status, body = await server.http("POST", "/api/blobs", os.urandom(BLOB), "image/png")
    assert status == 201, body
    await server.longest()
    status, _ = await server.http("GET", f"/api/blobs/{json.loads(body)['blob_id']}")
    return str(status)


# --- all inputs -----------------------------------------------------------------------------------


def filled(piece: str, between: str = ",", size: int = FRAME) -> str:
    """Returns this piece, repeated up to the size."""
    return between.join([piece] * (size // (len(piece.encode()) + len(between))))


def keys(size: int = FRAME) -> str:
    """Returns an object with as many keys as fit in the size."""
    pairs = (f'"{n:x}":0' for n in range(size))
    told: list[str] = []
    while size > 0:
        told.append(next(pairs))
        size -= len(told[-1]) + 1
    return f"{{{','.join(told)}}}"


def a_list(piece: str, size: int = FRAME) -> str:
    """Returns a list of this piece, repeated up to the size."""
    return f"[{filled(piece, size=size)}]"


def a_text(piece: str, size: int = FRAME) -> str:
    """Returns a text of this piece, repeated up to the size."""
    return f'"{filled(piece, "", size)}"'


LISTS = a_list("[]")
CONTROLS = a_text("\\u0001")
LESS = FRAME - 200  # bytes, for a larger envelope
BEAT = ws(0x81, b'{"type":"session.heartbeat","client_message_id":"a","payload":{}}')

INPUTS: dict[str, Input] = {
    # Unlimited structure.
    "empty lists": in_control(LISTS),
    "empty objects": in_control(a_list("{}")),
    "nested lists": in_control(a_list("[" * 60 + "]" * 60)),
    "one deep list": in_control("[" * (FRAME // 2) + "]" * (FRAME // 2)),
    "numbers": in_control(a_list("0")),
    "empty texts": in_control(a_list('""')),
    "keys": in_control(keys()),
    "a long number": in_control("1" * FRAME),
    "not JSON": in_control(LISTS[:-1]),
    "too large, empty lists": in_control(a_list("[]", 4 * FRAME - 2000)),
    "unknown type, 1 MiB": frame(lambda own_id: f'{{"type":{CONTROLS}}}'),
    "unknown key, 1 MiB": frame(lambda own_id: f'{{"type":"user.message",{a_text("`")}:0}}'),
    "message of many parts": message(a_list('{"type":"text","text":"x"}')),
    "changed input, lists": permission(f'{{"a":{a_list("[]", LESS)}}}'),
    "changed input, keys": permission(keys(LESS)),
    "changed input, text": permission(f'{{"a":{a_text("x", LESS)}}}'),
    # The maximum allowed structure.
    "allowed: lists": permission(f'{{"a":{a_list("[]", 29_900)}}}'),
    "allowed: numbers": permission(f'{{"a":{a_list("0", 39_900)}}}'),
    "allowed: keys": permission(keys(160_000)),
    "allowed: texts": permission(f'{{"a":{a_list(a_text("x", 45), 950_000)}}}'),
    "allowed: parts": message(a_list('{"type":"text","text":"x"}', 175_000)),
    "many files": message(a_list('{"type":"file_ref","path":"%s"}' % ("a/" * 55), 800_000)),
    # The longest legitimate messages.
    "text": message(a_text("word ")),
    "text, Chinese": message(a_text("中文")),
    "text, emoji": message(a_text("🙂")),
    "text, \\u0001": message(CONTROLS),
    "text, \\u4e2d": message(a_text("\\u4e2d")),
    "text, backslashes": message(a_text("\\\\")),
    "text, quotes": message(a_text('\\"')),
    "text, newlines": message(a_text("\\n")[:-1] + 'x"'),
    "text, half characters": message(a_text("\\ud83d")),
    "text, brackets": message(a_text("[{")),
    "text, code": message(json.dumps(a_list('{"a":[1,2],"b":"c"}', FRAME * 3 // 5))),
    "text, secrets": message(a_text("sk-ant-api03-aaaaaaaaaaaaaaaaaaaa ")),
    "a queue of 16 texts": queue,
    "combining marks, 130 kB": message(a_text("\u0315\u0300", 130_000)),
    # Bytes on a WebSocket.
    "2 MB of empty pings": bytes_on_a_socket(ws(0x89) * 333_000, BEAT),
    "2 MB of empty pieces": bytes_on_a_socket(ws(0x01) + ws(0x00) * 333_000, ws(0x80) + BEAT),
    # RPC.
    "RPC, empty lists": rpc(f'{{"id":"ID","method":"x","params":{LISTS}}}'),
    "RPC, text": rpc(f'{{"id":"ID","method":"query","params":{{"prompt":{a_text("x", LESS)}}}}}'),
    "RPC, options": rpc(
        f'{{"id":"ID","method":"connect","params":{{"options":{keys(LESS)}}}}}', first=False
    ),
    # HTTP.
    "search, 16 kB": search,
    "POST, empty lists": request(
        "POST", "/api/conversations", f'{{"options":{{"a":{LISTS}}}}}'.encode()
    ),
    "POST, keys": request("POST", "/api/conversations", f'{{"options":{keys(LESS)}}}'.encode()),
    "POST, not an object": request("POST", "/api/conversations", LISTS.encode()),
    "PATCH, text": request("PATCH", "/api/conversations/ID", f'{{"title":{a_text("x")}}}'.encode()),
    "PATCH, empty lists": request(
        "PATCH", "/api/conversations/ID", f'{{"title":{LISTS}}}'.encode()
    ),
    "POST, cwd of 1 MB": request(
        "POST", "/api/conversations", f'{{"cwd":{a_text("/a", LESS)}}}'.encode()
    ),
    "body in chunks of 1 byte": chunks(b" " * 300_000),
    "60 kB of headers": headers("a:b\r\n"),
    "60 kB of a cookie": headers(
        'Cookie: turnwire_PORT="' + "\\a" * 29_900 + '"\r\n', "/api/inbox"
    ),
    "60 kB of cookies": headers("Cookie: " + "a=b;" * 14_900 + "\r\n", "/api/inbox"),
    "60 kB of a host": headers(f"Host: {'a.' * 29_900}\r\n"),
    "60 kB of an origin": headers(f"Origin: http://{'a:' * 29_900}\r\n", "/api/inbox"),
    "60 kB of an address": request("GET", f"/api/audit?{'a=%41&' * 10_000}", b""),
    "blob, 10 MB": request("POST", "/api/blobs", bytes(BLOB), "image/png"),
    "blob read, 10 MB": fetch_blob,
}


async def hostile(folder: Path) -> bool:
    """Sends every input, or the named ones, and prints the longest pause of each."""
    wanted = [name for name in INPUTS if name in sys.argv[1:]] or list(INPUTS)
    worst = 0.0
    async with other_process(folder) as server:
        print(f"  {'input':<28}{'answer':<22}{'longest pause':>14}{'work in it':>14}")
        for name in wanted:
            best, answer = (float("inf"), 0.0), ""
            for _ in range(ROUNDS):
                answer = await INPUTS[name](server)
                best = min(best, await server.longest())
                if best[0] > ENOUGH:
                    break
            pause, work = best
            worst = max(worst, pause)
            missed = "  MISSED" if pause > TARGET else ""
            print(f"  {name:<28}{answer:<22}{pause:11.0f} ms{work:11.0f} ms{missed}", flush=True)
    return judged("the longest pause, in ms", worst, TARGET)


@asynccontextmanager
async def other_process(folder: Path) -> AsyncIterator[Server]:
    """Starts a server in its own process."""
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "benchmarks.hostile", "--serve", str(folder)],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        told = json.loads(await process.stdout.readline())
        yield Server(told["url"], told["token"], process)
    finally:
        process.kill()
        await process.wait()


async def serve(folder: Path) -> None:
    """Runs the server. For each line of stdin, prints the longest pause since the last line."""
    logging.getLogger("turnwire").setLevel(logging.CRITICAL)  # the table reports the pauses already
    agents: dict[str, Agent] = {"demo": DemoAgent(delay=0)}
    async with serving(
        folder, agents, agent="demo", roots=[str(folder)], slow_loop_seconds=EXACT
    ) as server:
        watchdog = server.service.watchdog
        print(json.dumps({"url": server.url, "token": server.token}), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(watchdog.longest * 1000, watchdog.longest_processor_time * 1000, flush=True)
            watchdog.reset()


MEASURES: Measures = {"hostile": hostile}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        uvloop.run(serve(Path(sys.argv[2])))
    elif {"hostile", *INPUTS} & set(sys.argv[1:]) or not sys.argv[1:]:
        sys.exit(uvloop.run(run(MEASURES, [])))
