"""A session's questions to people: how they come to the gate, and how the answers get back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from turnwire.agents.claude import questions
from turnwire.agents.claude.hook_runs import HookRuns
from turnwire.agents.claude.prompts import prompt_line, prompt_uuid
from turnwire.agents.claude.second import ONE_AT_A_TIME, SecondQuestions
from turnwire.agents.claude.turn import TurnWatch
from turnwire.core import answers
from turnwire.core import events as ev
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of

__all__ = ["Asking"]

_LEAVE = 2.0  # seconds that a turn has to end when its question is put aside


class Asking:
    """Claude's own questions and those of its sub-agents.

    `whose` tells the voice of an agent by its id, `say` tells events; `delivered` is told how an
    answer got there, where that is not what was promised.
    """

    def __init__(
        self,
        turn: TurnWatch,
        gate: questions.Gate,
        second: SecondQuestions,
        hooks: HookRuns,
        *,
        whose: Callable[[str | None], tuple[str, str, str | None, str | None]],
        say: Callable[..., None],
        delivered: Callable[[Reply, str], None],
    ) -> None:
        self.resumes = False  # the program goes on by itself with a question that was put aside
        self._turn = turn
        self._gate = gate
        self._second = second
        self._hooks = hooks
        self._whose = whose
        self._say = say
        self._delivered = delivered
        self._answered: dict[str, Reply] = {}  # for calls of our tool that the gate let through
        self._beside: str | None = None  # what the model is to hear with the next answer
        self._owed: list[Reply] = []  # what it is to hear when the question is asked again

    async def ask(self, asked: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """The hook before a tool that asks a person."""
        call = str(tool_use_id or asked.get("tool_use_id"))
        tool_input, agent_id = asked.get("tool_input"), asked.get("agent_id")
        was_asked = self.resumes or not self._turn.runs or self._gate.has_answer(call)
        if agent_id is not None or not was_asked:  # a sub-agent's is never put aside
            refused = await self._hooks.before_question(asked, call)
            if refused is not None:
                return refused
        if not self._gate.admits(call):
            self._say(*self._second.refused(call))
            return questions.deny(ONE_AT_A_TIME)
        self._say(*(self._turn.follow(event) for event in self._second.admitted(call)))
        if not self.resumes and self._turn.runs:
            self._say(self._question(call, str(asked.get("tool_name")), tool_input, agent_id))
        reply = await self._gate.wait(call, can_defer=agent_id is None and not self.resumes)
        if reply is None:
            return questions.put_aside()
        self._owed = []
        if reply.decision == "deny":
            return questions.deny(reply.reason or "The question was cancelled.")
        if asked.get("tool_name") == questions.TOOL:  # it asks for the answer when it runs
            self._answered[call] = reply
        beside, self._beside = self._beside, None
        return questions.allow(reply, tool_input, beside)

    def _question(
        self, call: str, tool: str, tool_input: Any, agent_id: str | None
    ) -> NormalizedStreamEvent:
        whose = self._whose(agent_id)
        return ev.QuestionAsked(*whose, call, call, tool, questions_of(tool_input), tool_input)

    def answer_call(self, message: Any) -> dict[str, Any]:
        """What the server with our own tool says to the program."""
        return questions.answer_call(message, self._answered)

    def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> bytes | None:
        """People's answers. Returns a prompt, where that is how they have to be told."""
        words: list[Reply] = []
        as_results: list[Reply] = []
        for reply in replies:
            # Of a process that is gone only its own question comes back, and if it was put aside.
            lost = not self.resumes or reply.parent_tool_use_id is not None
            in_words = resumed and lost
            (words if in_words else as_results).append(reply)
            if resumed and in_words != reply.in_words:
                self._delivered(reply, "prompt" if in_words else "tool_result")
        self.resumes = False
        if words and not as_results:
            return self._prompt(words)
        if given := _given(words):
            self._beside = answers.in_words(given)
        if resumed:
            self._owed = [*replies]
        for reply in as_results:
            self._gate.give(reply)
        return None

    def turn_ended(self, *, is_done: bool) -> bytes | None:
        """The program has come to the end of a turn. Returns a prompt, where it was to ask again in
        it and has not: then the answers are told in words after all.
        """
        owed, self._owed, self._beside = self._owed, [], None
        self.resumes = False
        if not owed or not is_done:
            return None  # where it was stopped, or failed, the next turn begins with them
        for reply in owed:
            self._delivered(reply, "prompt")
        return self._prompt(owed)

    def _prompt(self, replies: Sequence[Reply]) -> bytes:
        names = ":".join(reply.request_id for reply in replies)
        self._turn.prompt = prompt_uuid(f"answer:{names}")
        said = answers.in_words(_given(replies))
        return prompt_line([TextContent(said)], self._turn.prompt)

    async def put_aside(self) -> None:
        """A question that is still held outlives the process only if it is put aside before."""
        self._gate.leave()
        if self._turn.asks:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE):
                    await self._turn.idle.wait()


def _given(replies: Sequence[Reply]) -> list[Any]:
    """The answers in them: a question that was cancelled has none."""
    return [reply.answer for reply in replies if reply.decision != "deny"]
