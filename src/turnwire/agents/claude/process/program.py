"""The program behind a session: started, spoken to, interrupted, ended."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.agents.claude.process.sdk_compat import send_control_request
from turnwire.agents.claude.process.transport import GuardedTransport, Recorder
from turnwire.agents.guard import Running
from turnwire.agents.process import GuardedProcess
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.error_codes import Refused
from turnwire.dialects import claude
from turnwire.dialects.claude import control
from turnwire.dialects.claude.answers import InitializeAnswer
from turnwire.ports import AgentGone

__all__ = ["Forgotten", "Program"]

_log = logging.getLogger("turnwire.claude")
_PATIENCE = 60.0  # seconds that an answer to a control may take
_FORGOTTEN = "No conversation found"  # so the program says it


class Forgotten(AgentGone):
    """There is no session of this name any more, or it was killed before it was written down."""


class Program:
    """Claude Code under the guard, with the SDK's client that speaks to it.

    `heard` and `over` are as GuardedTransport wants them; `check_open` raises AgentGone when the
    session is over.
    """

    def __init__(
        self,
        heard: Callable[[list[bytes]], list[bytes]],
        over: Callable[[str | None], Awaitable[Exception | None]],
        check_open: Callable[[], None],
    ) -> None:
        self.about = InitializeAnswer()  # what it is and offers
        self.last_error: str | None = None  # its last words, where it could not start
        self._heard = heard
        self._over = over
        self._check_open = check_open
        self._transport: GuardedTransport | None = None
        self._client: Any = None  # claude_agent_sdk.ClaudeSDKClient
        self._ends = False

    async def begin(
        self,
        start: Callable[[], Awaitable[GuardedProcess]],
        connect: Callable[[Any], Any],
        recorder: Recorder | None,
    ) -> None:
        """Start it and shake hands with it. Raises AgentGone."""
        self._transport = GuardedTransport(start, self._heard, self._over, recorder)
        self._client = connect(self._transport)
        try:
            await self._client.connect()
            about = await self._client.get_server_info()
        except Exception as error:  # the SDK raises bare ones
            why = self.last_error or f"Claude could not be started: {error}"
            raise (Forgotten if _FORGOTTEN in why else AgentGone)(why) from error
        self.about = msgspec.convert(about or {}, InitializeAnswer)
        self._transport.is_greeted = True

    async def end(self, *, leave: float) -> list[EndedProcess]:
        """End it with everything that it started; `leave`: seconds that it has to go by itself."""
        was_ended, self._ends = self._ends, True
        ended: list[EndedProcess] = []
        if self._transport is not None:
            ended = await self._transport.end(leave=leave)
        if self._client is not None and not was_ended:
            with suppress(Exception):  # it may never have been connected
                await self._client.disconnect()
        if self._transport is not None:
            await self._transport.close()
        return ended

    async def why_gone(self, broken: str | None) -> str:
        """It has ended, or is `broken` and must: what there is to say about that."""
        if broken is not None:
            await self.process.end()
        await self.process.wait()
        why = broken or self.process.how_it_ended()
        if self.last_error:
            why = f"{self.last_error} ({why})"
        self.last_error = why
        return why

    @property
    def process(self) -> GuardedProcess:
        """It has one once it was started."""
        assert self._transport is not None
        assert self._transport.process is not None
        return self._transport.process

    def below(self) -> list[Running]:
        """All that runs, the program first."""
        return self.process.below()

    # --- speaking to it -----------------------------------------------------------------------

    def write(self, line: bytes) -> None:
        """A line for its standard input. Raises AgentGone if nobody can read it."""
        assert self._transport is not None
        self._transport.send(line)

    def answer(self, request_id: str, response: Any) -> None:
        """What it asked for over the control protocol."""
        said = control.ControlSuccess(request_id, Raw(msgspec.json.encode(response)))
        with suppress(AgentGone):  # it asked on its way out
            self.write(claude.encode(control.ControlResponse(said)) + b"\n")

    async def request(self, request: dict[str, Any]) -> Any:
        """A control request and its answer, as the SDK's own methods send them. Raises Refused."""
        try:
            return await send_control_request(self._client, request, _PATIENCE)
        except Exception as error:  # the SDK raises bare ones
            self._check_open()  # one that is gone has refused nothing
            if isinstance(error.__cause__, TimeoutError):  # nor has one that says nothing
                said = f"Claude Code gave no answer within {_PATIENCE:g} seconds. Ask again."
                raise Refused("AGENT_UNAVAILABLE", said) from error
            raise Refused("INVALID_PAYLOAD", f"Claude Code refuses: {error}") from error

    async def interrupt(self) -> None:
        """Stop what it does."""
        try:
            await self._client.interrupt()
        except Exception as error:  # the SDK raises bare ones
            _log.debug("Claude did not take the interrupt: %s", error)

    # Each of these raises whatever the SDK raises.

    async def set_model(self, model: str) -> None:
        """Go on with another one."""
        await self._client.set_model(model)

    async def set_permission_mode(self, mode: str) -> None:
        """Ask more, or less."""
        await self._client.set_permission_mode(mode)

    async def set_max_thinking_tokens(self, tokens: int | None) -> None:
        """Think more, or less."""
        await self.request({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": tokens})
