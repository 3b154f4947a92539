"""Broken rules, as every check of a recording tells them."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Violation", "Violations"]

_KEPT = 1000  # kept one by one; a file that is no recording at all has millions


class Violation(Struct, frozen=True, omit_defaults=True, gc=False):
    """A broken rule."""

    code: str
    line: int
    message: str


class Violations:
    """The first of them one by one; all of them counted."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[Violation] = []

    def add(self, code: str, line: int, message: str) -> None:
        """Note one."""
        self.count += 1
        if len(self._kept) < _KEPT:
            self._kept.append(Violation(code, line, message))

    def in_order(self) -> list[Violation]:
        """Those that were kept, by line."""
        return sorted(self._kept, key=lambda violation: violation.line)
