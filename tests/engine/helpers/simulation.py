"""A simulation: people, a scripted agent, and a server that stops or crashes at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct

from tests.engine.helpers.reconnecting_client import Client
from tests.engine.helpers.scripted_agent import ScriptedAgent, ScriptedSession
from tests.engine.helpers.watcher import PATIENCE
from turnwire.core.conversation.state import Options
from turnwire.engine import Answer, Engine, EngineSettings, Talk
from turnwire.errors import TurnwireError
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

T = TypeVar("T")
LEASE = 10.0


class Asked(Struct, eq=False):
    """A command of a person, and its answer; no answer if the server crashed meanwhile."""

    kind: str
    about: Any
    client_message_id: str
    task: asyncio.Task[Answer | TurnwireError]

    @property
    def answer(self) -> Answer | None:
        told = self._told
        return told if isinstance(told, Answer) else None

    @property
    def refusal(self) -> TurnwireError | None:
        told = self._told
        return told if isinstance(told, TurnwireError) else None

    @property
    def _told(self) -> Answer | TurnwireError | None:
        return self.task.result() if self.task.done() and not self.task.cancelled() else None


async def told(what: Callable[[], Awaitable[Answer]]) -> Answer | TurnwireError:
    try:
        return await what()
    except TurnwireError as refused:
        return refused


class World:
    """Runs random events; each event takes its choices from one number."""

    talk: Talk
    engine: Engine
    store: SqliteStore

    def __init__(self, path: Path, options: Options, *, survive: bool) -> None:
        self.path = path
        self.options = options
        self.agent = ScriptedAgent(questions_survive=survive)
        self.clock = ManualClock()
        self.asked: list[Asked] = []
        self.clients: list[Client] = []
        self.number = 0
        self.ids = 0
        self.note: Callable[[str], None] = lambda said: None

    # --- the server -----------------------------------------------------------------------------

    async def begin(self) -> None:
        await self._start()
        self.talk = await self.engine.create("scripted", conversation_id="talk", rules=self.options)

    async def _start(self) -> None:
        self.store = await SqliteStore.open(self.path)
        self.engine = Engine(
            self.store,
            {"scripted": self.agent},
            clock=self.clock,
            # Looking every two seconds is half of all the work where minutes pass at once.
            settings=EngineSettings(lease=LEASE, recheck=LEASE),
        )
        await self.engine.start()

    async def start_again(self) -> None:
        await self._start()
        self.talk = await self.engine.open("talk")

    async def server_stops(self) -> None:
        await self.stop()
        await self.start_again()

    async def stop(self) -> None:
        """Stops the server in order."""
        async with asyncio.timeout(PATIENCE):
            await self.engine.stop()
            for client in self.clients:
                await client.leave()
            await asyncio.gather(*(asked.task for asked in self.asked), return_exceptions=True)
        assert not self.agent.live, "no agent outlives its server"
        await self.store.close()

    async def server_falls(self) -> None:
        """Crashes the server: only the file is left, and its lease expires."""
        await self.store.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        for session in self.agent.live:
            session.dies()  # its guard sees to that
        self.clock = ManualClock(self.clock.now() + round(LEASE * 1000) + 1)
        await self.start_again()

    async def settle(self) -> None:
        """Waits until no work is pending."""
        async with asyncio.timeout(PATIENCE):
            while busy := self._busy():
                # One that has only begun to open an agent may hang there, and is no longer busy then.
                await asyncio.wait(busy, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
        await self._check_truth()

    def _busy(self) -> set[asyncio.Task[Any]]:
        busy: set[asyncio.Task[Any]] = {a.task for a in self.asked if not a.task.done()}
        busy |= {*self.engine._background}
        unheard = False
        for live in self.engine.alive.values():
            runner = live._runner
            opening = runner._worker if not self.agent.opening else None
            busy |= {task for task in (live._task, opening) if task}
            if runner._unknown_end is not None and not runner._unknown_end.reporting.done():
                busy.add(runner._unknown_end.reporting)
            agent = runner._open
            if agent is None:
                continue
            busy |= {*agent.asked}
            session = agent.session
            if isinstance(session, ScriptedSession):
                unheard = unheard or session.has_unread or not session.is_alive
        if unheard and not busy:
            busy.add(asyncio.create_task(asyncio.sleep(0)))  # its reader is about to hear it
        return busy

    async def _check_truth(self) -> None:
        """Checks the truthful state: `running` means that an agent works on the turn."""
        status = await self.talk.status()
        there = self.agent.live
        assert len(there) + self.agent.opening <= 1, "a conversation has one agent"
        if not status.running or self.agent.opening:
            return
        assert there, "nothing runs without a live agent"
        turn = self.engine.alive["talk"].state.turn
        assert turn is not None
        works = there[0].in_turn or there[0].waits is not None
        assert works or turn.phase == "stopping", "nothing seems to run that does not"

    # --- choices --------------------------------------------------------------------------------

    def choose(self, choices: list[T]) -> T:
        """Returns one of these, chosen by the number."""
        self.number, which = divmod(self.number, len(choices))
        return choices[which]

    def new_id(self) -> str:
        self.ids += 1
        return f"c{self.ids}"

    def ask(self, kind: str, about: Any, what: Callable[[], Awaitable[Answer]], name: str) -> None:
        """Sends a command of a person without waiting for the answer."""
        self.note(f"{kind} {about} {name}")
        self.asked.append(Asked(kind, about, name, asyncio.create_task(told(what))))

    # --- people ---------------------------------------------------------------------------------

    def someone_speaks(self) -> None:
        for _ in range(self.choose([1, 1, 3])):
            name = self.new_id()
            self.say(name, f"message {name}")

    def say(self, name: str, text: str) -> None:
        self.ask(
            "send", text, partial(self.talk.send, text, user="ann", client_message_id=name), name
        )

    def someone_repeats(self) -> None:
        """Repeats a command without an answer; or, wrongly, another command with its id."""
        before = [asked for asked in self.asked if asked.kind == "send"]
        if before:
            again = self.choose(before)
            self.say(again.client_message_id, self.choose([again.about, again.about, "else"]))

    async def someone_answers(self) -> None:
        request_id, name = await self.pick_request(), self.new_id()
        resume = self.choose([True, True, False])
        answer = partial(
            self.talk.answer,
            request_id,
            "blue",
            resume_task=resume,
            user="ann",
            client_message_id=name,
        )
        self.ask("answer", request_id, answer, name)

    async def someone_decides(self) -> None:
        request_id, name = await self.pick_request(), self.new_id()
        decisions: list[Literal["allow", "deny"]] = ["allow", "deny"]
        decision = partial(
            self.talk.decide, request_id, self.choose(decisions), user="ben", client_message_id=name
        )
        self.ask("decide", request_id, decision, name)

    async def someone_stops(self) -> None:
        status, name = await self.talk.status(), self.new_id()
        turn_id = self.choose([status.turn_id, status.turn_id, status.last_turn_id]) or 1
        fates: list[Literal["hold", "continue", "clear"]] = ["hold", "continue", "clear"]
        fate = self.choose(fates)
        stop = partial(self.talk.interrupt, turn_id, queue=fate, user="ann", client_message_id=name)
        self.ask("stop", turn_id, stop, name)

    async def someone_changes_the_queue(self) -> None:
        status, name = await self.talk.status(), self.new_id()
        waiting = [item.queue_id for item in status.queue] or ["none"]
        actions: list[Literal["remove", "replace", "move", "resume"]]
        actions = ["remove", "replace", "move", "resume"]
        change = partial(
            self.talk.change_queue,
            self.choose(actions),
            self.choose(waiting),
            content="something else",
            before=self.choose([None, *waiting]),
            client_message_id=name,
        )
        self.ask("queue", None, change, name)

    async def pick_request(self) -> str:
        """Returns an open request if there is one, otherwise an old one."""
        status = await self.talk.status()
        ids = [request.request_id for request in status.requests]
        before: list[str] = [a.about for a in self.asked if a.kind in ("answer", "decide")]
        return self.choose([*ids, *ids, *before[-2:]] or ["none"])

    # --- followers ------------------------------------------------------------------------------

    async def someone_comes(self) -> None:
        """Connects a client without a copy or with a part of the log."""
        row = await self.store.conversation("talk")
        assert row is not None
        client = Client(self.choose([0, 0, row.head, row.head // 2]))
        self.clients.append(client)
        client.come(self.talk)

    async def someone_loses_the_connection(self) -> None:
        if self.clients:
            await self.choose(self.clients).leave()

    def someone_comes_again(self) -> None:
        if self.clients:
            client = self.choose(self.clients)
            if not client.is_there:
                client.come(self.talk)

    # --- the agent ------------------------------------------------------------------------------

    def agent_works(self) -> None:
        """Makes the agent send several events at once."""
        deeds = [
            ScriptedSession.begins,
            lambda agent: agent.speaks("some words. ", finishes=False),
            lambda agent: agent.speaks("the last words.", finishes=True),
            ScriptedSession.calls_a_tool,
            ScriptedSession.prints,
            ScriptedSession.gets_results,
            ScriptedSession.asks,
            ScriptedSession.wants,
            ScriptedSession.withdraws,
            ScriptedSession.ends,
        ]
        for session in self.agent.live:
            session.begins()
            for _ in range(self.choose([1, 2, 3])):
                self.choose(deeds)(session)

    def agent_is_done(self) -> None:
        for session in self.agent.live:
            session.ends()

    def agent_fails(self) -> None:
        for session in self.agent.live:
            session.fails()

    def agent_dies(self) -> None:
        for session in self.agent.live:
            self.choose([ScriptedSession.ends, ScriptedSession.calls_a_tool])(session)
            session.dies()

    def agent_changes(self) -> None:
        """Changes how the agent behaves when it is opened or stopped."""
        how = self.choose(["well", "refuses", "hangs", "deaf"])
        self.agent.refuses, self.agent.hangs = how == "refuses", how == "hangs"
        self.agent.obeys = how != "deaf"

    # --- time -----------------------------------------------------------------------------------

    def time_passes(self) -> None:
        self.clock.forward(self.choose([1, 6, 31, 61, 200]))
