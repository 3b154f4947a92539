"""Which server has written to a conversation, and when: the owner, by what the journal has measured."""

from __future__ import annotations

from collections.abc import Iterable

from tests.prove.helpers import journal as j

__all__ = ["Writers"]


class Writers:
    """The writes of all servers that have succeeded, in the order of their ends."""

    def __init__(self, lines: Iterable[j.Lines]) -> None:
        talks: dict[tuple[int, int], str] = {}
        self._writes: dict[str, list[tuple[float, int]]] = {}
        for line in lines:
            match line:
                case j.Writes():
                    talks[line.pid, line.number] = line.talk
                case j.Wrote(is_written=True):
                    talk = talks[line.pid, line.number]
                    self._writes.setdefault(talk, []).append((line.at, line.pid))

    def is_expelled(self, pid: int, talk: str, at: float) -> bool:
        """Returns whether another server has taken a conversation over from this one."""
        before = [writer for when, writer in self._writes.get(talk, ()) if when <= at]
        return pid in before and before[-1] != pid

    def taken_over_at(self, pid: int, talk: str, after: float) -> float | None:
        """Returns when another server first wrote to a conversation after this moment."""
        writes = self._writes.get(talk, ())
        return next((when for when, writer in writes if when > after and writer != pid), None)
