"""What the SDK's client speaks through: the program under the guard, and every line tapped.

The SDK gets only what belongs to the control protocol. Everything is read here, as it came, so
nothing is lost that the SDK does not know, no line is too long, and nothing ever waits for somebody
to take messages out of the SDK's buffer.
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
    """Writes down what goes in both directions, in the format that `turnwire inspect` reads.

    Where it cannot be written, as on a full disk, the record ends there and the log of the server
    says so; the conversation goes on.
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
        """Lines that went `in` to the program, or came `out` of it."""
        if self._file is None:
            return
        at = time.monotonic() - self._began
        try:
            for line in lines:
                if line.startswith(b"{"):
                    self._file.write(
                        b'{"t":%.3f,"dir":"%s","msg":%s}\n' % (at, direction.encode(), line)
                    )
        except (OSError, ValueError) as error:  # a ValueError: it was closed meanwhile
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        _log.warning("%s cannot be written, and is not any more: %s", self._path, error)
        self.close()

    def close(self) -> None:
        """No more is to come."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()


class GuardedTransport:
    """A `Transport` in the sense of the SDK.

    `heard` gets lines, as soon as they are there, and returns those that are the SDK's. `over` is
    told when no more will be heard, and why if we know; it says what was wrong with that.
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
        self._broken: str | None = None  # why nothing more can be heard
        self._ending: asyncio.Task[None] | None = None
        self._split = LineSplitter(_LONGEST)
        self._for_sdk: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.process: GuardedProcess | None = None
        self.is_greeted = False  # by the program, which is as far as it is when it can hear

    async def connect(self) -> None:
        """Start the program."""
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
            _log.exception("What Claude said could not be understood.")
            self._break(AgentGone.broken(defect).message)

    def _break(self, why: str) -> None:
        """Nothing is better than a story with a hole in it."""
        self._broken = why
        self._for_sdk.put_nowait(None)

    async def _until_silence(self, process: GuardedProcess) -> None:
        await process.silence()
        self._for_sdk.put_nowait(None)

    async def write(self, data: str) -> None:
        """To its standard input."""
        self.send(data.encode())

    def send(self, line: bytes) -> None:
        """The same, without waiting. Raises AgentGone if nobody can read it."""
        assert self.process is not None
        self.process.write(line)
        if self._recorder is not None:
            self._recorder.note("in", [line.rstrip(b"\n")])

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """What is for the SDK. Raises where the program ended although nobody had asked for it."""
        while (line := await self._for_sdk.get()) is not None:
            yield json.loads(line)
        gone = await self._over(self._broken)
        if gone is not None:
            raise gone

    async def end(self, *, leave: float = 0.0) -> list[EndedProcess]:
        """End the program with everything that it started; `leave`: seconds to go by itself.

        One that is still starting may be deaf for seconds, and has done nothing: it is killed.
        """
        if self.process is None:
            return []
        if not self.is_greeted:
            return await self.process.end(grace=0.0)
        if leave:
            self.process.hang_up()
        return await self.process.end(leave=leave)

    async def close(self) -> None:
        """End the program with everything that it started."""
        await self.end()
        if self._ending is not None:
            self._ending.cancel()
        if self._recorder is not None:
            self._recorder.close()

    def is_ready(self) -> bool:
        """Whether it can be written to."""
        return self.process is not None

    async def end_input(self) -> None:
        """There will be nothing more to do."""
        if self.process is not None:
            self.process.hang_up()
