"""Questions to people: Claude's own AskUserQuestion, and a tool request_input that Turnwire adds.

Both go through the same gate, a hook that runs before the tool. There a question is held for a
while, in case the answer comes soon, and is then put aside: the turn ends, the process can go, and
a process that resumes the session asks at the same gate again, about the same call.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from turnwire.agents.claude.tool_host import answer_plain, call_id, said_by_tool
from turnwire.core.answers import as_text
from turnwire.core.conversation.state import Reply
from turnwire.core.questions import questions_of

__all__ = [
    "GATED",
    "SERVER",
    "SERVER_CONFIG",
    "TOOL",
    "Gate",
    "allow",
    "answer_call",
    "deny",
    "put_aside",
]

SERVER = "turnwire"
TOOL = f"mcp__{SERVER}__request_input"  # so the program calls it
SERVER_CONFIG = {"type": "sdk", "name": SERVER}
_NO_ANSWER = "(not answered)"  # where others of the same form are: it would not be mentioned
GATED = ("AskUserQuestion", TOOL)  # the tools that ask a person at the gate

_TOOL = {
    "name": "request_input",
    "description": (
        "Ask the person you work for, and wait for the answer, which may take days. "
        "Ask one question at a time."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "What you want to know."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Answers to choose from. Leave it out to let them use their own words.",
            },
            "free_text": {
                "type": "boolean",
                "description": "False: they have to take one of the options.",
            },
            "required": {
                "type": "boolean",
                "description": "False: they may leave the answer empty.",
            },
            "metadata": {
                "type": "object",
                "description": "Anything for whoever shows the question.",
            },
        },
        "required": ["question"],
    },
    "_meta": {"anthropic/alwaysLoad": True},  # else the model has to look for it first
}


class Gate:
    """Where questions wait. One at a time: of two that were put aside only one would come back."""

    def __init__(self, hold: float) -> None:
        self._hold = hold  # seconds
        self._open: dict[str, asyncio.Future[Reply]] = {}
        self._given: dict[str, Reply] = {}  # answers that came before their question
        self._aside: str | None = None  # the call that waits, or was put aside, in this turn
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._leaving = asyncio.Event()

    def give(self, reply: Reply) -> None:
        """An answer. If its question does not wait yet, it is kept until it does."""
        waiting = self._open.get(reply.request_id)
        if waiting is None:
            self._given[reply.request_id] = reply
        elif not waiting.done():
            waiting.set_result(reply)

    def set_background(self, *, working: bool) -> None:
        """While something works in the background the process must stay, and so questions wait."""
        if working and not self._leaving.is_set():
            self._quiet.clear()
        else:
            self._quiet.set()

    def leave(self) -> None:
        """The process is about to be closed: what waits is put aside, and what still comes."""
        self._leaving.set()
        self._quiet.set()

    def turn_ended(self) -> None:
        """The next turn may ask again."""
        self._aside = None
        self._given.clear()

    def has_answer(self, call: str) -> bool:
        """Whether the answer was there before the question."""
        return call in self._given

    def admits(self, call: str) -> bool:
        """Whether this question may be asked now: no other one of the turn waits."""
        return self._aside in (None, call) or call in self._given

    async def wait(self, call: str, *, can_defer: bool) -> Reply | None:
        """The answer; none: put the question aside. Only the agent's own can be, no sub-agent's."""
        if (given := self._given.pop(call, None)) is not None:
            return given
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._open[call] = answer
        if can_defer:
            self._aside = call
        try:
            if not can_defer:
                return await answer
            patience = asyncio.create_task(self._patience())
            try:
                either: set[asyncio.Future[Any]] = {answer, patience}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                patience.cancel()
            return answer.result() if answer.done() else None
        finally:
            del self._open[call]
            if answer.done() and self._aside == call:
                self._aside = None

    async def _patience(self) -> None:
        """For as long as a question is held."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._hold):
                await self._leaving.wait()
        await self._quiet.wait()


# --- what the hook says -------------------------------------------------------------------------


def allow(reply: Reply, tool_input: Any, beside: str | None = None) -> dict[str, Any]:
    """The tool may run: AskUserQuestion finds the answers in its input.

    What stands beside it the model gets together with the tool's result.
    """
    more = {} if beside is None else {"additionalContext": beside}
    if not isinstance(tool_input, dict) or "questions" not in tool_input:
        return _decision("allow", **more)
    answers = {
        question.question: as_text(_part(reply.answer, question.id))
        for question in questions_of(tool_input)
    }
    if any(answers.values()):  # else nothing was answered, which it says itself
        answers = {asked: said or _NO_ANSWER for asked, said in answers.items()}
    return _decision("allow", updatedInput={**tool_input, "answers": answers}, **more)


def deny(why: str) -> dict[str, Any]:
    """The tool may not run."""
    return _decision("deny", permissionDecisionReason=why)


def put_aside() -> dict[str, Any]:
    """The tool is to run another time."""
    return _decision("defer")


def _decision(decision: str, **more: Any) -> dict[str, Any]:
    said = {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}
    return {"hookSpecificOutput": said}


# --- answers ------------------------------------------------------------------------------------


def _part(answer: Any, question_id: str) -> Any:
    """What an answer says to one question of several. A default in a single piece is for each."""
    return answer.get(question_id, "") if isinstance(answer, dict) else answer


# --- the server with the tool -------------------------------------------------------------------


def answer_call(message: Any, answers: dict[str, Reply]) -> dict[str, Any]:
    """The answer to a JSON-RPC message of the MCP client that Claude is. The hook has the replies."""
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return answer_plain(SERVER, message, [_TOOL])
    reply = answers.pop(str(call_id(message)), None)
    said = "There is no answer." if reply is None else as_text(reply.answer)
    return said_by_tool(message, said, failed=reply is None)
