"""The open calls of the front end's tools: they come over MCP, and the log has the agent's call.

A request over MCP has no id of the call that the agent announces. The two come on different ways,
so either may be first. A request waits a moment for its call; then it is announced without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

from turnwire.agents.acp.tool_server import ToolRequest
from turnwire.agents.client_tools import client_call
from turnwire.core.answers import as_text
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.acp import AcpStreamAdapter

__all__ = ["ClientCalls"]

_GRACE = 3.0  # seconds that a request waits for the call that the agent announces
_STOPPING = 2.0  # seconds in which an agent that is stopped gives its calls up by itself
_STOPPED = "The turn was stopped."
_NO_TURN = "There is no turn in which the front end could be asked."
_GIVEN_UP = "The agent has given the call up."


class ClientCalls:
    """The calls of one session. `emit` gets their events; `key` makes ids unique."""

    def __init__(
        self,
        adapter: AcpStreamAdapter,
        emit: Callable[[list[NormalizedStreamEvent]], None],
        key: str,
    ) -> None:
        self._adapter = adapter
        self._emit = emit
        self._key = key
        self._numbers = count(1)
        self._unknown: list[ToolRequest] = []  # requests without a call
        self._open: dict[str, ToolRequest] = {}  # by the id of the call
        self._stopped: list[ToolRequest] = []  # the agent may still wait for them
        self._timers: set[asyncio.TimerHandle] = set()
        self._in_turn = False

    def turn_began(self) -> None:
        """Takes calls from now on."""
        self._in_turn = True

    def called(self, request: ToolRequest) -> None:
        """Takes a request that has come over MCP."""
        if not self._in_turn:
            request.answer(_NO_TURN, is_error=True)
            return
        self._unknown.append(request)
        self.pair()
        if request in self._unknown:
            self._later(_GRACE, lambda: self._pair(request, is_last=True))

    def pair(self) -> None:
        """Looks for the calls of the requests that have none, after something was announced."""
        for request in list(self._unknown):
            self._pair(request, is_last=False)

    def _pair(self, request: ToolRequest, *, is_last: bool) -> None:
        if request not in self._unknown:
            return
        own = f"{self._key}-client-{next(self._numbers)}" if is_last else None
        found = self._adapter.client_called(request.tool, request.arguments, own)
        if found is None:
            return
        call_id, announced = found
        self._unknown.remove(request)
        self._open[call_id] = request
        whose = (self._adapter.provider, self._adapter.session_id, None, None)
        self._emit([*announced, client_call(whose, call_id, request.tool)])

    def answer(self, reply: Reply) -> bool:
        """Passes the front end's answer on. Returns False if no call waits for it."""
        request = self._open.pop(reply.request_id, None)
        if request is None or not request.is_open:
            return False
        is_error = reply.decision == "deny"
        said = (reply.reason or "There is no answer.") if is_error else as_text(reply.answer)
        request.answer(said, is_error=is_error)
        self._emit(self._adapter.client_answered(reply.request_id, said, is_error=is_error))
        return True

    def cancelled(self, request: ToolRequest) -> None:
        """Takes that the agent gives a call up."""
        if request in self._unknown:
            self._unknown.remove(request)
        for call_id, each in list(self._open.items()):
            if each is request:
                del self._open[call_id]
                self._emit(self._adapter.client_withdrawn(call_id, _GIVEN_UP))

    def cancel(self) -> None:
        """Ends all calls, because their turn is stopped: most agents give them up by themselves."""
        self._stopped += [*self._unknown, *self._open.values()]
        self._unknown, self._open = [], {}
        self._in_turn = False
        self._later(_STOPPING, self._fail)

    def turn_ended(self) -> None:
        """Ends what is open after the end of the turn."""
        self._in_turn = False
        self._stopped += [*self._unknown, *self._open.values()]
        self._unknown, self._open = [], {}
        self._fail()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._timers.add(asyncio.get_running_loop().call_later(seconds, act))

    def _fail(self) -> None:
        for request in self._stopped:
            request.answer(_STOPPED, is_error=True)
        self._stopped.clear()
