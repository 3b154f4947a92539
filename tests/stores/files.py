"""Looking into a store's file from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

__all__ = ["rows_of"]


def rows_of(path: Path, statement: str, *values: Any) -> list[Any]:
    """Run one statement on the file."""
    connection = apsw.Connection(str(path))
    try:
        return list(connection.execute(statement, values))
    finally:
        connection.close()
