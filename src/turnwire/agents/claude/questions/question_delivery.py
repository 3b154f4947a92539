"""Shows Claude's questions to people and delivers the answers, as `question_machine` decides."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from turnwire.agents.claude.extensions.hook_runs import HookRuns
from turnwire.agents.claude.questions import question_tools
from turnwire.agents.claude.questions.gate import Gate
from turnwire.agents.claude.questions.one_at_a_time import ONE_AT_A_TIME, SecondQuestions
from turnwire.agents.claude.questions.question_machine import Answer, Question
from turnwire.agents.claude.turn.prompts import prompt_line, prompt_uuid
from turnwire.agents.claude.turn.turn_tracker import TurnTracker
from turnwire.agents.client_tools import ClientTool, client_call
from turnwire.core import answers
from turnwire.core import events as ev
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of
from turnwire.dialects.claude.questions import client_tool

__all__ = ["QuestionDelivery"]

_LEAVE = 2.0  # seconds that a turn has to end if its question is deferred at close


class QuestionDelivery:
    """The questions of Claude and its sub-agents in one process.

    `tools` are those of the front end. `whose` returns the origin fields of an event by agent id, and `say` emits events. `delivered`
    is called if an answer was not delivered as its acknowledgement said.
    """

    def __init__(
        self,
        turn: TurnTracker,
        hold: float,
        hooks: HookRuns,
        tools: Sequence[ClientTool],
        *,
        whose: Callable[[str | None], tuple[str, str, str | None, str | None]],
        say: Callable[..., None],
        delivered: Callable[[Reply, str], None],
    ) -> None:
        self.gate = Gate(hold)
        self.question = Question()
        self.second = SecondQuestions(self.question)
        self._turn = turn
        self._hooks = hooks
        self._tools = tools
        self._whose = whose
        self._say = say
        self._delivered = delivered
        self._answered: dict[str, Reply] = {}  # for calls of our tool that the gate has admitted
        self._settled = asyncio.Event()  # clear while the turn of a withdrawn question runs
        self._settled.set()

    async def ask(self, asked: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """Runs as the PreToolUse hook of a tool that asks a person. Returns the hook's output."""
        call = str(tool_use_id or asked.get("tool_use_id"))
        agent_id = asked.get("agent_id")
        if agent_id is not None or (self._turn.runs and not self.question.was_asked(call)):
            refused = await self._hooks.before_question(asked, call)
            if refused is not None:
                return refused
        act, answer = self.question.ask(call, is_own=agent_id is None)
        if act == "refuse":
            self._say(*self.second.refuse(call))
            return question_tools.deny(ONE_AT_A_TIME)
        try:
            self._say(*(self._turn.follow(event) for event in self.second.admit(call)))
            if act in ("show", "show_only") and self._turn.runs:
                self._say(self._asked(call, asked, agent_id))
            if answer is None:
                answer = await self.gate.wait(call, can_defer=act in ("show", "hold"))
        except BaseException:
            self.question.leave_gate(call)
            raise
        if answer is None:
            self.question.end_hold(call)
            return question_tools.defer()
        return self._give(answer, asked)

    def _asked(self, call: str, asked: Any, agent_id: str | None) -> NormalizedStreamEvent:
        tool, tool_input = str(asked.get("tool_name")), asked.get("tool_input")
        whose = self._whose(agent_id)
        own = client_tool(tool)
        if own is not None:
            return client_call(whose, call, own)
        return ev.QuestionAsked(*whose, call, call, tool, questions_of(tool_input), tool_input)

    def _give(self, answer: Answer, asked: Any) -> dict[str, Any]:
        """Returns an answer as the output of the hook."""
        reply, given = answer.reply, _given(answer.in_words)
        other_answers = answers.in_words(given) if given else None
        if reply.decision == "deny":
            why = reply.reason or "The question was cancelled."
            return question_tools.deny(why if other_answers is None else f"{why}\n{other_answers}")
        tool, tool_input = str(asked.get("tool_name")), asked.get("tool_input")
        if tool.startswith(question_tools.OWN_TOOLS):  # fetches the answer when it runs
            self._answered[reply.request_id] = reply
            tool_input = None
        return question_tools.allow(reply, tool_input, other_answers)

    def answer_call(self, message: Any) -> dict[str, Any]:
        """Returns the answer of Turnwire's own MCP server to a message of the program."""
        return question_tools.answer_call(message, self._answered, self._tools)

    def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> bytes | None:
        """Delivers answers to the gate. Returns a prompt if Claude has to get them in words."""
        if not resumed:
            for reply in replies:
                if self.question.answer(reply) == "give":
                    self.gate.give(Answer(reply))
            return None
        act, answer = self.question.resume(replies)
        for reply in replies:
            in_words = answer is None or reply is not answer.reply
            if in_words != reply.in_words:
                self._delivered(reply, "prompt" if in_words else "tool_result")
        if answer is not None and act == "give":
            self.gate.give(answer)
        return self._prompt(replies) if replies and act == "tell" else None

    def end_turn(self, *, is_done: bool) -> bytes | None:
        """Handles the end of a turn.

        Returns a prompt line with the answers if the turn did not ask its deferred question again.
        """
        self._settled.set()
        owed = self.question.end_turn(is_done=is_done)
        for reply in owed:
            self._delivered(reply, "prompt")
        return self._prompt(owed) if owed else None

    def _prompt(self, replies: Sequence[Reply]) -> bytes:
        names = ":".join(reply.request_id for reply in replies)
        self._turn.prompt = prompt_uuid(f"answer:{names}")
        said = answers.in_words(_given(replies))
        return prompt_line([TextContent(said)], self._turn.prompt)

    @property
    def is_muted(self) -> bool:
        """Whether the program's output is dropped, because its question is being withdrawn."""
        return self.question.state == "taken_back"

    @property
    def is_in_the_way(self) -> bool:
        """Whether a deferred question has to be withdrawn before any other input."""
        return self.question.state in ("resuming", "taken_back")

    async def take_back(self, interrupt: Callable[[], Awaitable[None]]) -> None:
        """Withdraws a cancelled deferred question, and waits for the end of its turn."""
        if self.question.happens("superseded") == "interrupt":
            self._settled.clear()
            await interrupt()
        await self._settled.wait()

    async def defer(self) -> None:
        """Defers a held question before the process is closed, so that it is not lost."""
        self.gate.leave()
        if self.question.state in ("called", "held", "deferred"):
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE):
                    await self._turn.idle.wait()


def _given(replies: Sequence[Reply]) -> list[Any]:
    """Returns the answers of the replies, without cancelled questions, which have no answer."""
    return [reply.answer for reply in replies if reply.decision != "deny"]
