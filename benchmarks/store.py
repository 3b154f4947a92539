"""What the SQLite store costs: ratios measured in one interleaved run, on a real file.

appends  256 producers that each wait for their commit, in 256 conversations
alone    one producer that does the same
bare     apsw itself: the same rows into the same tables, 100 in a transaction
replay   10,000 messages through `entries`, page by page, against a SELECT and a decode
tail     the last 50 of 100,000 messages against the last 50 of 1,000
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Raw, structs

from turnwire.core.conversation.effects import AddEntry
from turnwire.core.conversation.state import Conversation, Turn
from turnwire.core.message import Message, TextPart, TextPayload, meta_of, run_id
from turnwire.core.message_codec import encode
from turnwire.ports import Claim, Commit, NewConversation
from turnwire.stores.entry_row import message_type, metadata_json
from turnwire.stores.redact import RAW_LIMIT
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.connection import connect
from turnwire.stores.words import indexed, text_of

PRODUCERS = 256
EACH = 8  # commits of one producer in one round
ROUNDS = 9
AT = "2026-01-01T12:00:00.000Z"
TRACE = "0af7651916cd43dd8448eb211c80319c"

_random = random.Random(7)
# Real words, as often as people use them: an index works differently on letters thrown together.
_PAGES = sorted((Path(__file__).parent.parent / "docs").rglob("*.md"))
_WORDS = [word for page in _PAGES for word in page.read_text().split() if word.isalpha()]


def sample(conversation_id: str, number: int, words: int = 60) -> AddEntry:
    """An entry as an agent makes them: a paragraph, and the frame that brought it."""
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
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def judged(what: str, value: float, target: float, *, at_least: bool = False) -> bool:
    """Print a ratio beside its target; say whether it is met."""
    met = value >= target if at_least else value <= target
    wanted = "at least" if at_least else "at most"
    print(f"  {what:<34}{value:7.2f}   (target {wanted} {target:.2f}){'' if met else '  MISSED'}")
    return met


# --- appends ------------------------------------------------------------------------------------


class Producer:
    """Whoever writes to one conversation."""

    def __init__(self, store: SqliteStore, claim: Claim) -> None:
        self.store = store
        self.claim = claim
        turn = Turn(1, TRACE, "user", "running")
        self.state = Conversation(claim.conversation_id, turn=turn, turns=1, model="model-1")

    def prepare(self, count: int) -> list[Commit]:
        """Commits of one entry each, made beforehand: making them is not the store's work."""
        commits = []
        for _ in range(count):
            self.state = structs.replace(self.state, head=self.state.head + 1)
            add = sample(self.claim.conversation_id, self.state.head)
            commits.append(Commit(self.claim, self.state, [add], AT))
        return commits

    async def write(self, commits: list[Commit]) -> None:
        """One after the other, each when the one before is on disk."""
        for commit in commits:
            await self.store.commit(commit)


async def producers(store: SqliteStore, name: str, count: int) -> list[Producer]:
    """So many, each with a conversation of its own."""
    made = []
    for number in range(count):
        row = await store.create(NewConversation(f"{name}-{number:032x}", "demo", AT))
        claim = await store.claim(row.conversation_id, "bench", now=0, lease=1)
        made.append(Producer(store, claim))
    return made


def bare_rows(adds: list[tuple[str, AddEntry]]) -> list[tuple[tuple[Any, ...], str]]:
    """What the store would write, for apsw to write."""
    return [
        (
            (
                *(conversation_id, add.sequence, add.entry.role, message_type(add.entry)),
                *(encode(add.entry).decode(), metadata_json(add, RAW_LIMIT)),
                *(add.entry.meta["uuid"], add.turn_id, add.trace_id, AT),
            ),
            indexed(text_of(add.entry)),
        )
        for conversation_id, add in adds
    ]


