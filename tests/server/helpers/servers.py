"""Real servers on real sockets, in this process or in one that tests can kill."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.server.helpers.rpc_client import RpcClient
from tests.server.helpers.socket_reader import PATIENCE
from tests.server.helpers.v2_client import Client
from tests.stores.postgres.fixtures import store_environ
from turnwire.agents.demo import DemoAgent
from turnwire.ports import Agent
from turnwire.server.access.keys import Who, owner_file
from turnwire.server.app import App, create_app
from turnwire.server.service import Service
from turnwire.server.tcp.connections import TcpConnections
from turnwire.server.tcp.listen import Server, address_of, bind
from turnwire.settings import Settings

ROOT = Path(__file__).parents[3]


class Serving:
    """A server in this process, listening on a real socket."""

    def __init__(self, app: App, url: str, service: Service, connections: TcpConnections) -> None:
        self.connections = connections
        self.app = app
        self.url = url
        self.service = service
        self.token = owner_file(service.settings.data_path).read_text().strip()

    async def token_of(self, user: str | None) -> str:
        secret, _ = await self.service.keys.make("test", user)
        return secret

    async def begin(self, user: str | None = None, **options: Any) -> str:
        """Creates a conversation with a demo agent without delays."""
        chosen = {"delay": 0, **options}
        talk = await self.service.engine.create("demo", user=user, options=chosen)
        return talk.id

    def client(self, conversation_id: str, token: str | None = None) -> Client:
        return Client(self.url, conversation_id, token or self.token)

    def rpc(self, token: str | None = None, path: str = "/ws/rpc") -> RpcClient:
        return RpcClient(self.url, token or self.token, path)

    def http(self, token: str | None = None, **options: Any) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {token or self.token}"}
        chosen: Any = {"timeout": PATIENCE, "trust_env": False, **options}
        return httpx.AsyncClient(base_url=self.url, headers=headers, **chosen)

    @property
    def owner(self) -> Who:
        assert self.service.owner is not None
        return self.service.owner


@asynccontextmanager
async def serving(
    path: Path, *, agents: Mapping[str, Agent] | None = None, **settings: Any
) -> AsyncIterator[Serving]:
    """A server that is stopped, as Ctrl-C stops it, when the block is left."""
    chosen = Settings(
        **{
            "data_dir": str(path),
            "port": 0,
            "protocol_v2": True,
            "on_disconnect": "continue",
            "made_agents": agents or {"demo": DemoAgent()},
            **settings,
        }
    )
    app = create_app(chosen)
    listener = bind(chosen, any_port=True)
    ready = asyncio.Event()

    async def announce() -> None:
        ready.set()

    server = Server(app, chosen, listener, announce)
    running = asyncio.create_task(server._serve([listener]))
    first, _ = await asyncio.wait(
        [running, waiting := asyncio.create_task(ready.wait())],
        return_when=asyncio.FIRST_COMPLETED,
    )
    if running in first:
        waiting.cancel()
        running.result()
    try:
        yield Serving(app, address_of(listener), await app.start(), server.connections)
    finally:
        server.should_exit = True
        await running


class Process:
    """A server in a process of its own, as people start it."""

    def __init__(
        self, path: Path, url: str, popen: subprocess.Popen[bytes], banner: str = ""
    ) -> None:
        self.path = path
        self.url = url
        self.banner = banner
        self.popen = popen
        self.token = owner_file(path).read_text().strip()
        self.store = store_environ(path).get("TURNWIRE_STORE", str(path / "turnwire.db"))

    def client(self, conversation_id: str, token: str | None = None) -> Client:
        return Client(self.url, conversation_id, token or self.token)

    async def begin(self) -> str:
        """Creates a conversation with a demo agent without delays."""
        async with self.http() as http:
            answer = await http.post("/api/conversations", json={"options": {"delay": 0}})
            return str(answer.json()["id"])

    def rpc(self) -> RpcClient:
        return RpcClient(self.url, self.token)

    def http(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False
        )

    def kill(self) -> None:
        """Kills the server with SIGKILL."""
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> int:
        """Stops the server with SIGINT."""
        self.popen.send_signal(signal.SIGINT)
        return self.popen.wait()


def free_port() -> int:
    """Returns a free port below the range that the system gives to connections."""
    while True:
        port = random.randrange(10_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def process(
    path: Path, *, port: int | None = 0, first: str = "", under: Sequence[str] = (), **environ: str
) -> Iterator[Process]:
    """`turnwire serve`, gone when the block is left. `first`: Python that it runs before.

    `port` is 0 for any that is free, and None if the server is to choose.
    `under` is a command that becomes the server, as `nice` does.
    """
    code = f"{first}\nfrom turnwire.cli.main import main; main()"
    popen = subprocess.Popen(
        [
            *under,
            sys.executable,
            "-c",
            code,
            "serve",
            "--data-dir",
            str(path),
            *([] if port is None else ["--port", str(port or free_port())]),
        ],
        cwd=ROOT,
        env={**os.environ, **store_environ(path), **environ},
        stdout=subprocess.PIPE,
    )
    with popen:
        try:
            assert popen.stdout is not None
            url, said = "", ""
            for line in popen.stdout:
                said += line.decode()
                if line.startswith(b"Turnwire is at "):
                    url = line.split()[3].decode()
                if b"Ctrl-C" in line:
                    break
            else:
                raise AssertionError("the server has ended")
            yield Process(path, url, popen, said)
        finally:
            popen.kill()


def port_of(server: Process) -> int:
    """Returns the port of a server."""
    return int(server.url.rpartition(":")[2])
