"""One person in one conversation: sends messages, follows turns, answers requests, stops turns."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, TypeVar

from rich.text import Text

from turnwire.cli.conversations import new_id
from turnwire.cli.live.ask import TOO_LATE, ask_permission, ask_question
from turnwire.cli.live.conversing import Conversing
from turnwire.cli.live.view import StoryView, View
from turnwire.cli.terminal.words import plain, some
from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest, Status, TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.errors import TurnwireError

__all__ = ["Left", "Removed", "Session"]

T = TypeVar("T")

_REPORT = 2.0  # seconds in which an agent starts a turn about background work that has ended


class Left(Exception):
    """The person leaves. `code` is the exit code; `request` is the request that stays open."""

    def __init__(self, code: int, request: OpenRequest | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.request = request


class Removed(TurnwireError):
    """The person's queued message was removed before its turn."""


class Session:
    """Shows frames and handles Ctrl-C, inside `async with`."""

    def __init__(self, talk: Conversing, view: View) -> None:
        self._talk = talk
        self._view = view
        self._status: Status | None = None
        self._ends: dict[int, TurnEnd] = {}
        self._queued: set[str] = set()  # queue ids seen so far
        self._turn_of: dict[str, int] = {}  # turn ids, by client message id
        self._unreported = False  # background work has run, and no turn about it has followed
        self._report: int | None = None  # the newest turn that the agent began by itself
        self._cursor = 0
        self._news = asyncio.Event()
        self._stops = 0  # how often the person pressed Ctrl-C
        self._leaving: asyncio.Future[int] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def status(self) -> Status:
        """Returns the current state of the conversation."""
        assert self._status is not None
        return self._status

    async def __aenter__(self) -> Session:
        loop = asyncio.get_running_loop()
        self._leaving = loop.create_future()
        loop.add_signal_handler(signal.SIGINT, self._stop)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave, 128 + number)
        if isinstance(self._view, StoryView):
            loop.add_signal_handler(signal.SIGWINCH, self._view.resized)
        self._cursor = await self._talk.head()
        self._spawn(self._follow())
        await self._until(lambda: self._status is not None)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError, Refused):
                await task
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH):
            loop.remove_signal_handler(number)

    # --- messages and turns -----------------------------------------------------------------------

    async def say(self, words: str) -> TurnEnd:
        """Sends a message and follows its turn until the end. Raises Left or Removed."""
        self._stops = 0
        self._view.status("Working")
        own_id = new_id()
        turn_id, item = await self._talk.send(words, own_id)
        if turn_id is None and item is not None:  # queued
            # Waits for the message, not its queue item: a reconnect may have missed the queue.
            await self._until(lambda: own_id in self._turn_of or self._is_removed(item))
            if own_id not in self._turn_of:
                self._view.status(None)
                raise Removed("your message was removed from the queue. Send it again.")
        return await self.see(turn_id or self._turn_of[own_id])

    async def heed(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits a coroutine. Raises Left if the person leaves first."""
        working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(self._until(lambda: False))
        try:
            await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                leaving.result()
            return working.result()
        finally:
            for task in (working, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, Left):
                    await task

    async def see(self, turn_id: int) -> TurnEnd:
        """Follows a turn until its end, and asks its requests. Raises Left."""
        while True:
            await self._until(lambda: self._is_over(turn_id) or bool(self.status.requests))
            if self._is_over(turn_id):
                self._view.status(None)
                return self._ends[turn_id]
            await self._ask(self.status.requests[0])

    async def see_background(self) -> TurnEnd | None:
        """Follows background work, and the turn about it. Returns the last turn's end, if any."""
        before = len(self._ends)
        while True:
            turn_id = self.status.turn_id
            tasks = self._background()
            if turn_id is not None:
                await self.see(turn_id)
            elif tasks:
                self._view.status(plain(f"In the background: {some(tasks, 2)}"), "Ctrl-C ends it")
                await self._until(partial(self._moved_on, tasks))
            elif self._unreported:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_REPORT):
                        await self._until(self._speaks_of_it)
                        continue
                self._unreported = False  # no turn about it came
            else:
                self._view.status(None)
                return [*self._ends.values()][-1] if len(self._ends) > before else None

    @property
    def has_background(self) -> bool:
        """Returns whether background work runs, or has ended and a turn about it may follow."""
        return bool(self._background()) or self._unreported

    def _is_removed(self, item: str) -> bool:
        waiting = [other.queue_id for other in self.status.queue]
        return item in self._queued and item not in waiting

    def _is_over(self, turn_id: int) -> bool:
        return turn_id in self._ends and self.status.turn_id != turn_id

    def _background(self) -> list[str]:
        told = [task.description or task.task_id for task in self.status.background_tasks]
        return told or self._view.tasks

    def _moved_on(self, before: list[str]) -> bool:
        return self._background() != before or self.status.turn_id is not None

    def _speaks_of_it(self) -> bool:
        return self.status.turn_id is not None or not self._unreported

    # --- asking -------------------------------------------------------------------------------

    async def _ask(self, request: OpenRequest) -> None:
        """Asks a request until it is answered or ends. Raises Left if the person cannot be asked."""
        painter = self._view.painter
        if painter is None:
            raise Left(3, request)
        ask = ask_question if request.kind == "question" else ask_permission
        self._view.status(None)
        asking = asyncio.ensure_future(ask(painter, request))
        gone = asyncio.ensure_future(self._until(lambda: not self._is_open(request)))
        try:
            await asyncio.wait([asking, gone], return_when=asyncio.FIRST_COMPLETED)
            self._check_leaving()
            if not asking.done():
                words = "This request has ended; no answer is needed."
                self._view.note([Text(words, "dim")] if not self._stops else [])
                return
            reply = asking.result()
        finally:
            for task in (asking, gone):
                task.cancel()
                with suppress(asyncio.CancelledError, Left):
                    await task
        if reply is None:
            raise Left(3, request)
        self._view.status("Working")
        try:
            await self.give(request, reply)
        except Refused as refused:  # the caller asks again
            self._view.status(None)
            self._view.note([Text(refused.message, "yellow")])

    async def give(self, request: OpenRequest, reply: Any) -> None:
        """Sends an answer or a decision, and waits until the request has ended. Raises Refused."""
        try:
            if request.kind == "question":
                await self._talk.answer(request.request_id, reply)
            else:
                await self._talk.decide(request.request_id, reply)
        except Refused as refused:
            if refused.code not in TOO_LATE:
                raise
            self._view.note([Text(TOO_LATE[refused.code], "yellow")])
        await self._until(lambda: not self._is_open(request))

    def _is_open(self, request: OpenRequest) -> bool:
        return any(other.request_id == request.request_id for other in self.status.requests)

    # --- stopping -----------------------------------------------------------------------------

    def _stop(self) -> None:
        """Handles Ctrl-C: the first stops the turn, the second leaves. Without a turn, leaves."""
        self._stops += 1
        turn_id = self._status.turn_id if self._status and self._status.running else None
        if turn_id is None or self._stops > 1:
            self._leave(130)
            return
        self._view.status("Stopping", "Ctrl-C again leaves at once")
        self._spawn(self._talk.interrupt(turn_id))

    def _leave(self, code: int) -> None:
        if self._leaving is not None and not self._leaving.done():
            self._leaving.set_result(code)
        self._news.set()

    def _check_leaving(self) -> None:
        if self._leaving is not None and self._leaving.done():
            raise Left(self._leaving.result())

    # --- following ----------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Shows all frames. If this follower was too slow, starts again after the last entry."""
        while True:
            frames = self._talk.frames(self._cursor)
            with suppress(FollowAgain):
                async with aclosing(frames):
                    async for frame in frames:
                        self._take(frame)

    def _take(self, frame: f.Frame) -> None:
        self._view.frame(frame)
        number = getattr(frame.payload, "message_sequence", None)  # type: ignore[attr-defined]
        self._cursor = number or self._cursor
        event = frame.payload.event if isinstance(frame, f.MessageReplay) else frame
        match event:
            case f.SessionState(payload=status):
                self._status = status
                self._queued |= {item.queue_id for item in status.queue}
                self._unreported = self._unreported or bool(status.background_tasks)
            case f.TurnStarted(payload=start):
                if start.origin == "agent":
                    self._report = start.turn_id
            case f.UserMessage(turn_id=int(turn_id), payload=said) if said.client_message_id:
                self._turn_of[said.client_message_id] = turn_id
            case f.AssistantComplete(turn_id=int(turn_id), payload=end):
                self._ends[turn_id] = end
                if turn_id == self._report or end.interrupted:
                    self._unreported = False  # the next state lists the work that still runs
            case _:
                pass
        self._news.set()

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Waits until a condition holds. Raises Left if the person leaves first."""
        while not holds():
            self._news.clear()
            await self._news.wait()
            self._check_leaving()
            for task in [task for task in self._tasks if task.done()]:
                self._tasks.discard(task)
                task.result()  # raises the error of the task

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(lambda _: self._news.set())
