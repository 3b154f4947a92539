"""Small things said to people."""

from __future__ import annotations

import os

__all__ = ["NARROWEST", "amount", "counted", "duration", "money", "plain", "readable", "some"]

NARROWEST = 40  # columns we fit words into; a smaller screen folds our lines as it likes


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 block`, `2 blocks`; `plural` if an "s" is not enough."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def some(items: list[str], limit: int) -> str:
    """The first of many, and how many more there are."""
    more = [f"and {len(items) - limit:,} more"] if len(items) > limit else []
    return ", ".join([*items[:limit], *more])


def duration(seconds: float) -> str:
    """`25 ms`, `1.5 s`, `12 s`, `3 min 20 s`, `2 h 5 min`: as exact as a person wants it."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def money(dollars: float) -> str:
    """`$0.0024`, `$12.30`: small sums are not rounded away."""
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def amount(number: int) -> str:
    """`940`, `12.3k`, `1.2M`."""
    if number < 10_000:
        return f"{number:,}"
    if number < 1_000_000:
        return f"{number / 1000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def plain(text: str) -> str:
    """Words from a stream on one line, without anything that a terminal would act on."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def readable(path: str) -> str:
    """A file's name as text; bytes in it that are not UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="replace")
