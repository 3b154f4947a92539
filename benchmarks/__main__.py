"""Runs all benchmarks, each in its own process, and lists the missed targets at the end.

`python -m benchmarks [NAME ...]` runs all measurements, or only those with these names.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

PARTS = (
    "store",
    "postgres",
    "bus",
    "nodes",
    "engine",
    "recovery",
    "server",
    "doors",
    "others",
    "hostile",
)
_PAGE = ["make", "--no-print-directory", "bench-web"]


def main(names: list[str]) -> int:
    """Returns 1 if a target was missed or a benchmark failed."""
    missed: list[str] = []
    commands = {part: [sys.executable, "-u", "-m", f"benchmarks.{part}", *names] for part in PARTS}
    if not names:
        commands["page"] = _PAGE
    for part, command in commands.items():
        missed += _missed(part, command)
    if missed:
        print("\nmissed:", *missed, sep="\n  ")
    elif not names:
        print("\nall targets were met")
    return 1 if missed else 0


def _missed(part: str, command: list[str]) -> Iterator[str]:
    """Runs one benchmark, prints its output, and yields its missed targets."""
    heading, said = "", False
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if line[:1].strip():
                heading = line.partition(":")[0].strip()
            if "MISSED" in line:
                said = True
                yield f"{part}, {heading}: {' '.join(line.split())}"
    if process.returncode and not said:
        yield f"{part}: ended with code {process.returncode}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
