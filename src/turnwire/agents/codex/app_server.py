"""The app-server of Codex as a process: its requests, its answers, its lines, its end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from turnwire.agents.guard import Running
from turnwire.agents.process import GuardedProcess
from turnwire.agents.wire import LineSplitter
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.error_codes import Refused
from turnwire.dialects.codex import Line, decode
from turnwire.dialects.codex import messages as m
from turnwire.errors import BadLine
from turnwire.ports import AgentGone
from turnwire.version import __version__

__all__ = ["AppServer", "RequestFailed"]

_log = logging.getLogger("turnwire.codex")
_LONGEST = 256 << 20  # bytes of a line
_PATIENCE = 60.0  # timeout of a request, in seconds
_ENDS = 5.0  # seconds between the end of the output and the end of the process
_PAUSES = (0.25, 0.5, 1.0)  # seconds before each further start, about


class RequestFailed(Exception):
    """Codex refused a request."""

    def __init__(self, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.data = data


class AppServer:
    """A guarded app-server. `heard` gets the lines that came together; `over` is called once.

    `over` gets the reason if the output could not be read to its end.
    """

    def __init__(
        self,
        heard: Callable[[list[Line | BadLine]], None],
        over: Callable[[str | None], Awaitable[None]],
    ) -> None:
        self._heard = heard
        self._over = over
        self._numbers = itertools.count(1)
        self._waiting: dict[m.RequestId, asyncio.Future[Any]] = {}
        self._split = LineSplitter(_LONGEST)
        self._process: GuardedProcess | None = None
        self._watching: asyncio.Task[None] | None = None
        self._broken: asyncio.Future[str] | None = None
        self._has_answered = False

    async def begin(self, start: Callable[[], Awaitable[GuardedProcess]]) -> None:
        """Starts the process and completes the handshake. Raises AgentGone.

        Starts it again a few times if it ends before it has answered: other servers may have
        started Codex in the same new CODEX_HOME at the same moment, which it does not survive.
        """
        about = {"name": "turnwire", "title": "Turnwire", "version": __version__}
        able = {"experimentalApi": True}
        for pause in (*_PAUSES, None):
            self._launch(await start())
            try:
                await self.request("initialize", clientInfo=about, capabilities=able)
                break
            except RequestFailed as refused:
                raise AgentGone(f"Codex could not be started: {refused}") from refused
            except AgentGone as gone:
                why = await self._ended_early()
                if pause is None or why is None:
                    said = f"Codex could not be started: {why or gone.message}"
                    raise AgentGone(said) from gone
                _log.warning("Codex ended at its start and is started again: %s", why)
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
        self.write({"method": "initialized"})

    def _launch(self, process: GuardedProcess) -> None:
        self._broken = asyncio.get_running_loop().create_future()
        self._split = LineSplitter(_LONGEST)
        self._process = process
        process.listen(self._receive)
        self._watching = asyncio.create_task(self._watch(process))

    async def _ended_early(self) -> str | None:
        """Returns how the process ended, if it ended without an answer. Ends the rest of it."""
        assert self._broken is not None
        assert self._process is not None
        if self._has_answered or self._broken.done():
            return None
        await self.end()
        return self._process.how_it_ended()

    # --- output -------------------------------------------------------------------------------

    def _receive(self, data: bytes) -> None:
        assert self._broken is not None
        if self._broken.done():
            return
        try:
            lines = [_read(bytes(raw)) for raw in self._split.feed(data) if raw.strip()]
            for line in lines:
                if isinstance(line, Line):
                    self._settle(line.message)
            self._heard(lines)
        except AgentGone as too_long:
            self._broken.set_result(too_long.message)
        except Exception as defect:
            _log.exception("Output of Codex could not be processed.")
            self._broken.set_result(AgentGone.broken(defect).message)

    def _settle(self, message: m.CodexMessage) -> None:
        """Hands an answer to the request that waits for it."""
        if not isinstance(message, m.Result | m.Failed) or message.id is None:
            return
        self._has_answered = True
        waiting = self._waiting.pop(message.id, None)
        if waiting is None or waiting.done():
            return
        if isinstance(message, m.Result):
            waiting.set_result(msgspec.json.decode(message.result))
        else:
            waiting.set_exception(RequestFailed(message.message, message.data))

    async def _watch(self, process: GuardedProcess) -> None:
        """Waits for the end of the output, or for output that cannot be read."""
        assert self._broken is not None
        silence: asyncio.Future[Any] = asyncio.ensure_future(process.silence())
        either: set[asyncio.Future[Any]] = {silence, self._broken}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        silence.cancel()
        if self._broken.done():
            why = self._broken.result()
        else:
            with suppress(TimeoutError):  # it has closed its output, and goes on
                async with asyncio.timeout(_ENDS):
                    await process.wait()
            why = process.how_it_ended()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(AgentGone(why))
        self._waiting.clear()
        if not self._has_answered:  # `begin` reports it
            return
        await self._over(self._broken.result() if self._broken.done() else None)

    async def why_gone(self, broken: str | None) -> str:
        """Waits for the end of the process, and returns the reason. Ends a `broken` one first."""
        assert self._process is not None
        if broken is not None:
            await self._process.end()
        await self._process.wait()
        return broken or self._process.how_it_ended()

    def pause(self) -> None:
        """Stops reading output, so that Codex waits."""
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        """Reads output again."""
        assert self._process is not None
        self._process.resume()

    def below(self) -> list[Running]:
        """Returns all running processes of Codex, the program itself first."""
        assert self._process is not None
        return self._process.below()

    # --- input --------------------------------------------------------------------------------

    def write(self, message: dict[str, Any]) -> None:
        """Writes a message. Raises AgentGone if the process has ended."""
        if self._process is None:
            raise AgentGone("Codex was not started.")
        self._process.write(msgspec.json.encode(message) + b"\n")

    async def request(self, method: str, **params: Any) -> Any:
        """Sends a request and returns its result. Raises RequestFailed or AgentGone."""
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        given = {name: value for name, value in params.items() if value is not None}
        try:
            self.write({"id": number, "method": method, "params": given})
            async with asyncio.timeout(_PATIENCE):
                return await answer
        except TimeoutError:
            said = f"Codex gave no answer to {method} within {_PATIENCE:g} seconds."
            raise RequestFailed(said) from None
        finally:
            self._waiting.pop(number, None)

    async def ask(self, method: str, **params: Any) -> Any:
        """Sends a request for a person. Raises Refused instead of RequestFailed."""
        try:
            return await self.request(method, **params)
        except RequestFailed as refused:
            raise Refused("INVALID_PAYLOAD", f"Codex refuses: {refused}") from refused

    def answer(self, request_id: m.RequestId, result: Any) -> None:
        """Answers a request of Codex."""
        with suppress(AgentGone):  # the program has ended in the meantime
            self.write({"id": request_id, "result": result})

    def refuse(self, request_id: m.RequestId, why: str) -> None:
        """Refuses a request of Codex that Turnwire does not support."""
        with suppress(AgentGone):
            self.write({"id": request_id, "error": {"code": -32601, "message": why}})

    async def end(self, *, leave: float = 0.0) -> list[EndedProcess]:
        """Ends the process and all that it started; `leave`: seconds to exit by itself."""
        if self._process is None:
            return []
        if leave:
            self._process.hang_up()
        ended = await self._process.end(leave=leave)
        if self._watching is not None and self._watching is not asyncio.current_task():
            await asyncio.wait({self._watching})
        return ended


def _read(raw: bytes) -> Line | BadLine:
    try:
        return decode(raw)
    except BadLine as bad:
        return bad
