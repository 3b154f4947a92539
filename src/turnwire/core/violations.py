"""Violations that the checks of a recording report."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Violation", "Violations"]

_KEPT = 1000  # maximum number kept; a file that is not a recording has millions


class Violation(Struct, frozen=True, omit_defaults=True, gc=False):
    """A violated rule."""

    code: str
    line: int
    message: str


class Violations:
    """Counts violations, and keeps the first of them."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[Violation] = []

    def add(self, code: str, line: int, message: str) -> None:
        """Adds a violation."""
        self.count += 1
        if len(self._kept) < _KEPT:
            self._kept.append(Violation(code, line, message))

    def in_order(self) -> list[Violation]:
        """Returns the kept violations, ordered by line."""
        return sorted(self._kept, key=lambda violation: violation.line)
