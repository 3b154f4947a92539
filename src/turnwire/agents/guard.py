"""The guard: a small process between a server and an agent that ends all processes of the agent.

    python guard.py --control FD [--grace SECONDS] [--memory BYTES] [--processes N]
                    [--confine JSON] -- command ...
    python guard.py --probe JSON

The command inherits the guard's standard input, output and error. `FD` is an inherited socket, or
the path of a Unix socket to connect to. The guard ends the command and all its descendants, in any
session, when one of these happens:

- the server asks for it over the control socket;
- the control socket closes, because the server has ended;
- the server sends no heartbeat within the lease;
- the command itself ends;
- all processes together exceed the limit of memory or of processes.

Both sides write JSON to the control socket, one object per line. The server writes:

- {"end": {"leave": 0.5, "grace": 3}}: end everything;
- {"lease": 8, "kill": 9}: the heartbeat. End everything unless the next one arrives within `lease`
  seconds; send SIGKILL to the rest after `kill` seconds. Another server may replace one that hangs
  or cannot reach its store. The old server's agent must have ended by then.

The guard writes:

- {"started": pid} or {"failed": why};
- {"exited": {pid, code, signal}} when the command has ended;
- {"over": why} when a limit or the lease is exceeded;
- {"ended": [{pid, name, signal}], "left": [...]} as the last line.

On Linux the guard is a child subreaper, so it finds every descendant. On other systems it polls the
process table: it misses a process that leaves its parent and its group between two polls.

With `--confine` the command has no access to certain directories; confine.py reads that JSON.
`--probe` tests whether such a confinement works: it prints the reason if not, else nothing.

The guard is run as a file and imports only what it needs, so that an agent starts fast.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # True for type checkers; an import of `typing` takes as long as all others
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Running", "descendants_of", "memory_of", "running"]

_GRACE = 3.0  # seconds between SIGTERM and SIGKILL
_KILLING = 5.0  # seconds until a process that survives SIGKILL is reported as left
_LOOK = 2.0  # seconds between two polls, if there is a limit or no subreaper
_NEVER = float("inf")
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # of prctl(2)


# --- the process table --------------------------------------------------------------------------


class Running:
    """A process in the machine's process table."""

    __slots__ = ("began", "dead", "group", "name", "parent", "pid")

    def __init__(
        self, pid: int, parent: int, group: int, began: str, name: str, dead: bool
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.began = began  # start time; with the pid it is unique, because pids are reused
        self.name = name
        self.dead = dead  # a zombie: ended, but its parent has not read the exit status


def running() -> dict[int, Running]:
    """Returns all processes of this machine, by pid."""
    found = _from_proc() if sys.platform == "linux" else _from_ps()
    return {process.pid: process for process in found}


def _from_proc() -> list[Running]:
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208  # no pathlib here: it takes long to import
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                text = file.read().decode(errors="replace")
        except OSError:
            continue  # the process has ended meanwhile
        name = text[text.index("(") + 1 : text.rindex(")")]
        rest = text[text.rindex(")") + 2 :].split()
        parent, group, began = int(rest[1]), int(rest[2]), rest[19]
        found.append(Running(int(entry), parent, group, began, name, rest[0] in "ZX"))
    return found


def _from_ps() -> list[Running]:
    columns = "pid=,ppid=,pgid=,stat=,lstart=,comm="
    found = []
    with os.popen(f"ps -axo {columns}") as table:
        for line in table:
            fields = line.split(None, 9)
            if len(fields) == 10:
                pid, parent, group = (int(field) for field in fields[:3])
                name = os.path.basename(fields[9].strip())  # noqa: PTH119
                dead = fields[3].startswith("Z")
                found.append(Running(pid, parent, group, " ".join(fields[4:9]), name, dead))
    return found


def descendants_of(pid: int, table: dict[int, Running]) -> list[Running]:
    """Returns all descendants of a process, parents first."""
    children: dict[int, list[Running]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    found: list[Running] = []
    todo = [pid]
    while todo:
        below = children.pop(todo.pop(), [])
        found += below
        todo += [process.pid for process in below]
    return found


def memory_of(processes: list[Running]) -> int:
    """Returns the bytes these processes have in memory. Counts shared memory once per process."""
    if sys.platform != "linux":
        pids = ",".join(str(process.pid) for process in processes)
        with os.popen(f"ps -o rss= -p {pids or os.getpid()}") as table:
            return sum(int(line) for line in table if line.strip().isdigit()) * 1024
    pages = 0
    for process in processes:
        try:
            with open(f"/proc/{process.pid}/statm", "rb") as file:  # noqa: PTH123
                pages += int(file.read().split()[1])
        except (OSError, IndexError):
            continue  # the process has ended meanwhile
    return pages * os.sysconf("SC_PAGE_SIZE")


# --- the guard ----------------------------------------------------------------------------------


class Guard:
    """Runs one command and ends after all descendants of the command have ended."""

    def __init__(
        self,
        control: int,
        *,
        grace: float,
        subreaper: bool,
        memory: int | None = None,
        processes: int | None = None,
        confinement: dict[str, Any] | None = None,
    ) -> None:
        self._control = control  # file descriptor of a socket
        self._confinement = confinement
        self._memory = memory
        self._processes = processes
        self._looked = time.monotonic()
        self._grace = grace
        self._leave = 0.0
        self._heard = b""
        self._asked = False  # True if everything has to end
        self._deadline: float | None = None  # of the server's next heartbeat
        self._kill_by = _NEVER
        self._subreaper = subreaper and _prctl(_SUBREAPER, 1)
        self._child = 0
        self._seen: dict[tuple[int, str], Running] = {}  # used only without a subreaper
        self._statuses: dict[int, int] = {}  # exit statuses by pid
        self._signalled: dict[int, tuple[str, signal.Signals]] = {}  # by pid: name, last signal
        self._wake = _wake_on(signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._parent = _watch_parent()
        if self._parent is not None:
            self._poll.register(self._parent, select.POLLIN)

    def run(self, command: list[str]) -> int:
        """Runs the command and returns after its last descendant has ended."""
        try:
            self._child = _start(command, self._confinement)
        except OSError as error:
            self._tell({"failed": error.strerror})
            return 1
        self._tell({"started": self._child, "subreaper": self._subreaper})
        _let_go_of_stdio()
        limited = self._memory is not None or self._processes is not None
        while not self._asked and self._child not in self._statuses:
            self._wait(_LOOK if limited or not self._subreaper else None)
            if limited and not self._asked:
                self._check_limits()
        self._until(lambda: self._child in self._statuses, self._leave, gently=True)
        left = self._end_all()
        self._tell({"ended": self._report({each["pid"] for each in left}), "left": left})
        return 0

    def _check_limits(self) -> None:
        """Asks for the end of all processes if a limit is exceeded.

        All are ended, because the process that caused it cannot be identified.
        """
        if time.monotonic() - self._looked < _LOOK / 2:
            return
        processes = self._descendants()
        over = None
        if self._processes is not None and len(processes) > self._processes:
            over = f"it ran {len(processes)} processes; {self._processes} are allowed"
        elif self._memory is not None and (used := memory_of(processes)) > self._memory:
            over = f"it used {used >> 20} MB of memory; {self._memory >> 20} MB are allowed"
        if over is not None:
            self._tell({"over": over})
            self._asked = True
        self._looked = time.monotonic()

    # --- ending -------------------------------------------------------------------------------

    def _end_all(self) -> list[dict[str, Any]]:
        """Sends SIGTERM, then SIGKILL. Returns the processes that cannot be ended."""
        self._signal_all(signal.SIGTERM, signal.SIGCONT)  # SIGCONT: a stopped process must wake up
        if self._until(self._none_left, self._grace, gently=True):
            return []
        deadline = time.monotonic() + _KILLING
        while time.monotonic() < deadline:  # repeated, because a killed process may have forked
            self._signal_all(signal.SIGKILL)
            if self._until(self._none_left, 0.05):
                return []
        return [{"pid": process.pid, "name": process.name} for process in self._descendants()]

    def _signal_all(self, *signals: signal.Signals) -> None:
        for process in self._descendants():
            for each in signals:
                try:
                    os.kill(process.pid, each)
                except OSError:
                    break  # ended already, or no permission: then it is reported as left
                if each != signal.SIGCONT:
                    self._signalled[process.pid] = (process.name, each)

    def _none_left(self) -> bool:
        if self._subreaper:
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return True  # orphans become children of a subreaper, so no descendant is left
            return False
        return not self._descendants()

    def _descendants(self) -> list[Running]:
        table = running()
        found = {process.pid: process for process in descendants_of(os.getpid(), table)}
        if not self._subreaper:
            for process in found.values():
                self._seen[process.pid, process.began] = process
            groups = {process.group for process in self._seen.values()} - {os.getpgrp()}
            for process in table.values():
                if process.group in groups or (process.pid, process.began) in self._seen:
                    found[process.pid] = process
                    found.update((p.pid, p) for p in descendants_of(process.pid, table))
        return [process for process in found.values() if not process.dead]

    def _report(self, left: set[int]) -> list[dict[str, Any]]:
        report = []
        for pid, (name, sent) in self._signalled.items():
            if pid in left:
                continue
            status = self._statuses.get(pid)
            by = sent.name
            if status is not None and os.WIFSIGNALED(status):
                by = signal.Signals(os.WTERMSIG(status)).name
            report.append({"pid": pid, "name": name, "signal": by})
        return report

    # --- waiting ------------------------------------------------------------------------------

    def _until(self, done: Any, seconds: float, *, gently: bool = False) -> bool:
        """Waits until `done()` is true. Returns False after the timeout.

        With `gently` it also stops at the time when the server wants SIGKILL to be sent.
        """
        deadline = time.monotonic() + seconds
        while not done():
            left = (min(deadline, self._kill_by) if gently else deadline) - time.monotonic()
            if left <= 0:
                return False
            # Without a subreaper no signal reports the end of a grandchild, so this polls.
            self._wait(left if self._subreaper else min(left, 0.02))
        return True

    def _wait(self, seconds: float | None) -> None:
        """Waits for an event: a child's end, a signal, a line of the server or the server's end."""
        if self._deadline is not None and not self._asked:
            left = max(self._deadline - time.monotonic(), 0.0)
            seconds = left if seconds is None else min(seconds, left)
        for fd, _ in self._poll.poll(None if seconds is None else max(1, round(seconds * 1000))):
            if fd == self._wake:
                self._on_signals()
            elif fd == self._parent:
                self._poll.unregister(fd)
                self._asked = True
            else:
                self._listen()
        if not self._asked and self._deadline is not None and time.monotonic() > self._deadline:
            self._tell({"over": "its server did not renew its lease in time"})
            self._asked = True
        self._reap()
        if not self._subreaper and not self._asked:
            self._descendants()  # remembers them now, because their parents may end first

    def _on_signals(self) -> None:
        numbers = os.read(self._wake, 4096)
        if set(numbers) - {signal.SIGCHLD}:
            self._asked = True

    def _listen(self) -> None:
        try:
            data = os.read(self._control, 65536)
        except OSError:
            data = b""
        if not data:  # the server has closed its side
            self._poll.unregister(self._control)
            self._asked = True
            return
        *lines, self._heard = (self._heard + data).split(b"\n")
        import json

        for line in lines:
            said = json.loads(line)
            if "lease" in said:
                now = time.monotonic()
                self._deadline = now + said["lease"]
                self._kill_by = now + said.get("kill", _NEVER)
                continue
            how = said["end"]
            self._asked = True
            self._leave = how.get("leave", 0.0)
            self._grace = how.get("grace", self._grace)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._statuses[pid] = status
            if pid == self._child:
                self._tell({"exited": {"pid": pid, **_how(status)}})

    def _tell(self, said: dict[str, Any]) -> None:
        import json

        line = json.dumps(said).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._control, line) :]
        except OSError:
            return  # the server has ended


# --- helpers ------------------------------------------------------------------------------------


def _how(status: int) -> dict[str, Any]:
    if os.WIFSIGNALED(status):
        return {"code": None, "signal": signal.Signals(os.WTERMSIG(status)).name}
    return {"code": os.WEXITSTATUS(status), "signal": None}


def _prctl(option: int, value: int) -> bool:
    """Calls prctl(2). Returns False if the call failed or the system is not Linux."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _wake_on(*signals: signal.Signals) -> int:
    """Returns a pipe from which the numbers of these signals can be read."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    for each in signals:
        signal.signal(each, lambda number, frame: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable


def _watch_parent() -> int | None:
    """Returns a file descriptor that is readable once the parent process has ended.

    The control socket is not enough: a copy of it may still be open in another process.
    Returns None if the system has no such descriptors.
    """
    try:
        return os.pidfd_open(os.getppid())
    except (AttributeError, OSError):
        return None


_MAPS = b"maps"  # the command's process writes this when it needs `confine.write_maps`


def _start(command: list[str], confinement: dict[str, Any] | None = None) -> int:
    """Starts the command in its own session. Raises OSError with the reason if that fails."""
    confine = None if confinement is None else _confine()
    readable, writable = os.pipe()  # closed by exec if the program starts
    proceed, allow = os.pipe()
    me = os.getpid()
    pid = os.fork()
    if pid == 0:
        doing = "The agent's process cannot be isolated"
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(each, signal.SIG_DFL)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.close(allow)
            if confine is not None:
                confine.apply(confinement, lambda: _ask_for_maps(writable, proceed))
            doing = command[0]
            _prctl(_DEATH_SIGNAL, signal.SIGKILL)  # in case the guard itself is killed
            if os.getppid() == me:
                os.execvp(command[0], command)
        except Exception as error:
            why = getattr(error, "strerror", None) or error
            os.write(writable, f"{doing}: {why}".encode())
        finally:
            os._exit(127)
    os.close(writable)
    os.close(proceed)
    problem = b""
    try:
        while said := os.read(readable, 4096):
            if said == _MAPS and confine is not None:
                confine.write_maps(pid)
                os.write(allow, b".")
            else:
                problem = said
    except OSError as error:
        os.kill(pid, signal.SIGKILL)
        problem = (
            f"The agent's process cannot be isolated: user namespaces: {error.strerror}".encode()
        )
    finally:
        os.close(readable)
        os.close(allow)
    if problem:
        os.waitpid(pid, 0)
        raise OSError(0, problem.decode(errors="replace"))
    return pid


def _ask_for_maps(writable: int, proceed: int) -> None:
    os.write(writable, _MAPS)
    if not os.read(proceed, 1):
        os._exit(127)  # the guard could not write the maps and reports that itself


def _confine() -> Any:
    """Imports confine.py from this file's directory, which is not on Python's path with -I."""
    from importlib import import_module

    if __package__:
        return import_module(f"{__package__}.confine")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    try:
        return import_module("confine")
    finally:
        del sys.path[0]


def _let_go_of_stdio() -> None:
    """Replaces the guard's standard streams by /dev/null.

    Only the command holds them then, so the server notices when the command closes one.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.close(nothing)
    os.chdir("/")


def main(arguments: list[str]) -> int:
    """Runs a command or a probe; the module's docstring explains the arguments."""
    if arguments[0] == "--probe":
        return _probe(_decoded(arguments[1]))
    at = arguments.index("--")
    given, command = arguments[:at], arguments[at + 1 :]
    options = dict(zip(given[::2], given[1::2], strict=True))
    where = options["--control"]
    control = int(where) if where.isdigit() else _connected(where)
    os.set_inheritable(control, False)
    confinement = _decoded(options["--confine"]) if "--confine" in options else None
    if confinement is not None:
        _confine().close_to_others()  # only root may read the guard's memory and environment
    grace = float(options.get("--grace", _GRACE))
    memory, processes = options.get("--memory"), options.get("--processes")
    guard = Guard(
        control,
        grace=grace,
        subreaper=options.get("--subreaper") != "no",
        memory=int(memory) if memory else None,
        processes=int(processes) if processes else None,
        confinement=confinement,
    )
    return guard.run(command)


def _connected(path: str) -> int:
    """Connects to a Unix socket, and returns its file descriptor."""
    import socket  # here, because most guards inherit their socket

    control = socket.socket(socket.AF_UNIX)
    control.connect(path)
    return control.detach()


def _decoded(text: str) -> dict[str, Any]:
    import json

    spec: dict[str, Any] = json.loads(text)
    return spec


def _probe(confinement: dict[str, Any]) -> int:
    """Confines a test process. Prints the reason and returns 1 if that fails."""
    try:
        _, status = os.waitpid(_start(["true"], confinement), 0)
        problem = "" if status == 0 else f"a test process ended with {_how(status)}"
    except OSError as error:
        problem = str(error.strerror)
    sys.stdout.write(problem)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
