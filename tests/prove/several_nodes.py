"""A day on several servers at once: each dies, stands still or is cut off as its plan says.

A fault is `NODE@FAULTS`. FAULTS are those of one process of the node, joined with `+`; the next fault of the same
node is for its next process. The last process of each node has none.

| fault | what happens |
|---|---|
| `POINT:N` | the process dies at a crash point |
| `kill:SECONDS` | it is killed |
| `stop:SECONDS` | it is suspended for longer than its lease, and goes on |
| `bus:SECONDS`, `store:SECONDS` | it is cut off from the bus, or from the database, for as long |
| `rest:SECONDS` | after its end it stays away: the others take its conversations over |

The seconds count from the first line of the process in the journal.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.prove.day import LEASE
from tests.prove.helpers.day_store import (
    OF_SURVIVORS,
    OF_THE_EXPELLED,
    address_in,
    holds_lock,
    open_rows,
    points_of,
)
from tests.prove.helpers.journal import Began, Journal, Killed, Opened, Resumed, read
from tests.prove.helpers.node_place import CUT_BUS, CUT_STORE, FAILED, NAMES
from tests.prove.sweep import (
    LONGEST,
    Plan,
    Run,
    all_runs,
    end,
    finish,
    new_folder,
    passed_in,
    places,
    start,
    store_of,
)
from turnwire.crash_points import EXIT_CODE
from turnwire.engine.ownership.owners import process_of

if TYPE_CHECKING:
    from tests.prove.helpers.databases import Databases

__all__ = ["is_deadly", "live_on", "plans", "points_in", "soak"]

_TIMED = ("kill", "stop", "bus", "store", "rest")
_HARMLESS = ("stop", "bus", "store", "rest")
_SUSPENDED = LEASE * 2.0  # seconds: the lease, and half of it until another node takes over
_SPLIT = 0.02
MOST = 20.0  # seconds until an agent is opened, or a conversation is taken over, on a busy machine
AWAY = f"+rest:{LEASE * 2:g}"
OWNS = "step_written"  # a node that dies here owns a conversation, and others take it over


def is_deadly(fault: str) -> bool:
    """Returns whether a process ends by this fault."""
    return any(not part.startswith(_HARMLESS) for part in fault.partition("@")[2].split("+"))


# --- a day --------------------------------------------------------------------------------------


def live_on(plan: Plan, folder: Path) -> int:
    """The day on all its nodes. Counts the deaths: some may come too late."""
    journal = Journal(folder / "journal")
    names = NAMES[: plan.nodes]
    faults = {name: [_of(name, each) for each in plan.deaths if each[0] == name] for name in names}
    with ThreadPoolExecutor(plan.nodes) as pool:
        nodes = [pool.submit(_live, plan, folder, journal, each, faults[each]) for each in names]
        deaths = sum(node.result() for node in nodes)
    journal.close()
    return deaths


def _of(name: str, fault: str) -> list[str]:
    assert fault.startswith(f"{name}@")
    return fault.partition("@")[2].split("+")


def _live(
    plan: Plan, folder: Path, journal: Journal, name: str, faults: Sequence[list[str]]
) -> int:
    """One node, with all its processes. Returns how many of them have died."""
    deaths = 0
    for some in [*faults, []]:
        crash_at = next((each for each in some if not each.startswith(_TIMED)), None)
        place = ("--node", name, "--nodes", str(plan.nodes))
        process = start(folder, plan.part, crash_at, *place)
        how = _trouble(process, folder, journal, [each for each in some if each != crash_at])
        code = finish(process, folder, journal)
        if code not in (EXIT_CODE, -signal.SIGKILL) or (code == EXIT_CODE and crash_at is None):
            if code:
                (folder / FAILED).touch()
            break  # its day is over
        journal.write(Killed(pid=process.pid, how=f"{name}@{crash_at or how}"))
        deaths += 1
        time.sleep(sum(_seconds(each) for each in some if each.startswith("rest")))
    return deaths


def _trouble(
    process: subprocess.Popen[bytes], folder: Path, journal: Journal, faults: list[str]
) -> str:
    """Does everything to a process that has a time. Returns the last of it."""
    began = time.monotonic()
    timed = [each for each in faults if not each.startswith("rest")]
    for fault in sorted(timed, key=_seconds):
        kind = fault.partition(":")[0]
        while process.poll() is None and not _has_begun(process, folder):
            began = time.monotonic()
            time.sleep(_SPLIT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, began + _seconds(fault) - time.monotonic()))
        if process.poll() is not None:
            break
        match kind:
            case "kill":
                process.kill()
            case "stop":
                _await_agent(process, folder)
                _suspend(process, folder, journal)
            case _:
                process.send_signal(CUT_BUS if kind == "bus" else CUT_STORE)
    return timed[-1] if timed else ""


def _seconds(fault: str) -> float:
    return float(fault.partition(":")[2])


def _has_begun(process: subprocess.Popen[bytes], folder: Path) -> bool:
    lines = read(folder / "journal")
    return any(isinstance(line, Began) and line.pid == process.pid for line in lines)


def _await_agent(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Waits until a process has opened an agent, so that it owns a conversation with work in it."""
    deadline = time.monotonic() + MOST
    while process.poll() is None and time.monotonic() < deadline:
        lines = read(folder / "journal")
        if any(isinstance(line, Opened) and line.server == process.pid for line in lines):
            break
        time.sleep(_SPLIT)


