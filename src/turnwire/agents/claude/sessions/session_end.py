"""The end of a session file: its last records, and the one that Claude Code continues from.

A line `last-prompt` names the record to continue from. Claude Code writes one when it defers a
question, which names the note of that question, and the next one much later. If it is killed in
between, the name leads nowhere: the answer and all that follows stand beside the note. A program that
resumes the session then would not know them.
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["deferred_call", "hidden_end", "last_records", "name_end", "results_in"]

_NAMES = b'"type":"last-prompt"'


def hidden_end(path: Path) -> str | None:
    """Returns the uuid of the last record, if Claude Code would continue from an answered question."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return None
        with mmap(file.fileno(), 0, access=ACCESS_READ) as text:
            named = _decoded(_line_at(text, text.rfind(_NAMES))).get("leafUuid")
            place = text.rfind(f'"uuid":"{named}"'.encode()) if named else -1
            note = _decoded(_line_at(text, place))
            call = deferred_call(note)
            if call is None:
                return None
            last: str | None = None
            answered: set[str] = set()
            for record in _records(text, since=place):
                last = last or record.get("uuid")
                answered.update(results_in(record))
            return last if call in answered else None


def name_end(path: Path, session_id: str, uuid: str) -> None:
    """Has Claude Code continue a session from this record. The session must not run."""
    line = {"type": "last-prompt", "leafUuid": uuid, "sessionId": session_id}
    with path.open("ab") as file:
        file.write(b"\n" + msgspec.json.encode(line) + b"\n")


def last_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the records of a session, the last first. Skips half lines of a killed program."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as text:
        yield from _records(text, since=0)


def results_in(record: dict[str, Any]) -> list[str]:
    """Returns the ids of the calls whose results are in a record."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [
        str(block.get("tool_use_id"))
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]


def deferred_call(record: dict[str, Any]) -> str | None:
    """Returns the call that a record defers; None if it is not the note of a question."""
    note = record.get("attachment")
    if not isinstance(note, dict) or note.get("type") != "hook_deferred_tool":
        return None
    call = note.get("toolUseID")
    return call if isinstance(call, str) else ""


def _records(text: mmap, since: int) -> Iterator[dict[str, Any]]:
    end = len(text)
    while end > since:
        start = text.rfind(b"\n", 0, end) + 1
        record = _decoded(text[start:end])
        is_said = record.get("type") in ("user", "assistant", "attachment", "system")
        if is_said and not record.get("isSidechain"):
            yield record
        end = start - 1


def _line_at(text: mmap, place: int) -> bytes:
    if place < 0:
        return b""
    end = text.find(b"\n", place)
    return text[text.rfind(b"\n", 0, place) + 1 : len(text) if end < 0 else end]


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        record = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}
