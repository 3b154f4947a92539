"""Runs the killable server, kills it, and starts it again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.agents.claude.helpers.killable_server import until_abandoned
from tests.agents.claude.helpers.program_traffic import Moment
from tests.agents.claude.helpers.real_claude import RULES, TALK, Stage
from tests.agents.helpers.processes import wait_until_gone
from turnwire.agents.guard import descendants_of, running
from turnwire.stores.open_store import open_store
from turnwire.testing.model_api import ModelApi
from turnwire.testing.model_api.server import Answer

ROOT = Path(__file__).parents[4]


class Server:
    """A server in its own process, and the lines that it prints."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pid: int | None = None
        self.said: list[dict[str, Any]] = []  # lines that no `until` has read yet

    async def begin(self) -> None:
        """A new one, when the leases of the one before are over."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.said.clear()
        self.pid = (await self.until("server", ""))["pid"]

    def tell(self, *what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(what) + b"\n")

    async def until(self, kind: str, talk: str = TALK, **wanted: Any) -> dict[str, Any]:
        """A frame of this kind in this conversation."""
        async with asyncio.timeout(180):
            while True:
                for said in self.said:
                    payload: dict[str, Any] = said["payload"]
                    fits = (said["talk"], said["frame"]) == (talk, kind)
                    if fits and wanted.items() <= payload.items():
                        self.said.remove(said)
                        return payload
                self.said.append(await self._hear())

    async def asks(self, moment: Moment) -> None:
        """Until a line with this word has gone between it and Claude, and the log has the question:
        before that no question is open.
        """
        direction, word = moment
        has_come = is_written = False
        async with asyncio.timeout(180):
            while not (has_come and is_written):
                said = await self._hear()
                is_written = is_written or said["frame"] == "assistant.request_input"
                has_come = has_come or (
                    said["frame"] == "wire" and word.decode() in said["payload"].get(direction, "")
                )

    async def _hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            line = await self.process.stdout.readline()
            assert line, "the server has ended"
            with suppress(msgspec.DecodeError):  # a server was killed in the middle of the line
                said: dict[str, Any] = msgspec.json.decode(line)
                return said

    async def kill(self) -> None:
        """Kills the server; the processes that it started have to end by themselves."""
        assert self.pid is not None
        below = [p.pid for p in descendants_of(self.pid, running())]
        os.kill(self.pid, signal.SIGKILL)
        left = await asyncio.to_thread(wait_until_gone, [self.pid, *below])
        assert not left, "no process is left"
        self.pid = None

    async def end(self) -> None:
        # Also a server whose first line was not read: it would keep the pipes open.
        for each in descendants_of(self.process.pid, running()):
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def killed_server(
    place: Path,
    *replies: Any,
    address: str | None = None,
    hold: float = 0.0,
    lanes: Mapping[str, Sequence[Answer]] | None = None,
) -> AsyncIterator[tuple[Server, Stage]]:
    """Runs a server that the test kills; `start_again` then checks its log."""
    async with ModelApi(*replies, lanes=lanes) as api:
        it = Stage(place, api, RULES, address=address, hold=hold)
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "tests.agents.claude.helpers.killable_server",
                str(place),
                api.url,
                str(hold),
                it.address,
            ),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )
        server = Server(process)
        try:
            await server.begin()
            yield server, it
        finally:
            await server.end()
        await it.stop()


async def start_again(it: Stage) -> None:
    """Starts a server after the leases of the killed one have expired."""
    store = await open_store(it.address)
    await until_abandoned(store)
    await store.close()
    await it.start_again()
    await it.talk.wake()
