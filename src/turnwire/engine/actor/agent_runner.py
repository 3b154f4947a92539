"""Runs the agent of one conversation: opens it when needed, closes it when idle or on command."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from turnwire.core.content import Content, FileContent, TextContent
from turnwire.core.controls import RewindFiles
from turnwire.core.conversation import effects as e
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.error_codes import Refused
from turnwire.core.events import TurnCompleted
from turnwire.engine.actor.budget import Allowance, not_begun
from turnwire.engine.actor.files import with_files
from turnwire.engine.actor.open_agent import (
    AgentConversation,
    OpenAgent,
    broken,
    open_session,
    refusal_of,
)
from turnwire.engine.actor.pictures import Fetch, with_pictures
from turnwire.engine.actor.roots import within_roots
from turnwire.engine.actor.slots import Slot
from turnwire.ports import Agent, AgentGone

__all__ = ["AgentRunner"]


class _End(Struct, frozen=True):
    """An end of the agent that the conversation has not handled yet."""

    agent: OpenAgent | None  # None: the agent could not be opened
    reporting: asyncio.Task[None]


class AgentRunner:
    """Queues commands and runs them in order; a stop skips the queue.

    The conversation receives the results: events, answers to controls, and the end of the agent.

    At most one agent is open. An agent ends because it is lost, because it is stopped by force, or
    because it is idle and is closed. After each end the conversation has to call `begin_again`.
    Until then no command runs: the queued commands are meant for the agent that has ended, and the
    conversation decides in that step what happens to them.
    """

    def __init__(
        self,
        conversation: AgentConversation,
        agent: Agent,
        slot: Slot,
        *,
        new_id: Callable[[], str],
        fetch: Fetch,
        roots: Sequence[str] | None = None,
    ) -> None:
        self._conversation = conversation
        self._agent = agent
        self._slot = slot
        self._new_id = new_id
        self._fetch = fetch
        self._roots = roots
        self._current: OpenAgent | None = None  # until it has ended
        self._unknown_end: _End | None = None  # until `begin_again`
        self._commands: deque[e.Command] = deque()
        self._in_hand: e.Command | None = None  # started, and not handed over to the agent
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether an agent is open, is being opened, or is ending."""
        waiting = self._commands and not self._is_closed
        return bool(self._current or self._worker or self._unknown_end or waiting)

    @property
    def is_idle(self) -> bool:
        """Whether an agent is open, and has neither commands nor controls."""
        busy = self._commands or self._worker or self._unknown_end
        return self._current is not None and not (busy or self._current.asked)

    @property
    def is_leaving(self) -> bool:
        """Whether the agent has ended or was told to end; it may still send events."""
        return bool(
            self._unknown_end
            or self._is_closed
            or (self._current is not None and self._current.is_closing)
            or any(isinstance(command, e.CloseAgent) for command in self._commands)
        )

    @property
    def has_unsent(self) -> bool:
        """Whether a turn was not handed over to the agent yet."""
        return any(map(e.hands_over, (self._in_hand, *self._commands)))

    @property
    def native_session_id(self) -> str | None:
        """The agent's own id of its session."""
        return self._current.session.native_session_id if self._current else None

    @property
    def has_session(self) -> bool:
        """Whether a session is open, or is ending."""
        return self._current is not None

    @property
    def stays_here(self) -> bool:
        """Whether only this machine can continue the open session."""
        return self._current is not None and self._current.stays_here

    def tell(self, command: e.Command) -> None:
        """Queues a command. A closed runner only keeps it, for `has_unsent`."""
        if isinstance(command, e.StopAgent) and not self._is_closed:
            self._stop(command)
            return
        self._commands.append(command)
        if self._is_closed:
            self._refuse_controls()
        elif self._worker is None and self._unknown_end is None:
            self._worker = asyncio.create_task(self._work())

    def lose(self, why: str) -> bool:
        """Ends the agent as if it had ended by itself. Returns whether one was open."""
        is_open = self._open is not None
        if is_open:
            self._end_agent(why)
        return is_open

    def begin_again(self) -> bool:
        """Runs commands again: the conversation has handled the end of the agent.

        Returns whether a turn was not handed over. A turn also counts as not handed over if its
        agent was idle before, and ended without an event after the prompt. Controls in the queue
        are kept for the next agent.
        """
        end, self._unknown_end = self._unknown_end, None
        agent = None if end is None else end.agent
        unsent = self.has_unsent or (agent is not None and agent.has_unheard_prompt)
        controls = [command for command in self._commands if isinstance(command, e.AskAgent)]
        self._in_hand = None
        self._commands.clear()
        for command in controls:
            self.tell(command)
        return unsent

    async def close(self) -> list[EndedProcess]:
        """Ends the agent and the runner. The conversation is not notified: it is the caller."""
        self._is_closed = True
        self._refuse_controls()
        reporting = self._unknown_end.reporting if self._unknown_end else None
        asked = self._current.asked if self._current else ()
        tasks = [task for task in (self._worker, reporting, *asked) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._worker = None
        return await self._close_agent()

    # --- commands -----------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while self._commands and self._unknown_end is None:
                self._in_hand = command = self._commands.popleft()
                try:
                    await self._do(command)
                except AgentGone as gone:
                    self._end_agent(gone.message)
                except Exception as error:
                    self._end_agent(broken(error))
                self._in_hand = None  # not after a cancel: see `has_unsent`
        finally:
            self._worker = None
        if not self.is_open:
            self._conversation.runner_idle()

    async def _do(self, command: e.Command) -> None:
        match command:
            case e.Prompt(turn=turn, content=content):
                allowed = await self._may_spend()
                if allowed is None:
                    return
                try:
                    content = await self._loaded(content)
                except Refused as refused:
                    self._conversation.post(not_begun(self._agent.name, refused))
                    return
                missed = await self._conversation.recap()
                if missed is not None:
                    content = [TextContent(missed), *content]
                was_idle = self._current is not None
                opened = await self._opened(allowed)
                uuid = f"{self._conversation.session_start().conversation_id}:{turn.turn_id}"
                said = turn.item if turn.in_doubt else None
                if said is not None and await opened.has_taken(said.queue_id):
                    content = content[: -len(said.content)]  # answers in words may precede it
                self._in_hand = None
                await opened.prompt(content, turn_uuid=uuid, was_idle=was_idle)
            case e.Steer(item=item):
                try:
                    content = await self._loaded(item.content)
                except Refused:
                    self._conversation.steer_refused(item.queue_id)
                    return
                if self._open is None or not await self._open.steer(
                    content, message_id=item.queue_id
                ):
                    self._conversation.steer_refused(item.queue_id)
            case e.Deliver(resume=resume):
                allowed = await self._may_spend() if resume else None
                if resume and allowed is None:
                    return
                opened = await self._opened(allowed)
                self._in_hand = None
                await opened.deliver(command)
            case e.Choose():
                try:
                    if self._current is not None:  # else the next session is opened with it
                        await self._current.choose(command)
                finally:
                    self._conversation.chosen()
            case e.AskAgent():
                await self._control(command)
            case e.CloseAgent():
                # An idle agent loses nothing. If it began a turn or background work by itself since
                # the command, the conversation ends that when it handles the end of the agent.
                if self._current is not None:
                    self._end_agent("The agent was not needed and was closed.")
            case e.HandOver():
                await self._close_agent()
                self._conversation.handed_over()
            case _:
                pass

    async def _loaded(self, content: list[Content]) -> list[Content]:
        """Returns the content with pictures and files as this agent takes them. Raises Refused."""
        able = self._agent.capabilities
        if able.images:
            content = await with_pictures(content, self._fetch)
        if not any(isinstance(item, FileContent) for item in content):
            return content
        start = self._conversation.session_start()
        start = await asyncio.to_thread(within_roots, start, self._roots)
        return await with_files(content, self._fetch, able, start.cwd)

    async def _may_spend(self) -> Allowance | None:
        """Returns what the next turn may cost. Returns None if it was refused and its end posted.

        An open session keeps the allowance it was opened with. The allowance shrinks if the user
        spends money in another conversation, and grows if a new period begins. Then this session is
        closed and the turn goes to a new one. Background work would end with the session, so the
        session stays open while such work runs.
        """
        before = None if self._current is None else self._current.allowed
        allowed = await self._conversation.reserve(before)
        if allowed.refused is not None:
            self._conversation.post(not_begun(self._agent.name, allowed.refused))
            return None
        if before is not None and allowed.differs_from(before):
            await self._close_agent()
        return allowed

    async def _control(self, command: e.AskAgent) -> None:
        try:
            opened = await self._opened()
        except BaseException as error:
            self._conversation.answered(command.control_id, refusal_of(error))
            if not isinstance(error, Exception):
                raise
            return
        task = opened.control(command)
        if isinstance(command.control, RewindFiles):  # no turn may change files at the same time
            await asyncio.wait([task])

    async def _opened(self, allowed: Allowance | None = None) -> OpenAgent:
        """Returns the open agent; opens one if needed.

        The agent cannot be ending here: an end cancels the current command and blocks the next one.
        """
        if self._current is None:
            allowed = allowed or await self._conversation.allowance()
            start = self._conversation.session_start()
            pieces = await self._conversation.pieces()
            start = structs.replace(start, max_budget_usd=allowed.left, pieces=pieces)
            session = await open_session(self._agent, start, self._slot, self._roots)
            process = self._new_id()[:8]
            self._current = OpenAgent(
                session, process, allowed, self._slot, self._conversation, self._end_agent
            )
        return self._current

    def _refuse_controls(self) -> None:
        """Refuses the controls in the queue."""
        for command in self._commands:
            if isinstance(command, e.AskAgent):
                self._conversation.answered(command.control_id, refusal_of())
        left = [command for command in self._commands if not isinstance(command, e.AskAgent)]
        self._commands = deque(left)

    def _stop(self, command: e.StopAgent) -> None:
        self._refuse_controls()
        is_queued = any(isinstance(each, e.Prompt) for each in self._commands)
        # Choices, and answers to background work, are no part of the turn: the agent gets them.
        self._commands = deque(
            each
            for each in self._commands
            if isinstance(each, e.Choose | e.Deliver) and not e.hands_over(each)
        )
        if command.force or self._open is None or e.hands_over(self._in_hand):
            self._end_agent(None, forced=True)  # and every process that it started
        elif is_queued:  # the agent knows nothing of the turn, so it cannot report its end
            whose = (self._agent.name, self.native_session_id or "", None, None)
            self._conversation.post([TurnCompleted(*whose, interrupted=True)])
        else:
            self._open.interrupt()

    # --- the end of the agent -----------------------------------------------------------------

    @property
    def _open(self) -> OpenAgent | None:
        """The agent, unless it is ending."""
        return None if self._current is None or self._current.is_closing else self._current

    def _end_agent(self, message: str | None, *, forced: bool = False) -> None:
        """Ends the agent, if one is open, and posts the reason to the conversation.

        The current command is cancelled: it is meant for this agent, or it has to stop.
        """
        if self._unknown_end is not None:
            return  # a second reason, for the same end
        worker = None if self._worker is asyncio.current_task() else self._worker
        if worker is not None:
            worker.cancel()
        # In its own task, which only `close` cancels: an end that is never posted would block all
        # later commands.
        reporting = asyncio.create_task(self._tell_end(worker, message, forced))
        self._unknown_end = _End(self._current, reporting)

    async def _tell_end(
        self, worker: asyncio.Task[None] | None, message: str | None, forced: bool
    ) -> None:
        if worker is not None:  # it may be opening an agent
            await asyncio.wait([worker])
            self._worker = None
        processes = await self._close_agent()
        self._conversation.agent_ended(message, forced=forced, processes=processes)

    async def _close_agent(self) -> list[EndedProcess]:
        if self._current is None:
            return []
        processes = await self._current.close()
        self._current = None
        return processes
