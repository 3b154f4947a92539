"""A command that runs under the guard, as its server sees it."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, cast

import msgspec
from msgspec import Struct

from turnwire.agents import guard
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.crash_points import CrashPoint, reach
from turnwire.ports import AgentGone, Isolation, Lease

__all__ = ["GUARD", "GuardedProcess", "Limits", "allowed_directory", "plain_environment"]

_log = logging.getLogger("turnwire")
_MOST = 1 << 20  # bytes of output that may wait to be read before the command waits
_LAST = 4096  # bytes of its standard error that are remembered
_STANDSTILL = 10.0  # seconds that a server may stand still before its agents are ended
_SOON = 0.05  # seconds between two words to the guard, at least
_TOKEN = "TURNWIRE_AGENT_TOKEN"  # in the environment of everything that the command starts
_PLAIN = (
    *("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "PYTHONPATH", "SHELL"),
    *("TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"),
)
_MOST_PATH = 4096  # characters of a directory's path
GUARD = [sys.executable, "-I", "-S", str(Path(guard.__file__).resolve())]  # starts in no time


def plain_environment(isolation: Isolation | None = None) -> dict[str, str]:
    """What any program may know of this machine: no key, no token, no address.

    An agent that runs as another user gets that user's home, and not the server's own directory for
    temporary files, which may be closed to it.
    """
    plain = {name: os.environ[name] for name in _PLAIN if name in os.environ}
    if isolation is None or isolation.user is None:
        return plain
    plain.pop("TMPDIR", None)
    return {**plain, **isolation.user.environment}


class Limits(Struct, frozen=True):
    """What a command and all that it starts may use. Whoever uses more is ended, after seconds."""

    memory: int | None = None  # bytes, of all together
    processes: int | None = None  # at the same time


def allowed_directory(wanted: str | None, roots: Sequence[Path | str] | None) -> str:
    """Where an agent may work: below one of the roots, links followed. Raises AgentGone."""
    if wanted is not None and len(wanted) > _MOST_PATH:  # to resolve it would take minutes
        raise AgentGone(f"The agent cannot work there: more than {_MOST_PATH} characters.")
    path = Path(wanted) if wanted is not None else Path(roots[0]) if roots else Path.cwd()
    try:
        found = path.resolve(strict=True)
    except OSError as problem:
        raise AgentGone(f"The agent cannot work in {path}: {problem.strerror}.") from problem
    if not found.is_dir():
        raise AgentGone(f"The agent cannot work in {path}: it is no directory.")
    if roots is not None and not any(found.is_relative_to(Path(r).resolve()) for r in roots):
        allowed = ", ".join(str(root) for root in roots)
        raise AgentGone(f"The agent may not work in {path}, only below {allowed}.")
    return str(found)


class _Pipes(asyncio.SubprocessProtocol):
    """What the command writes: its output until it is read, of its errors the end."""

    def __init__(self) -> None:
        self.output: list[bytes] = []
        self.waiting = 0  # bytes
        self.ready = asyncio.Event()
        self.over = asyncio.Event()  # no more output
        self.exited = asyncio.Event()  # the guard has
        self.last = bytearray()
        self.paused = False
        self.receive: Callable[[bytes], None] | None = (
            None  # who gets output without waiting for it
        )
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not checked: uvloop has transports of its own.
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.last += data
            del self.last[:-_LAST]
            return
        if self.receive is not None:
            self.receive(data)
            return
        self.output.append(data)
        self.waiting += len(data)
        self.ready.set()
        if self.waiting > _MOST:
            self.pause()

    def pause(self) -> None:
        """Let the command wait with what it has to say."""
        if not self.paused and not self.over.is_set() and not self._stdout.is_closing():
            self._stdout.pause_reading()
            self.paused = True

    def resume(self) -> None:
        """Let it go on."""
        if self.paused:
            self.paused = False
            if not self._stdout.is_closing():  # uvloop raises where asyncio does nothing
                self._stdout.resume_reading()

    def take(self) -> bytes:
        """All that has come."""
        data = b"".join(self.output)
        self.output.clear()
        self.waiting = 0
        if not self.over.is_set():
            self.ready.clear()
        self.resume()
        return data

    @property
    def _stdout(self) -> asyncio.ReadTransport:
        assert self._transport is not None
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.paused = False
            self.over.set()
            self.ready.set()

    def process_exited(self) -> None:
        self.exited.set()


class GuardedProcess:
    """A command and everything that it starts. `start` makes one; `end` ends all of it."""

    def __init__(self, control: socket.socket, token: str) -> None:
        self._control = control
        self._token = token
        self._pipes = _Pipes()
        self._transport: asyncio.SubprocessTransport | None = None
        self._guard: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ending: asyncio.Task[list[EndedProcess]] | None = None
        self._ended: list[EndedProcess] | None = None  # none: the guard has not told yet
        self._holding: asyncio.TimerHandle | None = None
        self._exited: dict[str, Any] | None = None
        self._over: str | None = None  # what it used too much of

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        grace: float = 3.0,
        subreaper: bool = True,
        standstill: float = _STANDSTILL,
        lease: Lease | None = None,
        limits: Limits | None = None,
        files: Sequence[int] = (),
        isolation: Isolation | None = None,
        keep: Sequence[Path | str] = (),
    ) -> Self:
        """Start it; `env` is all that it knows. Raises AgentGone if there is no such program.

        `files` are open ones that it has, too, under the same numbers.
        If this process stands still for `standstill` seconds, all of it is ended. So it is when its
        `lease` is about to end.
        `keep` are files and directories that it needs, even if they are in a hidden directory.
        """
        confined = [] if isolation is None else _confined(isolation, command[0], cwd, keep)
        ours, theirs = socket.socketpair()
        token = secrets.token_hex(16)
        environment = dict(plain_environment() if env is None else env)
        self = cls(ours, token)
        try:
            with theirs:
                await self._spawn(
                    [
                        *(*GUARD, "--control", str(theirs.fileno()), "--grace", str(grace)),
                        *("--subreaper", "yes" if subreaper else "no"),
                        *_flags(limits or Limits()),
                        *confined,
                        *("--", *command),
                    ],
                    cwd=cwd,
                    env={**environment, _TOKEN: token},
                    pass_fds=[theirs.fileno(), *files],
                )
            self._hold(standstill, lease)
            await self._begun
        except BaseException as error:
            await self.end(
                grace=0.0
            )  # it has said nothing yet, and may not hear SIGTERM while it starts
            if isinstance(error, OSError):
                raise AgentGone(f"The agent could not be started: {error}") from error
            raise
        return self

    async def _spawn(self, command: list[str], **how: Any) -> None:
        reader, self._guard = await asyncio.open_connection(sock=self._control, limit=_MOST)
        loop = asyncio.get_running_loop()
        reach(CrashPoint.SPAWNS)
        transport, _ = await loop.subprocess_exec(
            lambda: self._pipes, *command, start_new_session=True, **how
        )
        reach(CrashPoint.SPAWNED)
        self._transport = transport
        self._listener = asyncio.create_task(self._listen(reader))

    def _hold(self, standstill: float, lease: Lease | None) -> None:
        """Tell the guard that its server is alive, and soon again."""
        said = {"lease": standstill}
        if lease is not None:
            said["lease"] = min(standstill, lease.left - lease.margin)
            said["kill"] = lease.left - lease.margin / 2
        if self._tell_guard(said):
            pause = max(said["lease"] / 3, _SOON)
            again = asyncio.get_running_loop().call_later
            self._holding = again(pause, self._hold, standstill, lease)

    def _tell_guard(self, said: Mapping[str, Any]) -> bool:
        """Sends a line to the guard. Returns False if the guard has closed its side."""
        assert self._guard is not None
        if self._guard.is_closing():  # asyncio would drop the line, uvloop would raise
            return False
        self._guard.write(msgspec.json.encode(said) + b"\n")
        return True

    # --- talking ------------------------------------------------------------------------------

    async def read(self) -> bytes:
        """All output that is there, at least a byte of it; empty: there will be no more."""
        await self._pipes.ready.wait()
        return self._pipes.take()

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Have output handed over as soon as it is there, instead of reading it. That is faster."""
        data = self._pipes.take()
        self._pipes.receive = receive
        if data:
            receive(data)

    async def silence(self) -> None:
        """Until there will be no more output."""
        await self._pipes.over.wait()

    def pause(self) -> None:
        """Take no output for a while, so that the command waits."""
        self._pipes.pause()

    def resume(self) -> None:
        """Take it again."""
        self._pipes.resume()

    def write(self, data: bytes) -> None:
        """To its standard input. Raises AgentGone if nobody can read it."""
        pipe = self._transport and self._transport.get_pipe_transport(0)
        if pipe is None or pipe.is_closing():
            raise AgentGone(self.how_it_ended())
        cast("asyncio.WriteTransport", pipe).write(data)

    def hang_up(self) -> None:
        """Close its standard input: there will be nothing more to do."""
        pipe = self._transport and self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    def when_over(self, done: Callable[[], None]) -> None:
        """Have this called, once, when the guard has said its last word."""
        assert self._listener is not None
        self._listener.add_done_callback(lambda _: done())

    @property
    def guard_pid(self) -> int:
        """The process that watches over it."""
        assert self._transport is not None
        pid = self._transport.get_pid()
        assert pid is not None
        return pid

    def below(self) -> list[guard.Running]:
        """The command and everything that it has started, as far as it runs."""
        return [p for p in guard.descendants_of(self.guard_pid, guard.running()) if not p.dead]

    @property
    def is_running(self) -> bool:
        """Whether it, or something that it started, is still there."""
        return not self._pipes.exited.is_set()

    @property
    def last_words(self) -> str:
        """The end of what it wrote to its standard error."""
        return bytes(self._pipes.last).decode(errors="replace").strip()

    def how_it_ended(self) -> str:
        """In words, for a person."""
        how = "The agent's process has ended"
        if self._over is not None:
            return f"The agent was ended: {self._over}."
        if self._exited is not None:
            signalled, code = self._exited["signal"], self._exited["code"]
            how += f" by {signalled}" if signalled else f" with exit code {code}"
        return f"{how}. It said last: {self.last_words}" if self.last_words else f"{how}."

    # --- ending -------------------------------------------------------------------------------

    async def end(self, *, leave: float = 0.0, grace: float | None = None) -> list[EndedProcess]:
        """End everything; what had to be ended is returned, and what could not be.

        It has `leave` seconds to go by itself, then `grace` seconds after SIGTERM, then SIGKILL.
        """
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(leave, grace))
        return await asyncio.shield(self._ending)

    async def wait(self) -> None:
        """Until it and everything that it started is gone."""
        await self._pipes.exited.wait()
        if self._listener is not None:
            await asyncio.wait([self._listener])

    async def _end(self, leave: float, grace: float | None) -> list[EndedProcess]:
        if self._transport is not None and self._guard is not None:
            how = {"leave": leave} if grace is None else {"leave": leave, "grace": grace}
            self._tell_guard({"end": how})
            with suppress(TimeoutError):
                async with asyncio.timeout(leave + (grace or 10.0) + 10.0):
                    await self.wait()
            if not self._pipes.exited.is_set():
                with suppress(ProcessLookupError):  # it has ended in this very moment
                    self._transport.kill()  # the guard itself is stuck; its command dies with it
                await self.wait()
            self._transport.close()
        if self._holding is not None:
            self._holding.cancel()
        if self._guard is not None:
            self._guard.close()
            with suppress(OSError):
                await self._guard.wait_closed()
        self._control.close()
        return self._ended or []

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """What the guard says, to its last word."""
        with suppress(OSError, ValueError):
            while line := await reader.readline():
                self._hear(msgspec.json.decode(line))
        if not self._begun.done():
            self._begun.set_exception(AgentGone(f"The guard could not start. {self.last_words}"))
        elif self._ended is None and self._begun.exception() is None:
            # Somebody has killed the guard. Nobody else would end what it watched over.
            self._ended = _sweep(self._token)
            if self._transport is not None:
                self._transport.close()

    def _hear(self, said: dict[str, Any]) -> None:
        match said:
            case {"started": int(pid)} if not self._begun.done():
                self._begun.set_result(pid)
            case {"failed": str(why)} if not self._begun.done():
                self._begun.set_exception(AgentGone(f"The agent could not be started: {why}"))
            case {"over": str(over)}:
                self._over = over
            case {"exited": {"pid": _} as exited}:
                self._exited = exited
            case {"ended": ended, "left": left}:
                self._ended = msgspec.convert(ended, list[EndedProcess])
                for each in left:
                    _log.warning("%s (%d) could not be ended.", each["name"], each["pid"])
                    self._ended.append(EndedProcess(each["pid"], each["name"], left=True))
            case _:
                pass


