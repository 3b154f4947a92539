"""A server in its own process, which tests kill. It takes commands and reports frames line by line."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from turnwire.agents.child import ChildAgent
from turnwire.core.conversation.state import Options
from turnwire.engine import Engine, Talk
from turnwire.stores.sqlite import SqliteStore


def say(**what: object) -> None:
    sys.stdout.write(msgspec.json.encode(what).decode() + "\n")
    sys.stdout.flush()


async def show(talk: Talk) -> None:
    async for frame in talk.follow():
        say(frame=frame.__struct_config__.tag, payload=frame.payload)  # type: ignore[attr-defined]


async def serve(path: str) -> None:
    store = await SqliteStore.open(path)
    agents = {"demo": ChildAgent("demo", delay=0.005)}
    async with Engine(store, agents) as engine:
        rules = Options(on_disconnect="continue")
        talk = await engine.create("demo", conversation_id="talk", rules=rules)
        showing = asyncio.create_task(show(talk))
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            text, name = msgspec.json.decode(line)
            answer = await talk.send(text, client_message_id=name)
            say(ack=name, turn_id=answer.ack.turn_id, queue_id=answer.ack.queue_id)
        showing.cancel()
    await store.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
