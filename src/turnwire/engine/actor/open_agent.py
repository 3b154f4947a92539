"""One opened agent: its session, whose events are always read, its commands and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from turnwire.background import BackgroundTasks
from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.error_codes import Refused
from turnwire.core.events import AssistantMessage, NormalizedStreamEvent
from turnwire.core.question_rules import QuestionRules
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.actor.budget import Allowance
from turnwire.engine.actor.request_ids import RequestNames
from turnwire.engine.actor.roots import within_roots
from turnwire.engine.actor.slots import Slot
from turnwire.ports import (
    Agent,
    AgentGone,
    AgentsBusy,
    AgentSession,
    Lease,
    PushesBatches,
    SessionPiece,
    SessionStart,
    SteersTurns,
    StorageUnavailable,
    StoredSession,
)

__all__ = ["AgentConversation", "OpenAgent", "broken", "open_session", "refusal_of"]

_log = logging.getLogger("turnwire")
_CONTROL_SECONDS = 90.0  # timeout of a control
_CLOSE_SECONDS = 60.0  # timeout of a close; agents with a process take at most half of it
_LAST_SECONDS = 1.0  # maximum wait for the last events of a closed session
_LONG = 1_000_000  # characters of a block that counts as long
_WAIT_FOR_LONG = 1.0  # seconds to wait for the commit of a long block


class AgentConversation(Protocol):
    """The conversation of an agent, as the agent's runner sees it."""

    def session_start(self) -> SessionStart:
        """Returns how a session is opened now."""

    async def allowance(self) -> Allowance:
        """Returns what an agent without a turn may spend."""

    async def reserve(self, before: Allowance | None) -> Allowance:
        """Reserves what the next turn may spend. `before` is the allowance of the open session."""

    async def pieces(self) -> list[SessionPiece]:
        """Returns the pieces of the agent's session that the store keeps."""

    async def recap(self) -> str | None:
        """Returns what the agent has missed of the conversation, as text. None: nothing."""

    def handed_over(self) -> None:
        """Notes that the agent was closed for another one."""

    def keep(self, pieces: list[SessionPiece]) -> None:
        """Takes pieces of the agent's session, which the next commit writes."""

    def post(self, item: list[NormalizedStreamEvent]) -> None:
        """Takes a batch of events."""

    def grow(self, batch: list[NormalizedStreamEvent]) -> bool:
        """Publishes a batch that changes only partials. Returns False if it has to be posted."""

    async def settle(self) -> None:
        """Waits until all events that were posted are committed."""

    def steer_refused(self, queue_id: str) -> None:
        """Notes that the agent does not take a message into the running turn."""

    def chosen(self) -> None:
        """Notes that a choice has reached the agent, or that no agent is open; once for each."""

    def answered(self, control_id: str, came: ControlResult | Refused) -> None:
        """Takes the result of a control; called exactly once for each."""

    def agent_ended(
        self, message: str | None, *, forced: bool, processes: list[EndedProcess]
    ) -> None:
        """Handles the end of the agent, or a failed start. Calls `AgentRunner.begin_again`."""

    def runner_idle(self) -> None:
        """Called when no agent is open and no command waits."""


async def open_session(
    agent: Agent, start: SessionStart, slot: Slot, roots: Sequence[str] | None
) -> AgentSession:
    """Takes a slot and opens a session. Raises AgentGone, and then releases the slot."""
    if roots is not None:  # each time: a symbolic link may have changed
        start = await asyncio.to_thread(within_roots, start, roots)
    if start.lease is not None:
        await _ensure(start.lease)
    await slot.take()
    try:
        try:
            return await _open(agent, start)
        except AgentsBusy:
            if not await slot.make_room():
                raise
            return await _open(agent, start)
    except BaseException:
        slot.release()
        raise


