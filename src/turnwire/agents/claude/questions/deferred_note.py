"""The note of a deferred question in Claude Code's session file.

Claude Code writes the note when it defers a call. On resume it asks the question of the note again.
But if the result of another call of the same message follows the note, Claude Code first closes the
turn as an interrupted one, with a message of its own. The question's result then follows that
message, and the model never gets the result. So the note has to be the last record of the
conversation in the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Struct

from turnwire.agents.claude.sessions.history import find_session
from turnwire.agents.claude.sessions.session_end import (
    deferred_call,
    hidden_end,
    last_records,
    name_end,
    results_in,
)

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

    After an answered question, makes sure that the answer is continued from. Returns None if the
    session has no deferred question. Raises OSError.
    """
    file = find_session(config, session_id)
    if file is None or not file.size:
        return Deferred()
    note = _find_note(file.path)
    if note is None:
        end = hidden_end(file.path)
        if end is not None:
            name_end(file.path, session_id, end)
        return None
    if not note.is_last_said:
        _write_again(file.path, note)
    return Deferred(deferred_call(note.record) or None)


def _find_note(path: Path) -> _Note | None:
    """Returns the note of a question without a result in the last turn, or None."""
    leaf: dict[str, Any] = {}
    speaker = ""  # the type of the last record, except system records
    have_results: set[str] = set()
    for record in last_records(path):
        leaf = leaf or record
        if record["type"] == "system":
            continue
        speaker = speaker or record["type"]
        results = results_in(record)
        have_results.update(results)
        call = deferred_call(record)
        if call is not None:
            return None if call in have_results else _Note(record, leaf, speaker != "user")
        if record["type"] == "user" and not results:
            return None  # this record began the turn
    return None


def _write_again(path: Path, note: _Note) -> None:
    parent = note.leaf.get("uuid")
    name = str(uuid5(NAMESPACE_URL, f"turnwire:aside:{parent}"))
    line = {**note.record, "uuid": name, "parentUuid": parent}
    with path.open("ab") as file:
        file.write(b"\n" + msgspec.json.encode(line) + b"\n")
