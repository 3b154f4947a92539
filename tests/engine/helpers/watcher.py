"""A follower that collects frames and waits for one, without sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from turnwire.agents.demo import DemoAgent
from turnwire.core.view import View
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import encode
from turnwire.dialects.v2.validator.check import SessionCheck
from turnwire.dialects.v2.view_reducer import ViewReducer
from turnwire.engine import Engine, Talk
from turnwire.engine.settings import EngineSettings
from turnwire.ports import Agent, Clock
from turnwire.stores.open_store import open_store

F = TypeVar("F", bound=f.Frame)

PATIENCE = 120.0  # seconds; only a broken test waits that long


class Watcher:
    """Collects the frames of one connection; `until` waits for the one a test is about."""

    patience = PATIENCE

    def __init__(self, talk: Talk, **place: Any) -> None:
        self.frames: list[f.Frame] = []
        self._talk = talk
        self._place = place
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._read = 0  # frames that a search has passed

    async def __aenter__(self) -> Watcher:
        self._task = asyncio.create_task(self._collect())
        await self.until(f.SessionState)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        broken = broken_rules(self.frames)
        assert not broken, broken

    async def ends(self) -> None:
        """Waits for the end of following, then does the same as the end of `async with`."""
        assert self._task is not None
        async with asyncio.timeout(self.patience):
            await asyncio.wait([self._task])
        await self.__aexit__()

    async def _collect(self) -> None:
        try:
            async with aclosing(self._talk.follow(**self._place)) as frames:
                async for frame in frames:
                    self.frames.append(frame)
                    self._more.set()
        finally:
            self._more.set()

    async def until(self, kind: type[F], that: Callable[[F], bool] = lambda frame: True) -> F:
        """The next frame of this kind, from where the last search ended."""
        async with asyncio.timeout(self.patience):
            while True:
                while self._read < len(self.frames):
                    frame = self.frames[self._read]
                    self._read += 1
                    if isinstance(frame, kind) and that(frame):
                        return frame
                assert self._task is not None
                if self._task.done():
                    self._task.result()
                    raise AssertionError("the conversation is no longer followed")
                self._more.clear()
                await self._more.wait()

    async def more_than(self, number: int) -> None:
        """Waits until there are more than this many frames."""
        while len(self.frames) <= number:
            self._more.clear()
            await self._more.wait()

    async def state(self, state: str) -> f.SessionState:
        """Wait for a state."""
        return await self.until(f.SessionState, lambda frame: frame.payload.state == state)

    def of(self, kind: type[F]) -> list[F]:
        """Returns all frames of a kind so far."""
        return [frame for frame in self.frames if isinstance(frame, kind)]

    def view(self) -> View:
        """Returns the view of this follower."""
        reducer = ViewReducer()
        for frame in self.frames:
            reducer.apply(frame)  # type: ignore[arg-type]  # every frame of a server is one
        return reducer.view()


def broken_rules(frames: list[f.Frame]) -> list[str]:
    """Returns the rules of the protocol that a connection broke. It may have ended at any frame."""
    check = SessionCheck()
    for number, frame in enumerate(frames, 1):
        assert frame.sequence is not None
        check.feed(encode(frame).at(frame.sequence), number)
    return [f"{v.code} at {v.line}: {v.message}" for v in check.report().violations]


@asynccontextmanager
async def engine_on(
    path: Path | str,
    *,
    agent: Agent | None = None,
    clock: Clock | None = None,
    settings: EngineSettings | None = None,
) -> AsyncIterator[Engine]:
    """Runs an engine on a real file or database, with the demo agent by default."""
    store = await open_store(path)
    try:
        agents: dict[str, Agent] = {"demo": agent or DemoAgent()}
        if agent is not None:
            agents[agent.name] = agent
        async with Engine(store, agents, clock=clock, settings=settings) as engine:
            yield engine
    finally:
        await store.close()


async def talk_with(engine: Engine, **options: Any) -> Talk:
    """Creates a conversation with a demo agent without delays."""
    return await engine.create("demo", options={"delay": 0, **options})
