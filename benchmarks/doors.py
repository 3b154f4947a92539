"""Measures the processor time of a delta on each way into the server, compared with protocol v2.

- `doors`: one client, and 50 clients of the same conversation: v2, plain events, the AI SDK and
  its socket, AG-UI, RPC, and its profile for older front ends.

The server runs in this process; the agent and the clients run in their own. The ways take turns, so
that other load affects all of them.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from benchmarks.engine import WHOSE
from benchmarks.measuring import Measures, judged, run
from benchmarks.server import Serving, serving
from turnwire.agents.child import ChildAgent
from turnwire.agents.local import LocalSession
from turnwire.agents.process import plain_environment
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation.people import OWNER
from turnwire.core.conversation.state import Reply
from turnwire.engine import Talk
from turnwire.ports import AgentCapabilities, AgentSession, SessionStart

TARGET = 1.3
_PATIENCE = 60  # seconds for one turn


def _words(name: str) -> tuple[str, str]:
    """Returns the first and the last words of a turn. A replay has those of earlier turns."""
    return f"{name} begins. ", f"{name} ends."


# --- the agent ------------------------------------------------------------------------------------


class GatedTalker:
    """An agent that says deltas, one at a time, as soon as a file is there."""

    name = "talker"
    capabilities = AgentCapabilities()

    def __init__(self, gate: str, pieces: int, pause: float) -> None:
        self._gate = Path(gate)
        self._pieces = pieces
        self._pause = pause

    def unavailable(self) -> str | None:
        """Returns None: the agent is always available."""
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        """Opens a session."""
        return GatedSession(self._gate, self._pieces, self._pause)


class GatedSession(LocalSession):
    """A session of GatedTalker."""

    native_session_id = "session-1"

    def __init__(self, gate: Path, pieces: int, pause: float) -> None:
        super().__init__()
        self._gate = gate
        self._pieces = pieces
        self._pause = pause

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Starts the answer."""
        said = content[0]
        assert isinstance(said, TextContent)
        self._start(self._talk(turn_uuid, said.text))

    async def _talk(self, message: str, name: str) -> None:
        first, last = _words(name)
        self._say(
            ev.TurnStarted(*WHOSE),
            ev.MessageStarted(*WHOSE, message, "bench"),
            ev.ContentStarted(*WHOSE, message, 0, TextBlock("", "in_progress")),
            ev.ContentDelta(*WHOSE, message, 0, "text", first),
        )
        await self._until_open(True)
        for number in range(self._pieces):
            await self._let_read(0)
            await asyncio.sleep(self._pause)
            text = last if number == self._pieces - 1 else "some words "
            self._say(ev.ContentDelta(*WHOSE, message, 0, "text", text))
        await self._until_open(False)
        whole = TextBlock(first + "some words " * (self._pieces - 1) + last, "completed")
        self._say(
            ev.AssistantMessage(*WHOSE, message, 0, [whole]),
            ev.ContentCompleted(*WHOSE, message, 0, whole),
            ev.MessageCompleted(*WHOSE, message, "end_turn"),
            ev.TurnCompleted(*WHOSE, "end_turn"),
            ev.ResultSummary(*WHOSE, "success", False),
        )

    async def _until_open(self, is_open: bool) -> None:
        """Waits until the file is there, or is gone. Another process makes and removes it."""
        while self._gate.exists() is not is_open:  # noqa: ASYNC110
            await asyncio.sleep(0.005)

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Does nothing: the agent asks no questions."""

    async def interrupt(self) -> None:
        """Does nothing: the agent ignores interrupts."""


# --- the ways in ----------------------------------------------------------------------------------


class Door(NamedTuple):
    """How a client follows a conversation."""

    name: str
    path: str  # with the id of the conversation
    there: str  # what it has read when it follows; empty: the first words of the turn
    say: str = ""  # its first message


DOORS = (
    Door("v2", "/ws/conversations/{}?protocol=v2", ""),
    Door("plain events", "/api/conversations/{}/turns?key=TURN", ""),
    Door("AI SDK", "/api/chat/{}/stream?x=", ""),
    Door(
        "AI SDK socket",
        "/ws/chat?x=",
        "",
        '{"type":"resume","requestId":"1","id":"CONVERSATION"}',
    ),
    Door("AG-UI", "/agui/threads/{}/stream?x=", ""),
    Door(
        "RPC",
        "/ws/rpc?x=",
        "",
        '{"id":"1","method":"connect","params":{"conversation":"CONVERSATION"}}',
    ),
    Door(
        "RPC classic",
        "/ws/rpc?profile=classic",
        '"canResumeSession"',
        '{"id":"1","method":"connect","params":{"resume":"CONVERSATION"}}',
    ),
)


class Clients:
    """The process of the clients."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin = process.stdin
        self._stdout = process.stdout

    async def begin(self, **task: object) -> None:
        """Has clients connect. Returns when they follow."""
        self._stdin.write(json.dumps(task).encode() + b"\n")
        assert await self._stdout.readline() == b"there\n"

    async def end(self) -> None:
        """Waits until the clients have read the last words."""
        assert await self._stdout.readline() == b"seen\n"


