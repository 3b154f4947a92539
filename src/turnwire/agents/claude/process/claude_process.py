"""The Claude Code process of a session: start, input, control requests, interrupt and end."""

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

__all__ = ["ClaudeProcess", "SessionNotFound"]

_log = logging.getLogger("turnwire.claude")
_PATIENCE = 60.0  # timeout of a control request, in seconds
_NOT_FOUND = "No conversation found"  # the program's own error text


class SessionNotFound(AgentGone):
    """The session does not exist: it was removed, or killed before it was written to disk."""


class ClaudeProcess:
    """A guarded Claude Code process, with the SDK's client for its control protocol.

    `heard` and `over` are passed to GuardedTransport; `check_open` raises AgentGone if the session
    has ended.
    """

    def __init__(
        self,
        heard: Callable[[list[bytes]], list[bytes]],
        over: Callable[[str | None], Awaitable[Exception | None]],
        check_open: Callable[[], None],
    ) -> None:
        self.about = InitializeAnswer()  # its answer to the handshake
        self.last_error: str | None = None  # its last error message outside a turn
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
        """Starts the process and completes the handshake. Raises AgentGone."""
        self._transport = GuardedTransport(start, self._heard, self._over, recorder)
        self._client = connect(self._transport)
        try:
            await self._client.connect()
            about = await self._client.get_server_info()
        except Exception as error:  # the SDK raises plain Exception
            why = self.last_error or f"Claude could not be started: {error}"
            raise (SessionNotFound if _NOT_FOUND in why else AgentGone)(why) from error
        self.about = msgspec.convert(about or {}, InitializeAnswer)
        self._transport.is_greeted = True

    async def end(self, *, leave: float) -> list[EndedProcess]:
        """Ends the process and all that it started; `leave`: seconds to exit by itself."""
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
        """Waits for the end of the process, and returns the reason. Ends a `broken` one first."""
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
        """The guarded process; only after the start."""
        assert self._transport is not None
        assert self._transport.process is not None
        return self._transport.process

    def below(self) -> list[Running]:
        """Returns all running processes of the program, the program itself first."""
        return self.process.below()

    # --- input --------------------------------------------------------------------------------

    def write(self, line: bytes) -> None:
        """Writes a line to standard input. Raises AgentGone if the process has ended."""
        assert self._transport is not None
        self._transport.send(line)

    def answer(self, request_id: str, response: Any) -> None:
        """Answers a control request of the program."""
        said = control.ControlSuccess(request_id, Raw(msgspec.json.encode(response)))
        with suppress(AgentGone):  # the program has ended in the meantime
            self.write(claude.encode(control.ControlResponse(said)) + b"\n")

    async def request(self, request: dict[str, Any]) -> Any:
        """Sends a control request, and returns its answer. Raises Refused or AgentGone."""
        try:
            return await send_control_request(self._client, request, _PATIENCE)
        except Exception as error:  # the SDK raises plain Exception
            self._check_open()  # a program that has ended did not refuse
            if isinstance(error.__cause__, TimeoutError):  # a timeout is not a refusal either
                said = f"Claude Code gave no answer within {_PATIENCE:g} seconds. Ask again."
                raise Refused("AGENT_UNAVAILABLE", said) from error
            raise Refused("INVALID_PAYLOAD", f"Claude Code refuses: {error}") from error

    async def interrupt(self, *, drop_queued: bool = False) -> None:
        """Interrupts the running turn. `drop_queued`: messages that it has not taken are dropped."""
        try:
            if drop_queued:
                await self.request({"subtype": "interrupt", "cancel_queued": True})
            else:
                await self._client.interrupt()
        except Exception as error:  # the SDK raises plain Exception
            _log.debug("Claude did not accept the interrupt: %s", error)

    # Each of these methods raises the errors of the SDK unchanged.

    async def set_model(self, model: str) -> None:
        """Changes the model."""
        await self._client.set_model(model)

    async def set_permission_mode(self, mode: str) -> None:
        """Changes the permission mode."""
        await self._client.set_permission_mode(mode)

    async def set_max_thinking_tokens(self, tokens: int | None) -> None:
        """Changes the limit of thinking tokens; None removes it."""
        await self.request({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": tokens})
