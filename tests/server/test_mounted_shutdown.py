"""An application that mounts Turnwire ends on Ctrl-C with connected clients."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.server.helpers.rpc_client import RpcClient
from tests.server.helpers.servers import ROOT
from tests.server.helpers.socket_reader import PATIENCE
from tests.server.helpers.v2_client import Client
from tests.stores.postgres.fixtures import store_environ
from turnwire import Settings, create_app
from turnwire.agents.demo import DemoAgent
from turnwire.server.access.keys import owner_file
from turnwire.stores.open_store import open_store

_APPLICATION = """
import uvicorn
from contextlib import asynccontextmanager
from fastapi import FastAPI
from turnwire import Settings, create_app
from turnwire.agents.demo import DemoAgent

agents = {"demo": DemoAgent()}
chat = create_app(Settings(data_dir="DATA/chat", store="CHAT_STORE", protocol_v2=True, made_agents=agents, drain_grace=600))
other = create_app(Settings(data_dir="DATA/other", protocol_v2=True, made_agents=agents))

@asynccontextmanager
async def both(app):
    async with chat.lifespan(), other.lifespan():
        yield

app = FastAPI(lifespan=both)
app.mount("/chat", chat)
app.mount("/other", other)
late = FastAPI()  # nothing of it is started before the first request
late.mount("/chat", chat)

if __name__ == "__main__":
    uvicorn.run(app, port=0, timeout_graceful_shutdown=GRACE)
"""
# The servers would wait for connected clients for this many seconds: longer than any test. So an
# application that ends before, ends because Turnwire has closed its connections.
_GRACE = 600
_HYPERCORN_SETTINGS = f"graceful_timeout = {_GRACE}\nshutdown_timeout = {_GRACE}\n"
_UVICORN = (
    *(sys.executable, "-m", "uvicorn", "--port", "0"),
    *("--timeout-graceful-shutdown", str(_GRACE)),
)
_RELOADED = (*_UVICORN, "--reload", "application:app")
_STARTED = {
    "from the command line": (*_UVICORN, "application:app"),
    "without our lifespan": (*_UVICORN, "application:late"),
    "by a reloader": _RELOADED,
    "by uvicorn.run": (sys.executable, "application.py"),
    "by fastapi dev": (sys.executable, "-m", "fastapi", "dev", "--port", "0", "application.py"),
}
_HYPERCORN = (
    *(sys.executable, "-m", "hypercorn", "--bind", "127.0.0.1:0"),
    *("--config", "hypercorn.toml"),
)
_BY_HYPERCORN = {
    "from the command line": (*_HYPERCORN, "application:app"),
    "without our lifespan": (*_HYPERCORN, "application:late"),
    "by a reloader": (*_HYPERCORN, "--reload", "application:app"),
    "without a process of its own": (*_HYPERCORN, "--workers", "0", "application:app"),
}


class Application:
    """A process with Turnwire below a path of it."""

    def __init__(self, path: Path, url: str, popen: subprocess.Popen[str]) -> None:
        self.path = path
        self._url = url
        self._popen = popen

    async def enter(self, name: str = "chat") -> tuple[str, str]:
        """Returns the address and the owner's token of Turnwire below this path, when it answers."""
        url = f"{self._url}/{name}"
        retries = httpx.AsyncHTTPTransport(retries=5)
        async with httpx.AsyncClient(timeout=PATIENCE, transport=retries) as http:
            # The last process may still listen, and say that it stops.
            while (await http.get(f"{url}/healthz")).status_code == 503:
                pass
        return url, owner_file(self.path / "data" / name).read_text().strip()

    async def end(self, how: signal.Signals) -> None:
        """Signal every process of it, as a terminal does on Ctrl-C, and wait for its end."""
        self.send(how)
        await self.ended()

    def send(self, how: signal.Signals) -> None:
        """Signal every process of it."""
        os.killpg(self._popen.pid, how)

    async def ended(self) -> None:
        """Wait for its end."""
        await asyncio.to_thread(self._popen.wait, PATIENCE)


