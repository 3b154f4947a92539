"""Finds the message of a session that a fork begins after, and copies the session if needed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

import msgspec

from turnwire.agents.claude.sessions.history import SessionFile, find_session, read_session
from turnwire.agents.claude.sessions.session_end import hidden_end, name_end
from turnwire.agents.claude.turn.prompts import prompt_uuid
from turnwire.dialects.claude.branches import end_of_turn
from turnwire.ports import NativeFork

__all__ = ["ForkPoint", "copied_session", "fork_point"]

_LOOKS = 10  # attempts
_PAUSE = 0.1  # seconds between two attempts


class ForkPoint(NamedTuple):
    """A session, and its last message that the fork contains."""

    session_id: str
    message: str | None  # its uuid; None: all of the session, which is a copy made for the fork


class _Cut(NamedTuple):
    name: str  # the wanted message that was found
    message: str  # the last message of its turn
    line: int  # its line in the file
    is_hidden: bool  # the program would not find it: see `hidden_end`, or a summary follows


def copied_session(conversation_id: str) -> str:
    """Returns the id of the copied session of a fork that Claude Code cannot make by itself."""
    return str(uuid5(NAMESPACE_URL, f"turnwire:fork:{conversation_id}"))


async def fork_point(config: Path, fork: NativeFork, conversation_id: str) -> ForkPoint | None:
    """Returns the end of the turn of the newest known message, or None if no message is known.

    The program writes more to its file than to its output, for example that a person stopped the
    turn. These records belong to the turn. The file is written after the output, so this retries.
    """
    names = [*fork.after]
    if fork.turn_uuid is not None:
        names.insert(0, prompt_uuid(fork.turn_uuid))
    for left in reversed(range(_LOOKS)):
        file = await asyncio.to_thread(find_session, config, fork.session_id)
        cut = None if file is None else await asyncio.to_thread(_find, file, names)
        if file is not None and cut is not None and (cut.name == names[0] or not left):
            if not cut.is_hidden:
                return ForkPoint(fork.session_id, cut.message)
            new = copied_session(conversation_id)
            await asyncio.to_thread(_copy, config, file, cut, new)
            return ForkPoint(new, None)
        await asyncio.sleep(_PAUSE if left else 0)
    return None


def _find(file: SessionFile, names: list[str]) -> _Cut | None:
    """Returns the end of the turn of the first message that is in the file, or None."""
    records = read_session(file, lambda size: None).records
    lines = {record.uuid: record.number for record in records}
    name = next((name for name in names if name in lines), None)
    if name is None:
        return None
    message = end_of_turn(records, name)
    line = lines[message]
    later = (record for record in records if record.number > line)
    is_summed_up = any(record.data.get("subtype") == "compact_boundary" for record in later)
    return _Cut(name, message, line, is_summed_up or hidden_end(file.path) is not None)


def _copy(config: Path, file: SessionFile, cut: _Cut, session_id: str) -> None:
    """Copies the first lines of a session, and its saved files, to a new session.

    The program reads a session only from its last summary on, and not what stands beside its end. So
    it cannot continue from such a message by itself. The copy is idempotent, because a crash may
    interrupt it.
    """
    path = file.path.with_name(f"{session_id}.jsonl")
    half = path.with_suffix(".half")
    with half.open("wb") as lines:
        lines.writelines(_renamed(file, cut.line, session_id))
    name_end(half, session_id, cut.message)
    half.replace(path)
    files = config / "file-history"
    with suppress(FileNotFoundError):  # Claude has changed no files
        shutil.copytree(files / file.session_id, files / session_id, dirs_exist_ok=True)


def _renamed(file: SessionFile, last: int, session_id: str) -> Iterator[bytes]:
    with file.path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            if number > last:
                return
            try:
                line = msgspec.json.decode(raw)
            except (ValueError, RecursionError):
                continue  # the program cannot read this line either
            if isinstance(line, dict) and "sessionId" in line:
                line["sessionId"] = session_id
            yield msgspec.json.encode(line) + b"\n"
