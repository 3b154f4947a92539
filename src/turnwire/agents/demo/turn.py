"""One turn of the demo: numbers, pauses and requests, and the events that a scene is made of."""

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
Whose = tuple[str, str, str | None, str | None]  # what every event begins with


class Stopped(Exception):
    """A person interrupted the turn."""


class Failed(Exception):
    """The turn comes to a bad end."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Work(Protocol):
    """Something that goes on in the background."""

    task: ev.Task

    async def stop(self) -> None:
        """End it."""


class Host(Protocol):
    """The session, as a turn sees it."""

    options: DemoOptions
    session_id: str
    cwd: str | None
    may_delete: bool  # a person allowed it for good
    works: dict[str, Work]  # that go on in the background, by the ids of their tasks

    def say(self, *events: NormalizedStreamEvent) -> None:
        """Hand these out together."""

    async def let_read(self) -> None:
        """Wait for a reader that is behind."""

    async def perish(self) -> None:
        """Be gone, at once. Never returns."""

    def afterwards(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Do this when the turn is over; it says whether there is something to report then."""


def told_of(task: ev.Task) -> dict[str, Any]:
    """A task in the words of its news."""
    about = {"task_id": task.task_id, "tool_use_id": task.tool_use_id}
    return {**about, "description": task.description}


class Turn:
    """What the scenes play on."""

    def __init__(self, host: Host, place: Place, prompt: str = "") -> None:
        self.host = host
        self.place = place
        self.prompt = prompt
        self.stop = asyncio.Event()
        self.waiting: dict[str, asyncio.Future[Reply]] = {}  # by the id that the reply will name
        self._texts = TEXTS[place.language]
        self._number = place.number
        self._read = self._wrote = self._messages = self._pieces = 0

    # --- small things -------------------------------------------------------------------------

    def text(self, name: str, **values: object) -> str:
        """Words in the person's language."""
        return self._texts[name].format(**values) if values else self._texts[name]

    def whose(self, parent: str | None = None) -> Whose:
        """The four fields that every event begins with; `parent`: the call of a helper."""
        agent_id = f"helper-{parent}" if parent else None
        return PROVIDER, self.host.session_id, parent, agent_id

    def say(self, *events: NormalizedStreamEvent) -> None:
        """Hand these out together."""
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
        """Something about the session, in the shape that Claude gives it."""
        message = {"type": "system", "subtype": subtype, **data}
        raw = Raw(msgspec.json.encode(message))
        self.say(kind(*self.whose(), subtype, raw, ephemeral, **typed))

    def task_began(self, task: ev.Task, *, in_background: bool = False) -> None:
        """Tell that a task has begun."""
        told: dict[str, Any] = {**told_of(task), "task_type": task.kind}
        if in_background:
            told["is_backgrounded"] = True
        self.news("task_started", told, ev.TaskChanged, task=task, in_background=in_background)

    def task_ended(self, task: ev.Task, status: str, summary: str) -> None:
        """Tell that a task has ended."""
        told = {**told_of(task), "status": status, "summary": summary}
        self.news("task_notification", told, ev.TaskEnded, task=task)

    def new_id(self, kind: str) -> str:
        """The next id; never one that was given out before in this conversation."""
        self._number += 1
        return f"{kind}_{self.place.turn}_{self._number}"

    def new_question_id(self) -> str:
        """An id that says where the script goes on."""
        self._number += 1
        return structs.replace(self.place, number=self._number).to_id()

    async def pause(self) -> None:
        """Let a piece's time pass. Raises Stopped at an interrupt."""
        self._pieces += 1
        await self.wait(self.host.options.delay)

    async def wait(self, seconds: float) -> None:
        """Let this time pass, and a reader catch up. Raises Stopped at an interrupt."""
        if seconds > 0 and not self.stop.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.stop.wait()
        else:
            await asyncio.sleep(0)  # others may speak: an interrupt, the reader
        if self.stop.is_set():
            raise Stopped
        await self.host.let_read()

    # --- tools and requests -------------------------------------------------------------------

    def result(
        self, tool_use_id: str, content: Any, *, error: bool = False, parent: str | None = None
    ) -> None:
        """A call has its result."""
        block = ToolResultBlock(tool_use_id, content, error, "failed" if error else "completed")
        uuid = f"{tool_use_id}-result"
        self.say(ev.UserMessage(*self.whose(parent), [block], "tool", uuid))

    async def output(self, tool_use_id: str, text: str, parent: str | None = None) -> None:
        """A call prints this, line by line. An interrupt gives it its result."""
        delay = self.host.options.delay
        try:
            for number, line in enumerate(text.splitlines(keepends=True), 1):
                for _ in range(5):  # commands are slower than words
                    await self.pause()
                seconds = round(number * 5 * delay, 3)
                self.say(ev.ToolProgress(*self.whose(parent), tool_use_id, "Bash", seconds, line))
        except Stopped:
            self.result(tool_use_id, self.text("interrupted"), error=True, parent=parent)
            raise

    async def ask(
        self, request: ev.QuestionAsked | ev.PermissionRequested, *, reply_to: str
    ) -> Reply:
        """Wait for a person. An interrupt takes the request back and gives the call its result."""
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

    # --- figures ------------------------------------------------------------------------------

    def count(self, wrote: str) -> Usage:
        """Tokens of one message, as likely as can be without a model: four characters each."""
        read, written = 120 + len(self.prompt) // 4 + self._wrote, 1 + len(wrote) // 4
        self._read += read
        self._wrote += written
        self._messages += 1
        return Usage(read, written, 0, 0)

    def begin(self, *, first: bool, by_itself: bool = False) -> None:
        """The first words of every turn."""
        if first:
            tools = ["Agent", "Bash", "TodoWrite", "request_input"]
            self.say(ev.SessionInit(*self.whose(), "demo", self.host.cwd, "default", tools, "1"))
        self.say(ev.TurnStarted(*self.whose(), by_itself))
        self.news("status", {"status": "requesting"}, ephemeral=True)

    def end(self, failed: Failed | None, *, interrupted: bool, origin: str | None = None) -> None:
        """The last words of every turn: how it ended, and what it took."""
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
