"""An agent whose question tool has a name of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal
from uuid import uuid4

from msgspec import structs

from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Reply
from turnwire.ports import AgentCapabilities, AgentSession, SessionStart

# fine: asks once; twice: one call asks two questions; late: asks after its result;
# empty: asks nothing; nameless: names no call; renamed: asks in the name of another tool;
# deaf: drops the answer; forgetful: drops the answer to an earlier process;
# marked: its call says that it is a question; other: asks something else than its call's input
How = Literal[
    "fine", "twice", "late", "empty", "nameless", "renamed", "deaf", "forgetful", "marked", "other"
]

COLOURS = [ev.QuestionOption("blue"), ev.QuestionOption("red")]
QUESTION = ev.Question("colour", "Which colour?", COLOURS)


class Asker:
    """Asks with the tool `ask_human` if the prompt says `ask`."""

    name = "asker"
    capabilities = AgentCapabilities()

    def __init__(self, how: How = "fine") -> None:
        self.how = how
        self.replies: list[Reply] = []

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        return AskerSession(self)


class AskerSession(LocalSession):
    """See Asker."""

    def __init__(self, agent: Asker) -> None:
        super().__init__()
        self.agent = agent
        self.native_session_id = f"asker-{uuid4().hex[:8]}"
        self._whose = ("asker", self.native_session_id, None, None)
        self._answers: asyncio.Queue[Reply] = asyncio.Queue()
        self._turn: asyncio.Task[None] | None = None

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        self._check_open()
        self._turn = self._start(self._answer(asks="ask" in str(content)))

    async def _answer(self, *, asks: bool) -> None:
        call, who = f"call-{uuid4().hex[:8]}", self._whose
        if not asks:
            self._say(ev.TurnStarted(*who))
            self._end(call)
            return
        how = self.agent.how
        tool = ToolUseBlock(call, "ask_human", "TOOL", {"about": "colours"}, "completed")
        if how == "marked":
            given = {"question": "Which colour?", "options": ["blue", "red"]}
            tool = structs.replace(tool, input=given, asks=True)
        if how == "other":
            given = {"question": "Which size?"}
            tool = structs.replace(tool, tool_name="request_input", input=given)
        words = TextBlock("One question first.", "completed")
        self._say(ev.TurnStarted(*who))
        self._say(ev.AssistantMessage(*who, f"m-{call}", 0, [words, tool]))
        if how == "late":
            self._result(call, "none")
        asked = [] if how == "empty" else [QUESTION]
        named = "" if how == "nameless" else call
        name = "request_input" if how in ("renamed", "other") else "ask_human"
        is_marked = True if how == "marked" else None
        self._say(ev.QuestionAsked(*who, f"r-{call}", named, name, asked, asks=is_marked))
        reply = await self._answers.get()
        if how == "twice":
            self._say(ev.QuestionAsked(*who, f"r2-{call}", call, "ask_human", [QUESTION]))
        self._result(call, f"They said {reply.answer}.")
        self._end(call)

    def _end(self, name: str) -> None:
        who = self._whose
        words = TextBlock("Thank you.", "completed")
        self._say(ev.AssistantMessage(*who, f"n-{name}", 0, [words]))
        self._say(ev.TurnCompleted(*who, "end_turn"), ev.ResultSummary(*who, "success", False))

    def _result(self, call: str, text: str) -> None:
        block = ToolResultBlock(call, text, False, "completed")
        self._say(ev.UserMessage(*self._whose, [block], "tool"))

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        self.agent.replies += replies
        if resumed:
            for reply in [] if self.agent.how == "forgetful" else replies:
                self._say(
                    ev.AnswerDelivered(
                        *self._whose,
                        "answer_delivered",
                        request_id=reply.request_id,
                        in_words=True,
                    )
                )
            self._say(ev.TurnStarted(*self._whose))
            self._end(uuid4().hex[:8])
        elif self.agent.how != "deaf":
            for reply in replies:
                self._answers.put_nowait(reply)

    async def interrupt(self) -> None:
        if self._turn is not None and not self._turn.done():
            self._turn.cancel()
            who = self._whose
            end = ev.TurnCompleted(*who, interrupted=True)
            self._say(end, ev.ResultSummary(*who, "aborted", False))
