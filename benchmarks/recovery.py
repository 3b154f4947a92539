"""Measures the time from a restart after a crash until all conversations are recovered.

- `recovery`: 1,000 conversations were running, each with a tool call without a result. Measures the
  seconds until each of them has ended, and compares them with apsw reading and writing the same
  rows.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import apsw

from benchmarks.measuring import judged
from benchmarks.store import AT, TRACE
from turnwire.agents.demo import DemoAgent
from turnwire.core import events as ev
from turnwire.core.blocks import ToolUseBlock
from turnwire.core.content import TextContent
from turnwire.core.conversation import Conversation, step
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.effects import Moment, Tell
from turnwire.core.entries import EntryStream
from turnwire.engine import Engine
from turnwire.ports import Commit, NewConversation
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.sqlite.schema import transaction

CONVERSATIONS = 1000
SECONDS = 5.0
_WHOSE = ("demo", "session-1", None, None)


async def crash(path: Path) -> None:
    """Writes the log of an engine that was killed while all conversations were running."""
    store = await SqliteStore.open(path)

    async def one(number: int) -> None:
        name = f"talk-{number}"
        row = await store.create(NewConversation(name, "demo", AT))
        claim = await store.claim(name, "killed", now=0, lease=1)
        call = ToolUseBlock(f"call-{number}", "Bash", "CLAUDE_BASH", {"command": "ls"}, "completed")
        events: list[ev.NormalizedStreamEvent] = [
            ev.TurnStarted(*_WHOSE),
            ev.AssistantMessage(*_WHOSE, f"message-{number}", 0, [call]),
        ]
        said = i.Said(at=0, content=[TextContent("go")], queue_id=f"q-{number}", trace_id=TRACE)
        stream, writes = EntryStream(), list[Moment]()
        state, effects = step(row.state, said)
        writes += effects.writes
        for event in events:
            entries = stream.feed(event, run_id="", now=AT)
            state, effects = step(state, i.AgentSaid(at=0, event=event, entries=entries))
            writes += effects.writes
        kept = [write for write in writes if not isinstance(write, Tell)]
        await store.commit(Commit(claim, state, kept, AT))

    await asyncio.gather(*map(one, range(CONVERSATIONS)))
    await store.close()


async def recover(path: Path) -> float:
    """Returns the seconds from opening the file until all conversations are recovered."""
    began = time.perf_counter()
    store = await SqliteStore.open(path)
    async with Engine(store, {"demo": DemoAgent(delay=0)}):
        while await store.unsettled():
            await asyncio.to_thread(int)
        took = time.perf_counter() - began
    rows = await store.conversations(limit=CONVERSATIONS)
    assert all(_is_true(row.state) for row in rows)
    await store.close()
    return took


def _is_true(state: Conversation) -> bool:
    return state.turn is None and not state.tools and state.state == "interrupted"


def bare(crashed: Path, recovered: Path) -> float:
    """Reads the crashed log, and writes the rows of a recovery, with apsw alone."""
    source = apsw.Connection(str(recovered))
    states = dict(source.execute("SELECT conversation_id, state_json FROM conversations"))
    turns = list(source.execute("SELECT ended_at, end_json, conversation_id FROM turns"))
    entries = list(source.execute("SELECT * FROM messages WHERE sequence_num > 2"))
    trail = list(source.execute("SELECT * FROM audit WHERE action = 'interrupted'"))
    source.close()
    began = time.perf_counter()
    db = connect(str(crashed), busy_ms=0, writes=True)
    found = list(db.execute("SELECT * FROM conversations WHERE unsettled"))
    with transaction(db):
        db.executemany(
            "UPDATE conversations SET owner = 'x', fence = fence + 1 WHERE conversation_id = ?",
            [(row[0],) for row in found],
        )
        marks = ", ".join("?" * len(entries[0]))
        db.executemany(f"INSERT INTO messages VALUES ({marks})", entries)
        db.executemany(
            "UPDATE turns SET ended_at = ?, end_json = ? WHERE conversation_id = ?", turns
        )
        db.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", trail)
        db.executemany(
            "UPDATE conversations SET state_json = ?, unsettled = 0, owner = NULL"
            " WHERE conversation_id = ?",
            [(state, name) for name, state in states.items()],
        )
    db.close()
    return time.perf_counter() - began


def main() -> int:
    """Runs the benchmark. Returns 1 if the target is missed."""
    print("recovery:")
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "log.db", Path(folder) / "copy.db"
        asyncio.run(crash(path))
        copy.write_bytes(path.read_bytes())
        took = asyncio.run(recover(path))
        least = bare(copy, path)
    print(f"  {CONVERSATIONS} conversations were running, each with an open call")
    print(f"  {'recovery / bare rows':<34}{took / least:7.1f}   (for orientation)")
    return 0 if judged("seconds until all are recovered", took, SECONDS) else 1


if __name__ == "__main__":
    sys.exit(0 if sys.argv[1:] and "recovery" not in sys.argv[1:] else main())