_INSERT = """
INSERT INTO messages (
    conversation_id, sequence_num, role, message_type, message_json, metadata_json, uuid, turn_id,
    trace_id, created_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def bare_batches(
    db: apsw.Connection, rows: list[tuple[tuple[Any, ...], str]], *, search: bool = True
) -> None:
    """100 rows in a transaction, and nothing else."""
    for start in range(0, len(rows), 100):
        db.execute("BEGIN IMMEDIATE")
        for row, words in rows[start : start + 100]:
            db.execute(_INSERT, row)
            if search:
                number = db.last_insert_rowid()
                db.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (number, words))
        db.execute("COMMIT")


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """Wall-clock seconds: the disk counts."""
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def appends(folder: Path) -> bool:
    """Many producers against one, and against apsw alone."""
    ours = await SqliteStore.open(folder / "ours.db")
    lone = await SqliteStore.open(folder / "lone.db")
    many = await producers(ours, "many", PRODUCERS)
    one = await producers(lone, "one", 1)
    bare: dict[bool, apsw.Connection] = {}
    heads = dict.fromkeys([True, False], 0)
    for search in heads:
        store = await SqliteStore.open(folder / f"bare-{search}.db")
        await producers(store, "bare", PRODUCERS)
        await store.close()
        bare[search] = connect(str(folder / f"bare-{search}.db"), busy_ms=1000, writes=True)

    def fill(search: bool) -> list[tuple[tuple[Any, ...], str]]:
        first = heads[search] + 1
        heads[search] += EACH
        return bare_rows(
            [
                (name := f"bare-{number:032x}", sample(name, sequence))
                for sequence in range(first, first + EACH)
                for number in range(PRODUCERS)
            ]
        )

    def per_row(spent: float, rows: int) -> float:
        return spent / rows * 1e6

    times: dict[str, list[float]] = {"appends": [], "alone": [], "bare": [], "no search": []}
    for _ in range(ROUNDS):
        work = [(producer, producer.prepare(EACH)) for producer in many]
        spent = await seconds(lambda w=work: asyncio.gather(*(p.write(c) for p, c in w)))  # type: ignore[misc]
        times["appends"].append(per_row(spent, PRODUCERS * EACH))
        commits = one[0].prepare(200)
        spent = await seconds(lambda c=commits: one[0].write(c))  # type: ignore[misc]
        times["alone"].append(per_row(spent, 200))
        for search, name in ((True, "bare"), (False, "no search")):
            rows = fill(search)
            start = time.perf_counter()
            bare_batches(bare[search], rows, search=search)
            times[name].append(per_row(time.perf_counter() - start, len(rows)))
    for name, values in times.items():
        print(f"  {name:<10}{statistics.median(values):8.1f} us per row")
    for connection in bare.values():
        connection.close()
    await ours.close()
    await lone.close()
    grouped = judged(
        "alone / appends", ratio_of(times["alone"], times["appends"]), 8, at_least=True
    )
    near = judged("appends / bare", ratio_of(times["appends"], times["bare"]), 2)
    with_search = ratio_of(times["bare"], times["no search"])
    print(f"  {'bare / bare without search':<34}{with_search:7.2f}   (for orientation)")
    return grouped and near


# --- reads --------------------------------------------------------------------------------------


async def filled(folder: Path, name: str, count: int, words: int) -> tuple[SqliteStore, str]:
    """A store with one conversation of so many messages."""
    path = folder / f"{name}.db"
    store = await SqliteStore.open(path)
    await producers(store, name, 1)
    conversation_id = f"{name}-{0:032x}"
    db = connect(str(path), busy_ms=1000, writes=True)
    for first in range(1, count + 1, 10_000):
        numbers = range(first, min(first + 10_000, count + 1))
        adds = [(conversation_id, sample(conversation_id, number, words)) for number in numbers]
        bare_batches(db, bare_rows(adds))
    db.close()
    return store, conversation_id


async def replay(folder: Path) -> bool:
    """The whole log, as a client gets it that was away."""
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

    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(await seconds(paged))
        theirs.append(await seconds(bare))
    db.close()
    await store.close()
    print(f"  replay    {statistics.median(ours) / count * 1e6:8.2f} us per message")
    print(f"  bare      {statistics.median(theirs) / count * 1e6:8.2f} us per message")
    return judged("replay / bare", ratio_of(ours, theirs), 3)


async def tail(folder: Path) -> bool:
    """The end of a long log must not cost more than that of a short one."""
    long, long_id = await filled(folder, "long", 100_000, 12)
    short, short_id = await filled(folder, "short", 1_000, 12)

    async def last(store: SqliteStore, conversation_id: str) -> None:
        for _ in range(20):
            assert len(await store.entries(conversation_id, limit=50, newest=True)) == 50

    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(await seconds(lambda: last(long, long_id)))
        theirs.append(await seconds(lambda: last(short, short_id)))
    found = await seconds(lambda: long.search("conversation"))
    await long.close()
    await short.close()
    print(f"  last 50 of 100,000 {statistics.median(ours) / 20 * 1e6:8.0f} us")
    print(f"  last 50 of 1,000   {statistics.median(theirs) / 20 * 1e6:8.0f} us")
    met = judged("100,000 / 1,000", ratio_of(ours, theirs), 2)
    print(f"  a word among 100,000 messages: {found * 1e3:.1f} ms   (for orientation)")
    return met


MEASURES: dict[str, Callable[[Path], Awaitable[bool]]] = {
    "appends": appends,
    "replay": replay,
    "tail": tail,
}


async def run(names: list[str]) -> int:
    """Those that were named, or all; 1 if a target is missed."""
    met = []
    for name in names or MEASURES:
        print(f"{name}: median of {ROUNDS} interleaved rounds")
        with tempfile.TemporaryDirectory() as folder:
            met.append(await MEASURES[name](Path(folder)))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1:])))
