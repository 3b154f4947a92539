"""Makes untrusted text safe for a terminal: shows control and invisible characters by name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

__all__ = ["printed", "runs", "safe", "visible"]

# Control characters, and characters that reverse the direction of text.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters that are invisible
_HIDDEN = frozenset(["Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"])


def safe(text: str) -> str:
    """Returns text for reading: control characters are replaced by their names."""
    return _ACTS.sub(lambda found: _name(found[0]), text.replace("\r\n", "\n"))


def printed(text: str) -> str:
    """Returns the output of a program without colors, and only the last version of each line."""
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n")
    if "\r" in plain:
        lines = plain.split("\n")
        plain = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    return safe(plain)


def visible(text: str) -> str:
    """Returns text for a decision: every invisible character is replaced by its name."""
    return "".join(run for run, _ in runs(text))


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """Yields the pieces of `visible`, each with whether it is the name of an invisible character."""
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
    """Returns the name of a character as `less` shows it: <U+202E>."""
    return f"<U+{ord(character):04X}>"
