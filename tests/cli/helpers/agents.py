"""Agents for the tests of the commands, named as --agent takes them: `tests.cli.helpers.agents:Quick`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.agents.demo import DemoAgent
from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.core.questions import questions_of
from turnwire.ports import AgentCapabilities, AgentSession, SessionStart

QUICK = "tests.cli.helpers.agents:Quick"
SLOW = "tests.cli.helpers.agents:Slow"
STUBBORN = "tests.cli.helpers.agents:Stubborn"
SCRIPTED = "tests.cli.helpers.agents:Scripted"
MISSING = "tests.cli.helpers.agents:Missing"

WHOSE = ("scripted", "session", None, None)
TWO_QUESTIONS = {
    "questions": [
        {"question": "Which size?", "options": ["small", "large"]},
        {"question": "Which extras?", "options": ["milk", "sugar", "ice"], "multiSelect": True},
    ]
}
SLY = {"command": "echo \u202etxt.exe\x1b[2K", "note": "line one\nline two"}


class Quick(DemoAgent):
    """The demo, without its pauses."""

    def __init__(self) -> None:
        super().__init__(delay=0)


class Slow(DemoAgent):
    """The demo, slow enough to be stopped."""

    def __init__(self) -> None:
        super().__init__(delay=0.02)


class Stubborn(DemoAgent):
    """The demo agent, which ignores interrupts."""

    def __init__(self) -> None:
        super().__init__(delay=0.02, obey_interrupt=False)


class Missing(DemoAgent):
    """An agent that is not on this machine."""

    def unavailable(self) -> str | None:
        return "The missing agent is not installed. Install it with: apt install missing"


class Scripted:
    """Acts by the first word of the prompt; the rest is its text."""

    name = "scripted"
    capabilities = AgentCapabilities(questions_survive=True)

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        return _Session()


class _Session(LocalSession):
    native_session_id: str | None = "session"

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        text = "".join(part.text for part in content if isinstance(part, TextContent))
        word, _, rest = text.partition(" ")
        self._say(ev.TurnStarted(*WHOSE))
        match word:
            case "questions":
                self._call("call-q", "AskUserQuestion", TWO_QUESTIONS)
                asked = questions_of(TWO_QUESTIONS)
                self._say(ev.QuestionAsked(*WHOSE, "ask", "call-q", "AskUserQuestion", asked))
            case "sly":
                self._call("call-s", "Bash", SLY)
                self._say(ev.PermissionRequested(*WHOSE, "ask-s", "call-s", "Bash", SLY))
            case "result":
                self._call("call-r", "Read", {"path": "x"})
                self._result("call-r", rest)
                self._finish()
            case "background":
                self._task(ev.TaskChanged, "task_started", in_background=True)
                self._finish()
                self._task(ev.TaskEnded, "task_notification")
                asyncio.get_running_loop().call_later(0.3, self._report, rest)
            case "retract":
                self._begin(rest + "\n\nand more")
                self._say(ev.MessageDiscarded(*WHOSE, self._message, 0, "abandoned"))
                self._finish()
            case _:
                self._tell(rest)
                self._finish()

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        for reply in replies:
            if reply.kind == "question":
                self._result(reply.request_id, str(reply.answer))
                self._tell(f"Answered: {reply.answer}")
            else:
                words = f"{reply.decision} {reply.reason} {reply.updated_input}"
                self._result("call-s", words, reply.decision == "deny")
                self._tell(f"Decided: {words}")
            self._finish()

    async def interrupt(self) -> None:
        self._say(ev.TurnCompleted(*WHOSE, interrupted=True))

    @property
    def _message(self) -> str:
        return f"message-{self._count}"

    def _begin(self, text: str) -> None:
        """Streams a text in small pieces, as a model does."""
        self._count += 1
        message = self._message
        self._say(
            ev.MessageStarted(*WHOSE, message),
            ev.ContentStarted(*WHOSE, message, 0, TextBlock("", "in_progress")),
        )
        for at in range(0, len(text), 7):
            self._say(ev.ContentDelta(*WHOSE, message, 0, "text", text[at : at + 7]))

    def _tell(self, text: str) -> None:
        self._begin(text)
        self._say(
            ev.AssistantMessage(*WHOSE, self._message, 0, [TextBlock(text, "completed")]),
            ev.MessageCompleted(*WHOSE, self._message),
        )

    def _call(self, call: str, name: str, given: Any) -> None:
        self._count += 1
        block = ToolUseBlock(call, name, "OTHER", given, "in_progress")
        self._say(ev.AssistantMessage(*WHOSE, self._message, 0, [block]))

    def _result(self, call: str, text: str, is_error: bool = False) -> None:
        block = ToolResultBlock(call, text, is_error, "failed" if is_error else "completed")
        self._say(ev.UserMessage(*WHOSE, [block], "tool"))

    def _task(self, kind: type[ev.TaskChanged | ev.TaskEnded], subtype: str, **typed: Any) -> None:
        raw = Raw(msgspec.json.encode({"type": "system", "subtype": subtype, "task_id": "task"}))
        self._say(kind(*WHOSE, subtype, raw, task=ev.Task("task"), **typed))

    def _report(self, text: str) -> None:
        """Reports background work that ended right after its turn."""
        self._say(ev.TurnStarted(*WHOSE))
        self._tell(text)
        self._finish()

    def _finish(self) -> None:
        self._say(
            ev.TurnCompleted(*WHOSE, "end_turn"),
            ev.ResultSummary(*WHOSE, "success", False, 1200, cost_usd=0.25),
        )
