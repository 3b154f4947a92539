"""Packs many rows into one value, so that reading them does not block the event loop.

Python calls SQLite once for each row of a query, and takes the interpreter lock each time. While a
thread reads a page of 500 rows that way, the event loop waits for the lock up to 500 times.
`packed` turns such a query into a statement with one row, so the thread takes the lock once.
`unpacked` splits the value into rows on the event loop, in slices.

A row begins with one item for each field, separated by commas: a number itself, the length of a
text in bytes, or `-` for NULL. A semicolon follows, then the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import apsw

from turnwire.stores.records import Kinds

__all__ = ["Packed", "fetch_packed", "packed", "unpacked"]

Packed: TypeAlias = bytes


def packed(kinds: Kinds, query: str, order: str) -> str:
    """Returns a statement that yields the rows of `query`, sorted by `order`, as one value."""
    head = " || ',' || ".join(
        f"ifnull({column if make is int else f'octet_length({column})'}, '-')"
        for column, make in kinds.items()
    )
    texts = " || ".join(
        f"ifnull({column}, '')" for column, make in kinds.items() if make is not int
    )
    return (
        f"SELECT CAST(group_concat({head} || ';' || {texts}, '' ORDER BY {order}) AS BLOB)"
        f" FROM ({query})"
    )


def fetch_packed(db: apsw.Connection, statement: str, values: Sequence[Any]) -> Packed:
    """Runs a statement of `packed`, and returns its value."""
    rows: list[Any] = db.execute(statement, values).fetchall()
    [(found,)] = rows
    return found or b""


def unpacked(rows: Packed, kinds: Kinds) -> Iterator[list[Any]]:
    """Yields the rows, each with its fields in the order of `kinds`."""
    makers = tuple(enumerate(kinds.values()))
    start = 0
    while start < len(rows):
        end = rows.index(b";", start)
        row: list[Any] = rows[start:end].split(b",")
        start = end + 1
        for place, make in makers:
            field = row[place]
            if field == b"-":
                row[place] = None
            elif make is int:
                row[place] = int(field)
            else:
                end = start + int(field)
                row[place] = make(rows[start:end])
                start = end
        yield row
