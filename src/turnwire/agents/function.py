"""An agent that is one async function, called for each turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import ONLY, questions_of
from turnwire.ports import AgentCapabilities, SessionStart

__all__ = ["AgentTurn", "FunctionAgent"]

_log = logging.getLogger("turnwire")


class FunctionAgent:
    """Calls an async function for each turn. The turn ends when the function returns.

    Example:

        async def answer(turn):
            size = turn.answer or await turn.ask("Which size?", ["small", "large"])
            await turn.say(f"One {size} soup, coming.")

        agent = FunctionAgent("waiter", answer)

    An exception ends the turn as failed. An interrupt cancels the function.
    """

    def __init__(self, name: str, function: Callable[[AgentTurn], Awaitable[None]]) -> None:
        self.name = name
        self.function = function
        self.capabilities = AgentCapabilities(questions_survive=True)

    def unavailable(self) -> str | None:
        """Returns None: a function is always available."""
        return None

    async def open(self, start: SessionStart) -> FunctionSession:
        """Opens a session. A resumed session keeps its id."""
        session_id = start.native_session_id or f"{self.name}-{uuid4()}"
        return FunctionSession(self, session_id, start.conversation_id)


class AgentTurn:
    """One turn, as the function of a FunctionAgent sees it.

    - `text`: the words of the person's message.
    - `content`: the whole message, with pictures and files.
    - `conversation_id`: the conversation of the turn.
    - `answer`: None, or the answer to a question whose process has ended since. Then there is no
      message, and `text` is empty.
    """

    def __init__(
        self, session: FunctionSession, content: list[Content], answer: str | None = None
    ) -> None:
        self.content = content
        self.text = "\n".join(part.text for part in content if isinstance(part, TextContent))
        self.answer = answer
        self.conversation_id = session.conversation_id
        self._session = session
        self._message = ""  # the id of the open message
        self._said = ""  # the text of the open message
        self._waiting: tuple[str, asyncio.Future[str]] | None = None

    async def say(self, piece: str) -> None:
        """Adds a piece to the answer. Clients see it at once."""
        whose = self._session.whose
        if not self._message:
            self._message = f"message-{uuid4()}"
            empty = TextBlock("", "in_progress")
            self._session.say(
                ev.MessageStarted(*whose, self._message),
                ev.ContentStarted(*whose, self._message, 0, empty),
            )
        self._said += piece
        self._session.say(ev.ContentDelta(*whose, self._message, 0, "text", piece))
        await self._session.let_read()

    async def ask(self, question: str, options: Sequence[str] = ()) -> str:
        """Asks a person and returns the answer: one of the options, or the person's own words."""
        self._finish()
        whose, call = self._session.whose, f"call-{uuid4()}"
        given = {"question": question, "options": list(options)}
        block = ToolUseBlock(call, "request_input", "QUESTION", given, "completed")
        asked = ev.QuestionAsked(*whose, call, call, "request_input", questions_of(given), given)
        self._session.say(ev.AssistantMessage(*whose, f"message-{call}", 0, [block]), asked)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting = (call, answer)
        try:
            said = await answer
        except asyncio.CancelledError:
            self._session.say(ev.RequestWithdrawn(*whose, call))
            self._session.say_result(call, "The turn was stopped.", is_error=True)
            raise
        finally:
            self._waiting = None
        self._session.say_result(call, said)
        return said

    def _take(self, reply: Reply) -> bool:
        """Hands a reply to the question that waits for it. Returns False if none does."""
        if self._waiting is None or self._waiting[0] != reply.request_id:
            return False
        if reply.decision == "deny":
            self._waiting[1].cancel()  # the question was cancelled, because its turn is stopped
        elif not self._waiting[1].done():
            self._waiting[1].set_result(_words(reply.answer))
        return True

    def _finish(self) -> None:
        """Completes the open message, if there is one."""
        if self._message:
            whose, block = self._session.whose, TextBlock(self._said, "completed")
            self._session.say(
                ev.AssistantMessage(*whose, self._message, 0, [block]),
                ev.ContentCompleted(*whose, self._message, 0, block),
                ev.MessageCompleted(*whose, self._message, "end_turn"),
            )
            self._message = self._said = ""


class FunctionSession(LocalSession):
    """An agent session of a FunctionAgent."""

    def __init__(self, agent: FunctionAgent, session_id: str, conversation_id: str) -> None:
        super().__init__()
        self.native_session_id = session_id
        self.conversation_id = conversation_id
        self.whose = (agent.name, session_id, None, None)  # the first four fields of every event
        self._function = agent.function
        self._turn: AgentTurn | None = None
        self._running: asyncio.Future[None] | None = None

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Calls the function with the message."""
        self._begin(AgentTurn(self, content))

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Continues the function, or calls it with the answer if another process has asked."""
        self._check_open()
        for reply in replies:
            is_taken = self._turn is not None and self._turn._take(reply)
            if resumed and not is_taken:
                turn = AgentTurn(self, [], _words(reply.answer))
                self._begin(turn, None if reply.in_words else reply)

    async def interrupt(self) -> None:
        """Cancels the function."""
        self._check_open()
        if self._running is not None:
            self._running.cancel()

    def _begin(self, turn: AgentTurn, reply: Reply | None = None) -> None:
        self._check_open()
        self.say(ev.TurnStarted(*self.whose))
        if reply is not None:
            self.say_result(reply.request_id, _words(reply.answer))
        self._turn = turn
        self._running = asyncio.ensure_future(self._function(turn))
        self._start(self._end(turn, self._running))

    async def _end(self, turn: AgentTurn, running: asyncio.Future[None]) -> None:
        """Waits for the function, then ends the turn accordingly."""
        ended: NormalizedStreamEvent = ev.TurnCompleted(*self.whose, "end_turn")
        try:
            await running
        except asyncio.CancelledError:
            if self._is_over:
                raise
            ended = ev.TurnCompleted(*self.whose, interrupted=True)
        except Exception as error:
            _log.exception("The function of the agent %r failed.", self.whose[0])
            ended = ev.TurnFailed(
                *self.whose, "function_failed", f"{type(error).__name__}: {error}"
            )
        turn._finish()
        self._turn = self._running = None
        failed = isinstance(ended, ev.TurnFailed)
        summary = ev.ResultSummary(*self.whose, "error" if failed else "success", failed)
        self.say(ended, summary)

    # --- used by the turns --------------------------------------------------------------------

    def say(self, *events: NormalizedStreamEvent) -> None:
        """Emits these events in one batch."""
        self._say(*events)

    def say_result(self, call: str, text: str, *, is_error: bool = False) -> None:
        """Emits the result of a tool call."""
        block = ToolResultBlock(call, text, is_error, "failed" if is_error else "completed")
        self._say(ev.UserMessage(*self.whose, [block], "tool"))

    async def let_read(self) -> None:
        """Waits while too many events are unread."""
        await self._let_read()


def _words(answer: Any) -> str:
    """Returns the answer to the only question, which clients may send as an object."""
    if isinstance(answer, dict):
        answer = answer.get(ONLY)
    return "" if answer is None else str(answer)
