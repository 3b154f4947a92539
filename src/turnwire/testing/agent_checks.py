"""The checks of the agent port. Each check opens its own sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import TextContent
from turnwire.core.controls import (
    ContextUsage,
    ListCommands,
    ListModels,
    ListSessionOptions,
    McpStatus,
    name_of,
)
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import (
    Agent,
    AgentGone,
    AgentSession,
    NativeFork,
    SessionPiece,
    SessionStart,
)
from turnwire.testing.agent_in_engine import check_question_in_engine
from turnwire.testing.agent_listener import (
    REQUESTS,
    AgentBroken,
    Listener,
    processes_below_us,
    still_running,
)
from turnwire.testing.agent_order import EventOrder

__all__ = ["AgentChecks", "Prompts", "Skip", "answer_to", "has_spoken", "result_in"]

_Request = TypeVar("_Request", ev.QuestionAsked, ev.PermissionRequested)


class Skip(Exception):
    """Raised if a check has no prompt, or if the agent does not claim the capability."""


class Prompts(Struct, frozen=True):
    """The prompts for the checks. A check whose prompt is None is skipped.

    - `plain`: gets an answer, and the agent asks nothing
    - `long`: gets an answer that takes long enough to be interrupted
    - `tool`: makes the agent call a tool
    - `question`: makes the agent ask a question
    - `permission`: makes the agent want a permission

    After all but `plain`, the agent may ask more: its other questions are answered, and its calls are allowed.
    """

    plain: str = "Hello."
    long: str | None = None
    tool: str | None = None
    question: str | None = None
    permission: str | None = None


class AgentChecks:
    """The checks, one method each. A method raises AgentBroken if the check fails, or Skip."""

    def __init__(self, make: Callable[[], Agent], prompts: Prompts, seconds: float) -> None:
        self.make = make
        self.prompts = prompts
        self.seconds = seconds
        self.notes: list[str] = []
        self._sessions = 0

    @asynccontextmanager
    async def session(
        self,
        native_session_id: str | None = None,
        calls: set[str] | None = None,
        *,
        fork: NativeFork | None = None,
        pieces: Sequence[SessionPiece] = (),
    ) -> AsyncIterator[Listener]:
        """Opens a session and reads its events. Closes it at the end and checks the event order.

        `calls` are the tool calls that an earlier session has left open.
        """
        self._sessions += 1
        name = f"check-{self._sessions}"
        start = SessionStart(name, native_session_id, fork=fork, pieces=list(pieces))
        try:
            async with asyncio.timeout(max(30.0, self.seconds)):
                session = await self.make().open(start)
        except AgentGone as gone:
            raise AgentBroken(f"open() raised AgentGone: {gone.message}") from gone
        heard = Listener(session, EventOrder(calls or ()), self.seconds)
        try:
            yield heard
        finally:
            try:
                await self._close(session)
            finally:
                await heard.stop()
        if heard.order.problems:
            raise AgentBroken("; ".join(dict.fromkeys(heard.order.problems)))

    async def say(self, heard: Listener, text: str | None) -> None:
        """Sends a prompt. Raises Skip if the prompt is None."""
        if text is None:
            raise Skip
        turn = f"check-{self._sessions}:{heard.order.turns_ended + 1}"
        await heard.session.prompt([TextContent(text)], turn_uuid=turn)

    async def plain_ends(self, heard: Listener, number: int) -> list[NormalizedStreamEvent]:
        """Waits for the end of a turn that asks nothing. Returns all events so far."""
        try:
            return await heard.turn_ends(number)
        except AgentBroken as broken:
            if not heard.events or not isinstance(heard.events[-1], REQUESTS):
                raise
            hint = "Set `Prompts.plain` to a prompt after which the agent asks nothing."
            raise AgentBroken(f"{broken}. {hint}") from None

    async def until(self, heard: Listener, done: Callable[[], bool], what: str) -> None:
        """Waits until `done()` is true. Answers the questions that come before, and allows calls."""
        while True:
            await heard.until(lambda: done() or bool(heard.waiting()), what)
            if done():
                return
            for asked in heard.waiting():
                heard.replied.add(asked.request_id)
                await heard.session.deliver([_reply_to(asked)], resumed=False)

    async def turn_ends(
        self,
        heard: Listener,
        number: int,
        replied_to: ev.QuestionAsked | ev.PermissionRequested | None = None,
    ) -> None:
        """Waits for the end of a turn. Answers all requests but `replied_to`, which has its reply."""
        if replied_to is not None:
            heard.replied.add(replied_to.request_id)
        await self.until(heard, lambda: heard.order.turns_ended >= number, f"end of turn {number}")

    # --- the checks ---------------------------------------------------------------------------

    async def describes_itself(self) -> None:
        agent = self.make()
        if not agent.name:
            raise AgentBroken("the agent has no name")
        if agent.capabilities != agent.capabilities:
            raise AgentBroken("its capabilities change between two reads")

    async def a_prompt_gets_a_turn(self) -> None:
        async with self.session() as heard:
            await self.say(heard, self.prompts.plain)
            events = await self.plain_ends(heard, 1)
            failed = heard.first(ev.TurnFailed)
            if failed is not None:
                raise AgentBroken(f"the turn failed: {failed.code}: {failed.message}")
            if not any(
                isinstance(event, ev.AssistantMessage | ev.ContentCompleted) for event in events
            ):
                raise AgentBroken("the turn has no content")
            if heard.session.native_session_id is None:
                raise AgentBroken("native_session_id is still None after a turn")

    async def a_second_prompt_gets_a_second_turn(self) -> None:
        async with self.session() as heard:
            for number in (1, 2):
                await self.say(heard, self.prompts.plain)
                await self.plain_ends(heard, number)

    async def a_resumed_session_answers(self) -> None:
        async with self.session() as heard:
            await self.say(heard, self.prompts.plain)
            await self.plain_ends(heard, 1)
            name, known = heard.session.native_session_id, _names(heard)
        async with self.session(name) as heard:
            await self.say(heard, self.prompts.plain)
            await self.plain_ends(heard, 1)
            if repeated := _names(heard) & known:
                said = ", ".join(sorted(repeated))
                raise AgentBroken(f"a second process uses ids of the first one again: {said}")

    async def a_tool_has_its_result(self) -> None:
        async with self.session() as heard:
            await self.say(heard, self.prompts.tool)
            await self.turn_ends(heard, 1)
            if not heard.order.calls:
                raise AgentBroken("the agent called no tool")
            missing = heard.order.calls - heard.order.results
            if missing:
                raise AgentBroken(f"calls without a result: {', '.join(sorted(missing))}")

    async def an_interrupt_ends_the_turn(self) -> None:
        async with self.session() as heard:
            await heard.session.interrupt()  # must do nothing without a turn
            await self.say(heard, self.prompts.long)
            await self.until(heard, lambda: has_spoken(heard.events), "first words")
            await heard.session.interrupt()
            try:
                await heard.turn_ends(1)
            except AgentBroken:
                if heard.over:
                    raise
                self.notes.append("interrupt: ignored; only close() stops this agent")
                return
            end = heard.first(ev.TurnCompleted)
            if end is None or not end.interrupted:
                self.notes.append("interrupt: the turn ended, but not marked as interrupted")
            await self.say(heard, self.prompts.plain)
            await self.plain_ends(heard, 2)

    async def a_question_is_answered(self) -> None:
        async with self.session() as heard:
            await self.say(heard, self.prompts.question)
            asked = await self.asked(heard, ev.QuestionAsked)
            await heard.session.deliver([answer_to(asked)], resumed=False)
            await self.turn_ends(heard, 1, asked)
            _expect_result(heard.events, asked.tool_use_id)

    async def a_question_reaches_a_person(self) -> None:
        """Checks with a real engine and store that a person is asked and the agent is answered."""
        if self.prompts.question is None:
            raise Skip
        await check_question_in_engine(self.make(), self.prompts.question, self.seconds)

    async def a_question_survives_its_process(self) -> None:
        if not self.make().capabilities.questions_survive:
            raise Skip
        async with self.session() as heard:
            await self.say(heard, self.prompts.question)
            asked = await self.asked(heard, ev.QuestionAsked)
            name = heard.session.native_session_id
        async with self.session(name, {asked.tool_use_id}) as heard:
            await heard.session.deliver([answer_to(asked)], resumed=True)
            await self.turn_ends(heard, 1, asked)
            _expect_result(heard.events, asked.tool_use_id)

    async def a_permission_is_allowed_or_denied(self) -> None:
        for decision in ("allow", "deny"):
            async with self.session() as heard:
                await self.say(heard, self.prompts.permission)
                asked = await self.asked(heard, ev.PermissionRequested)
                allowed = decision == "allow"
                reply = Reply(
                    asked.request_id, "permission", decision="allow" if allowed else "deny"
                )
                await heard.session.deliver([reply], resumed=False)
                await self.turn_ends(heard, 1, asked)
                result = _expect_result(heard.events, asked.tool_use_id)
                if not allowed and not result.is_error:
                    raise AgentBroken("the result of a denied call is not an error")

    async def asked(self, heard: Listener, kind: type[_Request]) -> _Request:
        """Waits for the first request of this kind, and returns it. Replies to the others before."""
        await self.until(heard, lambda: heard.first(kind) is not None, kind.__name__)
        asked = heard.first(kind)
        if asked is None:
            raise AgentBroken(f"no {kind.__name__}")
        return asked

    async def a_control_is_answered_or_refused(self) -> None:
        able = self.make().capabilities.controls
        async with self.session() as heard:
            for control in (
                *(McpStatus(), ContextUsage(), ListModels(), ListCommands()),
                ListSessionOptions(),
            ):
                name = name_of(control)
                try:
                    async with asyncio.timeout(self.seconds):
                        await heard.session.control(control)
                except Refused as refused:
                    if name in able or refused.code != "NOT_SUPPORTED":
                        raise AgentBroken(f"{name} was refused: {refused.code}") from refused
                else:
                    if name not in able:
                        raise AgentBroken(f"{name} was answered, but is not in its capabilities")

    async def closing_ends_everything(self) -> None:
        """Closes a session twice during a turn and checks that no process is left."""
        before = processes_below_us()
        async with self.session() as heard:
            await self.say(heard, self.prompts.long or self.prompts.plain)
            await heard.until(lambda: heard.first(ev.TurnStarted) is not None, "TurnStarted")
            ours = processes_below_us() - before
            await self._close(heard.session)
            await self._close(heard.session)
            await heard.until_over()
            if heard.gone is not None:
                raise AgentBroken("events() raised AgentGone although the session was closed")
            try:
                await heard.session.prompt([TextContent("Hello?")], turn_uuid="too-late")
            except AgentGone:
                pass
            else:
                raise AgentBroken("prompt() after close() did not raise AgentGone")
        left = await still_running(ours | (processes_below_us() - before), self.seconds)
        if left:
            names = ", ".join(f"{process.name} ({process.pid})" for process in left)
            raise AgentBroken(f"processes still run after close(): {names}")

    async def an_idle_session_closes(self) -> None:
        async with self.session() as heard:
            await self._close(heard.session)
            await heard.until_over()

    async def _close(self, session: AgentSession) -> None:
        try:
            async with asyncio.timeout(self.seconds):
                await session.close()
        except TimeoutError:
            raise AgentBroken(f"close() took more than {self.seconds:g} seconds") from None


def has_spoken(events: list[NormalizedStreamEvent]) -> bool:
    """Returns whether the agent has said something."""
    return any(isinstance(event, ev.ContentDelta | ev.AssistantMessage) for event in events)


def answer_to(asked: ev.QuestionAsked) -> Reply:
    """Returns an answer: the first option of every question, or a text."""
    answers = {
        question.id: question.options[0].label if question.options else "Yes"
        for question in asked.questions
    }
    answer = next(iter(answers.values())) if len(answers) == 1 else answers
    return Reply(asked.tool_use_id, "question", answer)


def _reply_to(asked: ev.QuestionAsked | ev.PermissionRequested) -> Reply:
    if isinstance(asked, ev.QuestionAsked):
        return answer_to(asked)
    return Reply(asked.request_id, "permission", decision="allow")


def result_in(events: list[NormalizedStreamEvent], tool_use_id: str) -> ToolResultBlock | None:
    """Returns the result of a call. Returns None if it has none."""
    for event in events:
        if isinstance(event, ev.UserMessage):
            for block in event.content:
                if isinstance(block, ToolResultBlock) and block.tool_use_id == tool_use_id:
                    return block
    return None


def _expect_result(events: list[NormalizedStreamEvent], tool_use_id: str) -> ToolResultBlock:
    found = result_in(events, tool_use_id)
    if found is None:
        raise AgentBroken(f"the answer did not become the result of {tool_use_id}")
    return found


def _names(heard: Listener) -> set[str]:
    """Returns the ids of the messages and tool calls so far."""
    said = [event for event in heard.events if isinstance(event, ev.AssistantMessage)]
    return {event.message_id for event in said} | heard.order.calls
