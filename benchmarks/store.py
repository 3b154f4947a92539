"""Measures the SQLite store, and reads through the engine: interleaved runs on a real file.

- `appends`: 256 producers in 256 conversations, each waiting for its commit.
- `alone`: the same with one producer.
- `bare`: apsw alone, writing the same rows into the same tables, 100 in a transaction.
- `replay`: 10,000 messages as a follower of the engine gets them, frame by frame, compared with a
  SELECT and a decode; and through the store's `entries` alone.
- `tail`: the last 50 of 100,000 messages for a new follower, compared with the last 50 of 1,000.
"""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
from msgspec import Raw, structs

from benchmarks.measuring import Measures, judged, run
from turnwire.core.conversation.effects import AddEntry
from turnwire.core.conversation.state import Conversation, Turn
from turnwire.core.message import Message, TextPart, TextPayload, meta_of, run_id
from turnwire.core.message_codec import encode
from turnwire.dialects.v2.frames import MessageReplay, SessionState
from turnwire.engine import Engine
from turnwire.ports import Claim, Commit, NewConversation
from turnwire.redaction.redact import RAW_LIMIT
from turnwire.stores.entry_row import message_type, metadata_json
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.words import indexed, text_of

PRODUCERS = 256
EACH = 8  # commits of one producer in one round
ROUNDS = 9
AT = "2026-01-01T12:00:00.000Z"
TRACE = "0af7651916cd43dd8448eb211c80319c"

_random = random.Random(7)
# Words of real text with their natural frequency: a search index behaves differently on random
# letters.
_PAGES = sorted((Path(__file__).parent.parent / "docs").rglob("*.md"))
_WORDS = [word for page in _PAGES for word in page.read_text().split() if word.isalpha()]


def sample(conversation_id: str, number: int, words: int) -> AddEntry:
    """Returns an entry as agents produce it: a paragraph, and the raw frame."""
    text = " ".join(_random.choices(_WORDS, k=words))
    run = run_id(conversation_id, 1)
    frame = {
        "type": "assistant",
        "message": {
            "id": "msg_01",
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 5, "output_tokens": 70},
        },
        "session_id": "5f0c3c52-5b0c-4d52-9f0b-3a6f6a1d2c11",
    }
    meta = meta_of(run, message_id="msg_01", index=0, uuid="5f0c3c52-5b0c-4d52-9f0b-3a6f6a1d2c11")
    entry = Message(run, "assistant", [TextPart(TextPayload(text))], AT, meta)
    return AddEntry(number, entry, 1, TRACE, Raw(msgspec.json.encode(frame)))


