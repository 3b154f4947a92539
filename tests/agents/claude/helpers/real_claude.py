"""The real Claude Code with a scripted model, an engine on a real file, and a follower."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.agents.claude.helpers.log_checks import check_said, check_store, check_view, later_view
from tests.agents.claude.helpers.program_traffic import Tapped, Wire
from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.watcher import Watcher
from tests.stores.helpers.sql import rows_of
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.core.content import Content
from turnwire.core.conversation.state import Options
from turnwire.core.status import TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.payloads import Interrupted
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.ports import Store
from turnwire.stores.open_store import open_store
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
    """Polls for a condition that no event announces: processes, and the state of an engine."""
    async with asyncio.timeout(180):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def until_it_runs(name: str) -> int:
    """Waits until the agent has started a process of this name. Returns its pid."""
    await until(lambda: name in programs().values())
    return next(pid for pid, each in programs().items() if each == name)


class Stage:
    """A conversation whose engine can be stopped and started again."""

    api: ModelApi
    store: Store
    engine: Engine
    talk: Talk
    seen: Watcher

    def __init__(
        self,
        place: Path,
        api: ModelApi,
        rules: Options,
        *,
        address: str | None = None,
        idle: float = 120.0,
        per_user: float | None = None,
        **agent: Any,
    ) -> None:
        """`address`: of the store; None: a file in `place`."""
        self.place = place
        self.address = address or str(place / "turnwire.db")
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
        self.all_is_heard = True  # False: some output of the model may have reached no follower
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
        self.store = await open_store(self.address)
        agents = {"claude": self.make_agent()}
        self.engine = Engine(self.store, agents, settings=self._settings)
        await self.engine.start()

    async def _look(self) -> None:
        self.seen = Watcher(self.talk)
        self.seen.patience = 180.0
        await self.seen.__aenter__()

    async def start_again(self) -> None:
        """Starts a new engine on the store of one that was stopped or killed."""
        await self._start()
        self.talk = await self.engine.open(TALK)
        await self._look()

    async def stop(self) -> None:
        """Stops the engine in order. Checks that followers, log and model agree."""
        await self.engine.stop()
        await self.seen.ends()
        names = [row.conversation_id for row in await self.store.conversations(limit=1000)]
        views = {name: await later_view(self.store, name) for name in names}
        await self.store.close()
        await check_store(self.address)
        check_view(self.seen.view(), views[TALK])
        check_said(
            self.api,
            list(views.values()),
            all_of_it=self.all_is_heard,
            refused=[str(data["tool_use_id"]) for data in self.news("question_refused")],
        )
        assert not programs(), "no process is left"

    def forget_sessions(self) -> None:
        """Removes all records of Claude's sessions: its own files, and the pieces in the store."""
        shutil.rmtree(self.home)
        self.home.mkdir()
        rows_of(self.place / "turnwire.db", "DELETE FROM session_pieces")

    # --- actions of tests ---------------------------------------------------------------------

    async def says(self, text: str | list[Content]) -> TurnEnd:
        """Say something and wait for the end of the turn."""
        turn_id = (await self.talk.send(text)).ack.turn_id
        end = await self.seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id)
        return end.payload

    def answer_to(self, prompt: str, words: str) -> Answer:
        """Answers this prompt alone: before Claude is stopped it may ask for another reply."""

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
        """Waits until a question is deferred and the agent has no process."""
        await self.seen.until(
            f.SessionState,
            lambda frame: frame.payload.state == "waiting_input" and not frame.payload.running,
        )
        left = await asyncio.to_thread(wait_until_gone, list(programs()))
        assert not left

    async def held(self, call: str) -> None:
        """Waits until the program itself waits for an answer, which no frame shows."""
        await until(lambda: call in self.engine.alive[TALK].state.asked.values())

    async def rests(self) -> None:
        """Waits until no turn runs."""
        if (await self.talk.status()).running:
            await self.seen.until(f.SessionState, lambda frame: not frame.payload.running)

    def news(self, subtype: str) -> list[dict[str, Any]]:
        """Returns the notices about the session."""
        told: list[p.SystemNews] = [frame.payload for frame in self.seen.of(f.SessionSystemEvent)]
        return [each.data for each in told if each.subtype == subtype]

    @property
    def text(self) -> list[str]:
        """Returns the finished text of Claude."""
        chunks = [frame.payload for frame in self.seen.of(f.AssistantChunk)]
        return [chunk.text for chunk in chunks if not chunk.partial and not chunk.snapshot]

    @property
    def results(self) -> dict[str, p.ToolResult]:
        """Returns the result of each call."""
        return {r.payload.tool_use_id: r.payload for r in self.seen.of(f.AssistantToolResult)}

    @property
    def told(self) -> dict[str, Any]:
        """Returns the last result of each call that the model received."""
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


async def stop(it: Stage) -> Interrupted:
    """Stops the running turn, waits for its end, and returns the receipt."""
    status = await it.talk.status()
    assert status.turn_id is not None
    await it.talk.interrupt(status.turn_id, user="ann")
    receipt = (await it.seen.until(f.ConversationInterrupted)).payload
    end = await it.ends()
    assert end.interrupted
    return receipt


def deliveries(it: Stage, number: int) -> list[str]:
    """Returns how the answer to a question was delivered, each time."""
    told = it.news("answer_delivered")
    return [data["delivered_as"] for data in told if data["request_id"] == f"ask_{number}"]
