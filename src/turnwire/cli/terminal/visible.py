"""Foreign text on a terminal: nothing in it may act on the terminal, or hide from the reader."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

__all__ = ["printed", "runs", "safe", "visible"]

# What a terminal acts on, and what turns the order of letters around.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters that look like nothing
_HIDDEN = frozenset(["Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"])


def safe(text: str) -> str:
    """Words to be read: whatever a terminal would act on is shown by its name instead."""
    return _ACTS.sub(lambda found: _name(found[0]), text.replace("\r\n", "\n"))


def printed(text: str) -> str:
    """What a program printed: its colours are left out, and of a line it wrote over the last words
    stay.
    """
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\r" in plain:
        lines = plain.split("\n")
        plain = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    return safe(plain)


def visible(text: str) -> str:
    """Text that a person decides on: every character that could hide is shown by its name."""
    return "".join(run for run, _ in runs(text))


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """The same in pieces: plain ones, and the names of characters that could hide."""
    at = 0
    for found in _NOT_PLAIN.finditer(text):
        if not _hides(found[0]):
            continue
        if found.start() > at:
            yield text[at : found.start()], False
        yield _name(found[0]), True
        at = found.end()
    if at < len(text):
        yield text[at:], False


@lru_cache(maxsize=4096)
def _hides(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or character in _BLANK


def _name(character: str) -> str:
    """As `less` shows them: U+202E in angle brackets."""
    return f"<U+{ord(character):04X}>"