def ratio_of(ours: list[float], theirs: list[float]) -> float:
    """Returns the median of the ratios of all rounds."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


# --- appends ------------------------------------------------------------------------------------


class Producer:
    """The writer of one conversation."""

    def __init__(self, store: SqliteStore, claim: Claim) -> None:
        self.store = store
        self.claim = claim
        turn = Turn(1, TRACE, "user", "running")
        self.state = Conversation(claim.conversation_id, turn=turn, turns=1, model="model-1")

    def prepare(self, count: int, words: int = 60) -> list[Commit]:
        """Returns commits of one entry each. They are prepared outside of the measured time."""
        commits = []
        for _ in range(count):
            self.state = structs.replace(self.state, head=self.state.head + 1)
            add = sample(self.claim.conversation_id, self.state.head, words)
            commits.append(Commit(self.claim, self.state, [add], AT))
        return commits

    async def write(self, commits: list[Commit]) -> None:
        """Writes the commits in order; each waits until the one before is on disk."""
        for commit in commits:
            await self.store.commit(commit)


async def producers(store: SqliteStore, name: str, count: int) -> list[Producer]:
    """Returns a number of producers, each with its own conversation."""
    made = []
    for number in range(count):
        row = await store.create(NewConversation(f"{name}-{number:032x}", "demo", AT))
        claim = await store.claim(row.conversation_id, "bench", now=0, lease=1)
        made.append(Producer(store, claim))
    return made


class BareRow(NamedTuple):
    """The rows that the store would write, for apsw."""

    entry: tuple[Any, ...]
    words: str
    state: tuple[Any, ...]


def bare_rows(commits: list[Commit]) -> list[BareRow]:
    """Returns the rows of commits of one entry, prepared outside of the measured time."""
    rows = []
    for commit in commits:
        (add,) = commit.writes
        assert isinstance(add, AddEntry)
        name, state = commit.claim.conversation_id, commit.state
        entry = (
            *(name, add.sequence, add.entry.role, message_type(add.entry)),
            *(encode(add.entry).decode(), metadata_json(add, RAW_LIMIT)),
            *(add.entry.meta["uuid"], add.turn_id, add.trace_id, AT),
        )
        is_unsettled = state.turn is not None
        written = (state.head, msgspec.json.encode(state).decode(), AT, is_unsettled, name)
        rows.append(BareRow(entry, indexed(text_of(add.entry)), written))
    return rows


_ENTRY = """
INSERT INTO messages (
    conversation_id, sequence_num, role, message_type, message_json, metadata_json, uuid, turn_id,
    trace_id, created_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_WORDS_OF_IT = "INSERT INTO search (rowid, words) VALUES (?, ?)"
_STATE = """
UPDATE conversations SET head = ?, state_json = ?, updated_at = ?, unsettled = ?
WHERE conversation_id = ?
"""


def bare_batches(
    db: apsw.Cursor, rows: list[BareRow], *, search: bool = True, state: bool = True
) -> None:
    """Writes the rows, 100 in a transaction."""
    for start in range(0, len(rows), 100):
        db.execute("BEGIN IMMEDIATE")
        for row in rows[start : start + 100]:
            db.execute(_ENTRY, row.entry)
            if search:
                db.execute(_WORDS_OF_IT, (db.connection.last_insert_rowid(), row.words))
            if state:
                db.execute(_STATE, row.state)
        db.execute("COMMIT")


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """Returns wall-clock seconds, which include the disk."""
    gc.collect()
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


# Variants of what apsw writes alone: everything, without search words, without the state.
BARE: dict[str, dict[str, bool]] = {
    "bare": {},
    "no search": {"search": False},
    "no state": {"state": False},
}


async def appends(folder: Path) -> bool:
    """Compares many producers with one, and with apsw alone."""
    stores = {
        name: await SqliteStore.open(folder / f"{name}.db") for name in ("appends", "alone", *BARE)
    }
    writers = {
        name: await producers(store, name, 1 if name == "alone" else PRODUCERS)
        for name, store in stores.items()
    }
    connections = {
        name: connect(str(folder / f"{name}.db"), busy_ms=1000, writes=True) for name in BARE
    }
    times: dict[str, list[float]] = {name: [] for name in stores}
    for _ in range(ROUNDS):
        for name, those in writers.items():
            work = [(one, one.prepare(200 if name == "alone" else EACH)) for one in those]
            commits = [
                commit for round_ in zip(*(c for _, c in work), strict=True) for commit in round_
            ]
            if name in BARE:
                rows = bare_rows(commits)
                gc.collect()
                start = time.perf_counter()
                bare_batches(connections[name].cursor(), rows, **BARE[name])
            else:
                gc.collect()
                start = time.perf_counter()
                await asyncio.gather(*(one.write(mine) for one, mine in work))
            times[name].append((time.perf_counter() - start) / len(commits) * 1e6)
    for name, values in times.items():
        print(f"  {name:<10}{statistics.median(values):8.1f} us per row")
    for connection in connections.values():
        connection.close()
    for store in stores.values():
        await store.close()
    grouped = judged(
        "alone / appends", ratio_of(times["alone"], times["appends"]), 8, at_least=True
    )
    near = judged("appends / bare", ratio_of(times["appends"], times["bare"]), 2)
    for name in ("no state", "no search"):
        ratio = ratio_of(times["appends"], times[name])
        print(f"  {'appends / ' + name:<34}{ratio:7.2f}   (for orientation)")
    return grouped and near


# --- reads --------------------------------------------------------------------------------------


async def filled(folder: Path, name: str, count: int, words: int) -> tuple[SqliteStore, str]:
    """Returns a store with one idle conversation of this many messages."""
    path = folder / f"{name}.db"
    store = await SqliteStore.open(path)
    (producer,) = await producers(store, name, 1)
    producer.state = structs.replace(producer.state, turn=None)
    db = connect(str(path), busy_ms=1000, writes=True)
    for _ in range(0, count, 1000):
        bare_batches(db.cursor(), bare_rows(producer.prepare(1000, words)))
    db.close()
    return store, producer.claim.conversation_id


async def followed(engine: Engine, conversation_id: str, tail: int | None = None) -> int:
    """Returns the number of messages that a new follower gets before live events."""
    talk = await engine.open(conversation_id)
    count = 0
    async with aclosing(talk.follow(tail=tail)) as frames:
        async for frame in frames:
            if isinstance(frame, MessageReplay):
                count += 1
            elif isinstance(frame, SessionState):
                break
    return count


async def replay(folder: Path) -> bool:
    """Replays the whole log, as a client that was disconnected gets it."""
    count = 10_000
    store, conversation_id = await filled(folder, "replay", count, 60)
    db = connect(str(folder / "replay.db"), busy_ms=1000)
    decode = msgspec.json.Decoder(Message).decode

    async def paged() -> None:
        after = 0
        while page := await store.entries(conversation_id, after=after):
            after = page[-1].sequence
        assert after == count

    async def bare() -> None:
        found = db.execute(
            "SELECT sequence_num, message_json, turn_id, trace_id FROM messages"
            " WHERE conversation_id = ? ORDER BY sequence_num",
            (conversation_id,),
        )
        assert (
            len([(n, decode(message), turn, trace) for n, message, turn, trace in found]) == count
        )

    times: dict[str, list[float]] = {"replay": [], "entries": [], "bare": []}
    async with Engine(store, {}) as engine:

        async def frames() -> None:
            assert await followed(engine, conversation_id) == count

        for _ in range(ROUNDS):
            times["replay"].append(await seconds(frames))
            times["bare"].append(await seconds(bare))
            times["entries"].append(await seconds(paged))
    db.close()
    await store.close()
    for name, values in times.items():
        print(f"  {name:<10}{statistics.median(values) / count * 1e6:8.2f} us per message")
    met = judged("replay / bare", ratio_of(times["replay"], times["bare"]), 3)
    store_only = ratio_of(times["entries"], times["bare"])
    print(f"  {'entries / bare':<34}{store_only:7.2f}   (for orientation)")
    return met


async def tail(folder: Path) -> bool:
    """Checks that the end of a long log does not cost more than that of a short one."""
    long, long_id = await filled(folder, "long", 100_000, 12)
    short, short_id = await filled(folder, "short", 1_000, 12)

    async def last(engine: Engine, conversation_id: str) -> None:
        for _ in range(20):
            assert await followed(engine, conversation_id, tail=50) == 50

    ours, theirs = [], []
    async with Engine(long, {}) as of_long, Engine(short, {}) as of_short:
        for _ in range(ROUNDS):
            ours.append(await seconds(lambda: last(of_long, long_id)))
            theirs.append(await seconds(lambda: last(of_short, short_id)))
    found = await seconds(lambda: long.search("conversation"))
    await long.close()
    await short.close()
    print(f"  last 50 of 100,000 {statistics.median(ours) / 20 * 1e6:8.0f} us")
    print(f"  last 50 of 1,000   {statistics.median(theirs) / 20 * 1e6:8.0f} us")
    met = judged("100,000 / 1,000", ratio_of(ours, theirs), 2)
    print(f"  a word among 100,000 messages: {found * 1e3:.1f} ms   (for orientation)")
    return met


MEASURES: Measures = {
    "appends": appends,
    "replay": replay,
    "tail": tail,
}


if __name__ == "__main__":
    sys.exit(asyncio.run(run(MEASURES, sys.argv[1:], f" median of {ROUNDS} interleaved rounds")))
