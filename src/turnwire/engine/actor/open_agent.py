"""One opened agent: its session, which is always read, what is asked of it, and its end."""

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
    SessionStart,
    StorageUnavailable,
)

__all__ = ["AgentConversation", "OpenAgent", "broken", "open_session", "refusal_of"]

_log = logging.getLogger("turnwire")
_PATIENCE = 90.0  # seconds that the answer to a control may take
_LONG = 1_000_000  # characters of a block
_WAIT_FOR_LONG = 1.0  # seconds


class AgentConversation(Protocol):
    """The conversation that an agent works for: says how it is opened, and is told what comes of it."""

    def session_start(self) -> SessionStart:
        """Returns how a session is opened now."""

    async def allowance(self) -> Allowance:
        """Returns what an agent may spend that has no turn yet."""

    async def reserve(self, before: Allowance | None) -> Allowance:
        """Reserves what the next turn may spend. `before` is what the open session was allowed."""

    def post(self, item: list[NormalizedStreamEvent]) -> None:
        """Takes a batch of events."""

    async def settle(self) -> None:
        """Waits until all events that were posted are committed."""

    def answered(self, control_id: str, came: ControlResult | Refused) -> None:
        """Takes what came of a control: exactly once for each."""

    def agent_ended(
        self, message: str | None, *, forced: bool, processes: list[EndedProcess]
    ) -> None:
        """Is told that the agent has ended, or could not be opened. Calls `AgentRunner.begin_again`."""

    def rested(self) -> None:
        """Is told that no agent is open, and no command waits."""


async def open_session(
    agent: Agent, start: SessionStart, slot: Slot, roots: Sequence[str] | None
) -> AgentSession:
    """Opens a session, and takes its slot. Raises AgentGone; then the slot is free again."""
    if roots is not None:  # each time: a link may lead to another directory by now
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
    """One opened session of an agent. Its events go to the conversation as they come."""

    def __init__(
        self,
        session: AgentSession,
        process: str,
        allowed: Allowance,
        slot: Slot,
        conversation: AgentConversation,
        lost: Callable[[str | None], None],
    ) -> None:
        """`process` makes the ids of its requests unique; `allowed` is what it may spend.

        `lost` is called with the agent's last words if the session ends before it is closed.
        """
        self.session = session
        self.allowed = allowed
        self.has_unheard_prompt = False  # since then the agent, which was idle, has said nothing
        self.asked = BackgroundTasks()  # controls and stops that the agent has not answered
        self._names = RequestNames(process)
        self._slot = slot
        self._conversation = conversation
        self._lost = lost
        self._closing: asyncio.Task[list[EndedProcess]] | None = None
        self._reader = asyncio.create_task(self._read())

    @property
    def is_closing(self) -> bool:
        """Whether the agent was told to end, or has ended."""
        return self._closing is not None

    async def prompt(self, content: list[Content], *, turn_uuid: str, was_idle: bool) -> None:
        """Begins a turn. `was_idle`: the session was not opened for it, and may be dead unnoticed."""
        self.has_unheard_prompt = was_idle
        reach(CrashPoint.PROMPTS)
        await self.session.prompt(content, turn_uuid=turn_uuid)
        reach(CrashPoint.PROMPTED)

    async def deliver(self, command: e.Deliver) -> None:
        """Gives the answers of a person to the agent."""
        reach(CrashPoint.DELIVERS)
        await self.session.deliver(self._names.replies(command.replies), resumed=command.resume)
        reach(CrashPoint.DELIVERED)

    async def choose(self, command: e.Choose) -> None:
        """Changes the model, the permission mode or the reasoning."""
        reach(CrashPoint.CHOOSES)
        await self.session.choose(
            model=command.model,
            permission_mode=command.permission_mode,
            max_thinking_tokens=command.max_thinking_tokens,
        )
        reach(CrashPoint.CHOSEN)

    def control(self, command: e.AskAgent) -> asyncio.Task[ControlResult | Refused]:
        """Starts a control. The conversation is told once what came of it, whatever happens."""
        task = self.asked.run(self._control(command.control))
        # Not in the task itself: one that is cancelled before it begins would tell nothing.
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
        """Ends the agent, once. A caller that is cancelled stops waiting; the agent ends all the same."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        return await asyncio.shield(self._closing)

    # --- tasks --------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Reads until the session ends. The agent waits only for a moment, after a very long text."""
        message: str | None = None
        rules = QuestionRules()
        try:
            async for batch in self.session.events():
                self.has_unheard_prompt = False
                bad = rules.first_bad(batch)
                if bad is not None:  # the events before it count
                    self._conversation.post(self._names.heard(batch[: bad[0]]))
                    raise bad[1]
                self._conversation.post(self._names.heard(batch))
                is_long = _has_long_text(batch)
                del batch  # the next may come much later
                if is_long:  # agents repeat a long text at once, and each copy takes memory
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_WAIT_FOR_LONG):
                            await self._conversation.settle()
        except AgentGone as gone:
            message = gone.message
        except Exception as error:
            message = broken(error)
        if not self.is_closing:
            self._lost(message)

    async def _control(self, control: Control) -> ControlResult | Refused:
        try:
            async with asyncio.timeout(_PATIENCE):
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
            pass  # the reader tells it
        except Exception:
            _log.exception("An agent could not be told to stop.")  # it is ended by force soon

    async def _close(self) -> list[EndedProcess]:
        try:
            reach(CrashPoint.CLOSES)
            processes = await self.session.close()
            reach(CrashPoint.CLOSED)
            return processes
        except Exception:
            _log.exception("An agent could not be closed.")
            return []
        finally:
            self._reader.cancel()
            await asyncio.wait([self._reader, *self.asked.cancel()])
            self._slot.release()


def refusal_of(error: BaseException | None = None) -> Refused:
    """Returns what a control is refused with that failed with this error. None: no agent answers any more."""
    match error:
        case Refused():
            return error
        case AgentGone(message=why):
            return Refused("AGENT_UNAVAILABLE", why)
        case TimeoutError():
            said = f"The agent gave no answer within {_PATIENCE:g} seconds."
            return Refused("AGENT_UNAVAILABLE", said)
        case Exception():
            return Refused("AGENT_ERROR", broken(error))
        case _:
            said = "The agent ended, or was stopped, before it could answer. Ask again."
            return Refused("AGENT_UNAVAILABLE", said)


def broken(error: Exception) -> str:
    """Logs an error that no agent should raise, and returns what is told of it."""
    _log.error("An agent broke.", exc_info=error)
    return AgentGone.broken(error).message


async def _open(agent: Agent, start: SessionStart) -> AgentSession:
    reach(CrashPoint.AGENT_OPENS)
    session = await agent.open(start)
    reach(CrashPoint.AGENT_OPENED)
    return session


async def _ensure(lease: Lease) -> None:
    """After a time without the store the lease may be over. Raises AgentGone if it cannot be renewed."""
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
