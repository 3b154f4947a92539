"""Shared by all benchmarks: runs the named measurements, and compares results with targets."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

__all__ = ["Measures", "judged", "run"]

Measures: TypeAlias = Mapping[str, Callable[[Path], Awaitable[bool]]]


def judged(what: str, value: float, target: float, *, at_least: bool = False) -> bool:
    """Prints a value with its target. Returns whether the target is met."""
    met = value >= target if at_least else value <= target
    wanted = "at least" if at_least else "at most"
    print(f"  {what:<34}{value:7.2f}   (target {wanted} {target:.2f}){'' if met else '  MISSED'}")
    return met


async def run(measures: Measures, names: list[str], how: str = "") -> int:
    """Runs the named measurements, or all. Returns 1 if a target is missed."""
    met = []
    for name in [name for name in measures if not names or name in names]:
        print(f"{name}:{how}")
        with tempfile.TemporaryDirectory() as folder:
            met.append(await measures[name](Path(folder)))
    return 0 if all(met) else 1