def _suspend(process: subprocess.Popen[bytes], folder: Path, journal: Journal) -> None:
    """Suspends a process for longer than its lease, and until another one takes over, if it has work.

    Not in the middle of a write, which would hold a lock.
    """
    deadline = time.monotonic() + LONGEST
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGSTOP)
        if not _is_writing(folder):
            break
        process.send_signal(signal.SIGCONT)
        time.sleep(_SPLIT)
    time.sleep(_SUSPENDED)
    deadline = time.monotonic() + MOST
    while _is_a_node(process, folder) and time.monotonic() < deadline:
        time.sleep(_SPLIT)
    process.send_signal(signal.SIGCONT)
    journal.write(Resumed(pid=process.pid))


def _is_a_node(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Returns whether a process owns conversations, and was not expelled."""
    rows = open_rows(address_in(folder))
    try:
        owners = rows.read("SELECT n.owner FROM nodes AS n JOIN conversations AS c USING (owner)")
    finally:
        rows.close()
    found = [process_of(owner) for (owner,) in owners]
    return any(each is not None and each.pid == process.pid for each in found)


def _is_writing(folder: Path) -> bool:
    return Path(folder, "journal").exists() and holds_lock(address_in(folder))


# --- plans --------------------------------------------------------------------------------------


def plans(nodes: int, each: int, databases: Databases | None) -> list[Plan]:
    """Every point of the first two nodes in some places, while the others go on."""
    found: list[Plan] = []
    counted = counts(nodes, databases)
    for name, passed in counted.items():
        found += [
            # Every other time it is back before the others have taken over.
            _plan(f"{name}@{point}:{number}{'' if turn % 2 else AWAY}", nodes)
            for point, count in passed.items()
            if count and not point.startswith((*OF_SURVIVORS, *OF_THE_EXPELLED))
            for turn, number in enumerate(places(count, each))
        ]
        other = NAMES[1 - NAMES.index(name)]
        found += [
            _plan(f"{other}@{OWNS}:{number}{AWAY}", nodes, f"{name}@{point}:1")
            for point in OF_SURVIVORS
            # In the first half of the day, so that people here want something of it.
            for number in places(counted[other][OWNS] // 2, max(1, each // 2))
        ]
        found += [_plan(f"{name}@{point}:1+stop:0.5", nodes) for point in OF_THE_EXPELLED]
    return found


def _plan(first: str, nodes: int, *more: str) -> Plan:
    return Plan(" ".join((first, *more)), (first, *more), nodes=nodes)


def points_in(planned: Sequence[Plan]) -> int:
    """Returns how many crash points are in plans."""
    parts = [part for plan in planned for fault in plan.deaths for part in _of(fault[0], fault)]
    return len({part.partition(":")[0] for part in parts if not part.startswith(_TIMED)})


def counts(nodes: int, databases: Databases | None = None) -> dict[str, dict[str, int]]:
    """How often the first two nodes pass each point in a day without a death."""
    with new_folder(databases) as folder:
        servers = [
            start(folder, "nothing", None, "--count", "--node", name, "--nodes", str(nodes))
            for name in NAMES[:nodes]
        ]
        try:
            codes = [server.wait(LONGEST) for server in servers]
        finally:
            for server in servers:
                end(server)
        if any(codes):
            raise SystemExit((folder / "errors").read_text(errors="replace"))
        known = points_of(store_of(databases), nodes=True)
        return {
            name: {point: passed_in(folder, name)[point] for point in known} for name in NAMES[:2]
        }


def soak(nodes: int, minutes: float, seed: int, databases: Databases | None) -> Iterator[Run]:
    """Runs days with random faults until the time is over."""
    choose = random.Random(seed)
    until = time.monotonic() + minutes * 60
    at_once = max(1, 3 * (os.cpu_count() or 1) // nodes)
    while time.monotonic() < until:
        yield from all_runs(
            [_random_plan(nodes, choose, databases) for _ in range(at_once)], at_once, databases
        )


def _random_plan(nodes: int, choose: random.Random, databases: Databases | None) -> Plan:
    """Each node is killed up to three times, and something else may happen to it before."""
    kinds = ["stop", "bus"] + (["store"] if databases is not None else [])
    faults = []
    for name in NAMES[:nodes]:
        for _ in range(choose.randrange(4)):
            killed = choose.uniform(0.5, 8.0)
            some = [f"kill:{killed:.2f}"]
            if choose.random() < 0.5:
                some.append(f"{choose.choice(kinds)}:{choose.uniform(0.3, killed):.2f}")
            if choose.random() < 0.5:
                some.append(f"rest:{choose.uniform(0.0, 2 * LEASE):.2f}")
            faults.append(f"{name}@{'+'.join(some)}")
    return Plan(" ".join(faults) or "nothing", tuple(faults), nodes=nodes)
