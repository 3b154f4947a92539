"""`turnwire copy` of 10,000 messages from SQLite to PostgreSQL and back, killed on both ways."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from msgspec import structs

from tests.cli.conftest import TURNWIRE
from tests.cli.helpers.terminal import Terminal, environment
from turnwire.core.conversation.effects import (
    AddEntry,
    Audit,
    BeginTurn,
    EndRequest,
    EndTurn,
    OpenRequestRow,
    Spend,
)
from turnwire.core.conversation.state import Turn
from turnwire.core.partials import Partial
from turnwire.core.status import TurnEnd
from turnwire.core.usage import Usage
from turnwire.engine.export.jsonl import lines_of
from turnwire.ports import Receipt, Store, Token
from turnwire.stores.open_store import open_store
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import (
    TRACE,
    Writing,
    a_large_message,
    a_message,
    a_request,
    at,
    begin,
)

pytestmark = pytest.mark.needs_sqlite(reason="copies a file")

CONVERSATIONS, MESSAGES = 100, 100
TEXTS = ("hello world", "会议室 is free", "nul \0 in it", "x" * 2000, "\U0001f600 \\u0000")


async def speak(talk: Writing, number: int) -> None:
    """Writes 100 messages in turns, with everything that a conversation may have."""
    for turn_id in range(1, 6):
        head = talk.state.head
        messages = [
            a_message(f"{TEXTS[n % len(TEXTS)]} {number} {n}", "user" if n == 0 else "assistant")
            for n in range(MESSAGES // 5 - 1)
        ]
        blob = a_large_message(f"blob-{number % 7}")
        entries = [
            AddEntry(n, message, turn_id, TRACE)
            for n, message in enumerate([*messages, blob], head + 1)
        ]
        end = TurnEnd(False, turn_id == 3, "end_turn", usage=Usage(3, 4), cost_usd=0.5)
        end = structs.replace(end, after_sequence=entries[-1].sequence)
        asked = structs.replace(a_request(f"r-{turn_id}"), inbox_item_id=f"{number}-{turn_id}")
        ended = [EndRequest(asked.request_id, "answered", "ann")] if turn_id < 5 else []
        receipt = Receipt("ann", f"m-{turn_id}", b"\0\xff", b'{"a":"\\u0000"}')
        await talk.commit(
            talk.prepare(
                BeginTurn(Turn(turn_id, TRACE, "user", "running")),
                *entries,
                EndTurn(turn_id, TRACE, end),
                OpenRequestRow(asked),
                *ended,
                Spend(turn_id, 0.25),
                Audit("asked", "ann", {"said": "会\0"}),
                receipt=receipt,
                native_session_id=f"session-{number}",
                seconds=number,
            )
        )


async def fill(path: Path) -> None:
    """Writes 10,000 messages into a data directory."""
    async with SqliteStore.open(path / "turnwire.db") as store:
        for number in range(7):
            data = bytes([number, 0, 255]) * 50_000
            await store.put_blob(f"blob-{number}", data, "text/plain", at=at(), user="ann")
        for number in range(CONVERSATIONS):
            user = (None, "ann", "bob \0")[number % 3]
            talk = await begin(store, f"c{number}", user=user, title=f"标题 {number} \0")
            await speak(talk, number)
            if number % 4 == 0:
                half = Partial("m", 0, "text", "half of it \0 会议")
                await store.save_partials(talk.claim, [half])
            await store.release(talk.claim)
            if number % 5 == 0:
                await store.change(talk.id, archived=True)
        await store.add_token(Token("t", "laptop", "token", "ann", at()), b"d" * 32)


async def everything_in(address: str | Path) -> dict[str, Any]:
    """Returns the exports of all conversations, and everything that no export has."""
    async with open_store(address) as store:
        rows = [
            *await store.conversations(limit=1000),
            *await store.conversations(archived=True, limit=1000),
        ]
        return {
            "exports": {row.conversation_id: await _export(store, row) for row in rows},
            "archived": sorted(row.conversation_id for row in rows if row.archived),
            "users": {row.conversation_id: (row.user, row.title) for row in rows},
            "partials": {
                row.conversation_id: await store.partials(row.conversation_id) for row in rows
            },
            "audit": await _audit(store),
            "inbox": await store.inbox(open_only=False),
            "receipt": await store.receipt("c7", "ann", "m-3"),
            "tokens": await store.tokens(),
            "spent": [await store.spent(user) for user in (None, "ann", "bob \0")],
            "stored": [await store.stored(user) for user in ("ann", "bob \0")],
            "found": len(await store.search("会议室 99", limit=5000)),
        }


async def _export(store: Store, row: Any) -> bytes:
    return b"\n".join([msgspec.json.encode(line) async for line in lines_of(store, row)])


async def _audit(store: Store) -> list[Any]:
    found: list[Any] = []
    while rows := await store.audit(after=found[-1].number if found else 0):
        found += rows
    return found


def copied_to(target: str | Path) -> int:
    """Returns the number of conversations that a copy has by now."""
    if isinstance(target, Path):
        try:
            with closing(sqlite3.connect(f"file:{target}/turnwire.db?mode=ro", uri=True)) as db:
                return int(db.execute("SELECT count(*) FROM conversations").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # it has no tables yet

    async def count() -> int:
        connection = await asyncpg.connect(target)
        try:
            return int(await connection.fetchval("SELECT count(*) FROM conversations"))
        finally:
            await connection.close()

    return asyncio.run(count())


def copy_in_two_runs(source: str | Path, target: str | Path, home: Path) -> float:
    """Kills a copy in the middle, and completes it. Returns the seconds of the second run."""
    words = ["copy", "--from", source, "--to", target]
    with Terminal(*words, home=home) as terminal:
        terminal.wait_until(
            lambda: terminal.drew("conversations") and terminal.drew("━"), "the progress bar"
        )
        assert terminal.drew(f"/{CONVERSATIONS}")
        while not (there := copied_to(target)):
            pass
        terminal.kill()
    assert there < CONVERSATIONS
    begun = time.perf_counter()
    run = subprocess.run(
        [*TURNWIRE, *map(str, words)],
        env=environment(TURNWIRE_DATA_DIR=str(home)),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "were there already. Equal." in run.stdout
    done, _, rest = run.stdout.partition(" conversations, ")
    skipped = int(rest.split(", ")[1].split()[0])
    assert skipped >= there
    assert int(done) + skipped == CONVERSATIONS
    return time.perf_counter() - begun


def test_ten_thousand_messages_are_copied_to_postgresql_and_back(
    postgres: str, tmp_path: Path, record_property: Any
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(mode=0o700)
    asyncio.run(fill(one))
    seconds = copy_in_two_runs(one, postgres, tmp_path), copy_in_two_runs(postgres, two, tmp_path)
    record_property("seconds", seconds)
    print(f"the second runs took {seconds[0]:.1f} s to PostgreSQL, and {seconds[1]:.1f} s back")
    expected = asyncio.run(everything_in(one / "turnwire.db"))
    assert sum(len(each.splitlines()) for each in expected["exports"].values()) > 10_000
    assert expected["found"] > 0
    for copy in (postgres, two / "turnwire.db"):
        found = asyncio.run(everything_in(copy))
        for name in expected:
            assert found[name] == expected[name], name
