"""One turn of an agent that is a function: what the function reads, and what it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, Protocol
from uuid import uuid4

from turnwire.agents.asking import Answers, Ask, answers_of, form_input, question_input, words_of
from turnwire.agents.client_tools import ClientTool, client_call
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ThinkingBlock, TodoItem, ToolUseBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message, TextPart, to_json
from turnwire.core.questions import ONLY, questions_of
from turnwire.core.usage import Usage

__all__ = ["AgentTurn", "Denied", "RunningTool"]

_Kind = Literal["text", "thinking"]


class _Session(Protocol):
    """What a turn needs of its session."""

    conversation_id: str
    client_tools: list[ClientTool]
    whose: tuple[str, str, None, None]

    def say(self, *events: NormalizedStreamEvent) -> None: ...

    def say_result(self, call: str, text: str, *, is_error: bool = False) -> None: ...

    async def let_read(self) -> None: ...

    async def entries(self) -> list[Message]: ...


class Denied(Exception):
    """A person has denied a tool call. If the function does not handle it, its turn ends.

    `reason`: the person's own words, or None.
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(
            f"The call was denied: {reason}" if reason else "The call was not allowed."
        )
        self.reason = reason


class RunningTool:
    """A tool call that runs. Set `result` before its block ends."""

    def __init__(self, session: _Session, call: str, name: str) -> None:
        self.result = ""
        self._session = session
        self._call = call
        self._name = name

    async def output(self, piece: str) -> None:
        """Shows a piece of the tool's output as it comes. The log keeps only the result."""
        whose = self._session.whose
        self._session.say(ev.ToolProgress(*whose, self._call, self._name, output=piece))
        await self._session.let_read()


