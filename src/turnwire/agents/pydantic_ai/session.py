"""One session of a pydantic-ai agent: each turn is a run of it."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from msgspec import UNSET, UnsetType
from pydantic_ai import messages as ai
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.tools import (
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset, FunctionToolset
from pydantic_ai.usage import RunUsage

from turnwire.agents.client_tools import ClientTool, client_call, client_tools_of
from turnwire.agents.local import LocalSession
from turnwire.agents.pydantic_ai.history import calls_in, history_of, open_calls, prompt_of
from turnwire.agents.pydantic_ai.stream import CallIds, RunStream
from turnwire.core import events as ev
from turnwire.core.answers import as_text, in_words
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.core.message import Message
from turnwire.core.questions import questions_of
from turnwire.core.usage import Usage
from turnwire.ports import ReadsHistory, SessionStart

__all__ = ["PydanticSession"]

_log = logging.getLogger("turnwire")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class PydanticSession(LocalSession):
    """An agent session. It stores nothing: the log of the conversation is its memory."""

    def __init__(self, name: str, agent: Any, start: SessionStart, run_options: dict[str, Any]):
        super().__init__()
        self._agent = agent
        self._run_options = run_options
        self._model = start.model
        self._client_tools = client_tools_of(start.options)
        self._history_of: ReadsHistory | None = start.history
        self._history: list[Any] | None = None  # None: to be read from the log
        self.native_session_id = start.native_session_id or f"{name}-{uuid4()}"
        self._whose = (name, self.native_session_id, None, None)
        self._running: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        self._always: set[str] = set()  # tools that a person has allowed for the session
        self._ids = CallIds()
        self._stream = RunStream(self._whose, self._ids)
        self._stops = False

    # --- the port -----------------------------------------------------------------------------

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Begins a run with the message."""
        self._check_open()
        self._begin(prompt_of(content))

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Continues the run that asked, or begins one with the answers as results of their calls."""
        self._check_open()
        late = []
        for reply in replies:
            waiting = self._waiting.get(reply.request_id)
            if waiting is None:
                late.append(reply)
            elif not waiting.done():
                waiting.set_result(reply)
        if resumed and late and self._running is None:
            self._begin(None, late)

    async def interrupt(self) -> None:
        """Cancels the run."""
        self._check_open()
        if self._running is not None:
            self._stops = True
            self._running.cancel()

    async def choose(
        self,
        *,
        model: str | None,
        permission_mode: str | None,
        max_thinking_tokens: int | UnsetType | None = UNSET,
    ) -> None:
        """Changes the model, from the next turn on."""
        self._model = model or self._model

    # --- turns --------------------------------------------------------------------------------

    def _begin(self, prompt: list[Any] | None, late: Sequence[Reply] = ()) -> None:
        self._say(ev.TurnStarted(*self._whose))
        self._stops = False
        self._stream = RunStream(self._whose, self._ids)
        self._running = self._start(self._turn(prompt, late))

    async def _turn(self, prompt: list[Any] | None, late: Sequence[Reply]) -> None:
        began = time.monotonic()
        ended: ev.TurnCompleted | ev.TurnFailed = ev.TurnCompleted(*self._whose, "end_turn")
        spent, output = RunUsage(), None  # a run that fails or is cancelled has used tokens, too
        try:
            given = await self._prepared(prompt, late)
            result = await self._run(given, spent)
            self._history = result.all_messages()
            output = None if isinstance(result.output, str) else _plain(result.output)
        except asyncio.CancelledError:
            if not self._stops or self._is_over:
                raise
            self._history = None
            ended = ev.TurnCompleted(*self._whose, interrupted=True)
        except Exception as error:
            _log.exception("A run of the agent %r failed.", self._whose[0])
            self._history = None
            code = _WORD.sub("_", type(error).__name__).lower()
            ended = ev.TurnFailed(*self._whose, code, str(error) or code)
        interrupted = isinstance(ended, ev.TurnCompleted) and ended.interrupted
        self._say(*self._stream.finish(aborted=interrupted))
        self._running = None
        failed = isinstance(ended, ev.TurnFailed)
        passed = round((time.monotonic() - began) * 1000)
        summary = ev.ResultSummary(
            *self._whose,
            "error" if failed else "success",
            failed,
            passed,
            usage=_usage(spent) if spent.requests else None,
            structured_output=output,
        )
        self._say(ended, summary)

    async def _prepared(self, prompt: list[Any] | None, late: Sequence[Reply]) -> Any:
        """Reads the history, if needed. Returns the prompt, or None to continue from the history."""
        if self._history is None or late:
            entries = await self._entries()
            self._ids.add(calls_in(entries))
            if prompt is not None:
                entries = _without_prompt(entries)
            self._history = self._rebuilt(entries, late)
            known = open_calls(entries)
            unknown = [reply for reply in late if reply.request_id not in known]
            if unknown:  # the log does not have their calls: the model gets the answers in words
                for reply in unknown:
                    self._answered(reply)
                prompt = [in_words(reply.answer for reply in unknown)]
        return prompt

    def _rebuilt(self, entries: list[Message], late: Sequence[Reply]) -> list[Any]:
        """Returns the history. Late answers are the results of the calls that asked."""
        known = open_calls(entries)
        ours = {each.request_id: each for each in late if each.request_id in known}
        found = history_of(entries, leave_open=list(ours))
        results = []
        for call, reply in ours.items():
            said = as_text(reply.answer)
            results.append(
                ai.ToolReturnPart(tool_name=known[call], content=said, tool_call_id=call)
            )
            self._answered(reply)
        return [*found, ai.ModelRequest(parts=results)] if results else found

    def _answered(self, reply: Reply) -> None:
        """Emits a late answer as the result of the call that asked, unless the call has one."""
        if not reply.in_words:
            block = ToolResultBlock(reply.request_id, as_text(reply.answer), False, "completed")
            self._say(ev.UserMessage(*self._whose, [block], "tool"))

    async def _entries(self) -> list[Message]:
        return [] if self._history_of is None else await self._history_of()

    async def _run(self, prompt: Any, spent: RunUsage) -> Any:
        questions = FunctionToolset()
        questions.add_function(self._ask, name="request_input", description=_ASKS)
        given = dict(self._run_options)
        toolsets: list[AbstractToolset[Any]] = [*(given.pop("toolsets", None) or ()), questions]
        if self._client_tools:
            toolsets.append(ExternalToolset([_definition(each) for each in self._client_tools]))
        return await self._agent.run(
            prompt,
            message_history=self._history,
            model=self._model,
            usage=spent,
            toolsets=toolsets,
            capabilities=[
                *(given.pop("capabilities", None) or ()),
                HandleDeferredToolCalls(handler=self._deferred),
            ],
            event_stream_handler=self._hear,
            **given,
        )

    async def _hear(self, ctx: Any, events: Any) -> None:
        """Takes the events of one step of the run: a response of the model, or calls of tools."""
        async for event in events:
            found = self._stream.feed(event)
            if found:
                self._say(*found)
                await self._let_read()
        found = self._stream.finish()
        if found:
            self._say(*found)

    # --- requests -----------------------------------------------------------------------------

    async def _ask(
        self, ctx: RunContext[Any], question: str, options: list[str] | None = None
    ) -> str:
        """Asks a person, as a tool of the model."""
        call = self._ids.of(str(ctx.tool_call_id))
        given = {"question": question, "options": options or []}
        asked = questions_of(given)
        reply = await self._reply(
            call,
            ev.QuestionAsked(*self._whose, call, call, "request_input", asked, given, asks=True),
        )
        return as_text(reply.answer)

    async def _deferred(self, ctx: Any, requests: Any) -> Any:
        """Asks a person for every call that needs an approval, and the front end for its tools."""
        wanted = {part.tool_call_id: part for part in requests.approvals}
        own = {tool.name for tool in self._client_tools}
        calls = {part.tool_call_id: part for part in requests.calls if part.tool_name in own}
        decisions, results = await asyncio.gather(
            asyncio.gather(*(self._approval(part) for part in wanted.values())),
            asyncio.gather(*(self._client_result(part) for part in calls.values())),
        )
        return DeferredToolResults(
            approvals=dict(zip(wanted, decisions, strict=True)),
            calls=dict(zip(calls, results, strict=True)),
        )

    async def _client_result(self, part: Any) -> str:
        call = self._ids.of(part.tool_call_id)
        reply = await self._reply(call, client_call(self._whose, call, part.tool_name))
        return as_text(reply.answer)

    async def _approval(self, part: Any) -> Any:
        if part.tool_name in self._always:
            return ToolApproved()
        call, given = self._ids.of(part.tool_call_id), part.args_as_dict()
        rule = {"rules": [{"toolName": part.tool_name}], "behavior": "allow"}
        reply = await self._reply(
            call,
            ev.PermissionRequested(
                *self._whose, call, call, part.tool_name, given, suggestions=[rule]
            ),
        )
        if reply.decision != "allow":
            return ToolDenied(reply.reason or "The person said no.")
        if reply.remember:
            self._always.add(part.tool_name)
        return ToolApproved(override_args=reply.updated_input)

    async def _reply(
        self, request_id: str, asked: ev.QuestionAsked | ev.PermissionRequested
    ) -> Reply:
        """Emits a request and waits for the reply. A cancelled request ends the run."""
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        self._say(asked)
        try:
            reply = await answer
        except asyncio.CancelledError:
            self._say(ev.RequestWithdrawn(*self._whose, request_id))
            raise
        finally:
            del self._waiting[request_id]
        if reply.kind == "question" and reply.decision == "deny":
            self._stops = True
            raise asyncio.CancelledError
        return reply


_ASKS = """Asks a person, and returns the answer.

Ask only what you cannot find out yourself. With options the person chooses one, or answers in own
words.
"""


def _definition(tool: ClientTool) -> ToolDefinition:
    schema = tool.parameters or {"type": "object", "properties": {}}
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=schema
    )


def _without_prompt(entries: list[Message]) -> list[Message]:
    """Removes the message that begins this turn: the run gets it as its prompt."""
    for place in range(len(entries) - 1, -1, -1):
        if entries[place].role == "user":
            return [*entries[:place], *entries[place + 1 :]]
    return entries


def _usage(usage: Any) -> Usage:
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    plain = max(0, (usage.input_tokens or 0) - read - written)
    return Usage(plain, usage.output_tokens, written or None, read or None)


def _plain(output: Any) -> Any:
    """Returns a structured output as plain JSON values."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(output, fallback=str)
