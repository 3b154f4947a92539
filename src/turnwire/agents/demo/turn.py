"""One turn of the demo: its ids, pauses, requests, usage and events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from msgspec import Raw, structs

from turnwire.agents.demo.options import DemoOptions
from turnwire.agents.demo.script import Place
from turnwire.agents.demo.texts import TEXTS
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock, ToolResultBlock
from turnwire.core.conversation.state import Reply
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.usage import ModelUsage, Usage

__all__ = ["PROVIDER", "Failed", "Host", "Stopped", "Turn", "Whose", "Work", "told_of"]

PROVIDER = "demo"
Whose = tuple[str, str, str | None, str | None]  # the first four fields of every event


class Stopped(Exception):
    """Raised in a turn that was interrupted."""


class Failed(Exception):
    """Raised to end a turn as failed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Work(Protocol):
    """A background task."""

    task: ev.Task

    async def stop(self) -> None:
        """Stops the task."""


class Host(Protocol):
    """The part of the session that a turn uses."""

    options: DemoOptions
    session_id: str
    cwd: str | None
    may_delete: bool  # a person allowed it for the rest of the session
    works: dict[str, Work]  # background tasks by task id

    def say(self, *events: NormalizedStreamEvent) -> None:
        """Emits these events in one batch."""

    async def let_read(self) -> None:
        """Waits while too many events are unread."""

    async def perish(self) -> None:
        """Ends the session as if killed. Never returns."""

    def afterwards(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Runs `work` after the turn. If it returns True, a further turn reports its end."""


def told_of(task: ev.Task) -> dict[str, Any]:
    """Returns the fields of a task in a system message."""
    about = {"task_id": task.task_id, "tool_use_id": task.tool_use_id}
    return {**about, "description": task.description}


class Turn:
    """A turn, with the operations that scenes use."""

    def __init__(self, host: Host, place: Place, prompt: str = "") -> None:
        self.host = host
        self.place = place
        self.prompt = prompt
        self.stop = asyncio.Event()
        self.waiting: dict[str, asyncio.Future[Reply]] = {}  # by the request id of the reply
        self.steered: list[tuple[str, str]] = []  # messages for this turn: their ids and texts
        self._texts = TEXTS[place.language]
        self._number = place.number
        self._read = self._wrote = self._messages = self._pieces = 0

    # --- texts, ids and pauses ----------------------------------------------------------------

    def text(self, name: str, **values: object) -> str:
        """Returns a text in the language of the prompt."""
        return self._texts[name].format(**values) if values else self._texts[name]

    def whose(self, parent: str | None = None) -> Whose:
        """Returns the first four fields of every event; `parent` is the call of a sub-agent."""
        agent_id = f"helper-{parent}" if parent else None
        return PROVIDER, self.host.session_id, parent, agent_id

    def say(self, *events: NormalizedStreamEvent) -> None:
        """Emits these events in one batch."""
        self.host.say(*events)

    def news(
        self,
        subtype: str,
        data: dict[str, Any],
        kind: type[ev.SystemEvent] = ev.SystemEvent,
        *,
        ephemeral: bool = False,
        **typed: Any,
    ) -> None:
        """Emits a system event with a raw message in the format of Claude."""
        message = {"type": "system", "subtype": subtype, **data}
        raw = Raw(msgspec.json.encode(message))
        self.say(kind(*self.whose(), subtype, raw, ephemeral, **typed))

    def task_began(self, task: ev.Task, *, in_background: bool = False) -> None:
        """Emits the start of a task."""
        told: dict[str, Any] = {**told_of(task), "task_type": task.kind}
        if in_background:
            told["is_backgrounded"] = True
        self.news("task_started", told, ev.TaskChanged, task=task, in_background=in_background)

    def task_ended(self, task: ev.Task, status: str, summary: str) -> None:
        """Emits the end of a task."""
        told = {**told_of(task), "status": status, "summary": summary}
        self.news("task_notification", told, ev.TaskEnded, task=task)

    def new_id(self, kind: str) -> str:
        """Returns a new id that is unique in the conversation."""
        self._number += 1
        return f"{kind}_{self.place.turn}_{self._number}"

    def new_question_id(self) -> str:
        """Returns a new id that contains the place where the script continues."""
        self._number += 1
        return structs.replace(self.place, number=self._number).to_id()

    async def pause(self) -> None:
        """Waits for the delay of one piece. Raises Stopped at an interrupt."""
        self._pieces += 1
        await self.wait(self.host.options.delay)

    async def wait(self, seconds: float) -> None:
        """Waits for this time and for a slow reader. Raises Stopped at an interrupt."""
        if seconds > 0 and not self.stop.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.stop.wait()
        else:
            await asyncio.sleep(0)  # lets an interrupt and the reader run
        if self.stop.is_set():
            raise Stopped
        await self.host.let_read()

    def take_message(self) -> str | None:
        """Takes a message that was sent into this turn. Returns its text, or None."""
        if not self.steered:
            return None
        message_id, text = self.steered.pop(0)
        block = TextBlock(text, "completed")
        self.say(ev.UserMessage(*self.whose(), [block], "user", message_id=message_id))
        return text

    # --- tools and requests -------------------------------------------------------------------

    def result(
        self, tool_use_id: str, content: Any, *, error: bool = False, parent: str | None = None
    ) -> None:
        """Emits the result of a tool call."""
        block = ToolResultBlock(tool_use_id, content, error, "failed" if error else "completed")
        uuid = f"{tool_use_id}-result"
        self.say(ev.UserMessage(*self.whose(parent), [block], "tool", uuid))

    async def output(self, tool_use_id: str, text: str, parent: str | None = None) -> None:
        """Emits the output of a tool call by lines. An interrupt ends the call with an error."""
        delay = self.host.options.delay
        try:
            for number, line in enumerate(text.splitlines(keepends=True), 1):
                for _ in range(5):  # output of commands comes slower than text
                    await self.pause()
                seconds = round(number * 5 * delay, 3)
                self.say(ev.ToolProgress(*self.whose(parent), tool_use_id, "Bash", seconds, line))
        except Stopped:
            self.result(tool_use_id, self.text("interrupted"), error=True, parent=parent)
            raise

    async def ask(
        self, request: ev.QuestionAsked | ev.PermissionRequested, *, reply_to: str
    ) -> Reply:
        """Emits a request and waits for its reply.

        An interrupt withdraws the request and ends its tool call with an error.
        """
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.waiting[reply_to] = reply
        stopped: asyncio.Future[Any] = asyncio.ensure_future(self.stop.wait())
        either: set[asyncio.Future[Any]] = {reply, stopped}
        self.say(request)
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if reply.done():
                return reply.result()
            self.say(ev.RequestWithdrawn(*self.whose(), request.request_id))
            self.result(request.tool_use_id, self.text("interrupted"), error=True)
            raise Stopped
        finally:
            stopped.cancel()
            del self.waiting[reply_to]

    # --- usage, start and end -----------------------------------------------------------------

    def count(self, wrote: str) -> Usage:
        """Returns the estimated usage of one message, with four characters per token."""
        read, written = 120 + len(self.prompt) // 4 + self._wrote, 1 + len(wrote) // 4
        self._read += read
        self._wrote += written
        self._messages += 1
        return Usage(read, written, 0, 0)

    def begin(self, *, first: bool, by_itself: bool = False) -> None:
        """Emits the start of a turn."""
        if first:
            tools = ["Agent", "Bash", "TodoWrite", "request_input"]
            self.say(ev.SessionInit(*self.whose(), "demo", self.host.cwd, "default", tools, "1"))
        self.say(ev.TurnStarted(*self.whose(), by_itself))
        self.news("status", {"status": "requesting"}, ephemeral=True)

    def end(self, failed: Failed | None, *, interrupted: bool, origin: str | None = None) -> None:
        """Emits the end of a turn: its outcome, usage and duration."""
        ended: NormalizedStreamEvent
        stop_reason = None if failed or interrupted else "end_turn"
        if failed is not None:
            ended = ev.TurnFailed(*self.whose(), failed.code, failed.message, origin)
        else:
            ended = ev.TurnCompleted(*self.whose(), stop_reason, interrupted, None, origin)
        if interrupted:
            note = TextBlock(self.text("interrupt_note"), "completed")
            self.say(ev.UserMessage(*self.whose(), [note], "interrupt", self.new_id("note")))
        took = round(self._pieces * self.host.options.delay * 1000)
        summary = ev.ResultSummary(
            *self.whose(),
            subtype="error" if failed else "interrupted" if interrupted else "success",
            is_error=failed is not None,
            duration_ms=took,
            duration_api_ms=took,
            num_turns=self._messages,
            cost_usd=0.0,
            total_cost_usd=0.0,
            usage=Usage(self._read, self._wrote, 0, 0),
            model_usage={"demo": ModelUsage(self._read, self._wrote)},
            stop_reason=stop_reason,
            errors=[failed.message] if failed else None,
        )
        self.say(ended, summary)
