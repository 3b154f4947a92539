"""JSON-RPC with an agent's process: requests and their responses, in both directions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from turnwire.agents.process import GuardedProcess
from turnwire.agents.wire import LineSplitter
from turnwire.dialects import acp
from turnwire.dialects.acp import messages as rpc
from turnwire.dialects.acp.messages import RequestId, RpcError
from turnwire.errors import BadLine
from turnwire.ports import AgentGone

__all__ = ["Connection", "RequestFailed"]

_log = logging.getLogger("turnwire.acp")
_LONGEST = 256 << 20  # bytes of one line


class RequestFailed(Exception):
    """Raised if the agent answers a request with an error."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(error.message)
        self.error = error


class Connection:
    """The messages of one process. `heard` gets each line of the agent, `sent` each of ours."""

    def __init__(
        self,
        process: GuardedProcess,
        heard: Callable[[acp.Line], None],
        sent: Callable[[acp.Line], None],
        broken: Callable[[str], None],
    ) -> None:
        self._process = process
        self._heard = heard
        self._sent = sent
        self._broken = broken
        self._split = LineSplitter(_LONGEST)
        self._numbers = count(1)
        self._waiting: dict[RequestId, asyncio.Future[Raw]] = {}

    def listen(self) -> None:
        """Reads the agent's output from now on."""
        self._process.listen(self._receive)

    async def request(self, kind: Callable[..., rpc.AcpMessage], params: Any) -> Raw:
        """Sends a request and returns its result. Raises RequestFailed or AgentGone."""
        number = next(self._numbers)
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self.send(kind(number, params))
            return await answer
        finally:
            del self._waiting[number]

    def prompt(self, params: rpc.PromptParams) -> None:
        """Begins a turn. The response is not awaited: it is an event."""
        self.send(rpc.Prompt(next(self._numbers), params))

    def respond(self, number: RequestId, result: Any) -> None:
        """Answers a request of the agent."""
        self.send(rpc.Response(number, Raw(msgspec.json.encode(result))))

    def refuse(self, number: RequestId, code: int, message: str) -> None:
        """Answers a request of the agent with an error."""
        self.send(rpc.Response(number, UNSET, RpcError(code, message)))

    def send(self, message: rpc.AcpMessage) -> None:
        """Writes a message. Raises AgentGone if the process has ended."""
        raw = acp.encode(message)
        self._process.write(raw + b"\n")
        self._sent(acp.Line(message, raw, 0))

    def give_up(self, why: str) -> None:
        """Fails all requests that wait for a response."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(AgentGone(why))

    def _receive(self, data: bytes) -> None:
        try:
            for raw in self._split.feed(data):
                stripped = bytes(raw).strip()
                if stripped:
                    self._take(stripped)
        except AgentGone as too_long:
            self._broken(too_long.message)
        except Exception as defect:
            _log.exception("Output of an agent could not be processed.")
            self._broken(AgentGone.broken(defect).message)

    def _take(self, raw: bytes) -> None:
        try:
            line = acp.decode(raw)
        except BadLine as bad:  # some programs print other things before they begin
            _log.warning("An agent wrote a line that is no message: %s", bad.detail)
            return
        self._heard(line)
        message = line.message
        if isinstance(message, rpc.Response):
            answer = self._waiting.get(message.id)
            if answer is None or answer.done():
                return
            if message.error is not None:
                answer.set_exception(RequestFailed(message.error))
            else:
                result = message.result
                answer.set_result(result if isinstance(result, Raw) else Raw(b"null"))
