"""Tokens of text: what the search index has of it, the same for every store.

SQLite's own tokenizer makes them. A store without SQLite's index finds the same entries with them.
"""

from __future__ import annotations

from threading import local

import apsw

__all__ = ["TOKENIZER", "tokens"]

TOKENIZER = ("unicode61", "remove_diacritics", "2")  # as in the migrations of the SQLite store

_own = local()  # a tokenizer belongs to a connection, and that to a thread


def tokens(text: str) -> list[str]:
    """Returns the tokens of a text in order, without case and accents."""
    find: apsw.FTS5Tokenizer | None = getattr(_own, "find", None)
    if find is None:
        _own.connection = apsw.Connection(":memory:")
        find = _own.find = _own.connection.fts5_tokenizer(TOKENIZER[0], [*TOKENIZER[1:]])
    return find(  # type: ignore[return-value]
        text.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