def _flags(limits: Limits) -> list[str]:
    """For the guard's command line."""
    flags = []
    if limits.memory is not None:
        flags += ["--memory", str(limits.memory)]
    if limits.processes is not None:
        flags += ["--processes", str(limits.processes)]
    return flags


def _confined(
    isolation: Isolation, program: str, cwd: str | None, keep: Sequence[Path | str]
) -> list[str]:
    """For the guard's command line. Raises AgentGone if the command could not work in it."""
    user = isolation.user
    if isolation.by == "none":
        return []
    if user is not None:
        spec = {"by": "user", "name": user.name, "uid": user.uid, "gid": user.gid}
        return ["--confine", msgspec.json.encode({**spec, "groups": user.groups}).decode()]
    hidden = [Path(each) for each in isolation.hide]
    here = Path(cwd or Path.cwd()).resolve()
    if any(here.is_relative_to(each) for each in hidden):
        raise AgentGone(
            f"The agent may not work in {here}: the server keeps its own data there. "
            "Choose another directory."
        )
    found = shutil.which(program)
    needed = [Path(each).resolve() for each in (*keep, *([found] if found else []))]
    kept = [each for each in needed if any(each.is_relative_to(top) for top in hidden)]
    if any(each in hidden for each in kept):
        raise AgentGone(
            f"The agent keeps files of its own in {kept[0]}, where the server keeps its data. "
            "Choose another directory for one of them."
        )
    spec = {"by": isolation.by, "hide": isolation.hide}
    there = [str(each) for each in dict.fromkeys(kept) if each.exists()]
    return ["--confine", msgspec.json.encode({**spec, "keep": there}).decode()]


def _sweep(token: str) -> list[EndedProcess]:
    """End whatever has this token in its environment, without a guard.

    Only Linux shows that. What was started with an environment of its own is not found.
    """
    mark = f"{_TOKEN}={token}".encode()
    ended: list[EndedProcess] = []
    if not Path("/proc/self/environ").exists():
        return ended
    for process in guard.running().values():
        with suppress(OSError):
            if mark in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0"):
                os.kill(process.pid, signal.SIGKILL)
                ended.append(EndedProcess(process.pid, process.name, "SIGKILL"))
    return ended
