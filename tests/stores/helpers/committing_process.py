"""Another process that uses the same file. It prints each commit that has returned."""

from __future__ import annotations

import asyncio
import os
import sys

from turnwire.core.conversation.effects import Audit
from turnwire.ports import Fenced
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import NOW, Writing, begin

TALKS = 8
ENTRIES = 3  # of one commit


async def speak(path: str, name: str, rounds: int) -> None:
    """Commit to some conversations at once, each as fast as it can."""
    store = await SqliteStore.open(path)

    async def one(talk: Writing) -> None:
        for number in range(rounds):
            texts = [f"{number} {part}" for part in range(ENTRIES)]
            audit = Audit("spoke", None, {"number": number})
            await talk.commit(talk.prepare(*talk.entries(*texts), audit))
            print(talk.id, number, flush=True)

    talks = [await begin(store, f"{name}-{number}") for number in range(TALKS)]
    await asyncio.gather(*map(one, talks))
    await store.close()


async def hold(path: str) -> None:
    """Own a conversation, lose it while nothing is done, and try to write then."""
    store = await SqliteStore.open(path)
    claim = await store.claim("c", "child", now=NOW, lease=1000)
    row = await store.conversation("c")
    assert row is not None
    talk = Writing(store, claim, row.state)
    await talk.say("by the child")
    print("held", flush=True)
    sys.stdin.readline()  # meanwhile the other process takes it over
    try:
        await talk.say("late")
    except Fenced:
        print("fenced", flush=True)
    await store.close()


async def delete(path: str) -> None:
    """Delete a conversation, and die at once."""
    store = await SqliteStore.open(path)
    await store.delete("c")
    os._exit(9)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        asyncio.run(hold(sys.argv[2]))
    elif sys.argv[1] == "delete":
        asyncio.run(delete(sys.argv[2]))
    else:
        asyncio.run(speak(sys.argv[2], sys.argv[3], int(sys.argv[4])))
