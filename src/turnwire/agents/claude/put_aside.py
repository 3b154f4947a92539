"""The question that a session has put aside, in what Claude Code has written down of it.

Claude Code notes it when it is told to. Where the last thing said after that is the result of another
call of the same message, it takes the turn for one that was cut off, when it resumes the session, and
closes it with words of its own. The question is asked again all the same, but its result then stands
behind those words, where the model never gets it. So the note has to be the last that was said.
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from turnwire.agents.claude.history import find_session

__all__ = ["has_question"]


def has_question(config: Path, session_id: str) -> bool | None:
    """Whether one waits in a session that does not run; none: nobody knows where that is kept.

    Then its note is the last that was said. Raises OSError.
    """
    file = find_session(config, session_id)
    if file is None or not file.size:
        return None
    leaf: dict[str, Any] = {}  # what comes next follows it
    speaker = ""  # of what was said last
    have_results: set[str] = set()
    for record in _back_from_end(file.path):
        leaf = leaf or record
        if record["type"] == "system":
            continue
        speaker = speaker or record["type"]
        results = _results(record)
        have_results.update(results)
        note = record.get("attachment")
        if isinstance(note, dict) and note.get("type") == "hook_deferred_tool":
            if note.get("toolUseID") in have_results:
                return False
            if speaker == "user":
                _write_again(file.path, record, leaf)
            return True
        if record["type"] == "user" and not results:
            return False  # with this the turn began
    return False


def _back_from_end(path: Path) -> Iterator[dict[str, Any]]:
    """What was said in a session, the last first. Half a line is what a killed program leaves."""
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
    """The calls whose results are in it."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [
        str(block.get("tool_use_id"))
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "tool_result"
    ]


def _write_again(path: Path, note: dict[str, Any], leaf: dict[str, Any]) -> None:
    name = str(uuid5(NAMESPACE_URL, f"turnwire:aside:{leaf.get('uuid')}"))
    line = {**note, "uuid": name, "parentUuid": leaf.get("uuid")}
    with path.open("ab") as file:
        file.write(b"\n" + msgspec.json.encode(line) + b"\n")
