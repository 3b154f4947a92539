"""The real Codex with a scripted model, an engine on a real file, and a follower."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.agents.claude.helpers.killable_server import until_abandoned
from tests.agents.claude.helpers.log_checks import check_log, check_view, later_view
from tests.agents.claude.helpers.real_claude import RULES, TALK, Stage, programs
from tests.agents.helpers.processes import wait_until_gone
from turnwire.agents.codex import CodexAgent
from turnwire.agents.codex.installation import find_codex
from turnwire.agents.guard import descendants_of, running
from turnwire.engine import Engine
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, ToolUse, codex_environment
from turnwire.testing.model_api.server import Answer

IS_INSTALLED = find_codex() is not None
PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n+world\n*** End Patch\n"


def run(command: str, call: str = "call_1", **more: Any) -> ToolUse:
    """A command of the shell."""
    return ToolUse("exec_command", {"cmd": command, **more}, id=call)


def beyond(command: str, call: str = "call_1") -> ToolUse:
    """A command that needs a permission, because it is to run without the sandbox."""
    return run(command, call, sandbox_permissions="require_escalated", justification="Really?")


def patch(call: str = "call_1") -> ToolUse:
    """A change of a file."""
    return ToolUse("apply_patch", text=PATCH, id=call)


def ask(call: str = "call_1") -> ToolUse:
    """A question to a person."""
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    about = {"id": "colour", "header": "Colour", "question": "Which colour?", "options": options}
    return ToolUse("request_user_input", {"questions": [about]}, id=call)


def kill_codex() -> None:
    """kill -9 of the program. Its sandbox has the same name, and was started later."""
    os.kill(min(pid for pid, name in programs().items() if name == "codex"), signal.SIGKILL)


async def server_dies_at_a_question(place: Path, url: str, options: Any = None) -> None:
    """Runs a server until Codex asks, and kills it. Returns when its conversation is abandoned."""
    module = "tests.agents.codex.helpers.doomed_server"
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, str(place), url, json.dumps(options or {})),
        cwd=Path(__file__).parents[4],
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    async with asyncio.timeout(180):
        while (await server.stdout.readline()).strip() != b"assistant.request_input":
            pass
    below = [each.pid for each in descendants_of(server.pid, running())]
    os.kill(server.pid, signal.SIGKILL)
    await server.wait()
    assert not await asyncio.to_thread(wait_until_gone, below), "no process is left"
    store = await SqliteStore.open(place / "turnwire.db")
    await until_abandoned(store)
    await store.close()


class CodexStage(Stage):
    """A conversation with Codex whose engine can be stopped and started again."""

    toml = ""  # more of config.toml, as dotted keys

    def make_agent(self) -> Any:
        env = codex_environment(self.api.url, self.home)
        file = Path(env["CODEX_HOME"]) / "config.toml"
        file.write_text(self.toml + file.read_text())
        return CodexAgent(env=env, start_seconds=180.0, **self._agent)

    async def begin(self, **conversation: Any) -> None:
        await self._start()
        self.talk = await self.engine.create(
            "codex", conversation_id=TALK, cwd=str(self.work), rules=self._rules, **conversation
        )
        await self._look()

    async def _start(self) -> None:
        self.store = await SqliteStore.open(self.place / "turnwire.db")
        self.engine = Engine(self.store, {"codex": self.make_agent()}, settings=self._settings)
        await self.engine.start()

    async def stop(self) -> None:
        """Stops the engine in order. Checks that follower and log agree, and fsck finds nothing."""
        await self.engine.stop()
        await self.seen.ends()
        view = await later_view(self.store, TALK)
        await self.store.close()
        check_log(self.place / "turnwire.db")
        check_view(self.seen.view(), view)
        assert not programs(), "no process is left"

    @property
    def told(self) -> dict[str, Any]:
        """Returns the result of each call that the model received last."""
        results = self.api.requests[-1].tool_results
        return {call: _text(item["output"]) for call, item in results.items()}


def _text(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output)


@asynccontextmanager
async def stage(
    place: Path,
    *replies: Answer,
    conversation: Mapping[str, Any] | None = None,
    toml: str = "",
    **agent: Any,
) -> AsyncIterator[CodexStage]:
    """A conversation in which nothing was said yet; at the end its log and its view are checked."""
    async with ModelApi(*replies, aside=None) as api:
        it = CodexStage(place, api, RULES, **agent)
        it.toml = toml
        await it.begin(**(conversation or {}))
        try:
            yield it
        except BaseException:
            await it.engine.stop()
            await it.store.close()
            raise
        await it.stop()
