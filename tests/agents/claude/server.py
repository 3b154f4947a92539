"""A server with Claude in a process of its own, to be killed: it does what it is told, line by line."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from tests.agents.claude.wire import Tapped, Wire
from turnwire.core.conversation.state import Options
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import claude_environment

RULES = Options(on_disconnect="continue")


def say(**what: object) -> None:
    sys.stdout.write(msgspec.json.encode(what).decode() + "\n")
    sys.stdout.flush()


async def show(talk: Talk) -> None:
    async for frame in talk.follow():
        kind = frame.__struct_config__.tag
        say(talk=talk.id, frame=kind, payload=frame.payload)  # type: ignore[attr-defined]


async def serve(place: Path, url: str, hold: float) -> None:
    store = await SqliteStore.open(place / "turnwire.db")
    options = {"model": "claude-sonnet-4-5"}
    wire = Wire(lambda way, line: say(talk="", frame="wire", payload={way: line.decode()}))
    env = claude_environment(url, place / "home")
    agent = Tapped(wire, options, env=env, hold=hold, titles=False)
    settings = EngineSettings(lease=1.0)
    async with Engine(store, {"claude": agent}, settings=settings) as engine:
        talks: dict[str, Talk] = {}
        showing: list[asyncio.Task[None]] = []
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            match msgspec.json.decode(line):
                case ["send", name, text]:
                    if name not in talks:
                        talks[name] = await engine.create(
                            "claude", conversation_id=name, cwd=str(place / "work"), rules=RULES
                        )
                        showing.append(asyncio.create_task(show(talks[name])))
                    await talks[name].send(text)
                case ["allow", name, request_id]:
                    await talks[name].decide(request_id, "allow")
        for task in showing:
            task.cancel()
    await store.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
