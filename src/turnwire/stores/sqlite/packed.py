"""Many rows in one value, so that reading them does not hold up the event loop.

SQLite is left and entered again for each row of a query, and the interpreter is taken each time. While a thread reads a page of 500
rows that way, the event loop waits for the interpreter up to 500 times. `packed` makes one statement of one row from such a query:
the thread takes the interpreter once, and `unpacked` cuts the value into rows on the event loop, in slices.

A row begins with what its fields need, separated by commas: a number itself, the length of a text in bytes, or `-` for NULL. Then
comes a semicolon, then the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import apsw

__all__ = ["Kinds", "Packed", "fetch_packed", "packed", "text", "unpacked"]

Kinds: TypeAlias = Mapping[
    str, Callable[[bytes], Any]
]  # by column: what makes a value of its bytes
Packed: TypeAlias = bytes

text = bytes.decode


def packed(kinds: Kinds, query: str, order: str) -> str:
    """Returns a statement that gives the rows of `query`, by `order`, as one value."""
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
    """Runs a statement that `packed` has made."""
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
