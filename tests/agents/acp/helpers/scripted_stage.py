"""The scripted agent behind a real engine on a real file, with a follower."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from tests.agents.acp.helpers.sessions import scripted
from tests.agents.claude.helpers.real_claude import RULES, TALK
from tests.agents.codex.helpers.real_codex import CodexStage
from turnwire.engine import Engine
from turnwire.stores.sqlite import SqliteStore


class ScriptedStage(CodexStage):
    """A conversation with the scripted agent; at its end the log is checked, no process is left."""

    def __init__(self, place: Path, **agent: Any) -> None:
        super().__init__(place, cast("Any", None), RULES, **agent)

    def make_agent(self) -> Any:
        return scripted(self.work, **self._agent)

    async def begin(self, **conversation: Any) -> None:
        await self._start()
        self.talk = await self.engine.create(
            "scripted", conversation_id=TALK, cwd=str(self.work), rules=RULES, **conversation
        )
        await self._look()

    async def _start(self) -> None:
        self.store = await SqliteStore.open(self.place / "turnwire.db")
        self.engine = Engine(self.store, {"scripted": self.make_agent()}, settings=self._settings)
        await self.engine.start()


@asynccontextmanager
async def stage(
    place: Path, conversation: dict[str, Any] | None = None, **agent: Any
) -> AsyncIterator[ScriptedStage]:
    """A conversation in which nothing was said yet; at the end its log and its view are checked."""
    it = ScriptedStage(place, **agent)
    await it.begin(**(conversation or {}))
    try:
        yield it
    except BaseException:
        await it.engine.stop()
        await it.store.close()
        raise
    await it.stop()
