"""Formats numbers, durations, amounts of money and short texts."""

from __future__ import annotations

import os

__all__ = ["NARROWEST", "amount", "counted", "duration", "money", "plain", "readable", "some"]

NARROWEST = 40  # columns; a narrower terminal folds the lines itself


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Returns `1 block` or `2 blocks`. `plural` is for nouns that need more than an "s"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def some(items: list[str], limit: int) -> str:
    """Returns the first items, and the number of the others."""
    more = [f"and {len(items) - limit:,} more"] if len(items) > limit else []
    return ", ".join([*items[:limit], *more])


def duration(seconds: float) -> str:
    """Returns a duration in words: `25 ms`, `1.5 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
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
    """Returns `$12.30`, or `$0.0024` with four decimals for less than a dollar."""
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def amount(number: int) -> str:
    """Returns a short number: `940`, `12.3k`, `1.2M`."""
    if number < 10_000:
        return f"{number:,}"
    if number < 1_000_000:
        return f"{number / 1000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def plain(text: str) -> str:
    """Returns a text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def readable(path: str) -> str:
    """Returns a file name as text. Bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode(errors="replace")
