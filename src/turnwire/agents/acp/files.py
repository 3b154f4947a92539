"""Serves files and terminals to an agent, below the directories that the conversation may use."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from io import BytesIO, TextIOWrapper
from itertools import count, islice
from pathlib import Path
from typing import Any

from turnwire.agents.process import GuardedProcess, plain_environment
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.dialects.acp.messages import NewTerminal, ReadParams, WriteParams
from turnwire.ports import Isolation, Lease
from turnwire.safe_files import change_below, read_below

__all__ = ["Denied", "Files", "Terminals"]

_MOST_BYTES = 16 << 20  # of a file that is read
_MOST_OUTPUT = 1 << 20  # bytes of a terminal's output that are kept, unless the agent wants fewer
_MOST_TERMINALS = 32


class Denied(Exception):
    """Raised if a path is outside of the directories that the agent may use."""


class Files:
    """Files below the roots of a conversation. The server's own directories are excluded."""

    def __init__(self, roots: Sequence[Path | str], hide: Sequence[str] = ()) -> None:
        self._roots = [Path(root).resolve() for root in roots]
        self._hidden = [Path(each).resolve() for each in hide]

    def allowed(self, path: str) -> Path:
        """Returns a path with links resolved. Raises Denied if the agent may not use it."""
        if not os.path.isabs(path):  # noqa: PTH117
            raise Denied(f"{path} is not an absolute path.")
        found = Path(path).resolve()
        inside = any(found.is_relative_to(root) for root in self._roots)
        if not inside or any(found.is_relative_to(each) for each in self._hidden):
            allowed = ", ".join(str(root) for root in self._roots)
            raise Denied(f"{path} is outside of the directories of this conversation: {allowed}.")
        return found

    async def read(self, params: ReadParams) -> str:
        """Returns the text of a file, or some of its lines. Raises Denied, OSError, ValueError."""
        root, path = self._below(params.path)
        try:
            data = await asyncio.to_thread(read_below, root, path, _MOST_BYTES)
        except FileNotFoundError as missing:
            raise FileNotFoundError(missing.errno, missing.strerror, params.path) from None
        file = TextIOWrapper(BytesIO(data), encoding="utf-8")
        if params.line is None and params.limit is None:
            return file.read()
        first = max(0, (params.line or 1) - 1)
        return "".join(islice(file, first, None if params.limit is None else first + params.limit))

    async def write(self, params: WriteParams) -> None:
        """Writes a file. Raises Denied and OSError."""
        root, path = self._below(params.path)
        await asyncio.to_thread(change_below, root, path, params.content.encode())

    def _below(self, path: str) -> tuple[Path, tuple[str, ...]]:
        """Returns the root of an allowed path, and the names that lead from there to the file."""
        found = self.allowed(path)
        root = next(root for root in self._roots if found.is_relative_to(root))
        if found == root:
            raise Denied(f"{path} is a directory.")
        return root, found.relative_to(root).parts


class _Terminal:
    """A command under the guard, with the end of its output."""

    def __init__(self, process: GuardedProcess, limit: int) -> None:
        self.process = process
        self.limit = limit
        self.output = b""
        self.is_truncated = False

    def take(self, data: bytes) -> None:
        self.output += data
        if len(self.output) > self.limit:
            self.output = self.output[-self.limit :]
            self.is_truncated = True

    @property
    def status(self) -> dict[str, Any]:
        code, signal = self.process.exit_status
        return {"exitCode": code, "signal": signal}


class Terminals:
    """The commands that the host runs for an agent. `printed` gets their output as it comes."""

    def __init__(
        self,
        files: Files,
        cwd: str,
        printed: Callable[[str, str], None],
        isolation: Isolation | None,
        lease: Lease | None,
    ) -> None:
        self._files = files
        self._cwd = cwd
        self._printed = printed
        self._isolation = isolation
        self._lease = lease
        self._numbers = count(1)
        self._open: dict[str, _Terminal] = {}

    async def create(self, params: NewTerminal) -> str:
        """Starts a command and returns the id of its terminal. Raises Denied and AgentGone."""
        if len(self._open) >= _MOST_TERMINALS:
            raise Denied(f"There are {_MOST_TERMINALS} open terminals. Release one first.")
        cwd = str(self._files.allowed(params.cwd or self._cwd))
        given = {each.name: each.value for each in params.env or ()}
        # Both streams in one, in the order of arrival, as on a screen.
        command = ["/bin/sh", "-c", 'exec "$0" "$@" 2>&1', params.command, *(params.args or ())]
        if not params.args and " " in params.command:  # some agents send a whole command line
            command = ["/bin/sh", "-c", f"exec 2>&1\n{params.command}"]
        process = await GuardedProcess.start(
            command,
            cwd=cwd,
            env={**plain_environment(self._isolation), **given},
            isolation=self._isolation,
            lease=self._lease,
        )
        terminal_id = f"terminal-{next(self._numbers)}"
        limit = min(params.output_byte_limit or _MOST_OUTPUT, _MOST_OUTPUT)
        terminal = self._open[terminal_id] = _Terminal(process, limit)

        def receive(data: bytes) -> None:
            terminal.take(data)
            self._printed(terminal_id, data.decode(errors="replace"))

        process.listen(receive)
        return terminal_id

    def output(self, terminal_id: str) -> dict[str, Any]:
        """Returns the output so far, and the exit status if the command has ended."""
        terminal = self._find(terminal_id)
        text = terminal.output.decode(errors="ignore")
        said: dict[str, Any] = {"output": text, "truncated": terminal.is_truncated}
        return said if terminal.process.is_running else {**said, "exitStatus": terminal.status}

    async def wait(self, terminal_id: str) -> dict[str, Any]:
        """Waits for the end of the command and returns its exit status."""
        terminal = self._find(terminal_id)
        await terminal.process.silence()
        await terminal.process.wait()
        return terminal.status

    async def kill(self, terminal_id: str) -> None:
        """Ends the command. Its output stays readable."""
        await self._find(terminal_id).process.end()

    async def release(self, terminal_id: str) -> None:
        """Ends the command and forgets the terminal."""
        terminal = self._find(terminal_id)
        del self._open[terminal_id]
        await terminal.process.end()

    async def close(self) -> list[EndedProcess]:
        """Ends all commands. Returns the processes that had to be ended."""
        ended = await asyncio.gather(*(each.process.end() for each in self._open.values()))
        self._open.clear()
        return [process for processes in ended for process in processes]

    def _find(self, terminal_id: str) -> _Terminal:
        terminal = self._open.get(terminal_id)
        if terminal is None:
            raise Denied(f"There is no terminal {terminal_id!r}.")
        return terminal