class OpenAgent:
    """One opened session of an agent. Posts its events to the conversation."""

    def __init__(
        self,
        session: AgentSession,
        process: str,
        allowed: Allowance,
        slot: Slot,
        conversation: AgentConversation,
        lost: Callable[[str | None], None],
    ) -> None:
        """`process` makes the ids of its requests unique; `allowed` is what the agent may spend.

        `lost` is called with the agent's error message if the session ends before it is closed.
        """
        self.session = session
        self.allowed = allowed
        stored: object = session
        self._stored = stored if isinstance(stored, StoredSession) else None
        # The agent was idle before its prompt, and has sent no event since.
        self.has_unheard_prompt = False
        self.asked = BackgroundTasks()  # controls and stops that the agent has not answered
        self._names = RequestNames(process)
        self._slot = slot
        self._conversation = conversation
        self._lost = lost
        self._closing: asyncio.Task[list[EndedProcess]] | None = None
        self._is_reading = False  # the reader waits for the next batch, and holds none
        self._reader = asyncio.create_task(self._read())
        if isinstance(stored, PushesBatches):
            stored.push_batches(self._grow)

    @property
    def stays_here(self) -> bool:
        """Whether only this machine can continue the session."""
        return self._stored is not None and not self._stored.is_mirrored

    @property
    def is_closing(self) -> bool:
        """Whether the agent was told to end, or has ended."""
        return self._closing is not None

    async def prompt(self, content: list[Content], *, turn_uuid: str, was_idle: bool) -> None:
        """Begins a turn. `was_idle`: the session was open before, so it may have died unnoticed."""
        self.has_unheard_prompt = was_idle
        reach(CrashPoint.PROMPTS)
        await self.session.prompt(content, turn_uuid=turn_uuid)
        reach(CrashPoint.PROMPTED)

    async def has_taken(self, message_id: str) -> bool:
        """Returns whether an earlier process of this session has taken a message into a turn."""
        session: object = self.session
        return isinstance(session, SteersTurns) and await session.has_taken(message_id)

    async def steer(self, content: list[Content], *, message_id: str) -> bool:
        """Hands a message to the running turn. Returns False if the turn cannot take it."""
        session: object = self.session
        if not isinstance(session, SteersTurns):
            return False
        reach(CrashPoint.STEERS)
        takes = await session.steer(content, message_id=message_id)
        reach(CrashPoint.STEERED)
        return takes

    async def deliver(self, command: e.Deliver) -> None:
        """Delivers the answers and decisions of people to the agent."""
        reach(CrashPoint.DELIVERS)
        await self.session.deliver(self._names.replies(command.replies), resumed=command.resume)
        reach(CrashPoint.DELIVERED)

    async def choose(self, command: e.Choose) -> None:
        """Changes the model, the permission mode or the limit of thinking."""
        reach(CrashPoint.CHOOSES)
        await self.session.choose(
            model=command.model,
            permission_mode=command.permission_mode,
            max_thinking_tokens=command.max_thinking_tokens,
        )
        reach(CrashPoint.CHOSEN)

    def control(self, command: e.AskAgent) -> asyncio.Task[ControlResult | Refused]:
        """Starts a control. The conversation gets its result exactly once, also after a failure."""
        task = self.asked.run(self._control(command.control))
        # Not in the task itself: a task that is cancelled before it starts would report nothing.
        task.add_done_callback(
            lambda done: self._conversation.answered(
                command.control_id, refusal_of() if done.cancelled() else done.result()
            )
        )
        return task

    def interrupt(self) -> None:
        """Asks the agent to stop its turn."""
        self.asked.run(self._interrupt())

    async def close(self) -> list[EndedProcess]:
        """Ends the agent, once. The agent also ends if the caller is cancelled."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        return await asyncio.shield(self._closing)

    # --- tasks --------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Reads events until the session ends. Pauses only briefly, after a long text."""
        message: str | None = None
        rules = QuestionRules()
        try:
            self._is_reading = True
            async for batch in self.session.events():
                self._is_reading = self.has_unheard_prompt = False
                await self._keep_pieces()  # before the events: both are committed together
                bad = rules.first_bad(batch)
                if bad is not None:  # the events before it are valid
                    self._conversation.post(self._names.heard(batch[: bad[0]]))
                    raise bad[1]
                self._conversation.post(self._names.heard(batch))
                is_long = _has_long_text(batch)
                del batch  # frees memory: the next batch may come much later
                if is_long:  # agents often repeat a long text, and each copy takes memory
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_WAIT_FOR_LONG):
                            await self._conversation.settle()
                self._is_reading = True
        except AgentGone as gone:
            message = gone.message
        except Exception as error:
            message = broken(error)
        self._is_reading = False
        if not self.is_closing:
            self._lost(message)

    def _grow(self, batch: list[NormalizedStreamEvent]) -> bool:
        """Takes a batch that changes only partials, which are most batches, without the reader."""
        if not self._is_reading or (self._stored is not None and self._stored.has_pieces):
            return False
        if not self._conversation.grow(batch):
            return False
        self.has_unheard_prompt = False
        return True

    async def _keep_pieces(self) -> None:
        if self._stored is not None and self._stored.has_pieces:
            self._conversation.keep(await self._stored.take_pieces())

    async def _control(self, control: Control) -> ControlResult | Refused:
        try:
            async with asyncio.timeout(_CONTROL_SECONDS):
                reach(CrashPoint.CONTROLS)
                came = await self.session.control(control)
                reach(CrashPoint.CONTROLLED)
                return came
        except Exception as error:
            return refusal_of(error)

    async def _interrupt(self) -> None:
        try:
            reach(CrashPoint.INTERRUPTS)
            await self.session.interrupt()
            reach(CrashPoint.INTERRUPTED)
        except AgentGone:
            pass  # the reader reports it
        except Exception:
            _log.exception("An agent could not be interrupted.")  # it is soon ended by force

    async def _close(self) -> list[EndedProcess]:
        try:
            reach(CrashPoint.CLOSES)
            async with asyncio.timeout(_CLOSE_SECONDS):
                processes = await self.session.close()
            reach(CrashPoint.CLOSED)
            if self._stored is not None:
                await asyncio.wait([self._reader], timeout=_LAST_SECONDS)
                await self._keep_pieces()
            return processes
        except Exception:
            _log.exception("An agent could not be closed.")
            return []
        finally:
            self._reader.cancel()
            await asyncio.wait([self._reader, *self.asked.cancel()])
            self._slot.release()


