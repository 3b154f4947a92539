"""Every commit, publish, spawn, call of an agent and message to another node has a crash point before and after it."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnwire
from turnwire.crash_points import EXIT_CODE, VARIABLE, CrashPoint
from turnwire.ports import Agent, AgentSession, Store

ROOT = Path(turnwire.__file__).parent
# These run in the agent's own processes, which never know the variable; the last only asks a program
# for its version.
ELSEWHERE = {"agents/guard.py", "agents/run_child.py", "agents/program_version.py"}
MODULES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.rglob("*.py"))
    # A bus only carries, and may lose everything: its callers name the places.
    if path.relative_to(ROOT).parts[0] not in ("bus", "core", "dialects", "testing")
}
COMMAND_LINE = (
    "cli/",
    "agents/claude/sessions/importer.py",
    "agents/codex/importer.py",
    "agents/imports.py",
)
SPAWNS = {
    *("subprocess_exec", "subprocess_shell", "create_subprocess_exec", "create_subprocess_shell"),
    *("Popen", "check_call", "check_output", "fork", "forkpty", "posix_spawn", "posix_spawnp"),
    *("spawnv", "spawnve", "system"),
}


def methods_of(*ports: type) -> set[str]:
    """Returns the awaited calls of a port, which have effects."""
    return {
        name
        for port in ports
        for name, method in vars(port).items()
        if inspect.iscoroutinefunction(method)
    }


# Calls that only read or are no step of a conversation: the crash points of the file cover them.
READS = {
    *(
        "conversation",
        "conversations",
        "unsettled",
        "abandoned",
        "overdue",
        "owned",
        "nodes",
        "versions",
        "session_pieces",
        "entries",
        "turns",
        "receipt",
        "request",
        "partials",
        "rules",
    ),
    *("inbox", "inbox_item", "raw_event", "fork_place", "spent", "stored", "users_of_session"),
    *("audit", "search", "get_blob", "blob", "token", "tokens", "connections"),
}
BESIDE = {"change", "delete", "note", "put_blob", "backup", "close", "connected", "disconnected"}
BESIDE |= {
    "check_writable",
    "shared_secret",
    "deadlines_done",
    "forget_pieces",
    "pin",
    "reserve",
    "add_token",
    "revoke_token",
    "forget_tokens",
    "add_ticket",
    "take_ticket",
    "void_tickets",
}
OF_A_STORE = methods_of(Store) - READS - BESIDE
OF_AN_AGENT = methods_of(Agent, AgentSession)
# Calls by which the store on PostgreSQL writes, or finds out what was written.
OF_A_LANE = {
    *("connection.fetch(statement_for", "save_all(connection", "job.run(connection"),
    *("doubt.settle(", "doubt.has_committed("),
}


def needs_a_point(call: ast.Call, *, stores: bool = True) -> bool:
    """Whether the world is another one after this call.

    What the command line itself has a store write, an import too, the points of the file stand around.
    """
    if ast.unparse(call).startswith(tuple(OF_A_LANE)):
        return True
    if not isinstance(call.func, ast.Attribute):
        return isinstance(call.func, ast.Name) and call.func.id in SPAWNS
    name, whose = call.func.attr, ast.unparse(call.func.value).rpartition(".")[2]
    if name == "execute" and call.args and isinstance(call.args[0], ast.Constant):
        return str(call.args[0].value).upper().startswith("COMMIT")
    if name in OF_A_STORE and whose in ("store", "_store"):
        return stores
    if name in OF_AN_AGENT and whose in ("agent", "_agent", "session", "_session"):
        return True
    if name in ("send", "broadcast") and whose == "_bus":
        return True
    if name == "fork":  # conversations do that, too
        return whose == "os"
    return name == "publish" or name in SPAWNS


def point_of(call: ast.Call) -> str | None:
    """Returns the crash point of this call, or None."""
    if isinstance(call.func, ast.Name) and call.func.id == "reach":
        assert isinstance(call.args[0], ast.Attribute), "a point is named where it is reached"
        return call.args[0].attr
    return None


def calls(function: ast.AST) -> list[ast.Call]:
    """Returns the calls of a function in order, without those of inner functions."""
    found: list[ast.Call] = []
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return sorted(found, key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0))


def functions(module: ast.AST) -> Iterator[ast.AST]:
    yield module
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node


def unnamed(module: ast.AST, *, stores: bool = True) -> list[str]:
    """Returns each call that lacks a crash point before or after it."""
    found: list[str] = []
    for function in functions(module):
        told = [(call, point_of(call)) for call in calls(function)]
        told = [
            (call, point) for call, point in told if point or needs_a_point(call, stores=stores)
        ]
        for number, (call, point) in enumerate(told):
            around = told[max(number - 1, 0) : number + 2 : 2] if number else told[1:2]
            if point is None and (len(around) < 2 or not all(name for _, name in around)):
                found.append(f"line {call.lineno}: {ast.unparse(call)}")
    return found


@pytest.mark.parametrize("name", [name for name in MODULES if name not in ELSEWHERE])
def test_no_commit_publish_spawn_or_call_of_an_agent_is_without_a_name(name: str) -> None:
    assert not unnamed(MODULES[name], stores=not name.startswith(COMMAND_LINE))


@pytest.mark.parametrize(
    "code",
    [
        "async def f(self):\n    await self._store.commit(x)",
        "async def f(self):\n    reach(CrashPoint.A)\n    await self.store.claim(x)",
        "def f(self):\n    self.bus.publish(x)\n    reach(CrashPoint.A)",
        "def f(self):\n    subprocess.Popen(x)",
        "def f(self):\n    reach(CrashPoint.A)\n    self._bus.send(inbox, x)",
        "async def f(self):\n    reach(CrashPoint.A)\n    await session.prompt(x)\n"
        "    await session.interrupt()\n    reach(CrashPoint.B)",
        "def f(db):\n    db.execute('COMMIT')",
        "async def f(connection, tables):\n    await connection.fetch(statement_for(tables))",
        "async def f():\n    reach(CrashPoint.A)\n    await doubt.settle(connection, jobs)",
    ],
)
def test_a_missing_crash_point_is_noticed(code: str) -> None:
    assert unnamed(ast.parse(code))


def test_the_calls_that_need_points_are_those_of_the_ports() -> None:
    assert {"commit", "create", "claim", "join", "renew_node", "release", "leave"} <= OF_A_STORE
    assert {"open", "prompt", "deliver", "interrupt", "close"} <= OF_AN_AGENT


def test_every_crash_point_is_used_for_one_call_or_kind_of_call() -> None:
    reached = Counter(
        point
        for module in MODULES.values()
        for function in functions(module)
        for point in map(point_of, calls(function))
        if point
    )
    assert reached.keys() == CrashPoint.__members__.keys()


def test_no_two_crash_points_have_the_same_description() -> None:
    assert len(list(CrashPoint)) == len(CrashPoint.__members__)


def run(said: str, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, VARIABLE: said},
        capture_output=True,
        text=True,
        check=False,
    )


REACHES = """
from turnwire.crash_points import CrashPoint, reach
for number in range(3):
    reach(CrashPoint.HINTS)
    reach(CrashPoint.HINTED)
    print(number, flush=True)
