"""Where a session of Claude Code is cut, so that another one can begin with what is before."""

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
from turnwire.agents.claude.turn.prompts import prompt_uuid
from turnwire.dialects.claude.branches import end_of_turn
from turnwire.ports import NativeFork

__all__ = ["ForkPoint", "copied_session", "fork_point"]

_LOOKS = 10
_PAUSE = 0.1  # seconds


class ForkPoint(NamedTuple):
    """A session, and the last message of it that the new one knows."""

    session_id: str
    message: str | None  # its uuid; none: the session was made for this, and knows no more


class _Cut(NamedTuple):
    name: str  # of those that were looked for
    message: str  # the last one of its turn
    line: int  # where that stands in the file
    is_summed_up: bool  # the program would find only a summary of what is before it


def copied_session(conversation_id: str) -> str:
    """The session that is made for a fork where Claude Code cannot begin in the middle by itself."""
    return str(uuid5(NAMESPACE_URL, f"turnwire:fork:{conversation_id}"))


async def fork_point(config: Path, fork: NativeFork, conversation_id: str) -> ForkPoint | None:
    """The end of the turn that the newest known message belongs to; none: none of them is known.

    The program writes down more than it says aloud, as that a person has stopped the turn: that
    belongs to the turn as well. And it writes a moment later than it speaks.
    """
    names = [*fork.after]
    if fork.turn_uuid is not None:
        names.insert(0, prompt_uuid(fork.turn_uuid))
    for left in reversed(range(_LOOKS)):
        file = await asyncio.to_thread(find_session, config, fork.session_id)
        cut = None if file is None else await asyncio.to_thread(_find, file, names)
        if file is not None and cut is not None and (cut.name == names[0] or not left):
            if not cut.is_summed_up:
                return ForkPoint(fork.session_id, cut.message)
            new = copied_session(conversation_id)
            await asyncio.to_thread(_copy, config, file, cut.line, new)
            return ForkPoint(new, None)
        await asyncio.sleep(_PAUSE if left else 0)
    return None


def _find(file: SessionFile, names: list[str]) -> _Cut | None:
    """Where the turn ends to which the first of the names belongs that is written down."""
    records = read_session(file, lambda size: None).records
    lines = {record.uuid: record.number for record in records}
    name = next((name for name in names if name in lines), None)
    if name is None:
        return None
    message = end_of_turn(records, name)
    line = lines[message]
    later = (record for record in records if record.number > line)
    is_summed_up = any(record.data.get("subtype") == "compact_boundary" for record in later)
    return _Cut(name, message, line, is_summed_up)


def _copy(config: Path, file: SessionFile, last: int, session_id: str) -> None:
    """The lines of a session up to one of them, as another session; with its copies of files.

    The program reads a session from its last summary on, and so cannot be told to go on from a
    message before. Made again it is the same one: it may have been killed in the midst.
    """
    path = file.path.with_name(f"{session_id}.jsonl")
    half = path.with_suffix(".half")
    with half.open("wb") as lines:
        lines.writelines(_renamed(file, last, session_id))
    half.replace(path)
    files = config / "file-history"
    with suppress(FileNotFoundError):  # it has never changed any
        shutil.copytree(files / file.session_id, files / session_id, dirs_exist_ok=True)


def _renamed(file: SessionFile, last: int, session_id: str) -> Iterator[bytes]:
    with file.path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            if number > last:
                return
            try:
                line = msgspec.json.decode(raw)
            except (ValueError, RecursionError):
                continue  # the program could not read it either
            if isinstance(line, dict) and "sessionId" in line:
                line["sessionId"] = session_id
            yield msgspec.json.encode(line) + b"\n"
