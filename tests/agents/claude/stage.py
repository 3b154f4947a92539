"""The real Claude Code, a model that follows a script, an engine on a real file, and somebody who looks."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.agents.claude.sound import check_log, check_said, check_view, later_view
from tests.agents.claude.wire import Tapped, Wire
from tests.agents.processes import wait_until_gone
from tests.engine.watching import Watcher
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.core.content import Content
from turnwire.core.conversation.state import Options
from turnwire.core.status import TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import ModelApi, Request, ToolUse, claude_environment
from turnwire.testing.model_api.server import Answer

TALK = "talk"
COLOURS = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [
        {"label": "Blue", "description": "like the sky"},
        {"label": "Red", "description": "like a rose"},
    ],
}
SIZES = {**COLOURS, "question": "Which sizes?", "header": "Sizes", "multiSelect": True}
RULES = Options(on_disconnect="continue")


def ask(call: str = "ask_1", *questions: dict[str, Any]) -> ToolUse:
    """Claude's own way to ask a person."""
    return ToolUse("AskUserQuestion", {"questions": list(questions) or [COLOURS]}, id=call)


def bash(command: str, call: str = "bash_1", **more: Any) -> ToolUse:
    return ToolUse("Bash", {"command": command, **more}, id=call)


def touch(name: str, call: str = "bash_1") -> ToolUse:
    """A command that needs permission."""
    return bash(f"touch {name}; echo made {name}", call)


def programs() -> dict[int, str]:
    """The processes that belong to this test, by pid."""
    below = descendants_of(os.getpid(), running())
    return {each.pid: each.name for each in below if not each.dead}


def kill_claude() -> None:
    """kill -9 of the one program that runs."""
    [pid] = [pid for pid, name in programs().items() if name == "claude"]
    os.kill(pid, signal.SIGKILL)


async def until(holds: Callable[[], object]) -> None:
    """For what tells nobody that it has come about: processes, and what an engine has in mind."""
    async with asyncio.timeout(180):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def until_it_runs(name: str) -> int:
    """Until the agent has started a process of this name. Returns its pid."""
    await until(lambda: name in programs().values())
    return next(pid for pid, each in programs().items() if each == name)


