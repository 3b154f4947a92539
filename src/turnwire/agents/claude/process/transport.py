"""The transport of the SDK's client: a guarded process whose output lines are all read here first.

The SDK gets only the lines of the control protocol. All lines are read here unchanged, so messages
that the SDK does not know are not lost, long lines are accepted, and the SDK's message buffer never
blocks.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from turnwire.agents.claude.process.sdk_compat import drop_log_of_ends
from turnwire.agents.process import GuardedProcess
from turnwire.agents.wire import LineSplitter
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.ports import AgentGone

__all__ = ["GuardedTransport", "Recorder"]

_log = logging.getLogger("turnwire.claude")
_LONGEST = 256 << 20  # bytes of one line


drop_log_of_ends()


class Recorder:
    """Records the lines of both directions, in the format that `turnwire inspect` reads.

    If the file cannot be written, for example on a full disk, the recording ends with a warning in
    the server's log. The conversation continues.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._began = time.monotonic()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            self._give_up(error)

    def note(self, direction: str, lines: Iterable[bytes]) -> None:
        """Records lines that were sent to the program (`in`) or received from it (`out`)."""
        if self._file is None:
            return
        at = time.monotonic() - self._began
        try:
            for line in lines:
                if line.startswith(b"{"):
                    self._file.write(
                        b'{"t":%.3f,"dir":"%s","msg":%s}\n' % (at, direction.encode(), line)
                    )
        except (OSError, ValueError) as error:  # ValueError: the file was closed
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        _log.warning("%s cannot be written, the recording ends: %s", self._path, error)
        self.close()

    def close(self) -> None:
        """Closes the file. Later lines are not recorded."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()


class GuardedTransport:
    """Implements the SDK's `Transport`.

    `heard` receives lines as they arrive, and returns the lines for the SDK. `over` is called at
    the end of the output with the reason, if known. `over` returns the error to raise, or None
    for an intended end.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[GuardedProcess]],
        heard: Callable[[list[bytes]], list[bytes]],
        over: Callable[[str | None], Awaitable[Exception | None]],
        recorder: Recorder | None = None,
    ) -> None:
        self._start = start
        self._heard = heard
        self._over = over
        self._recorder = recorder
        self._broken: str | None = None  # why the output is not read any more
        self._ending: asyncio.Task[None] | None = None
        self._split = LineSplitter(_LONGEST)
        self._for_sdk: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.process: GuardedProcess | None = None
        self.is_greeted = False  # the handshake is complete: the program reacts to signals

    async def connect(self) -> None:
        """Starts the program."""
        self.process = await self._start()
        self.process.listen(self._receive)
        self._ending = asyncio.create_task(self._until_silence(self.process))

    def _receive(self, data: bytes) -> None:
        if self._broken is not None:
            return
        try:
            lines = [bytes(line) for line in self._split.feed(data)]
            if self._recorder is not None:
                self._recorder.note("out", lines)
            for line in self._heard(lines):
                self._for_sdk.put_nowait(line)
        except AgentGone as too_long:
            self._break(too_long.message)
        except Exception as defect:
            _log.exception("Output of Claude Code could not be processed.")
            self._break(AgentGone.broken(defect).message)

    def _break(self, why: str) -> None:
        """Stops reading the output, because a log with a gap would be worse than an error."""
        self._broken = why
        self._for_sdk.put_nowait(None)

    async def _until_silence(self, process: GuardedProcess) -> None:
        await process.silence()
        self._for_sdk.put_nowait(None)

    async def write(self, data: str) -> None:
        """Writes to the program's standard input."""
        self.send(data.encode())

    def send(self, line: bytes) -> None:
        """Writes a line without waiting. Raises AgentGone if the program has ended."""
        assert self.process is not None
        self.process.write(line)
        if self._recorder is not None:
            self._recorder.note("in", [line.rstrip(b"\n")])

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yields the messages for the SDK. Raises AgentGone if the program ended unexpectedly."""
        while (line := await self._for_sdk.get()) is not None:
            yield json.loads(line)
        gone = await self._over(self._broken)
        if gone is not None:
            raise gone

    async def end(self, *, leave: float = 0.0) -> list[EndedProcess]:
        """Ends the program and all processes it started; `leave`: seconds to exit by itself.

        Before its handshake a program is killed: it may ignore signals for seconds, and has no
        work to finish.
        """
        if self.process is None:
            return []
        if not self.is_greeted:
            return await self.process.end(grace=0.0)
        if leave:
            self.process.hang_up()
        return await self.process.end(leave=leave)

    async def close(self) -> None:
        """Ends the program and all processes it started, and closes the recording."""
        await self.end()
        if self._ending is not None:
            self._ending.cancel()
        if self._recorder is not None:
            self._recorder.close()

    def is_ready(self) -> bool:
        """Whether the program was started."""
        return self.process is not None

    async def end_input(self) -> None:
        """Closes the program's standard input."""
        if self.process is not None:
            self.process.hang_up()