@contextmanager
def running(path: Path, command: Sequence[str]) -> Iterator[Application]:
    store = store_environ(path / "data" / "chat").get("TURNWIRE_STORE", "")
    application = _APPLICATION.replace("DATA", str(path / "data")).replace("CHAT_STORE", store)
    (path / "application.py").write_text(application.replace("GRACE", str(_GRACE)))
    (path / "hypercorn.toml").write_text(_HYPERCORN_SETTINGS)
    popen = subprocess.Popen(
        command,
        cwd=path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with popen:
        try:
            assert popen.stderr is not None
            url, said = "", []
            for line in popen.stderr:
                said.append(line)
                if "Uvicorn running on " in line:
                    url = line.partition("Uvicorn running on ")[2].split()[0]
                if "Application startup complete" in line and url:
                    break
                if "] Running on " in line:  # Hypercorn, whose applications have started by then
                    url = line.partition("] Running on ")[2].split()[0]
                    break
                if "(Press CTRL+C" in line and any("startup complete" in each for each in said):
                    break
            else:
                raise AssertionError("".join(said))
            yield Application(path, url, popen)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(popen.pid, signal.SIGKILL)


@asynccontextmanager
async def listening(url: str, token: str) -> AsyncIterator[AsyncIterator[bytes]]:
    """The stream of changes, which this side does not close before the block is left."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx.AsyncClient(timeout=PATIENCE, trust_env=False, headers=headers) as http,
        http.stream("GET", f"{url}/api/changes") as answer,
    ):
        changes = answer.aiter_raw()
        assert await anext(changes)
        yield changes


@asynccontextmanager
async def talking(url: str, token: str) -> AsyncIterator[tuple[Client, RpcClient]]:
    """Connects a client of each protocol to a new conversation; neither leaves."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False, headers=headers) as http:
        begun = await http.post(f"{url}/api/conversations", json={"options": {"delay": 0.01}})
    name = begun.json()["id"]
    client = await Client(url, name, token).come()
    rpc = await RpcClient(url, token).come()
    try:
        await rpc.join(name)
        yield client, rpc
    finally:
        client.drop()
        rpc.drop()


async def error_of_first_turn(path: Path, conversation_id: str) -> str | None:
    chat = path / "data" / "chat"
    store = await open_store(store_environ(chat).get("TURNWIRE_STORE", str(chat / "turnwire.db")))
    try:
        (turn,) = await store.turns(conversation_id)
        return None if turn.end.error is None else turn.end.error.code
    finally:
        await store.close()


async def stopped_among_clients(app: Application, how: signal.Signals) -> None:
    """Stops the application while a page's stream and a socket of each protocol are open.

    One signal has to be enough. A server that waits for its clients until they leave, or until its
    own deadline, does not end in time.
    """
    url, token = await app.enter()
    async with listening(url, token) as changes, talking(url, token) as (client, rpc):
        await app.end(how)
        await rest_of(changes)  # it was ended, not cut off
        assert await client.until_closed() in (4000, 1012)
        assert await rpc.until_closed() in (4000, 1012)


async def rest_of(changes: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in changes])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("started", _STARTED)
def test_an_application_ends_while_clients_are_connected(
    tmp_path: Path, started: str, how: signal.Signals
) -> None:
    with running(tmp_path, _STARTED[started]) as app:
        asyncio.run(stopped_among_clients(app, how))


@pytest.mark.parametrize("started", _BY_HYPERCORN)
def test_an_application_under_hypercorn_ends_while_clients_are_connected(
    tmp_path: Path, started: str
) -> None:
    with running(tmp_path, _BY_HYPERCORN[started]) as app:
        asyncio.run(stopped_among_clients(app, signal.SIGINT))


def test_an_application_with_two_mounted_servers_ends(tmp_path: Path) -> None:
    async def stop(app: Application) -> None:
        one, other = await app.enter("chat"), await app.enter("other")
        async with listening(*one) as changes, listening(*other) as others:
            await app.end(signal.SIGINT)
            await rest_of(changes)
            await rest_of(others)

    with running(tmp_path, _STARTED["from the command line"]) as app:
        asyncio.run(stop(app))


def test_a_turn_that_runs_meanwhile_is_ended_in_the_log(tmp_path: Path) -> None:
    async def stop(app: Application) -> str:
        url, token = await app.enter()
        async with listening(url, token), talking(url, token) as (client, _):
            await client.say("long", "m-1")
            await client.until("assistant.chunk")
            await app.end(signal.SIGINT)
        return client.conversation_id

    with running(tmp_path, _STARTED["from the command line"]) as app:
        name = asyncio.run(stop(app))
    assert asyncio.run(error_of_first_turn(tmp_path, name)) == "server_stopped"


@pytest.mark.parametrize("is_second", [False, True])
def test_after_sigterm_an_application_waits_for_a_turn_until_a_second_signal(
    tmp_path: Path, is_second: bool
) -> None:
    async def stop(app: Application) -> str:
        url, token = await app.enter()
        await app.enter("other")
        async with talking(url, token) as (client, _):
            await client.say("permission", "m-1")
            asked = await client.until("assistant.permission_request")
            app.send(signal.SIGTERM)
            async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
                while (await http.get(f"{url}/readyz")).status_code != 503:
                    pass
            if is_second:
                app.send(signal.SIGTERM)
            else:
                request = asked["payload"]["request_id"]
                await client.send("user.permission_response", request_id=request, decision="allow")
                await client.end_of(1)
            assert await client.until_closed() in (4000, 1012)
            await app.ended()
        return client.conversation_id

    with running(tmp_path, _STARTED["from the command line"]) as app:
        error = asyncio.run(error_of_first_turn(tmp_path, asyncio.run(stop(app))))
    assert error == ("server_stopped" if is_second else None)


def test_clients_reconnect_after_a_reload(tmp_path: Path) -> None:
    async def reload(app: Application) -> None:
        url, token = await app.enter()
        async with listening(url, token) as changes, talking(url, token) as (client, _):
            source = tmp_path / "application.py"
            source.write_text(source.read_text() + "# changed\n")
            await rest_of(changes)
            assert await client.until_closed() in (4000, 1012)
            await app.enter()  # the next process listens on the same socket
            async with client:
                await client.say("hello", "m-1")
                await client.end_of(1)

    with running(tmp_path, _RELOADED) as app:
        asyncio.run(reload(app))


def test_signals_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=str(tmp_path), made_agents={"demo": DemoAgent()}))

    async def run() -> None:
        before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
        async with app.lifespan():
            meanwhile = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
        assert meanwhile == before

    asyncio.run(run())
