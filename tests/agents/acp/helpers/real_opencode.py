"""The real opencode with a scripted model, an engine on a real file, and a follower."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.agents.claude.helpers.real_claude import RULES, TALK, programs
from tests.agents.codex.helpers.real_codex import CodexStage
from turnwire.agents.acp import AcpAgent
from turnwire.engine import Engine
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi
from turnwire.testing.model_api.server import Answer

VERSION = "1.18.33"


def opencode_environment(url: str, home: Path) -> dict[str, str]:
    """Returns the environment in which opencode uses a scripted model."""
    model = {"name": "Fake", "reasoning": True, "tool_call": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"fake-model": model},
    }
    config = {
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"bash": "ask"},
        "provider": {"fake": provider},
    }
    return {
        "HOME": str(home),
        **{f"XDG_{kind}_HOME": str(home / kind) for kind in ("DATA", "CONFIG", "CACHE", "STATE")},
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


def make_opencode(
    program: Path, url: str, home: Path, work: Path, env: dict[str, str] | None = None
) -> AcpAgent:
    """Returns the agent. `env` has further variables."""
    env = {**opencode_environment(url, home), **(env or {})}
    return AcpAgent("opencode", [str(program), "acp"], env=env, roots=[work], start_seconds=200)


def kill_opencode() -> None:
    """kill -9 of the program, and of the one that it was started by."""
    for pid, name in programs().items():
        if name in ("opencode", "node"):
            os.kill(pid, signal.SIGKILL)


class OpencodeStage(CodexStage):
    """A conversation with opencode; at its end the log is checked, and no process is left."""

    def __init__(
        self,
        program: Path,
        home: Path,
        place: Path,
        api: ModelApi,
        env: dict[str, str] | None = None,
    ) -> None:
        super().__init__(place, api, RULES)
        self._program = program
        self._env = env
        self.home = home

    async def begin(self, **conversation: Any) -> None:
        await self._start()
        self.talk = await self.engine.create(
            "opencode", conversation_id=TALK, cwd=str(self.work), rules=RULES, **conversation
        )
        await self._look()

    async def _start(self) -> None:
        self.store = await SqliteStore.open(self.place / "turnwire.db")
        agent = make_opencode(self._program, self.api.url, self.home, self.work, self._env)
        self.engine = Engine(self.store, {"opencode": agent}, settings=self._settings)
        await self.engine.start()


@asynccontextmanager
async def stage(
    program: Path,
    home: Path,
    place: Path,
    *replies: Answer,
    env: dict[str, str] | None = None,
    conversation: dict[str, Any] | None = None,
) -> AsyncIterator[OpencodeStage]:
    """A conversation in which nothing was said yet; at the end its log and its view are checked."""
    async with ModelApi(*replies) as api:
        it = OpencodeStage(program, home, place, api, env)
        await it.begin(**(conversation or {}))
        try:
            yield it
        except BaseException:
            await it.engine.stop()
            await it.store.close()
            raise
        await it.stop()
