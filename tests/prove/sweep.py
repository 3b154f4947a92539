"""Runs a day, kills it somewhere, lets it be finished, and checks its history.

python -m tests.prove.sweep [--each N] [--json]     die at every crash point, in N places each
python -m tests.prove.sweep --kills N [--json]      kill it N times, at any moment
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.prove.day import COUNTS, ROOT
from tests.prove.history import History
from tests.prove.invariants import INVARIANTS, Violation, violations
from tests.prove.journal import Failed, Journal, Killed, Left, Opened, read
from turnwire.agents.guard import running
from turnwire.crash_points import EXIT_CODE, VARIABLE, CrashPoint

GONE = 10.0  # seconds that an agent's processes have to be gone after their server
LONGEST = 300.0  # seconds of a day; only one that hangs takes so long
AT_ONCE = 3  # days on one processor: most of the time they wait


class Run(Struct):
    """One day, and what was wrong with it."""

    name: str
    deaths: int
    reached: bool  # it died wherever it was meant to
    violations: list[Violation]
    seconds: float


class Plan(Struct, frozen=True):
    """Where a day is killed: once for each of these, and then it is finished."""

    name: str
    deaths: tuple[str, ...] = ()  # crash points, or `kill:SECONDS`
    part: str = "nothing"  # that is broken


def start(
    folder: Path, part: str, crash_at: str | None = None, *more: str
) -> subprocess.Popen[bytes]:
    """A day as a process of its own."""
    env = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if crash_at is not None:
        env[VARIABLE] = crash_at
    with (folder / "errors").open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.prove.day", str(folder), part, *more],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def run(plan: Plan) -> Run:
    """One plan, in a folder that is gone afterwards, unless something is wrong and PROVE_KEEP names
    a place for it.
    """
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="turnwire-prove-"))
    try:
        deaths = live(plan, folder)
        found = violations(History.read(folder))
        if found and os.environ.get("PROVE_KEEP"):
            shutil.copytree(folder, Path(os.environ["PROVE_KEEP"], plan.name), dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Run(plan.name, deaths, deaths == len(plan.deaths), found, time.monotonic() - began)


def live(plan: Plan, folder: Path) -> int:
    """The day, its deaths and its end. Counts the deaths: some may come too late."""
    journal = Journal(folder / "journal")
    deaths = [die(folder, journal, plan.part, death) for death in plan.deaths]
    finish(start(folder, plan.part), folder, journal)
    journal.close()
    return sum(deaths)


def finish(day: subprocess.Popen[bytes], folder: Path, journal: Journal) -> int:
    """Wait for the end of a day, and of everything that it has started."""
    try:
        code = day.wait(LONGEST)
    except subprocess.TimeoutExpired:
        day.kill()
        code = day.wait()
    look_for_orphans(folder, journal)
    if code not in (0, EXIT_CODE, -signal.SIGKILL):
        said = (folder / "errors").read_text(errors="replace").strip().splitlines()
        why = next((line for line in reversed(said) if "Error" in line), "")
        journal.write(Failed(pid=day.pid, why=f"exit code {code}: {why.strip(' |')}"))
    return code


def die(folder: Path, journal: Journal, part: str, death: str) -> bool:
    """One death. False: the day was over before."""
    name, _, when = death.partition(":")
    if name != "kill":
        day = start(folder, part, death)
    else:
        day = start(folder, part)
        with suppress(subprocess.TimeoutExpired):
            day.wait(float(when))
        day.kill()
    code = finish(day, folder, journal)
    died = code == (EXIT_CODE if name != "kill" else -signal.SIGKILL)
    if died:
        journal.write(Killed(pid=day.pid, how=death))
    return died


def look_for_orphans(folder: Path, journal: Journal) -> None:
    """No process of an agent may be there any more; one that is, is ended and written down."""
    started = {
        tuple(p)
        for line in read(folder / "journal")
        if isinstance(line, Opened)
        for p in line.processes
    }
    deadline = time.monotonic() + GONE
    while True:
        left = [p.pid for p in running().values() if (p.pid, p.began) in started and not p.dead]
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.02)
    if left:
        journal.write(Left(pids=left))
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def counts() -> dict[str, int]:
    """How often a day without a death passes each point."""
    folder = Path(tempfile.mkdtemp(prefix="turnwire-prove-"))
    try:
        if start(folder, "nothing", None, "count").wait(LONGEST):
            raise SystemExit((folder / "errors").read_text(errors="replace"))
        return msgspec.json.decode((folder / COUNTS).read_bytes(), type=dict[str, int])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def places(passed: int, each: int) -> list[int]:
    """Some of the passings of a point, from the first one on. No two days are the same, so of the
    last ones some are not passed every time.
    """
    most = max(1, round(passed * 0.85))
    if each == 1:
        return [max(1, most // 2)]
    spread = {1 + (most - 1) * number // (each - 1) for number in range(each)}
    return sorted(spread)


def plans(passed: dict[str, int], each: int) -> list[Plan]:
    """Every point in some places; and each once more, where the recovery dies at it as well."""
    found = [
        Plan(f"{name}:{number}", (f"{name}:{number}",))
        for name, count in passed.items()
        for number in places(count, each)
    ]
    if each > 1:
        found += [
            Plan(f"{name}:{number}+1", (f"{name}:{number}", f"{name}:1"))
            for name, count in passed.items()
            for number in places(count, 1)
        ]
    return found


def kills(number: int, choose: random.Random, *, at_most: float = 2.0, each: int = 5) -> list[Plan]:
    """So many kills at any moment, some of one day each."""
    found: list[Plan] = []
    while number > 0:
        deaths = tuple(f"kill:{choose.uniform(0.3, at_most):.3f}" for _ in range(min(each, number)))
        found.append(Plan(f"kills {' '.join(deaths)}", deaths))
        number -= len(deaths)
    return found


def all_runs(wanted: Sequence[Plan], workers: int | None = None) -> Iterator[Run]:
    """Several at once, as they come to their ends."""
    with ThreadPoolExecutor(workers or AT_ONCE * (os.cpu_count() or 1)) as pool:
        for done in as_completed([pool.submit(run, plan) for plan in wanted]):
            yield done.result()


def all_kills(number: int, seed: int, workers: int | None = None) -> Iterator[Run]:
    """Days until so many kills were in time: a day may be over before its kill."""
    choose = random.Random(seed)
    while number > 0:
        for done in all_runs(kills(number, choose), workers):
            number -= done.deaths
            yield done


# --- telling it -----------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.prove.sweep", description=__doc__)
    parser.add_argument("--each", type=int, default=6, help="places of each point (6)")
    parser.add_argument("--kills", type=int, default=0, help="kill it so many times instead")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills (1)")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    options = parser.parse_args()
    began = time.monotonic()
    points, wanted = 0, options.kills
    if options.kills:
        days = all_kills(options.kills, options.seed)
    else:
        passed = counts()
        points = sum(bool(count) for count in passed.values())
        planned = plans(passed, options.each)
        wanted, days = sum(len(plan.deaths) for plan in planned), all_runs(planned)
    done: list[Run] = []
    wrong: list[tuple[str, Violation]] = []
    for finished in days:
        done.append(finished)
        for violation in finished.violations:
            wrong.append((finished.name, violation))
            print(f"\r{finished.name}: {violation.invariant}: {violation.message}", file=sys.stderr)
        _progress(len(done), sum(each.deaths for each in done), wanted, len(wrong))
    result = {
        "points": points,
        "points_known": len(CrashPoint),
        "runs": len(done),
        "reached": sum(each.reached for each in done),
        "deaths": sum(each.deaths for each in done),
        "violations": len(wrong),
        "by_invariant": {
            name: sum(violation.invariant == name for _, violation in wrong) for name in INVARIANTS
        },
        "seconds": round(time.monotonic() - began, 1),
    }
    if options.json:
        print(msgspec.json.encode(result).decode())
    else:
        _table(result)
    return 1 if wrong or (not options.kills and points < len(CrashPoint)) else 0


def _progress(days: int, deaths: int, wanted: int, wrong: int) -> None:
    said = f"{deaths} of {wanted} deaths on {days} days, {wrong} violations"
    if sys.stderr.isatty():
        print(f"\r{said}", end="" if deaths < wanted else "\n", file=sys.stderr, flush=True)
    elif days % 50 == 0 or deaths == wanted:
        print(said, file=sys.stderr, flush=True)


def _table(result: dict[str, object]) -> None:
    if result["points"]:
        print(f"{'crash points':<26}{result['points']} of {result['points_known']}")
    print(f"{'days':<26}{result['runs']}, of which {result['reached']} died where they should")
    print(f"{'deaths':<26}{result['deaths']}")
    by = result["by_invariant"]
    assert isinstance(by, dict)
    for name, count in by.items():
        print(f"  {name:<24}{count}")
    print(f"{'violations':<26}{result['violations']}")
    print(f"{'seconds':<26}{result['seconds']}")


if __name__ == "__main__":
    sys.exit(main())