class Stage:
    """One conversation; the engine under it can be stopped and started again."""

    api: ModelApi
    store: SqliteStore
    engine: Engine
    talk: Talk
    seen: Watcher

    def __init__(
        self,
        place: Path,
        api: ModelApi,
        rules: Options,
        *,
        idle: float = 120.0,
        per_user: float | None = None,
        **agent: Any,
    ) -> None:
        self.place = place
        self.work = place / "work"
        self.home = place / "home"
        self.work.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.api = api
        self._agent = agent
        self._rules = rules
        self._settings = EngineSettings(
            lease=3.0, agent_idle=idle, budget_usd_per_user=per_user, budget_period="ever"
        )
        self.all_is_heard = True  # false: the model may have said something to nobody
        self.wire = Wire()

    def make_agent(self) -> ClaudeAgent:
        settings = dict(self._agent)
        more = settings.pop("env", {})
        if "TURNWIRE_RECORD_CLAUDE" in os.environ:  # see tools/record_claude.py
            name = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].removesuffix(" (call)")
            settings["record"] = Path(os.environ["TURNWIRE_RECORD_CLAUDE"]) / name
        return Tapped(
            self.wire,
            settings.pop("options", {"model": "claude-sonnet-4-5"}),
            titles=settings.pop("titles", False),
            env={**claude_environment(self.api.url, self.home), **more},
            start_seconds=180.0,  # on a busy machine the real program takes long to start
            **settings,
        )

    async def begin(self, **conversation: Any) -> None:
        await self._start()
        self.talk = await self.engine.create(
            "claude", conversation_id=TALK, cwd=str(self.work), rules=self._rules, **conversation
        )
        await self._look()

    async def _start(self) -> None:
        self.store = await SqliteStore.open(self.place / "turnwire.db")
        agents = {"claude": self.make_agent()}
        self.engine = Engine(self.store, agents, settings=self._settings)
        await self.engine.start()

    async def _look(self) -> None:
        self.seen = Watcher(self.talk)
        self.seen.patience = 180.0
        await self.seen.__aenter__()

    async def start_again(self) -> None:
        """On what a server has left behind that was stopped or killed."""
        await self._start()
        self.talk = await self.engine.open(TALK)
        await self._look()

    async def stop(self) -> None:
        """As it should be. What was seen has to be what the log says, and what the model said."""
        await self.engine.stop()
        await self.seen.ends()
        names = [row.conversation_id for row in await self.store.conversations(limit=1000)]
        views = {name: await later_view(self.store, name) for name in names}
        await self.store.close()
        check_log(self.place / "turnwire.db")
        check_view(self.seen.view(), views[TALK])
        check_said(
            self.api,
            list(views.values()),
            all_of_it=self.all_is_heard,
            refused=[str(data["tool_use_id"]) for data in self.news("question_refused")],
        )
        assert not programs(), "no process is left"

    # --- what tests do ------------------------------------------------------------------------

    async def says(self, text: str | list[Content]) -> TurnEnd:
        """Say something and wait for the end of the turn."""
        turn_id = (await self.talk.send(text)).ack.turn_id
        end = await self.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id)
        return end.payload

    def answer_to(self, prompt: str, words: str) -> Answer:
        """To this prompt alone: before Claude is stopped it may ask what to do without a reply."""

        def answer(request: Request) -> str:
            if prompt in str(request.messages[-1]):
                return words
            self.api.say_next(answer)
            return "Never mind."

        return answer

    async def ends(self) -> TurnEnd:
        return (await self.seen.until(f.AssistantComplete)).payload

    async def asked(self) -> p.RequestInput:
        """The next question."""
        return (await self.seen.until(f.AssistantRequestInput)).payload

    async def wants(self) -> p.PermissionAsked:
        """The next permission that it asks for."""
        return (await self.seen.until(f.AssistantPermissionRequest)).payload

    async def sleeps(self) -> None:
        """Until a question is put aside, and no process is left of the agent."""
        await self.seen.until(
            f.SessionState,
            lambda frame: frame.payload.state == "waiting_input" and not frame.payload.running,
        )
        left = await asyncio.to_thread(wait_until_gone, list(programs()))
        assert not left

    async def held(self, call: str) -> None:
        """Until the program itself waits for the answer to a question, which no frame tells."""
        await until(lambda: call in self.engine.alive[TALK].state.asked.values())

    async def rests(self) -> None:
        """Until nothing runs, if something does."""
        if (await self.talk.status()).running:
            await self.seen.until(f.SessionState, lambda frame: not frame.payload.running)

    def news(self, subtype: str) -> list[dict[str, Any]]:
        """What was told about the session."""
        told: list[p.SystemNews] = [frame.payload for frame in self.seen.of(f.SessionSystemEvent)]
        return [each.data for each in told if each.subtype == subtype]

    @property
    def text(self) -> list[str]:
        """What Claude said for good."""
        chunks = [frame.payload for frame in self.seen.of(f.AssistantChunk)]
        return [chunk.text for chunk in chunks if not chunk.partial and not chunk.snapshot]

    @property
    def results(self) -> dict[str, p.ToolResult]:
        """By call: its result."""
        return {r.payload.tool_use_id: r.payload for r in self.seen.of(f.AssistantToolResult)}

    @property
    def told(self) -> dict[str, Any]:
        """By call: the result that the model was told last."""
        blocks = self.api.requests[-1].tool_results
        return {call: _words(block["content"]) for call, block in blocks.items()}


def _words(content: Any) -> str:
    words = content if isinstance(content, str) else "".join(each["text"] for each in content)
    return words.partition("\n\n<system-reminder>")[0]  # which Claude Code adds for the model


@asynccontextmanager
async def stage(
    place: Path,
    *replies: Answer,
    lanes: Mapping[str, Sequence[Answer]] | None = None,
    rules: Options = RULES,
    conversation: Mapping[str, Any] | None = None,
    aside: Answer = "aside",
    **agent: Any,
) -> AsyncIterator[Stage]:
    """A conversation in which nothing was said yet; at the end its log and its view are checked."""
    async with ModelApi(*replies, lanes=lanes, aside=aside) as api:
        it = Stage(place, api, rules, **agent)
        await it.begin(**(conversation or {}))
        try:
            yield it
        except BaseException:
            await it.engine.stop()
            await it.store.close()
            raise
        await it.stop()
