"""Counts the small faults in the most important modules that the tests notice.

Each mutant of a module (`tools.mutants`) is written into a copy of the source, and the tests of the
module run with the copy. A test that fails, or exceeds its timeout, has noticed the fault.

    python -m tools.mutate                      every module
    python -m tools.mutate server/gate          only that module
    python -m tools.mutate --line 40 server/gate    only the faults of that line
    python -m tools.mutate --at-least 90        fails below a score of 90 %
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue

from tools.mutants import Mutant, mutants_of

ROOT = Path(__file__).parent.parent

# Modules for sequencing, fencing, authorization and limits. Each has its tests, the fastest first,
# because the first failure is enough.
TESTS: dict[str, tuple[str, ...]] = {
    "engine/fanout/channel": ("tests/engine/test_channel.py",),
    "engine/ownership/claims": ("tests/engine/test_claims.py",),
    "engine/fanout/follow": ("tests/engine/test_follow.py",),
    "server/access/auth": ("tests/server/test_auth.py",),
    "server/sockets/commands": ("tests/server/test_commands.py",),
    "server/access/gate": ("tests/server/test_gate.py",),
    "server/access/keys": ("tests/server/test_keys.py",),
    "server/access/limits": ("tests/server/test_limits.py",),
    "stores/sqlite/commit": (
        "tests/stores/test_commit.py",
        "tests/stores/test_sqlite.py::test_the_sqlite_store_passes_the_check",
    ),
}


@dataclass
class Score:
    """The mutants of a module: how many were made, and which ones no test noticed."""

    module: str
    made: int = 0
    survived: list[Mutant] = field(default_factory=list)

    @property
    def noticed(self) -> int:
        return self.made - len(self.survived)

    def __str__(self) -> str:
        share = 100 * self.noticed / self.made if self.made else 100.0
        return f"{self.module:22} {self.noticed:4} of {self.made:4}   {share:5.1f} %"


class Copy:
    """A copy of the source in which one module at a time is replaced."""

    def __init__(self, folder: Path) -> None:
        self._src = folder / "src"
        shutil.copytree(ROOT / "src", self._src, ignore=shutil.ignore_patterns("__pycache__"))

    def notices(self, module: str, source: str | None, seconds: float) -> bool:
        """Runs the module's tests with this source, or with its own if `source` is None.

        Returns whether a test fails.
        """
        path = self._src / "turnwire" / f"{module}.py"
        # Python detects a changed file by its time and size, which two mutants may share.
        Path(cache_from_source(str(path))).unlink(missing_ok=True)
        path.write_text(source or _source_of(module), encoding="utf-8")
        try:
            return not _passes(TESTS[module], self._src, seconds)
        finally:
            path.write_text(_source_of(module), encoding="utf-8")


def _passes(tests: tuple[str, ...], src: Path, seconds: float) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environ = {**os.environ, "PYTHONPATH": str(src), "TMPDIR": str(src.parent)}
    running = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return running.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def _source_of(module: str) -> str:
    return (ROOT / "src" / "turnwire" / f"{module}.py").read_text(encoding="utf-8")


def try_module(module: str, copies: SimpleQueue[Copy], workers: int, line: int | None) -> Score:
    """Tests every mutant of a module, several at a time."""

    def notices(source: str | None, seconds: float) -> bool:
        own = copies.get()
        try:
            return own.notices(module, source, seconds)
        finally:
            copies.put(own)

    started = time.monotonic()
    if notices(None, 600):
        sys.exit(f"The tests of {module} fail without any fault: {' '.join(TESTS[module])}")
    seconds = 20 + 5 * (time.monotonic() - started)
    score = Score(module)
    mutants = [m for m in mutants_of(_source_of(module)) if line is None or m.line == line]
    with ThreadPoolExecutor(workers) as pool:
        for mutant, noticed in zip(
            mutants, pool.map(lambda m: notices(m.source, seconds), mutants), strict=True
        ):
            score.made += 1
            if not noticed:
                score.survived.append(mutant)
                print(f"  not noticed: {module}.py, {mutant}", flush=True)
    print(score, flush=True)
    return score


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as server/gate")
    parser.add_argument("--line", type=int, help="only the faults of this line")
    parser.add_argument("--at-least", type=float, default=0, metavar="PERCENT")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    unknown = [module for module in args.modules if module not in TESTS]
    if unknown:
        parser.error(f"no tests are listed for {unknown[0]}. Choose from: {', '.join(TESTS)}")
    with tempfile.TemporaryDirectory(prefix="turnwire-mutants-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(args.workers):
            copies.put(Copy(Path(folder, str(number))))
        scores = [
            try_module(module, copies, args.workers, args.line) for module in args.modules or TESTS
        ]
    whole = Score("in all", sum(each.made for each in scores))
    whole.survived = [mutant for each in scores for mutant in each.survived]
    print(whole)
    if 100 * whole.noticed < args.at_least * whole.made:
        sys.exit(f"Fewer than {args.at_least:g} % were noticed.")


if __name__ == "__main__":
    main()
