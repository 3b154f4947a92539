"""A chat session: connects one person at a terminal to a conversation on a server."""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from prompt_toolkit.formatted_text import StyleAndTextTuples
from rich.text import Text

from turnwire.background import BackgroundTasks
from turnwire.cli.chatting.agent_command import chosen_agent
from turnwire.cli.chatting.bar import bar_of
from turnwire.cli.chatting.painter import ChatPainter
from turnwire.cli.chatting.requests import Requests
from turnwire.cli.chatting.screen import ChatScreen
from turnwire.cli.live.ending import next_step
from turnwire.cli.live.pen import Pen
from turnwire.cli.live.story import Story
from turnwire.cli.live.there import There
from turnwire.cli.terminal.visible import safe
from turnwire.cli.terminal.words import plain
from turnwire.client import ClientConversation, Closed
from turnwire.core.content import Content, TextContent
from turnwire.core.error_codes import Refused
from turnwire.core.status import QueueItem, Status
from turnwire.dialects.v2 import frames as f
from turnwire.server.access.keys import OWNER

__all__ = ["Room"]

_SHOWN = 5  # messages of the queue
_TICK = 0.2  # seconds between two updates of the durations in the bar


class Room:
    """A chat. `stay` shows the conversation and handles input until the person leaves."""

    def __init__(
        self,
        name: str,
        talk: ClientConversation,
        pen: Pen,
        server: Callable[[], str | None],
        user: str | None,
    ) -> None:
        """`server` returns the command that starts a server, if none runs.

        `user` is the user of the token, or None if it is not known yet.
        """
        self._talk = talk
        self._server = server
        self._screen = ChatScreen(pen, self)
        self._painter = ChatPainter(pen, self._screen)
        self._story = Story(self._painter, past=True, others=self)
        self._requests = Requests(There(name, talk), self._screen, self._painter)
        self.status: Status | None = None
        self._agent = "the agent"
        self._can_steer = False  # the agent takes messages into a running turn
        self._since = 0.0  # the start of the turn
        self._stopping: int | None = None  # the turn that is being stopped
        self._user = user
        self._sent: set[str] = set()  # client message ids of this chat
        self._taken: set[str] = set()  # messages of the queue that are being removed for editing
        self.unsent: list[str] = []  # messages that the server has not acknowledged
        self.has_spoken = False  # a message was sent, even if the server refused it
        self._tasks = BackgroundTasks(self._done)
        self._leaving: asyncio.Future[int] | None = None

    async def stay(self) -> int:
        """Runs until the person leaves. Returns the exit code.

        Raises Closed if the server closed the connection for good.
        """
        loop = asyncio.get_running_loop()
        self._leaving = loop.create_future()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            code = 0 if number == signal.SIGINT else 128 + number
            loop.add_signal_handler(number, self._leave, code)
        self._talk.on_line = self._screen.refresh
        try:
            async with self._screen.open():
                for work in (self._follow(), self._requests.ask_all(), self._tick()):
                    self._tasks.run(work)
                try:
                    return await self._leaving
                finally:
                    self._painter.stop()
        finally:
            self._talk.on_line = None
            for task in self._tasks.cancel():
                with suppress(asyncio.CancelledError, Refused, Closed):
                    await task
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def note(self, lines: list[Text]) -> None:
        """Shows lines that do not come from a frame."""
        self._painter.note(lines)

    # --- input of the person ------------------------------------------------------------------

    def entered(self, text: str, *, steer: bool = False) -> None:
        """Sends a message. An empty line resumes a held queue, or reconnects at once if offline.

        `/agent NAME` lets another agent speak from the next turn on.
        """
        if (agent := chosen_agent(text)) is not None:
            self._tasks.run(self._set_agent(agent))
        elif text.strip():
            self.has_spoken = True
            self.unsent.append(text)
            self._tasks.run(self._send(text, steer=steer and self._can_steer))
        elif self._talk.line.state == "offline":
            self._talk.hurry()
        elif self.status is not None and self.status.queue_held:
            self._tasks.run(self._talk.change_queue("resume"))

    def escaped(self) -> None:
        """Stops the turn, on Esc."""
        turn_id = self.status.turn_id if self.status is not None else None
        if turn_id is not None and self._stopping != turn_id:
            self._stopping = turn_id
            self._tasks.run(self._talk.interrupt(turn_id))
            self._screen.refresh()

    def left(self) -> None:
        """Leaves the chat."""
        self._leave(0)

    def reached_up(self) -> bool:
        """Takes the person's newest queued message back. Returns False if there is none."""
        item = self._newest()
        if item is None:
            return False
        self._taken.add(item.queue_id)
        self._tasks.run(self._take_back(item))
        return True

    def bar(self) -> StyleAndTextTuples:
        """Returns the text of the status bar."""
        offline = self._talk.line.state == "offline"
        return bar_of(
            self._talk.line,
            self.status,
            agent=self._agent,
            now=asyncio.get_running_loop().time(),
            since=self._since,
            is_asking=self._requests.is_asking,
            is_stopping=self._stopping is not None,
            start=self._server() if offline else None,
        )

    def invitation(self) -> str:
        """Returns the placeholder of the empty prompt."""
        if self.status is None or self.status.turn_id is None:
            return "Type a message"
        steers = "; Tab sends it into the turn" if self._can_steer else ""
        return f"Type a message: it is queued{steers}"

    def _leave(self, code: int) -> None:
        if self._leaving is not None and not self._leaving.done():
            self._leaving.set_result(code)

    async def _send(self, text: str, *, steer: bool) -> None:
        self._show_waiting()
        try:
            self._sent.add(own_id := str(uuid.uuid4()))
            await self._talk.send(text, own_id, steer=steer)
        except Refused as refused:
            self.note([Text(refused.message, "yellow")])
            self._screen.give_back(text)
        self.unsent.remove(text)  # after a cancellation it stays, and is reported at the end
        self._show_waiting()

    async def _set_agent(self, agent: str) -> None:
        await self._talk.set_agent(agent)
        if self.status is not None and self.status.turn_id is not None:
            self.note([Text(f"{plain(agent)} speaks from the next turn on.", "dim")])

    def _newest(self) -> QueueItem | None:
        """Returns the newest queued text message of this person that is not being taken back."""
        for item in reversed(self.status.queue if self.status is not None else []):
            is_own = item.client_message_id in self._sent or item.by in self._names()
            is_here = item.queue_id not in self._taken and item.steers is None
            if is_own and is_here and all(isinstance(part, TextContent) for part in item.content):
                return item
        return None

    def _names(self) -> list[str | None]:
        """Returns the names of this person in the log. The list is empty if they are not known."""
        return [None, OWNER] if self._user == OWNER else [self._user] if self._user else []

    async def _take_back(self, item: QueueItem) -> None:
        try:
            await self._talk.change_queue("remove", item.queue_id)
        except Refused:
            self._taken.discard(item.queue_id)
            raise
        self._screen.give_back(_words(item.content))

    # --- frames of the conversation -----------------------------------------------------------

    async def _follow(self) -> None:
        async for frame in self._talk:
            if isinstance(frame, f.Frame):
                self._story.feed(frame)
                self._requests.hear(frame)
                self._take(frame)

    def _take(self, frame: f.Frame) -> None:
        match frame:
            case f.SessionConnected(payload=info) | f.SessionResumed(payload=info):
                self._agent = plain(info.capabilities.agent)
                self._can_steer = info.capabilities.steer
            case f.SessionState(payload=status):
                if self.status is None or status.turn_id != self.status.turn_id:
                    self._since = asyncio.get_running_loop().time()
                self.status = status
                self._agent = plain(status.agent) if status.agent else self._agent
                for item in status.queue:
                    if item.client_message_id in self._sent:
                        self._user = item.by or OWNER
                if self._stopping != status.turn_id:
                    self._stopping = None
                self._show_waiting()
            case f.AssistantComplete(payload=end):
                self._painter.rest()
                step = next_step(end)
                self.note([Text(step)] if step else [])
            case _:
                pass

    def answered_elsewhere(self, request_id: str) -> bool:
        """Returns whether the request was open and another client has answered it."""
        return self._requests.answered_elsewhere(request_id)

    def stopped_elsewhere(self, turn_id: int | None) -> bool:
        """Returns whether the turn was running and another client has stopped it."""
        running = self.status.turn_id if self.status is not None else None
        return running == turn_id and self._stopping != turn_id

    def _show_waiting(self) -> None:
        """Shows the queue, and the messages that are being sent."""
        lines: list[Text] = []
        status = self.status
        if status is not None:
            word = "held" if status.queue_held else "queued"
            lines += [
                _waiting("into the turn" if item.steers else word, _words(item.content))
                for item in status.queue[:_SHOWN]
            ]
            if (more := len(status.queue) - _SHOWN) > 0:
                lines.append(Text(f"  and {more} more", "dim"))
        lines += [_waiting("sending", text) for text in self.unsent]
        keys = ["Up edits the last one"] if self._newest() is not None else []
        if status is not None and status.queue and status.queue_held:
            keys.insert(0, "Enter resumes the queue")
        if keys:
            lines.append(Text(f"  {' · '.join(keys)}", "dim"))
        self._painter.waiting(lines)

    async def _tick(self) -> None:
        """Redraws the bar while it shows a duration. Reconnects at once when the server is back."""
        server = self._server()
        while True:
            await asyncio.sleep(_TICK)
            if self._talk.line.state == "offline":
                there, server = server, self._server()
                if there is not None and server is None:
                    self._talk.hurry()  # the server is back: do not wait for the next retry
            if self._talk.line.state != "live" or (self.status and self.status.turn_id is not None):
                self._screen.refresh()

    # --- tasks --------------------------------------------------------------------------------

    def _done(self, task: asyncio.Task[Any]) -> None:
        problem = None if task.cancelled() else task.exception()
        if isinstance(problem, Refused):
            self._stopping = None
            self.note([Text(problem.message, "yellow")])
        elif problem is not None and self._leaving is not None and not self._leaving.done():
            self._leaving.set_exception(problem)


def _words(content: list[Content]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, TextContent))


def _waiting(word: str, text: str) -> Text:
    return Text.assemble((f"  {word}: ", "dim"), plain(safe(text)))
