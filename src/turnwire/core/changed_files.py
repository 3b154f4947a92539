"""The changes of files in the input of a tool call, in the forms that agents use."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

from msgspec import Struct

__all__ = ["ChangedFile", "changed_files"]


class ChangedFile(Struct, frozen=True):
    """One changed file."""

    path: str
    kind: str | None  # `add`, `update`, `delete`, ...
    diff: str  # lines with a sign; the whole text of a new file may have none


def changed_files(given: Any) -> tuple[list[ChangedFile], dict[str, Any]]:
    """Returns the changes in an input, and the fields that are not changes.

    Reads `changes`, a list of files with diffs, and `content`, a list of texts before and after.
    """
    if not isinstance(given, dict):
        return [], {}
    for name, read in (("changes", _with_diff), ("content", _with_texts)):
        items = given.get(name)
        found = [read(each) for each in items] if isinstance(items, list) else []
        changes = [each for each in found if each is not None]
        if changes and len(changes) == len(found):
            return changes, {key: value for key, value in given.items() if key != name}
    return [], given


def _with_diff(item: Any) -> ChangedFile | None:
    match item:
        case {"path": str(path), "diff": str(diff)}:
            kind = item.get("kind")
            return ChangedFile(path, kind if isinstance(kind, str) else None, diff)
        case _:
            return None


def _with_texts(item: Any) -> ChangedFile | None:
    match item:
        case {"type": "diff", "path": str(path), "newText": str(after)}:
            before = item.get("oldText")
            old = before.splitlines() if isinstance(before, str) else []
            lines = list(unified_diff(old, after.splitlines(), lineterm="", n=3))[2:]
            kind = "update" if isinstance(before, str) else "add"
            return ChangedFile(path, kind, "\n".join(lines))
        case _:
            return None
