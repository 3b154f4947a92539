"""Starts a command under the guard and exchanges its input, output and end with the server."""

from __future__ import annotations

import asyncio
import logging
import os
import re
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
from turnwire.redaction.redact import redact_text

__all__ = ["GUARD", "GuardedProcess", "Limits", "allowed_directory", "plain_environment"]

_log = logging.getLogger("turnwire")
_MOST = 1 << 20  # bytes of unread output before backpressure stops the command
_LAST = 4096  # bytes kept from the end of its standard error
_LAST_LINES = 20  # of these, for a message
_STANDSTILL = 10.0  # seconds without a heartbeat of the server before its agents are ended
_SOON = 0.05  # minimum seconds between two heartbeats to the guard
_TOKEN = "TURNWIRE_AGENT_TOKEN"  # environment variable that the command's children inherit
_PLAIN = (
    *("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "PYTHONPATH", "SHELL"),
    *("TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"),
)
_MOST_PATH = 4096  # maximum characters of a directory's path
GUARD = [sys.executable, "-I", "-S", str(Path(guard.__file__).resolve())]  # -I -S: fast start


def plain_environment(isolation: Isolation | None = None) -> dict[str, str]:
    """Returns the environment variables that every agent may see: no keys, tokens or addresses.

    An agent that runs as another user gets that user's home directory. It does not get the server's
    TMPDIR, because that user may have no access to it.
    """
    plain = {name: os.environ[name] for name in _PLAIN if name in os.environ}
    if isolation is None or isolation.user is None:
        return plain
    plain.pop("TMPDIR", None)
    return {**plain, **isolation.user.environment}


class Limits(Struct, frozen=True):
    """Limits for a command and its descendants together. The guard ends all if one is exceeded."""

    memory: int | None = None  # bytes
    processes: int | None = None  # number of processes at the same time


def allowed_directory(wanted: str | None, roots: Sequence[Path | str] | None) -> str:
    """Returns the working directory of an agent, with links resolved.

    Raises AgentGone if the path is not a directory or not below one of the roots.
    """
    if wanted is not None and len(wanted) > _MOST_PATH:  # resolving it would take minutes
        raise AgentGone(
            f"The path of the agent's directory has more than {_MOST_PATH} characters. "
            "Choose a shorter one."
        )
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


class _Output(asyncio.Protocol):
    """The command's standard output: handed on as it comes, or buffered until it is read.

    It is a pipe of its own. The pipes of asyncio's subprocesses need one more pass of the event
    loop for each piece of output.
    """

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.over = asyncio.Event()  # standard output is closed
        self._buffer: list[bytes] = []
        self._waiting = 0  # bytes
        self.paused = False
        self._receive: Callable[[bytes], None] | None = None  # called directly with new output
        self._transport: asyncio.ReadTransport | None = None

    async def open(self) -> int:
        """Makes the pipe. Returns the end that the command writes to, which the caller closes."""
        ours, theirs = os.pipe()
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_read_pipe(lambda: self, os.fdopen(ours, "rb", buffering=0))
        except BaseException:
            os.close(theirs)
            raise
        return theirs

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The type is not checked at runtime, because uvloop has its own transport classes.
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        if self._receive is not None:
            self._receive(data)
            return
        self._buffer.append(data)
        self._waiting += len(data)
        self.ready.set()
        if self._waiting > _MOST:
            self.pause()

    def connection_lost(self, exc: Exception | None) -> None:
        self.paused = False
        self.over.set()
        self.ready.set()

    def hand_to(self, receive: Callable[[bytes], None]) -> None:
        """Calls `receive` with the output so far, and with each piece that comes."""
        data = self.take()
        self._receive = receive
        if data:
            receive(data)

    def take(self) -> bytes:
        """Returns all buffered output and empties the buffer."""
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._waiting = 0
        if not self.over.is_set():
            self.ready.clear()
        self.resume()
        return data

    def pause(self) -> None:
        """Stops reading, so that the command waits."""
        transport = self._transport
        if not self.paused and transport is not None and not transport.is_closing():
            transport.pause_reading()
            self.paused = True

    def resume(self) -> None:
        """Reads again."""
        if self.paused:
            self.paused = False
            assert self._transport is not None
            if not self._transport.is_closing():  # uvloop raises where asyncio does nothing
                self._transport.resume_reading()

    def close(self) -> None:
        """Closes the pipe. Its end is reported as any other."""
        if self._transport is not None:
            self._transport.close()


class _Life(asyncio.SubprocessProtocol):
    """The end of the guard, and the end of what the command wrote to its standard error."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.last = bytearray()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.last += data
        del self.last[:-_LAST]

    def process_exited(self) -> None:
        self.exited.set()


class GuardedProcess:
    """A command and its descendants under the guard. `start` makes one; `end` ends all of them."""

    def __init__(self, control: socket.socket, token: str) -> None:
        self._control = control
        self._token = token
        self._output = _Output()
        self._life = _Life()
        self._transport: asyncio.SubprocessTransport | None = None
        self._guard: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ending: asyncio.Task[list[EndedProcess]] | None = None
        self._ended: list[EndedProcess] | None = None  # None until the guard has reported it
        self._holding: asyncio.TimerHandle | None = None
        self._exited: dict[str, Any] | None = None
        self._over: str | None = None  # why the guard ended the command

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
        """Starts the command under a guard. Raises AgentGone if the program cannot be started.

        `env` is its whole environment. `files` are file descriptors that the command inherits.
        The guard ends the command if the server sends no heartbeat for `standstill` seconds, or
        just before the `lease` expires.
        `keep` lists files and directories that stay readable inside a hidden directory.
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
            await self.end(grace=0.0)  # a command that still starts may ignore SIGTERM
            if isinstance(error, OSError):
                raise AgentGone(f"The agent could not be started: {error}") from error
            raise
        return self

    async def _spawn(self, command: list[str], **how: Any) -> None:
        reader, self._guard = await asyncio.open_connection(sock=self._control, limit=_MOST)
        loop = asyncio.get_running_loop()
        reach(CrashPoint.SPAWNS)
        stdout = await self._output.open()
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: self._life, *command, stdout=stdout, start_new_session=True, **how
            )
        finally:
            os.close(stdout)
        reach(CrashPoint.SPAWNED)
        self._transport = transport
        self._listener = asyncio.create_task(self._listen(reader))

    def _hold(self, standstill: float, lease: Lease | None) -> None:
        """Sends a heartbeat to the guard and schedules the next one."""
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

    # --- input and output ---------------------------------------------------------------------

    async def read(self) -> bytes:
        """Waits for output and returns all of it. Returns b"" after the end of the output."""
        await self._output.ready.wait()
        return self._output.take()

    def listen(self, receive: Callable[[bytes], None]) -> None:
        """Calls `receive` with each piece of output as it arrives. This is faster than `read`."""
        self._output.hand_to(receive)

    async def silence(self) -> None:
        """Waits until standard output is closed."""
        await self._output.over.wait()

    def pause(self) -> None:
        """Stops reading output, so that the command waits."""
        self._output.pause()

    def resume(self) -> None:
        """Reads output again."""
        self._output.resume()

    def write(self, data: bytes) -> None:
        """Writes to the command's standard input. Raises AgentGone if that is closed."""
        pipe = self._transport and self._transport.get_pipe_transport(0)
        if pipe is None or pipe.is_closing():
            raise AgentGone(self.how_it_ended())
        cast("asyncio.WriteTransport", pipe).write(data)

    def hang_up(self) -> None:
        """Closes the command's standard input, which tells the command to end."""
        pipe = self._transport and self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    def when_over(self, done: Callable[[], None]) -> None:
        """Calls `done` once, after the guard's last line has been read."""
        assert self._listener is not None
        self._listener.add_done_callback(lambda _: done())

    @property
    def guard_pid(self) -> int:
        """Returns the process id of the guard."""
        assert self._transport is not None
        pid = self._transport.get_pid()
        assert pid is not None
        return pid

    def below(self) -> list[guard.Running]:
        """Returns the running processes of the command and its descendants."""
        return [p for p in guard.descendants_of(self.guard_pid, guard.running()) if not p.dead]

    @property
    def is_running(self) -> bool:
        """Returns True while the guard runs, and so while a process of the command may run."""
        return not self._life.exited.is_set()

    @property
    def exit_status(self) -> tuple[int | None, str | None]:
        """Returns the exit code and the name of the signal that ended the command, if known."""
        exited = self._exited or {}
        return exited.get("code"), exited.get("signal")

    @property
    def last_words(self) -> str:
        """Returns the last lines of the command's standard error, for people.

        Secrets are redacted, and control characters are shown as `\\x1b` and the like.
        """
        said = bytes(self._life.last).decode(errors="replace")
        if len(self._life.last) == _LAST:  # a secret that is cut would not be recognized
            said = re.sub(r"^.*?\s", "", said, count=1, flags=re.DOTALL)
        lines = [line.rstrip() for line in redact_text(said).splitlines() if line.strip()]
        return "\n".join(map(_visible, lines[-_LAST_LINES:])).strip()

    def how_it_ended(self) -> str:
        """Returns a message for people that says how the command ended."""
        how = "The agent's process has ended"
        if self._over is not None:
            return f"The agent was ended: {self._over}."
        if self._exited is not None:
            signalled, code = self._exited["signal"], self._exited["code"]
            how += f" by {signalled}" if signalled else f" with exit code {code}"
        return f"{how}. It said last: {self.last_words}" if self.last_words else f"{how}."

    # --- ending -------------------------------------------------------------------------------

    async def end(self, *, leave: float = 0.0, grace: float | None = None) -> list[EndedProcess]:
        """Ends the command and its descendants.

        Returns the processes that were ended by a signal, and those that could not be ended.
        The command has `leave` seconds to exit by itself. Then all get SIGTERM, and SIGKILL after
        `grace` seconds.
        """
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(leave, grace))
        return await asyncio.shield(self._ending)

    async def wait(self) -> None:
        """Waits until the command and all its descendants have ended."""
        await self._life.exited.wait()
        if self._listener is not None:
            await asyncio.wait([self._listener])

    async def _end(self, leave: float, grace: float | None) -> list[EndedProcess]:
        if self._transport is not None and self._guard is not None:
            how = {"leave": leave} if grace is None else {"leave": leave, "grace": grace}
            self._tell_guard({"end": how})
            with suppress(TimeoutError):
                async with asyncio.timeout(leave + (grace or 10.0) + 10.0):
                    await self.wait()
            if not self._life.exited.is_set():
                with suppress(ProcessLookupError):  # the guard has just ended
                    self._transport.kill()  # the guard hangs; its command is killed with it
                await self.wait()
            self._transport.close()
        self._output.close()
        if self._holding is not None:
            self._holding.cancel()
        if self._guard is not None:
            self._guard.close()
            with suppress(OSError):
                await self._guard.wait_closed()
        self._control.close()
        return self._ended or []

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Reads the guard's lines until the guard closes the socket."""
        with suppress(OSError, ValueError):
            while line := await reader.readline():
                self._hear(msgspec.json.decode(line))
        if not self._begun.done():
            self._begun.set_exception(AgentGone(f"The guard could not start. {self.last_words}"))
        elif self._ended is None and self._begun.exception() is None:
            # The guard was killed from outside, so this process has to end the guard's command.
            self._ended = _sweep(self._token)
            if self._transport is not None:
                self._transport.close()
            self._output.close()

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


def _visible(line: str) -> str:
    shown = (c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in line)
    return "".join(shown)


def _flags(limits: Limits) -> list[str]:
    """Returns the limits as options of the guard's command line."""
    flags = []
    if limits.memory is not None:
        flags += ["--memory", str(limits.memory)]
    if limits.processes is not None:
        flags += ["--processes", str(limits.processes)]
    return flags


def _confined(
    isolation: Isolation, program: str, cwd: str | None, keep: Sequence[Path | str]
) -> list[str]:
    """Returns the isolation as options of the guard's command line.

    Raises AgentGone if the agent's own directories overlap with the hidden ones.
    """
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
    """Kills every process that has this token in its environment. Used if the guard was killed.

    Works only on Linux. Does not find a process that was started with another environment.
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
