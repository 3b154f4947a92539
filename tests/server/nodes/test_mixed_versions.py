"""Servers of two versions on one store, as during a rolling upgrade."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import msgspec

from tests.server.helpers.servers import Process, process
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.stores.open_store import open_store

_ENVIRON: dict[str, Any] = {"TURNWIRE_PROTOCOL_V2": "true"}
# A later version: its states have a higher level, and a field that this version does not know.
_LATER = """
import turnwire.core.conversation.draft, turnwire.core.conversation.state
import turnwire.engine.ownership.claims, turnwire.engine.ownership.node
import turnwire.engine.ownership.owned_conversations, turnwire.stores.records
import turnwire.stores.postgres.commit, turnwire.stores.sqlite.commit
import sys
from turnwire.core.conversation.state import Conversation
from turnwire.core.text import json_text

def later_json(value):
    text = json_text(value)
    return text[:-1] + ',"level":9,"future":"kept"}' if isinstance(value, Conversation) else text

for name, module in list(sys.modules.items()):
    if name.startswith("turnwire.") and hasattr(module, "STATE_LEVEL"):
        module.STATE_LEVEL = 9
for store in (turnwire.stores.postgres.commit, turnwire.stores.sqlite.commit):
    store.json_text = later_json
"""


async def stored_state(server: Process, conversation_id: str) -> dict[str, Any]:
    """Returns the state as it is stored, with the fields that this version does not know."""
    store = await open_store(server.store)
    try:
        raw = await raw_state(store, conversation_id)
    finally:
        await store.close()
    state: dict[str, Any] = msgspec.json.decode(raw)
    return state


async def raw_state(store: Any, conversation_id: str) -> str:
    sql = "SELECT state_json FROM conversations WHERE conversation_id = "
    if hasattr(store, "_reader") and type(store).__name__ == "SqliteStore":
        return str(
            await store._reader.read(lambda db: db.execute(f"{sql}?", (conversation_id,)).get)
        )
    async with store._reader._pool.acquire() as db:
        return str(await db.fetchval(f"{sql}$1", conversation_id))


async def stop(server: Process) -> None:
    server.popen.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(server.popen.wait, PATIENCE) == 0


def test_an_earlier_server_leaves_a_conversation_of_a_later_one_to_later_ones(
    tmp_path: Path,
) -> None:
    environ = {**_ENVIRON, "TURNWIRE_BUS": f"unix://{tmp_path}/bus"}

    async def scene(earlier: Process) -> None:
        name = await earlier.begin()
        async with earlier.client(name) as client:
            await client.say("hello", "m-1")  # run by the earlier server
            await client.end_of(1)
            with process(tmp_path, first=_LATER, **environ) as later:
                other = await later.begin()
                async with later.client(other) as far:
                    await far.say("hello", "m-1")  # run by the later server
                    await far.end_of(1)
                async with earlier.client(other) as near:
                    await near.say("hello", "m-2")  # passed on to it
                    await near.end_of(2)
                await stop(later)
            before = await stored_state(earlier, other)
            assert (before["level"], before["future"]) == (9, "kept")
            async with earlier.client(other) as near:
                await near.say("hello", "m-3")
                refused = await near.answer("m-3")
                assert refused["type"] == "session.error"
                assert "A newer Turnwire has written" in refused["payload"]["message"]
                assert await stored_state(earlier, other) == before
                with process(tmp_path, first=_LATER, **environ) as later:
                    await near.say("hello", "m-3")
                    await near.end_of(3)
                    await stop(later)
            await client.say("hello", "m-2")  # nothing of a later version is in this one
            await client.end_of(2)

    with process(tmp_path, **environ) as earlier:
        asyncio.run(scene(earlier))
