"""Where a session of Claude Code is cut, so that another one can begin with what is before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from turnwire.agents.claude.history import find_session, read_session
from turnwire.agents.claude.prompts import prompt_uuid
from turnwire.dialects.claude.branches import end_of_turn
from turnwire.ports import NativeFork

__all__ = ["ForkPoint", "fork_point"]

_LOOKS = 10
_PAUSE = 0.1  # seconds


class ForkPoint(NamedTuple):
    """A session, and the last message of it that the new one knows."""

    session_id: str
    message: str  # its uuid


async def fork_point(config: Path, fork: NativeFork) -> ForkPoint | None:
    """The end of the turn that the newest known message belongs to; none: none of them is known.

    The program writes down more than it says aloud, as that a person has stopped the turn: that
    belongs to the turn as well. And it writes a moment later than it speaks.
    """
    names = [*fork.after]
    if fork.turn_uuid is not None:
        names.insert(0, prompt_uuid(fork.turn_uuid))
    for left in reversed(range(_LOOKS)):
        found = await asyncio.to_thread(_find, config, fork.session_id, names)
        if found is not None and (found[0] == names[0] or not left):
            return ForkPoint(fork.session_id, found[1])
        await asyncio.sleep(_PAUSE if left else 0)
    return None


def _find(config: Path, session_id: str, names: list[str]) -> tuple[str, str] | None:
    """The first of the names that is written down, and the last message of its turn."""
    file = find_session(config, session_id)
    if file is None:
        return None
    records = read_session(file, lambda size: None).records
    known = {record.uuid for record in records}
    name = next((name for name in names if name in known), None)
    return None if name is None else (name, end_of_turn(records, name))
