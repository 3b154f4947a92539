"""Asks the open questions and permissions of a chat, one at a time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from rich.text import Text

from turnwire.cli.chatting.painter import ChatPainter
from turnwire.cli.chatting.screen import ChatScreen
from turnwire.cli.live.ask import TOO_LATE, Decision, ask_permission, ask_question
from turnwire.cli.live.conversing import Conversing
from turnwire.cli.live.requests import lines_of
from turnwire.client import Closed
from turnwire.core.error_codes import Refused
from turnwire.core.status import OpenRequest
from turnwire.dialects.v2 import frames as f

__all__ = ["Requests"]


class Requests:
    """The open requests of the conversation. The story shows them; this class asks the person."""

    is_guest = False

    def __init__(self, talk: Conversing, screen: ChatScreen, painter: ChatPainter) -> None:
        self._talk = talk
        self._screen = screen
        self._painter = painter
        self._open: list[OpenRequest] = []
        self._told: set[str] = set()  # ids of requests that the story has shown
        self._given: set[str] = set()  # ids of requests that were answered in this chat
        self._news = asyncio.Event()
        self.is_asking = False

    def hear(self, frame: f.Frame) -> None:
        """Takes a frame, after the story has shown it."""
        match frame:
            case f.SessionState(payload=status):
                self._open = status.requests
                self._news.set()
            case f.AssistantRequestInput(payload=asked):
                self._told.add(asked.question_id)
            case f.AssistantPermissionRequest(payload=wanted):
                self._told.add(wanted.request_id)
            case _:
                pass

    def answered_elsewhere(self, request_id: str) -> bool:
        """Returns whether the request was open and another client has answered it."""
        return self._is_open(request_id) and request_id not in self._given

    async def ask_all(self) -> None:
        """Asks one request after the other until the chat ends."""
        async with asyncio.TaskGroup() as giving:
            while True:
                request = await self._next()
                async with self._screen.aside():
                    if self._is_open(request.request_id):
                        reply = await self._ask(request)
                        if reply is not None:
                            self._given.add(request.request_id)
                            giving.create_task(self._give(request, reply))

    async def _next(self) -> OpenRequest:
        while True:
            for request in self._open:
                if request.request_id not in self._given:
                    return request
            self._news.clear()
            await self._news.wait()

    async def _ask(self, request: OpenRequest) -> Any:
        """Asks the person. Returns None if the request ends in another way meanwhile."""
        if request.request_id not in self._told:
            self._told.add(request.request_id)
            self.note(lines_of(request))
        self._painter.draw()
        ask = ask_question if request.kind == "question" else ask_permission
        asking = asyncio.ensure_future(ask(self, request))
        gone = asyncio.ensure_future(self._until_gone(request.request_id))
        self.is_asking = True
        try:
            await asyncio.wait([asking, gone], return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            self.is_asking = False
            for task in (asking, gone):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _until_gone(self, request_id: str) -> None:
        while self._is_open(request_id):
            self._news.clear()
            await self._news.wait()

    async def _give(self, request: OpenRequest, reply: Any) -> None:
        try:
            with suppress(Closed):  # the task that follows the conversation reports it
                if isinstance(reply, Decision):
                    await self._talk.decide(request.request_id, reply)
                else:
                    await self._talk.answer(request.request_id, reply)
        except Refused as refused:
            self.note([Text(TOO_LATE.get(refused.code, refused.message), "yellow")])
            if refused.code not in TOO_LATE:  # still open: ask again
                self._given.discard(request.request_id)
                self._news.set()

    def _is_open(self, request_id: str) -> bool:
        return any(each.request_id == request_id for each in self._open)

    # --- the Asker protocol ---------------------------------------------------------------------

    def tell(self, lines: list[Text]) -> None:
        """Does nothing: the story shows the request and its end."""

    def note(self, lines: list[Text]) -> None:
        """Shows a remark on an answer."""
        self._painter.note(lines)

    def forget_keys(self) -> None:
        """Does nothing: the screen has put the draft away before the question."""

    async def read_line(self, hint: str, text: str = "") -> str | None:
        """Reads an answer at the prompt."""
        return await self._screen.read_line(hint, text)