"""


@pytest.mark.parametrize(
    ("said", "printed", "code"),
    [
        ("hints:1", "", EXIT_CODE),
        ("hinted", "", EXIT_CODE),
        ("hinted:3", "0\n1\n", EXIT_CODE),
        ("hinted:4", "0\n1\n2\n", 0),
        ("", "0\n1\n2\n", 0),
    ],
)
def test_the_variable_ends_the_process_at_the_passing_it_names(
    said: str, printed: str, code: int
) -> None:
    ended = run(said, REACHES)
    assert (ended.stdout, ended.returncode) == (printed, code)


@pytest.mark.parametrize("said", ["nowhere", "hints:x", "hints:0", "hints:-1", ":1", "HINTS:1"])
def test_an_unknown_crash_point_is_refused_at_the_start(said: str) -> None:
    ended = run(said, REACHES)
    assert ended.returncode == 1
    assert not ended.stdout
    assert f"{VARIABLE}={said} names no crash point." in ended.stderr
    assert "step_written" in ended.stderr


def test_the_command_line_reports_an_unknown_crash_point_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNWIRE_DATA_DIR", str(tmp_path))
    ended = run("nowhere", "from turnwire.cli.main import main; main(['run', 'hello'])")
    assert ended.returncode == 2
    assert "names no crash point" in ended.stderr
    assert "Traceback" not in ended.stderr
