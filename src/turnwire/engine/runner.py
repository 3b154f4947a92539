"""Runs one conversation's agent: opened when needed, always read, closed when idle or told to."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from msgspec import structs

from turnwire.background import BackgroundTasks
from turnwire.core.controls import Control, ControlResult, RewindFiles
from turnwire.core.conversation import effects as e
from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import Refused
from turnwire.core.events import AssistantMessage, NormalizedStreamEvent
from turnwire.core.question_rules import QuestionRules
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.allowance import NO_LIMIT, Allowance, not_begun
from turnwire.engine.naming import RequestNames
from turnwire.engine.pictures import Fetch, with_pictures
from turnwire.engine.roots import within_roots
from turnwire.engine.slots import Slot
from turnwire.ports import (
    Agent,
    AgentGone,
    AgentsBusy,
    AgentSession,
    Lease,
    SessionStart,
    StorageUnavailable,
)

__all__ = ["AgentRunner"]

_log = logging.getLogger("turnwire")
_PATIENCE = 90.0  # seconds that the answer to a control may take
_LONG = 1_000_000  # characters of a block
_WAIT_FOR_LONG = 1.0  # seconds

_ENDED = "The agent ended, or was stopped, before it could answer. Ask again."


class AgentRunner:
    """Takes commands without waiting; what comes of them arrives as events, or as a loss.

    `heard` gets each batch of events, `lost` the end of the agent where it was not asked for,
    `answered` what came of each control, exactly once, and `rested` is called when there is no agent
    any more, and nothing to be done. `handled` waits until all that was heard is committed.
    Commands are carried out one after the other, but a stop overtakes everything. Those that come
    between an agent's end and `begin_again` would be about an agent that is gone: they wait, and
    the step that learns of the loss says what becomes of them.
    """

    def __init__(
        self,
        agent: Agent,
        start: Callable[[], SessionStart],
        allowance: Callable[[], Awaitable[Allowance]],
        reserve: Callable[[Allowance | None], Awaitable[Allowance]],
        heard: Callable[[list[NormalizedStreamEvent]], None],
        lost: Callable[[str, str | None, bool, list[i.EndedProcess]], None],
        rested: Callable[[], None],
        new_id: Callable[[], str],
        fetch: Fetch,
        answered: Callable[[str, ControlResult | Refused], None],
        slot: Slot,
        handled: Callable[[], Awaitable[None]],
        roots: Sequence[str] | None = None,
    ) -> None:
        self._agent = agent
        self._start = start
        self._allowance = allowance
        self._reserve = reserve
        self._allowed = NO_LIMIT  # when the session was opened
        self._heard = heard
        self._lost = lost
        self._rested = rested
        self._new_id = new_id
        self._fetch = fetch
        self._answered = answered
        self._slot = slot
        self._handled = handled
        self._roots = roots
        self._session: AgentSession | None = None
        self._names = RequestNames("")  # the session's
        self._about_session: list[asyncio.Task[Any]] = []  # its reader, and what is asked of it
        self._ending: asyncio.Task[list[i.EndedProcess]] | None = None
        self._commands: deque[e.Command] = deque()
        self._in_hand: e.Command | None = None  # is being carried out, and not handed over yet
        self._worker: asyncio.Task[None] | None = None
        self._side_tasks = BackgroundTasks()
        self._unheard = (
            False  # a prompt went to a session that was open already, and was not heard of
        )
        self._losses = 0  # that the conversation does not know of yet
        self._all_losses = 0  # those that it knows of, too
        self._dropped = False  # a turn that had not been handed over, when it was closed
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether an agent is there, is coming, or is going."""
        there = self._session or self._commands or self._worker or self._side_tasks
        return bool(there or self._ending or self._losses)

    @property
    def is_idle(self) -> bool:
        """Whether an agent is there that nothing was asked of, or nothing that it has not answered."""
        busy = self._commands or self._worker or self._side_tasks or self._ending or self._losses
        return self._session is not None and not busy

    @property
    def native_session_id(self) -> str | None:
        """What the agent calls its session."""
        return self._session.native_session_id if self._session else None

    def tell(self, command: e.Command) -> None:
        """Have it done soon."""
        if self._closed:
            self._dropped |= e.hands_over(command)
            self._unasked(command)
            return
        if isinstance(command, e.StopAgent):
            self._stop(command)
            return
        self._commands.append(command)
        if self._worker is None and not self._losses:
            self._worker = asyncio.create_task(self._work())

    @property
    def has_unsent(self) -> bool:
        """Whether a turn waits that was not handed over yet."""
        return self._dropped or any(map(e.hands_over, (self._in_hand, *self._commands)))

    @property
    def is_leaving(self) -> bool:
        """Whether whoever still speaks was told to go, or is gone."""
        return bool(
            self._losses
            or self._ending
            or self._closed
            or any(isinstance(command, e.CloseAgent) for command in self._commands)
        )

    def lose(self, why: str) -> bool:
        """End the agent, if one is open; the conversation hears of it as of one that ended by itself."""
        is_open = self._session is not None
        if is_open:
            self._is_gone(why)
        return is_open

    def begin_again(self) -> bool:
        """The conversation knows of the loss. Returns whether a turn had not been handed over yet.

        Nor had one whose agent had died while it was idle, before it could say a word of it. What
        is asked beside the talk is not about the one that is gone, and is left to the next.
        """
        self._losses -= 1
        unheard, self._unheard = self._unheard, False
        unsent = unheard or self.has_unsent
        asked = [command for command in self._commands if isinstance(command, e.AskAgent)]
        self._commands.clear()
        for command in asked:
            self.tell(command)
        return unsent

    async def close(self) -> list[i.EndedProcess]:
        """End the agent and everything that is on its way to it, for good."""
        self._dropped = self.has_unsent
        self._closed = True
        self._drop()
        for task in (self._worker, *self._side_tasks):
            if task is not None and task is not asyncio.current_task():
                await _cancel(task)
        self._worker = None
        return await self._end_session()

    # --- commands -----------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while self._commands and not self._losses:
                self._in_hand = command = self._commands.popleft()
                try:
                    await self._do(command)
                except AgentGone as gone:
                    self._is_gone(gone.message)
                except Exception as error:
                    self._is_gone(_broken(error))
                finally:
                    self._in_hand = None
        finally:
            if self._worker is asyncio.current_task():
                self._worker = None
        if not self.is_open:
            self._rested()

    async def _do(self, command: e.Command) -> None:
        before = self._all_losses
        match command:
            case e.Prompt(turn=turn, content=content):
                allowed = await self._may_spend()
                if allowed is None:
                    return
                if self._agent.capabilities.images:
                    content = await with_pictures(content, self._fetch)
                if self._was_lost(command, before):
                    return
                was_open = self._session is not None
                session = await self._open(allowed)
                if self._was_lost(command, before):
                    return
                self._unheard = was_open
                uuid = f"{self._start().conversation_id}:{turn.turn_id}"
                reach(CrashPoint.PROMPTS)
                self._in_hand = None
                await session.prompt(content, turn_uuid=uuid)
                reach(CrashPoint.PROMPTED)
            case e.Deliver(replies=replies, resume=resume):
                allowed = await self._may_spend() if resume else NO_LIMIT
                if allowed is None:
                    return
                session = await self._open(allowed if resume else None)
                if self._was_lost(command, before):
                    return
                reach(CrashPoint.DELIVERS)
                self._in_hand = None
                await session.deliver(self._names.replies(replies), resumed=resume)
                reach(CrashPoint.DELIVERED)
            case e.Choose(model=model, permission_mode=mode, max_thinking_tokens=tokens):
                if self._session is not None:  # the next one is opened with it
                    reach(CrashPoint.CHOOSES)
                    await self._session.choose(
                        model=model, permission_mode=mode, max_thinking_tokens=tokens
                    )
                    reach(CrashPoint.CHOSEN)
            case e.AskAgent() as asked:
                await self._control(asked)
            case e.CloseAgent():
                if self._session is not None:  # it may have begun something in the last moment
                    self._is_gone("The agent was not needed and was closed.")
            case _:
                pass

    def _was_lost(self, command: e.Command, before: int) -> bool:
        """Whether the agent was lost while this was in hand. The conversation hears of it first, and
        hands it over again; if it has heard of it already, it has done so.
        """
        if self._losses:
            self._commands.appendleft(command)
        return self._all_losses != before

    async def _may_spend(self) -> Allowance | None:
        """What the next turn may cost. None: nothing; it has ended already, and says why.

        A session that is open stops at what it was allowed when it was opened. Where less than that
        is left, because the user has spent it elsewhere, or more, because a new period has begun,
        another one is opened; but not while work goes on in the background, which would end with it.
        """
        allowed = await self._reserve(None if self._session is None else self._allowed)
        if allowed.refused is not None:
            self._heard(not_begun(self._agent.name, allowed.refused))
            return None
        if self._session is not None and allowed.is_another_than(self._allowed):
            await self._end_session()
        return allowed

    async def _control(self, asked: e.AskAgent) -> None:
        """Whatever happens, whoever asked for it hears once what came of it."""
        try:
            session = await self._open()
        except BaseException as error:
            self._answered(asked.control_id, _refusal(error))
            if not isinstance(error, Exception):
                raise
            return
        task = self._side_tasks.run(_came_of(session, asked.control))
        # Not in the task itself: one that is cancelled early would never say a word.
        task.add_done_callback(
            lambda done: self._answered(
                asked.control_id,
                Refused("AGENT_UNAVAILABLE", _ENDED) if done.cancelled() else done.result(),
            )
        )
        self._about_session = [each for each in self._about_session if not each.done()]
        self._about_session.append(task)
        if isinstance(asked.control, RewindFiles):  # nobody may change files meanwhile
            await asyncio.wait([task])

    def _unasked(self, command: e.Command) -> None:
        """A command that nobody will carry out."""
        if isinstance(command, e.AskAgent):
            self._answered(command.control_id, Refused("AGENT_UNAVAILABLE", _ENDED))

    def _drop(self) -> None:
        """What waits was about an agent that is gone, or is to stop."""
        dropped, self._commands = self._commands, deque()
        for command in dropped:
            self._unasked(command)

    async def _open(self, allowed: Allowance | None = None) -> AgentSession:
        if self._ending is not None:
            await asyncio.shield(self._ending)  # never two of them
        if self._session is None:
            self._allowed = allowed or await self._allowance()
            start = structs.replace(self._start(), max_budget_usd=self._allowed.left)
            if self._roots is not None:  # each time: a link may lead elsewhere by now
                start = await asyncio.to_thread(within_roots, start, self._roots)
            if start.lease is not None:
                await _ensure(start.lease)
            await self._slot.take()
            try:
                try:
                    self._session = await self._start_session(start)
                except AgentsBusy:
                    if not await self._slot.make_room():
                        raise
                    self._session = await self._start_session(start)
            except BaseException:
                self._slot.release()
                raise
            self._names = RequestNames(self._new_id()[:8])
            reader = asyncio.create_task(self._read(self._session, self._names))
            self._about_session = [reader]
        return self._session

    async def _start_session(self, start: SessionStart) -> AgentSession:
        reach(CrashPoint.AGENT_OPENS)
        session = await self._agent.open(start)
        reach(CrashPoint.AGENT_OPENED)
        return session

    async def _read(self, session: AgentSession, names: RequestNames) -> None:
        """Always reads on: an agent waits for us only for a moment, behind a very long text."""
        message: str | None = None
        rules = QuestionRules()
        try:
            async for batch in session.events():
                self._unheard = False
                bad = rules.first_bad(batch)
                if bad is not None:  # what stands before it was said
                    self._heard(names.heard(batch[: bad[0]]))
                    raise bad[1]
                self._heard(names.heard(batch))
                is_long = _has_long_text(batch)
                del batch  # the next may come much later
                if is_long:
                    await self._until_handled()
        except AgentGone as gone:
            message = gone.message
        except Exception as error:
            message = _broken(error)
        if self._session is session:  # it ended without being asked to
            self._is_gone(message)

    async def _until_handled(self) -> None:
        """Waits until what was heard is committed: agents repeat a long text at once, and each copy takes memory."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_WAIT_FOR_LONG):
                await self._handled()

    # --- its end ------------------------------------------------------------------------------

    def _is_gone(self, message: str | None, *, forced: bool = False) -> None:
        """From here on it is a loss. A task of its own tells of it, which nothing but `close` ends:
        a loss that is counted and not told would keep every later turn waiting.
        """
        self._losses += 1
        self._all_losses += 1
        self._side_tasks.run(self._tell_loss(message, forced))

    async def _tell_loss(self, message: str | None, forced: bool) -> None:
        worker = self._worker if forced else None
        if worker is not None:  # it may be opening an agent, or stuck in one
            self._worker = None
            await _cancel(worker)
        ended = await self._end_session()
        self._lost("stopped" if forced else "agent_lost", message, forced, ended)

    async def _end_session(self) -> list[i.EndedProcess]:
        """Whoever waits for it may be told to stop waiting; it is ended all the same."""
        session, self._session = self._session, None
        about, self._about_session = self._about_session, []
        if session is not None:
            self._ending = asyncio.create_task(self._end(session, about))
        return await asyncio.shield(self._ending) if self._ending is not None else []

    async def _end(
        self, session: AgentSession, about: list[asyncio.Task[Any]]
    ) -> list[i.EndedProcess]:
        try:
            reach(CrashPoint.CLOSES)
            ended = await session.close()
            reach(CrashPoint.CLOSED)
            return ended
        except Exception:
            _log.exception("An agent could not be closed.")
            return []
        finally:
            for task in about:
                await _cancel(task)
            self._ending = None
            self._slot.release()

    # --- stopping -----------------------------------------------------------------------------

    def _stop(self, command: e.StopAgent) -> None:
        self._drop()
        if command.force or self._session is None or e.hands_over(self._in_hand):
            self._is_gone(None, forced=True)  # with everything it started
        else:
            self._about_session.append(self._side_tasks.run(self._ask(self._session)))

    async def _ask(self, session: AgentSession) -> None:
        try:
            reach(CrashPoint.INTERRUPTS)
            await session.interrupt()
            reach(CrashPoint.INTERRUPTED)
        except AgentGone:
            pass  # its reader says so
        except Exception:
            _log.exception("An agent could not be told to stop.")  # it is ended by force soon


async def _ensure(lease: Lease) -> None:
    """After a time without the store the lease may be over. Raises AgentGone if it cannot be renewed."""
    try:
        await lease.ensure()
    except StorageUnavailable as down:
        raise AgentGone(down.message) from down


async def _came_of(session: AgentSession, control: Control) -> ControlResult | Refused:
    try:
        async with asyncio.timeout(_PATIENCE):
            reach(CrashPoint.CONTROLS)
            came = await session.control(control)
            reach(CrashPoint.CONTROLLED)
            return came
    except Exception as error:
        return _refusal(error)


def _refusal(error: BaseException) -> Refused:
    match error:
        case Refused():
            return error
        case AgentGone(message=why):
            return Refused("AGENT_UNAVAILABLE", why)
        case TimeoutError():
            said = f"The agent gave no answer within {_PATIENCE:g} seconds."
            return Refused("AGENT_UNAVAILABLE", said)
        case Exception():
            return Refused("AGENT_ERROR", _broken(error))
        case _:
            return Refused("AGENT_UNAVAILABLE", _ENDED)


async def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _has_long_text(batch: list[NormalizedStreamEvent]) -> bool:
    return any(
        isinstance(event, AssistantMessage)
        and any(len(getattr(block, "text", "")) > _LONG for block in event.content)
        for event in batch
    )


def _broken(error: Exception) -> str:
    _log.error("An agent broke.", exc_info=error)
    return AgentGone.broken(error).message
