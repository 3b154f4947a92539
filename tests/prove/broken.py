"""Parts that do not keep what they promise, put into a real day in the place of those that do.

Each breaks one invariant; the check has to find it under its name.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakSet

import apsw
from msgspec import structs

from tests.engine.clients import number_of
from tests.prove import journal, people
from turnwire.agents import guard, process
from turnwire.agents.demo.turn import Turn
from turnwire.core.conversation import step, turns
from turnwire.core.conversation.effects import Effects
from turnwire.core.conversation.inputs import Input
from turnwire.core.conversation.state import Conversation, Waiting
from turnwire.core.opening import Start
from turnwire.core.partials import BlockName, Partial
from turnwire.crash_points import EXIT_CODE, VARIABLE
from turnwire.dialects.v2.sent import Sent
from turnwire.engine.actor import actor
from turnwire.engine.actor.agent_runner import AgentRunner
from turnwire.engine.clock import SystemClock
from turnwire.engine.fanout import follow
from turnwire.engine.fanout.channel import Subscriber
from turnwire.engine.fanout.remote_follow import RemoteFollow
from turnwire.ports import Claim, Commit
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.commit import CommitJob

# These days hang where something never happens: nobody has to wait for it for long.
PATIENCE = 7.0
LONG = 1.3  # seconds: longer than anything may take to be saved


def nothing() -> None:
    """Everything is as it should be."""


def tells_before_it_writes() -> None:
    """A commit returns, and is written a little later."""
    real = SqliteStore.commit

    async def later(self: SqliteStore, commit: Commit) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, lambda: _forget(asyncio.ensure_future(real(self, commit))))

    SqliteStore.commit = later  # type: ignore[method-assign]


def _forget(task: asyncio.Task[None]) -> None:
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


def loses_an_entry() -> None:
    """The third entry of every log is gone as soon as it was written."""
    real = CommitJob.run

    def run(self: CommitJob, db: apsw.Cursor) -> None:
        real(self, db)
        db.execute("DELETE FROM messages WHERE sequence_num = 3")

    CommitJob.run = run  # type: ignore[method-assign]


def drops_a_frame() -> None:
    """Nobody is sent the tenth entry of any log."""
    real = Subscriber.receive

    def receive(self: Subscriber, together: list[Sent]) -> None:
        numbers = [number_of(sent.frame) for sent in together]
        real(self, [s for s, number in zip(together, numbers, strict=True) if number != 10])

    Subscriber.receive = receive  # type: ignore[method-assign]


def subscribes_late() -> None:
    """Whoever comes is told the state of a moment, and does not hear what happens next."""
    real = Subscriber.receive
    late: WeakSet[Subscriber] = WeakSet()

    def receive(self: Subscriber, together: list[Sent]) -> None:
        if self in late:
            real(self, together)
        late.add(self)

    Subscriber.receive = receive  # type: ignore[method-assign]


def trusts_the_bus() -> None:
    """Who follows from elsewhere looks at the log only if the bus says so."""
    RemoteFollow._tick = lambda self: None  # type: ignore[method-assign]


def ignores_the_epoch() -> None:
    """Whatever place somebody comes with, it is taken for one in this log."""

    def trusting(last: int, epoch: str | None, tail: int | None, *, head: int, **_: str) -> Start:
        return Start(min(last, head), resumed=last > 0)

    follow.start_of = trusting  # type: ignore[attr-defined, assignment]


def forgets_who_waits() -> None:
    """A message that has to wait is acknowledged, and that is all."""
    _have_queues(lambda before, after: before)


def reverses_the_queue() -> None:
    """Who spoke last is heard first."""
    _have_queues(lambda before, after: [after[-1], *after[:-1]])


def _have_queues(as_: Callable[[list[Waiting], list[Waiting]], list[Waiting]]) -> None:
    """Whenever a message comes to a queue, have it as this says."""

    def meddling(state: Conversation, happened: Input) -> tuple[Conversation, Effects]:
        after, effects = step(state, happened)
        if effects.ack is not None and len(after.queue) > len(state.queue):
            after = structs.replace(after, queue=as_(state.queue, after.queue))
        return after, effects

    actor.step = meddling  # type: ignore[attr-defined, assignment]


def forgets_the_fence() -> None:
    """Whoever writes is believed to own what it writes to, and its entries come behind all others."""

    def run(self: CommitJob, db: apsw.Cursor) -> None:
        state, unsettled, name = self._move[1], self._move[3], self._move[6]
        head: Any = db.execute(
            "SELECT head FROM conversations WHERE conversation_id = ?", (name,)
        ).get
        for number, (add, row, _) in enumerate(self._entries, head + 1):
            db.execute(add, (row[0], number, *row[2:]))
        db.execute(
            "UPDATE conversations SET head = ?, state_json = ?, unsettled = ?"
            " WHERE conversation_id = ?",
            (head + len(self._entries), state, unsettled, name),
        )
        for sql, row in self._others:
            db.execute(sql.replace("INSERT INTO", "INSERT OR IGNORE INTO"), row)

    async def renew(self: SqliteStore, claims: Sequence[Claim], **_: int) -> list[Claim]:
        return list(claims)

    CommitJob.run = run  # type: ignore[method-assign]
    SqliteStore.renew = renew  # type: ignore[method-assign]


def lets_processes_live() -> None:
    """The guard ends, and ends nobody."""
    text = Path(str(guard.__file__)).read_text(encoding="utf-8")
    weak = Path(sys.argv[1], "weak_guard.py")
    weak.write_text(text.replace("left = self._end_all()", "left = []"), encoding="utf-8")
    confine = Path(str(guard.__file__)).with_name(
        "confine.py"
    )  # which the guard loads from beside it
    Path(sys.argv[1], "confine.py").write_bytes(confine.read_bytes())
    process.GUARD[-1] = str(weak)


def leaves_calls_open() -> None:
    """The agent gives no results, and nobody gives them instead."""
    Turn.result = lambda *_, **__: None  # type: ignore[method-assign]
    turns.close_tools = lambda *_, **__: None  # type: ignore[attr-defined]


def forgets_what_was_asked() -> None:
    """Who comes too late is told that nobody had asked."""

    async def request(self: SqliteStore, conversation_id: str, request_id: str) -> None:
        return None

    SqliteStore.request = request  # type: ignore[method-assign]


def recovers_nothing() -> None:
    """What was running when a server fell is said to run for ever."""
    actor.Actor.recover = lambda self: None  # type: ignore[method-assign]


def saves_nothing() -> None:
    """What grows is only in memory. A day that is to die does so when a text was seen for long."""
    began: dict[BlockName, float] = {}

    async def save(self: SqliteStore, claim: Claim, partials: Sequence[Partial]) -> None:
        now = time.monotonic()
        longest = max(now - began.setdefault(partial.block, now) for partial in partials)
        if longest > LONG and os.environ.get(VARIABLE):
            os._exit(EXIT_CODE)

    SqliteStore.save_partials = save  # type: ignore[method-assign, assignment]


def never_stops() -> None:
    """A stop is taken, and that is all."""
    AgentRunner._stop = lambda self, command: None  # type: ignore[method-assign]
    real = Turn.pause

    async def pause(self: Turn) -> None:
        self.stop.clear()
        await (asyncio.sleep(0.05) if "long" in self.place.scenes else real(self))

    Turn.pause = pause  # type: ignore[method-assign]


def sets_the_clock() -> None:
    """Nothing is broken, but the machine's clock is set all the time, by two hours."""
    real = SystemClock.now

    def now(self: SystemClock) -> int:
        return real(self) + [0, 7_200_000, -7_200_000, 60_000][int(time.monotonic() / 0.15) % 4]

    SystemClock.now = now  # type: ignore[method-assign]


PARTS: dict[str, Callable[[], None]] = {
    part.__name__: part
    for part in [
        nothing,
        sets_the_clock,
        tells_before_it_writes,
        loses_an_entry,
        drops_a_frame,
        subscribes_late,
        trusts_the_bus,
        ignores_the_epoch,
        forgets_who_waits,
        reverses_the_queue,
        forgets_the_fence,
        lets_processes_live,
        leaves_calls_open,
        forgets_what_was_asked,
        recovers_nothing,
        never_stops,
        saves_nothing,
    ]
}


def put_in(part: str) -> None:
    """Break the day with this part."""
    if part != "nothing":
        people.PATIENCE = PATIENCE * journal.load()
    PARTS[part]()
