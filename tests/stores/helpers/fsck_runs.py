"""Damages a store, checks it, repairs it, and reads its entries.

A place is the path of a file, or the address of a database.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from tests.stores.helpers.sample_logs import broken_rules_of_replay
from tests.stores.helpers.sql import rows_of
from turnwire.ports import StoredEntry
from turnwire.stores.fsck import Report
from turnwire.stores.open_store import open_store
from turnwire.stores.postgres.fsck import check as check_database
from turnwire.stores.sqlite.fsck import check

Place: TypeAlias = Path | str
Harm: TypeAlias = str | Callable[[Place], None]


def now() -> int:
    return time.time_ns() // 1_000_000


def look(place: Place, **options: Any) -> Report:
    options.setdefault("now", now())
    if isinstance(place, str):
        return asyncio.run(check_database(place, **options))
    return check(place, **options)


def kinds(report: Report) -> set[str]:
    return {finding.kind for finding in report.findings}


def harm(place: Place, *harms: Harm) -> None:
    """Changes the file or the database without the store."""
    for each in harms:
        if isinstance(each, str):
            rows_of(place, each)
        else:
            each(place)


def changed(table: str, column: str, where: str, **fields: Any) -> Harm:
    """Returns a harm: other values of fields in a column of JSON."""

    def change(place: Place) -> None:
        [(text,)] = rows_of(place, f"SELECT {column} FROM {table} WHERE {where}")
        text = json.dumps({**json.loads(text), **fields})
        rows_of(place, f"UPDATE {table} SET {column} = $1 WHERE {where}", text)

    return change


def state(name: str, **fields: Any) -> Harm:
    """Returns a harm: other values of fields in the state of a conversation."""
    return changed("conversations", "state_json", f"conversation_id = '{name}'", **fields)


def entries_of(place: Place, name: str = "talk") -> list[StoredEntry]:
    async def read() -> list[StoredEntry]:
        async with open_store(place) as store:
            entries: list[StoredEntry] = await store.entries(name, limit=10_000)
            return entries

    return asyncio.run(read())


def repair(place: Place) -> Report:
    """Repairs a store; afterwards all is well, by our own check and by that of protocol v2."""
    repaired = look(place, repair=True)
    assert repaired.findings
    assert not repaired.left, repaired.left
    again = look(place).findings
    assert not again, again
    if isinstance(place, Path):
        assert rows_of(place, "PRAGMA integrity_check") == [("ok",)]
        assert rows_of(place, "PRAGMA foreign_key_check") == []
    for (name,) in rows_of(place, "SELECT conversation_id FROM conversations"):
        broken = broken_rules_of_replay(place, name)
        assert not broken, (name, broken)
        numbers = [stored.sequence for stored in entries_of(place, name)]
        assert numbers == list(range(1, len(numbers) + 1))
    at_last = look(place).findings
    assert not at_last, at_last
    return repaired
