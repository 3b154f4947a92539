"""A client that loses its connection, reconnects, and keeps one copy of the conversation."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress

from tests.engine.helpers.watcher import PATIENCE, broken_rules
from turnwire.core.view import View
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine import Talk
from turnwire.errors import TurnwireError


class Client:
    """Follows a conversation over any number of connections, and keeps one copy of it."""

    def __init__(self, after: int = 0) -> None:
        self.after = after  # the cursor at the beginning
        self.connections: list[list[f.Frame]] = []
        self._task: asyncio.Task[None] | None = None
        self._reducer = ViewReducer()
        self._cursor = after
        self._more = asyncio.Event()

    @property
    def is_there(self) -> bool:
        return self._task is not None and not self._task.done()

    def come(self, talk: Talk) -> None:
        """Connect, from where it was."""
        self._task = asyncio.create_task(self._follow(talk))

    async def leave(self) -> None:
        """The connection is lost."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _follow(self, talk: Talk) -> None:
        with suppress(TurnwireError):  # it was too slow, or the server is gone
            await self._read(talk)

    async def _read(self, talk: Talk) -> None:
        frames: list[f.Frame] = []
        self.connections.append(frames)
        epoch = talk._engine.store.epoch if self._cursor else None
        following = talk.follow(last_sequence=self._cursor or None, epoch=epoch)
        async with aclosing(following):
            async for frame in following:
                frames.append(frame)
                self._cursor = number_of(frame) or self._cursor
                self._reducer.apply(frame)  # type: ignore[arg-type]  # a server's frame is one
                self._more.set()

    async def more(self) -> None:
        """Wait for another frame."""
        assert self.is_there, "the conversation is no longer followed"
        self._more.clear()
        async with asyncio.timeout(PATIENCE):
            await self._more.wait()

    def view(self) -> View:
        """Returns the view of this client."""
        return self._reducer.view()

    def check(self) -> None:
        """Seam and contiguous: each connection keeps the page, and all of them leave no gap."""
        broken = broken_rules([frame for frames in self.connections for frame in frames])
        assert not broken, broken
        expected = self.after + 1
        for frames in self.connections:
            for frame in frames:
                number = number_of(frame)
                if number is not None:
                    assert number == expected, f"contiguous: {number} instead of {expected}"
                    expected += 1
            ends = [frame.turn_id for frame in frames if isinstance(frame, f.AssistantComplete)]
            assert len(ends) == len(set(ends)), "every turn has one end"
            check_queue(frames)


def check_queue(frames: list[f.Frame]) -> None:
    """Checks that messages run in the order of the queue."""
    waiting: list[str] = []
    for frame in frames:
        if isinstance(frame, f.SessionState):
            waiting = [item.queue_id for item in frame.payload.queue]
        elif isinstance(frame, f.TurnStarted) and frame.payload.origin == "user" and waiting:
            assert frame.payload.queue_id == waiting.pop(0), "queue order is run order"


def number_of(frame: f.Frame) -> int | None:
    """The number in the log, if it has one."""
    number = getattr(frame.payload, "message_sequence", None)  # type: ignore[attr-defined]
    return number if isinstance(number, int) else None