@asynccontextmanager
async def _clients(token: str) -> AsyncIterator[Clients]:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "benchmarks.door_clients", token],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Clients(process)
    finally:
        process.kill()
        await process.wait()


# --- the measurement ------------------------------------------------------------------------------


async def doors(folder: Path) -> bool:
    """Measures one client, then 50 clients."""
    met = [await _doors(folder / "one", count=1, pieces=200, pause=0.001, rounds=9)]
    met.append(await _doors(folder / "many", count=50, pieces=40, pause=0.01, rounds=7))
    return all(met)


async def _doors(folder: Path, *, count: int, pieces: int, pause: float, rounds: int) -> bool:
    await asyncio.to_thread(folder.mkdir)
    gate = folder / "gate"
    env = {**plain_environment(), "PYTHONPATH": str(Path(__file__).parent.parent)}
    given: dict[str, Any] = {"gate": str(gate), "pieces": pieces, "pause": pause}
    agent = ChildAgent("benchmarks.doors:GatedTalker", env=env, **given)
    taken: dict[str, list[float]] = {door.name: [] for door in DOORS}
    async with (
        serving(folder / "data", {"talker": agent}) as server,
        _clients(server.token) as clients,
    ):
        talks = [await server.engine.create("talker") for _ in DOORS]
        for number in range(rounds + 1):
            for door, talk in zip(DOORS, talks, strict=True):
                async with asyncio.timeout(_PATIENCE):
                    seconds = await _turn(server, clients, door, talk, gate, number, count)
                if number > 0:  # the first round is a warm-up
                    taken[door.name].append(seconds / pieces)
    people = "one client" if count == 1 else f"{count} clients"
    base, *others = taken
    print(f"  {people}, {base}: {statistics.median(taken[base]) * 1e6:.1f} us")
    met = []
    for name in others:
        pairs = zip(taken[name], taken[base], strict=True)
        print(f"  {people}, {name}: {statistics.median(taken[name]) * 1e6:.1f} us")
        ratio = statistics.median(mine / v2 for mine, v2 in pairs)
        met.append(judged(f"{name}, {people}", ratio, TARGET))
    return all(met)


async def _turn(
    server: Serving,
    clients: Clients,
    door: Door,
    talk: Talk,
    gate: Path,
    number: int,
    count: int,
) -> float:
    """Returns the processor time of the server from the first delta to the last."""
    name = f"turn-{number}"
    first, last = _words(name)
    await talk.send(name, user=OWNER, client_message_id=name)
    await clients.begin(
        url=server.url + door.path.format(talk.id).replace("TURN", name),
        count=count,
        say=door.say.replace("CONVERSATION", talk.id),
        there=door.there or first,
        words=last,
    )
    began = time.process_time()
    gate.touch()  # noqa: ASYNC240  # a task would be measured, too
    await clients.end()
    seconds = time.process_time() - began
    await asyncio.to_thread(gate.unlink)
    while (await talk.status()).turn_id is not None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return seconds


MEASURES: Measures = {"doors": doors}


if __name__ == "__main__":
    sys.exit(uvloop.run(run(MEASURES, sys.argv[1:])))