class AgentTurn:
    """One turn, as the function of a FunctionAgent sees it.

    - `text`: the words of the person's message.
    - `content`: the whole message, with pictures and files.
    - `conversation_id`: the conversation of the turn.
    - `answer`: None, or the answer to a question whose process has ended since. Then there is no
      message, and `text` is empty. The result of a front end's tool comes the same way.
    - `answers`: empty, or the answers to such a form: by the text of each question.
    - `client_tools`: the tools that the front end offers; see `use_client_tool`.
    - `usage`, `cost_usd`: set them before the end, if you know what the turn has used.
    """

    def __init__(
        self,
        session: _Session,
        content: list[Content],
        answer: Any = None,
        run: str | None = None,
    ) -> None:
        """`run`: the run id of the turn, whose own entries are no part of its history."""
        self.content = content
        self.text = "\n".join(part.text for part in content if isinstance(part, TextContent))
        self.answer = None if answer is None else words_of(answer)
        self.answers: Answers = {}
        if isinstance(answer, dict) and ONLY not in answer:
            self.answers = answer
        self.conversation_id = session.conversation_id
        self.client_tools = session.client_tools
        self.usage: Usage | None = None
        self.cost_usd: float | None = None
        self._session = session
        self._run = run
        self._message = ""  # the id of the open message
        self._kind: _Kind = "text"  # of its only block
        self._said = ""  # its content so far
        self._waiting: tuple[str, asyncio.Future[Any]] | None = None
        self._reason: str | None = None  # of the last decision

    async def history(self) -> list[tuple[Literal["user", "assistant"], str]]:
        """Returns what was said before this turn: who spoke, and the text, oldest first.

        It is read from the log, so it is complete after a restart, in a fork, and if other agents
        spoke before. Tool calls, reasoning and the words of sub-agents are left out. In a turn that
        continues with an `answer`, the message of the turn is part of it.

        Example:

            messages = [{"role": who, "content": text} for who, text in await turn.history()]
        """
        said: list[tuple[Literal["user", "assistant"], str]] = []
        for entry in await self._session.entries():
            is_own = self._run is not None and entry.run_id == self._run
            if is_own or entry.meta.get("parentToolUseId") is not None:
                continue
            texts = [part.payload.text for part in entry.parts if isinstance(part, TextPart)]
            if texts and entry.role in ("user", "assistant"):
                said.append((entry.role, "\n".join(texts)))
        return said

    async def say(self, piece: str) -> None:
        """Adds a piece to the answer. Clients see it at once."""
        await self._grow("text", piece)

    async def think(self, piece: str) -> None:
        """Adds a piece to the reasoning before the answer. Clients see it at once."""
        await self._grow("thinking", piece)

    @asynccontextmanager
    async def tool(
        self, name: str, given: Any = None, *, needs_permission: bool = False
    ) -> AsyncGenerator[RunningTool]:
        """Shows a tool call with its input while the block runs, then its result.

        With `needs_permission`, a person has to allow the call first. Raises Denied if they do not.
        An exception becomes the result, marked as an error, and is raised again.

        Example:

            async with turn.tool("search", {"query": "soup"}) as call:
                call.result = await search("soup")
        """
        self._finish()
        session, call, given = self._session, f"call-{uuid4()}", _plain_input(name, given)
        block = ToolUseBlock(call, name, "FUNCTION", given, "completed")
        session.say(ev.AssistantMessage(*session.whose, f"message-{call}", 0, [block]))
        running = RunningTool(session, call, name)
        try:
            if needs_permission:
                asked = ev.PermissionRequested(
                    *session.whose, call, call, name, given, decision_only=True
                )
                if await self._wait_for(asked) != "allow":
                    raise Denied(self._reason)
            yield running
            if not isinstance(running.result, str):
                kind = type(running.result).__name__
                said = f"The result of the tool {name!r} is a text, not {kind}"
                raise TypeError(f"{said}: use str() or json.dumps().")
        except asyncio.CancelledError:
            session.say_result(call, "The turn was stopped.", is_error=True)
            raise
        except Denied as denied:
            session.say_result(call, str(denied), is_error=True)
            raise
        except Exception as error:
            session.say_result(call, f"{type(error).__name__}: {error}", is_error=True)
            raise
        session.say_result(call, running.result)

    async def ask(
        self,
        question: str,
        options: Sequence[str | tuple[str, str]] = (),
        *,
        free_text: bool = True,
    ) -> str:
        """Asks a person and returns the answer: one of the options, or the person's own words.

        An option is its label, or a pair of its label and a description.
        """
        ask = Ask(question, options, free_text=free_text)
        return words_of(await self._ask(question_input(ask)))

    async def ask_form(self, questions: Sequence[Ask]) -> Answers:
        """Asks several questions at once. Returns the answers by the text of each question.

        Raises ValueError if there is no question, or the same one twice.

        Example:

            order = await turn.ask_form([
                Ask("Which size?", ["small", ("large", "enough for two")]),
                Ask("Which extras?", ["milk", "ice"], multi=True),
            ])
            size, extras = order["Which size?"], order["Which extras?"]
        """
        return answers_of(await self._ask(form_input(questions)), questions)

    async def _ask(self, given: dict[str, Any]) -> Any:
        self._finish()
        whose, call = self._session.whose, f"call-{uuid4()}"
        block = ToolUseBlock(call, "request_input", "QUESTION", given, "completed")
        asked = ev.QuestionAsked(*whose, call, call, "request_input", questions_of(given), given)
        return await self._answer(call, block, asked)

    async def use_client_tool(self, name: str, given: Any = None) -> str:
        """Has the front end run one of its tools, and returns the result.

        Raises ValueError if the front end has no such tool.
        """
        if name not in [tool.name for tool in self.client_tools]:
            there = ", ".join(tool.name for tool in self.client_tools) or "none"
            raise ValueError(f"The front end has no tool {name!r}; it has: {there}.")
        self._finish()
        call, given = f"call-{uuid4()}", _plain_input(name, given)
        block = ToolUseBlock(call, name, "FUNCTION", given, "completed")
        asked = client_call(self._session.whose, call, name)
        return words_of(await self._answer(call, block, asked))

    async def _answer(self, call: str, block: ToolUseBlock, asked: ev.QuestionAsked) -> Any:
        """Emits a call that asks. Returns the answer, which becomes the result of the call."""
        whose = self._session.whose
        message = ev.AssistantMessage(*whose, f"message-{call}", 0, [block])
        try:
            said = await self._wait_for(asked, message)
        except asyncio.CancelledError:
            self._session.say_result(call, "The turn was stopped.", is_error=True)
            raise
        self._session.say_result(call, words_of(said))
        return said

    async def plan(self, items: Sequence[tuple[str, str]]) -> None:
        """Shows the whole plan: each item with `pending`, `in_progress` or `completed`.

        Raises ValueError for another status, or for an item that is no pair.
        """
        todo = [_plan_item(item) for item in items]
        self._session.say(ev.PlanUpdated(*self._session.whose, todo))
        await self._session.let_read()

    async def _wait_for(
        self, request: ev.QuestionAsked | ev.PermissionRequested, *before: NormalizedStreamEvent
    ) -> Any:
        """Asks a person. Returns the answer to a question, or the decision about a permission.

        `before` are emitted together with the request.
        """
        self._session.say(*before, request)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting = (request.request_id, answer)
        try:
            return await answer
        except asyncio.CancelledError:
            self._session.say(ev.RequestWithdrawn(*self._session.whose, request.request_id))
            raise
        finally:
            self._waiting = None

    # --- used by the session ------------------------------------------------------------------

    def _take(self, reply: Reply) -> bool:
        """Hands a reply to the question that waits for it. Returns False if none does."""
        if self._waiting is None or self._waiting[0] != reply.request_id:
            return False
        answer = self._waiting[1]
        if reply.kind == "permission" and not answer.done():
            self._reason = reply.reason
            answer.set_result(reply.decision or "deny")
        elif reply.decision == "deny":
            answer.cancel()  # the question was cancelled, because its turn is stopped
        elif not answer.done():
            answer.set_result(reply.answer)
        return True

    def _finish(self) -> None:
        """Completes the open message, if there is one."""
        if self._message:
            whose, block = self._session.whose, _block(self._kind, self._said, "completed")
            self._session.say(
                ev.AssistantMessage(*whose, self._message, 0, [block]),
                ev.ContentCompleted(*whose, self._message, 0, block),
                ev.MessageCompleted(*whose, self._message, "end_turn"),
            )
            self._message = self._said = ""

    async def _grow(self, kind: _Kind, piece: str) -> None:
        if not isinstance(piece, str):
            raise TypeError(f"An agent says text, not {type(piece).__name__}.")
        if kind != self._kind:
            self._finish()
        whose = self._session.whose
        if not self._message:
            self._message, self._kind = f"message-{uuid4()}", kind
            self._session.say(
                ev.MessageStarted(*whose, self._message),
                ev.ContentStarted(*whose, self._message, 0, _block(kind, "", "in_progress")),
            )
        self._said += piece
        self._session.say(ev.ContentDelta(*whose, self._message, 0, kind, piece))
        await self._session.let_read()


def _block(
    kind: _Kind, text: str, status: Literal["in_progress", "completed"]
) -> TextBlock | ThinkingBlock:
    return TextBlock(text, status) if kind == "text" else ThinkingBlock(text, status)


def _plain_input(tool: str, given: Any) -> Any:
    """Returns the input of a call as plain JSON. Raises TypeError if it is none."""
    try:
        return to_json(given) if given else {}
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"The input of the tool {tool!r} cannot be JSON: {error}") from None


def _plan_item(item: Any) -> TodoItem:
    match item:
        case (str(text), "pending" | "in_progress" | "completed" as status):
            return TodoItem(text, status)
        case _:
            said = "An item of a plan is a text with pending, in_progress or completed"
            raise ValueError(f"{said}; this one is {item!r}.")
