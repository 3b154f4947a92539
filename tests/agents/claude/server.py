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


def say(**what: object) -> None:
    sys.stdout.write(msgspec.json.encode(what).decode() + "\n")
    sys.stdout.flush()


async def show(talk: Talk) -> None:
    async for frame in talk.follow():
        say(frame=frame.__struct_config__.tag, payload=frame.payload)  # type: ignore[attr-defined]


async def serve(place: Path, url: str, hold: float) -> None:
    store = await SqliteStore.open(place / "turnwire.db")
    options = {"model": "claude-sonnet-4-5"}
    wire = Wire(lambda direction, line: say(frame="wire", payload={direction: line.decode()}))
    env = claude_environment(url, place / "home")
    agent = Tapped(wire, options, env=env, hold=hold, titles=False)
    settings = EngineSettings(lease=1.0)
    async with Engine(store, {"claude": agent}, settings=settings) as engine:
        rules = Options(on_disconnect="continue")
        talk = await engine.create(
            "claude", conversation_id="talk", cwd=str(place / "work"), rules=rules
        )
        showing = asyncio.create_task(show(talk))
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            match msgspec.json.decode(line):
                case ["send", text]:
                    await talk.send(text)
                case ["allow", request_id]:
                    await talk.decide(request_id, "allow")
        showing.cancel()
    await store.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
