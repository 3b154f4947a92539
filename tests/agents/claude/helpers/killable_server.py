"""A server with Claude in its own process, which tests kill. It takes commands line by line.

The started process is no server yet. A byte on its standard input starts a server in a forked
copy; when that copy was killed, the next byte starts another. So the imports are done only once.
"""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path

import msgspec

from tests.agents.claude.helpers.program_traffic import Tapped, Wire
from turnwire.agents.claude.process.sdk_compat import QUERY
from turnwire.core.conversation.state import Options
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.engine.clock import SystemClock
from turnwire.ports import Store
from turnwire.stores.open_store import open_store
from turnwire.testing.model_api import claude_environment

RULES = Options(on_disconnect="continue")


def say(**what: object) -> None:
    sys.stdout.write(msgspec.json.encode(what).decode() + "\n")
    sys.stdout.flush()


async def show(talk: Talk) -> None:
    async for frame in talk.follow():
        kind = frame.__struct_config__.tag
        say(talk=talk.id, frame=kind, payload=frame.payload)  # type: ignore[attr-defined]


async def until_abandoned(store: Store, *names: str) -> list[str]:
    """Waits until the leases of a killed server have expired. Returns the conversations.

    Without names it waits for all of them, so each needs to have had an owner.
    """
    names = names or tuple(row.conversation_id for row in await store.conversations(limit=1000))
    async with asyncio.timeout(180):
        while not {*names} <= {*await store.abandoned(now=SystemClock().now())}:  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # no event announces the end of a lease
    return list(names)


async def serve(place: Path, url: str, hold: float, address: str) -> None:
    sys.stdout.write("\n")  # ends a line that a killed server has begun
    say(talk="", frame="server", payload={"pid": os.getpid()})
    store = await open_store(address)
    left = await until_abandoned(store)
    options = {"model": "claude-sonnet-4-5"}
    wire = Wire(lambda way, line: say(talk="", frame="wire", payload={way: line.decode()}))
    env = claude_environment(url, place / "home")
    agent = Tapped(wire, options, env=env, hold=hold, titles=False, start_seconds=180.0)
    settings = EngineSettings(lease=3.0)
    async with Engine(store, {"claude": agent}, settings=settings) as engine:
        talks = {name: await engine.open(name) for name in left}
        showing = [asyncio.create_task(show(talk)) for talk in talks.values()]
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
                case ["answer", name, call, words]:
                    ack = (await talks[name].answer(call, words)).ack
                    say(talk=name, frame="answered", payload={"delivered_as": ack.delivered_as})
        for task in showing:
            task.cancel()
    await store.close()


def main(place: Path, url: str, hold: float, address: str) -> None:
    for module in ("claude_agent_sdk", QUERY):
        import_module(module)
    while os.read(0, 1):
        server = os.fork()
        if not server:
            asyncio.run(serve(place, url, hold, address))
            os._exit(0)
        os.waitpid(server, 0)
        os.set_blocking(0, True)  # which the copy had changed for both


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4])