def refusal_of(error: BaseException | None = None) -> Refused:
    """Returns the refusal for a control that failed. None as an error: the agent has ended."""
    match error:
        case Refused():
            return error
        case AgentGone(message=why):
            return Refused("AGENT_UNAVAILABLE", why)
        case TimeoutError():
            said = f"The agent gave no answer within {_CONTROL_SECONDS:g} seconds."
            return Refused("AGENT_UNAVAILABLE", said)
        case Exception():
            return Refused("AGENT_ERROR", broken(error))
        case _:
            said = "The agent ended, or was stopped, before it could answer. Ask again."
            return Refused("AGENT_UNAVAILABLE", said)


def broken(error: Exception) -> str:
    """Logs an unexpected error of an agent, and returns the message for people."""
    _log.error("An agent failed with an unexpected error.", exc_info=error)
    return AgentGone.broken(error).message


async def _open(agent: Agent, start: SessionStart) -> AgentSession:
    reach(CrashPoint.AGENT_OPENS)
    session = await agent.open(start)
    reach(CrashPoint.AGENT_OPENED)
    return session


async def _ensure(lease: Lease) -> None:
    """Renews a lease that may have expired. Raises AgentGone if the store is unavailable."""
    try:
        await lease.ensure()
    except StorageUnavailable as down:
        raise AgentGone(down.message) from down


def _has_long_text(batch: list[NormalizedStreamEvent]) -> bool:
    return any(
        isinstance(event, AssistantMessage)
        and any(len(getattr(block, "text", "")) > _LONG for block in event.content)
        for event in batch
    )
