"""A session's questions to people: does what the machine in `question` says is to be done."""

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
from turnwire.agents.claude.turn.turn_tracker import TurnWatch
from turnwire.core import answers
from turnwire.core import events as ev
from turnwire.core.content import TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.questions import questions_of

__all__ = ["Asking"]

_LEAVE = 2.0  # seconds that a turn has to end when its question is deferred at the close


class Asking:
    """Claude's own questions and those of its sub-agents, in one process.

    `whose` tells the voice of an agent by its id, `say` tells events; `delivered` is told how an
    answer got there, where that is not what was promised.
    """

    def __init__(
        self,
        turn: TurnWatch,
        hold: float,
        hooks: HookRuns,
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
        self._whose = whose
        self._say = say
        self._delivered = delivered
        self._answered: dict[str, Reply] = {}  # for calls of our tool that the gate let through
        self._settled = asyncio.Event()  # clear: the turn of a question that was taken back goes on
        self._settled.set()

    async def ask(self, asked: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """The hook before a tool that asks a person."""
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
        return ev.QuestionAsked(*whose, call, call, tool, questions_of(tool_input), tool_input)

    def _give(self, answer: Answer, asked: Any) -> dict[str, Any]:
        """An answer as the hook says it."""
        reply, given = answer.reply, _given(answer.in_words)
        beside = answers.in_words(given) if given else None
        if reply.decision == "deny":
            why = reply.reason or "The question was cancelled."
            return question_tools.deny(why if beside is None else f"{why}\n{beside}")
        if asked.get("tool_name") == question_tools.TOOL:  # it asks for the answer when it runs
            self._answered[reply.request_id] = reply
        return question_tools.allow(reply, asked.get("tool_input"), beside)

    def answer_call(self, message: Any) -> dict[str, Any]:
        """What the server with our own tool says to the program."""
        return question_tools.answer_call(message, self._answered)

    def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> bytes | None:
        """People's answers. Returns a prompt, where that is how they have to be told."""
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
        """The program has come to the end of a turn. Returns a prompt, where it was to ask again in
        it and has not: then the answers are told in words after all.
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
        """Whether what the program says is not told: its question is taken back in silence."""
        return self.question.state == "taken_back"

    @property
    def is_in_the_way(self) -> bool:
        """Whether a deferred question has to be taken back before anything else is said."""
        return self.question.state in ("resuming", "taken_back")

    async def take_back(self, interrupt: Callable[[], Awaitable[None]]) -> None:
        """Takes back a deferred question that was cancelled meanwhile, and waits for its turn's end."""
        if self.question.happens("superseded") == "interrupt":
            self._settled.clear()
            await interrupt()
        await self._settled.wait()

    async def defer(self) -> None:
        """A question that is still held outlives the process only if it is deferred before."""
        self.gate.leave()
        if self.question.state in ("called", "held", "deferred"):
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE):
                    await self._turn.idle.wait()


def _given(replies: Sequence[Reply]) -> list[Any]:
    """The answers in them: a question that was cancelled has none."""
    return [reply.answer for reply in replies if reply.decision != "deny"]
