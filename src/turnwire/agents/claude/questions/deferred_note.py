"""The note of a deferred question in Claude Code's session file.

Claude Code writes the note when it defers a call. On resume it asks the question of the note again.
But if the result of another call of the same message follows the note, Claude Code first closes the
turn as an interrupted one, with a message of its own. The question's result then follows that
message, and the model never gets the result. So the note has to be the last record of the
conversation in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct

from turnwire.agents.claude.sessions.history import find_session

__all__ = ["Deferred", "renew_note"]


class Deferred(Struct, frozen=True):
    """A deferred question. `call` is None if there is no session file to find the question in."""

    call: str | None = None


class _Note(Struct, frozen=True):
    record: dict[str, Any]
    leaf: dict[str, Any]  # the last record, parent of the next one
    is_last_said: bool


def renew_note(config: Path, session_id: str) -> Deferred | None:
    """Makes the note of a deferred question the last record of a session that does not run.

    Returns None if the session has no deferred question. Raises OSError.
    """
    file = find_session(config, session_id)
    if file is None or not file.size:
        return Deferred()
    note = _find_note(file.path)
    if note is None:
        return None
    if not note.is_last_said:
        _write_again(file.path, note)
    call = note.record["attachment"].get("toolUseID")
    return Deferred(call if isinstance(call, str) else None)


def _find_note(path: Path) -> _Note | None:
    """Returns the note of a question without a result in the last turn, or None."""
    leaf: dict[str, Any] = {}
    speaker = ""  # the type of the last record, except system records
    have_results: set[str] = set()
    for record in _back_from_end(path):
        leaf = leaf or record
        if record["type"] == "system":
            continue
        speaker = speaker or record["type"]
        results = _results(record)
        have_results.update(results)
        note = record.get("attachment")
        if isinstance(note, dict) and note.get("type") == "hook_deferred_tool":
            has_result = note.get("toolUseID") in have_results
            return None if has_result else _Note(record, leaf, speaker != "user")
        if record["type"] == "user" and not results:
            return None  # this record began the turn
    return None


def _back_from_end(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the records of a session, the last first. Skips half lines of a killed program."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as text:
        end = len(text)
        while end > 0:
            start = text.rfind(b"\n", 0, end) + 1
            try:
                record = msgspec.json.decode(text[start:end])
            except (ValueError, RecursionError):
                record = None
            if _is_said(record):
                yield record
            end = start - 1


def _is_said(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and record.get("type") in ("user", "assistant", "attachment", "system")
        and not record.get("isSidechain")
    )


def _results(record: dict[str, Any]) -> list[str]:
    """Returns the ids of the calls whose results are in a record."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [
        str(block.get("tool_use_id"))
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]


def _write_again(path: Path, note: _Note) -> None:
    parent = note.leaf.get("uuid")
    name = str(uuid5(NAMESPACE_URL, f"turnwire:aside:{parent}"))
    line = {**note.record, "uuid": name, "parentUuid": parent}
    with path.open("ab") as file:
        file.write(b"\n" + msgspec.json.encode(line) + b"\n")
