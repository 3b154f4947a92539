"""Runs a day, kills it at some point, lets the next server finish it, and checks the history.

python -m tests.prove.sweep [--each N] [--json]     die at every crash point, in N places each
python -m tests.prove.sweep --kills N [--json]      kill it N times, at any moment
python -m tests.prove.sweep --store postgres ...    the same on PostgreSQL, with cut connections, and
                                                    PostgreSQL itself is restarted (--restarts N)
python -m tests.prove.sweep --nodes 2 ...           several servers at once, one of which dies
python -m tests.prove.sweep --nodes 3 --minutes 30  random kills, suspensions and partitions, for a time
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from tests.prove.day import ROOT, counts_of
from tests.prove.helpers.day_store import STORES, StoreName, address_in, keep_address, points_of
from tests.prove.helpers.figures import Figures, figures_of
from tests.prove.helpers.history import History
from tests.prove.helpers.invariants import INVARIANTS, Violation, violations
from tests.prove.helpers.journal import Away, Failed, Journal, Killed, Left, Opened, read
from turnwire.agents.guard import running
from turnwire.crash_points import EXIT_CODE, VARIABLE
from turnwire.stores.address import is_database

if TYPE_CHECKING:
    from tests.prove.helpers.databases import Databases
    from tests.stores.postgres.server import HowToStop

GONE = 10.0  # seconds that an agent's processes have to be gone after their server
LONGEST = 300.0  # seconds of a day; only one that hangs takes so long
BETWEEN = (1.0, 6.0)  # seconds between two restarts of the database
HOW_TO_STOP: tuple[HowToStop, ...] = ("fast", "immediate")
AT_ONCE = 3  # days on one processor: most of the time they wait


class Run(Struct):
    """One day, and its violations."""

    name: str
    deaths: int
    reached: bool  # it died wherever it was meant to
    violations: list[Violation]
    figures: Figures
    seconds: float


class Plan(Struct, frozen=True):
    """The points at which a day is killed, one after the other; then it is finished."""

    name: str
    deaths: tuple[str, ...] = ()  # crash points, or `kill:SECONDS`
    part: str = "nothing"  # that is broken
    nodes: int = 1  # if there are several, deaths are as in `tests.prove.several_nodes`

    @property
    def deaths_wanted(self) -> int:
        """Returns the number of deaths; a suspension or a partition is none."""
        if self.nodes == 1:
            return len(self.deaths)
        from tests.prove.several_nodes import is_deadly

        return sum(map(is_deadly, self.deaths))


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
            # A day on a database ends when the sweep is gone, and so its end of the pipe.
            stdin=subprocess.PIPE if is_database(address_in(folder)) else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


@contextmanager
def new_folder(databases: Databases | None) -> Iterator[Path]:
    """Yields the folder of a day, with a database if there are some; both are removed afterwards."""
    place = databases.folder if databases is not None else None
    folder = Path(tempfile.mkdtemp(prefix="turnwire-prove-", dir=place))
    try:
        with databases.new_database() if databases is not None else nullcontext() as address:
            if address is not None:
                keep_address(folder, address)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(plan: Plan, databases: Databases | None = None) -> Run:
    """One plan, in a folder that is gone afterwards, unless something is wrong and PROVE_KEEP names
    a place for it.
    """
    began = time.monotonic()
    with new_folder(databases) as folder:
        deaths = live(plan, folder) if plan.nodes == 1 else live_on_nodes(plan, folder)
        if databases is not None:
            note_outages(folder, [line for line in databases.away if line.until > began])
        history = History.read(folder)
        found = violations(history)
        if found and os.environ.get("PROVE_KEEP"):
            keep(folder, Path(os.environ["PROVE_KEEP"], plan.name))
    reached = deaths == plan.deaths_wanted
    return Run(plan.name, deaths, reached, found, figures_of(history), time.monotonic() - began)


def note_outages(folder: Path, outages: Sequence[Away]) -> None:
    """Writes into the journal of a day when its database was away."""
    journal = Journal(folder / "journal")
    for line in outages:
        journal.write(line)
    journal.close()


def keep(folder: Path, place: Path) -> None:
    """Copies the folder of a day; of a database, a file with the same rows."""
    address = address_in(folder)
    if is_database(address):
        from turnwire.stores.postgres.backup import back_up

        (folder / "address").unlink()
        asyncio.run(back_up(address, str(folder / "log.db")))
    shutil.copytree(folder, place, dirs_exist_ok=True)


def live_on_nodes(plan: Plan, folder: Path) -> int:
    """The day on several servers at once."""
    from tests.prove.several_nodes import live_on

    return live_on(plan, folder)


def live(plan: Plan, folder: Path) -> int:
    """The day, its deaths and its end. Counts the deaths: some may come too late."""
    journal = Journal(folder / "journal")
    deaths = [die(folder, journal, plan.part, death) for death in plan.deaths]
    finish(start(folder, plan.part), folder, journal)
    journal.close()
    return sum(deaths)


def end(day: subprocess.Popen[bytes]) -> None:
    """Kills a day, unless it is over, and closes this end of its pipe."""
    day.kill()
    day.wait()
    if day.stdin is not None:
        day.stdin.close()


def finish(day: subprocess.Popen[bytes], folder: Path, journal: Journal) -> int:
    """Wait for the end of a day, and of everything that it has started."""
    try:
        code = day.wait(LONGEST)
    except subprocess.TimeoutExpired:
        day.kill()
        code = day.wait()
    end(day)
    look_for_orphans(folder, journal, day.pid)
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


def look_for_orphans(folder: Path, journal: Journal, server: int) -> None:
    """Records and ends every process of a server's agents that is still running."""
    started = {
        tuple(p)
        for line in read(folder / "journal")
        if isinstance(line, Opened) and line.server == server
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


def counts(databases: Databases | None = None) -> dict[str, int]:
    """How often a day without a death passes each point."""
    with new_folder(databases) as folder:
        day = start(folder, "nothing", None, "--count")
        try:
            code = day.wait(LONGEST)
        finally:
            end(day)
        if code:
            raise SystemExit((folder / "errors").read_text(errors="replace"))
        passed = passed_in(folder)
        return {name: passed[name] for name in points_of(store_of(databases))}


def passed_in(folder: Path, node: str | None = None) -> dict[str, int]:
    """Returns how often a server that has ended passed each point."""
    return msgspec.json.decode(counts_of(folder, node).read_bytes(), type=dict[str, int])


def store_of(databases: Databases | None) -> StoreName:
    return "sqlite" if databases is None else "postgres"


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
    """Returns plans with this many kills at random moments, several for each day."""
    found: list[Plan] = []
    while number > 0:
        deaths = tuple(f"kill:{choose.uniform(0.3, at_most):.3f}" for _ in range(min(each, number)))
        found.append(Plan(f"kills {' '.join(deaths)}", deaths))
        number -= len(deaths)
    return found


def all_runs(
    wanted: Sequence[Plan], workers: int | None = None, databases: Databases | None = None
) -> Iterator[Run]:
    """Runs several days at once, and yields them as they end."""
    with ThreadPoolExecutor(workers or AT_ONCE * (os.cpu_count() or 1)) as pool:
        try:
            for done in as_completed([pool.submit(run, plan, databases) for plan in wanted]):
                yield done.result()
        except BaseException:  # the rest would run for nothing
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def all_kills(
    number: int, seed: int, workers: int | None = None, databases: Databases | None = None
) -> Iterator[Run]:
    """Runs days until this many kills were in time: a day may end before its kill."""
    choose = random.Random(seed)
    while number > 0:
        for done in all_runs(kills(number, choose), workers, databases):
            number -= done.deaths
            yield done


class Restarts:
    """Restarts the database every few seconds while days run: in order, or as in a crash."""

    def __init__(self, databases: Databases | None, wanted: int, seed: int) -> None:
        self.done: Counter[HowToStop] = Counter()
        self._databases = databases
        self._wanted = wanted if databases is not None else 0
        self._choose = random.Random(seed)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    @property
    def are_done(self) -> bool:
        return self.done.total() >= self._wanted

    @property
    def longest(self) -> float:
        """Returns the seconds of the longest one."""
        away = self._databases.away if self._databases is not None else []
        return round(max((line.until - line.at for line in away), default=0.0), 1)

    def __enter__(self) -> Restarts:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self.are_done and not self._is_over.wait(self._choose.uniform(*BETWEEN)):
            how = self._choose.choice(HOW_TO_STOP)
            assert self._databases is not None
            self._databases.restart(how)
            self.done[how] += 1


def more_kills(restarts: Restarts, seed: int, databases: Databases | None) -> Iterator[Run]:
    """Runs days that are killed until the last restart, so that each has a load."""
    while not restarts.are_done:
        seed += 1
        yield from all_kills(AT_ONCE, seed, databases=databases)


# --- telling it -----------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.prove.sweep", description=__doc__)
    parser.add_argument("--each", type=int, default=6, help="places of each point (6)")
    parser.add_argument("--kills", type=int, default=0, help="kill it so many times instead")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills (1)")
    parser.add_argument("--restarts", type=int, default=50, help="of PostgreSQL meanwhile (50)")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    parser.add_argument("--store", choices=STORES, default="sqlite", help="of the day (sqlite)")
    parser.add_argument("--nodes", type=int, default=1, help="servers at once (1)")
    parser.add_argument("--minutes", type=float, default=0, help="of a soak of several nodes")
    parser.add_argument("--at-once", type=int, default=0, help="days that run at the same time")
    options = parser.parse_args()
    if options.store == "sqlite":
        return sweep(options, None)
    from tests.prove.helpers.databases import Databases

    with Databases() as databases:
        return sweep(options, databases)


def sweep(options: argparse.Namespace, databases: Databases | None) -> int:
    """Runs all days, and prints what was found. Returns the exit code."""
    began = time.monotonic()
    known = len(points_of(store_of(databases), nodes=options.nodes > 1))
    points, wanted = 0, options.kills
    planned: list[Plan] = []
    if options.nodes > 1:
        from tests.prove import several_nodes

        if options.minutes:
            days = several_nodes.soak(options.nodes, options.minutes, options.seed, databases)
        else:
            planned = several_nodes.plans(options.nodes, options.each, databases)
            wanted = sum(plan.deaths_wanted for plan in planned)
            at_once = options.at_once or max(1, AT_ONCE // options.nodes)
            days = all_runs(planned, at_once * (os.cpu_count() or 1), databases)
    elif options.kills:
        days = all_kills(options.kills, options.seed, databases=databases)
    else:
        passed = counts(databases)
        points = sum(bool(count) for count in passed.values())
        planned = plans(passed, options.each)
        wanted = sum(len(plan.deaths) for plan in planned)
        days = all_runs(planned, databases=databases)
    done: list[Run] = []
    wrong: list[tuple[str, Violation]] = []
    figures = Figures()
    deaths = 0
    with Restarts(databases, options.restarts, options.seed) as restarts:
        more = more_kills(restarts, options.seed, databases) if options.nodes == 1 else ()
        for finished in chain(days, more):
            done.append(finished)
            figures.add(finished.figures)
            deaths += finished.deaths
            for violation in finished.violations:
                wrong.append((finished.name, violation))
                said = f"{finished.name}: {violation.invariant}: {violation.message}"
                print(f"\r{said}", file=sys.stderr)
            if not finished.reached:
                said = f"{finished.name}: over after {finished.deaths} deaths"
                print(f"\r{said}", file=sys.stderr, flush=True)
            _progress(len(done), deaths, wanted, len(wrong))
    if options.nodes > 1 and planned:
        from tests.prove.several_nodes import points_in

        # A day on several nodes may be over before its last fault.
        reached = {each.name for each in done if each.reached}
        points = points_in([each for each in planned if each.name in reached])
    result = {
        "points": points,
        "points_known": known,
        "runs": len(done),
        "reached": sum(each.reached for each in done),
        "deaths": deaths,
        "restarts": dict(restarts.done),
        "longest_restart": restarts.longest,
        **msgspec.to_builtins(figures),
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
    is_wrong = wrong or figures.lost or figures.doubled or figures.unsettled
    is_whole = not (options.kills or options.minutes)
    return 1 if is_wrong or (is_whole and points < known) else 0


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
    print(f"{'kills of the server':<26}{result['deaths']}")
    restarts = result["restarts"]
    assert isinstance(restarts, dict)
    if restarts:
        kinds = ", ".join(f"{count} {how}" for how, count in sorted(restarts.items()))
        print(f"{'restarts of PostgreSQL':<26}{sum(restarts.values())} ({kinds})")
        print(f"{'  longest, in seconds':<26}{result['longest_restart']}")
    print(f"{'acknowledged inputs':<26}{result['acknowledged']}")
    print(f"{'  lost':<26}{result['lost']}")
    print(f"{'  doubled':<26}{result['doubled']}")
    if restarts:
        print(f"{'commits in doubt':<26}{result['in_doubt']}")
        print(f"{'  not settled':<26}{result['unsettled']}")
    by = result["by_invariant"]
    assert isinstance(by, dict)
    for name, count in by.items():
        print(f"  {name:<24}{count}")
    print(f"{'violations':<26}{result['violations']}")
    print(f"{'seconds':<26}{result['seconds']}")


if __name__ == "__main__":
    sys.exit(main())
