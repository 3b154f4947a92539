"""Parts that break a guarantee, put into a real day in place of the sound ones.

Each part breaks one invariant; the check has to report that invariant by name.
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

from tests.engine.helpers.reconnecting_client import number_of
from tests.prove.helpers import journal, users
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
from turnwire.engine.actor import actor, steps
from turnwire.engine.actor.agent_runner import AgentRunner
from turnwire.engine.clock import SystemClock
from turnwire.engine.fanout import follow
from turnwire.engine.fanout.channel import Subscriber
from turnwire.engine.fanout.remote_follow import RemoteFollow
from turnwire.engine.ownership.owned_conversations import OwnedConversations
from turnwire.ports import Claim, Commit
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.commit import CommitJob

# A broken part can make a day wait for an event that never comes: the wait is short.
PATIENCE = 7.0
LONG = 1.3  # seconds: longer than anything may take to be saved


def _stores() -> list[Any]:
    from turnwire.stores.postgres import PostgresStore  # takes long to import

    return [SqliteStore, PostgresStore]


def nothing() -> None:
    """Breaks nothing."""


def tells_before_it_writes() -> None:
    """A commit returns, and is written a little later."""
    for store in _stores():
        _have_commits_later(store)


def _have_commits_later(store: Any) -> None:
    real = store.commit

    async def later(self: Any, commit: Commit) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, lambda: _forget(asyncio.ensure_future(real(self, commit))))

    store.commit = later


def _forget(task: asyncio.Task[None]) -> None:
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


def loses_an_entry() -> None:
    """The third entry of every log is gone as soon as it was written."""
    real = CommitJob.run

    def run(self: CommitJob, db: apsw.Cursor) -> None:
        real(self, db)
        db.execute("DELETE FROM messages WHERE sequence_num = 3")

    CommitJob.run = run  # type: ignore[method-assign]
    from turnwire.stores.postgres.commit_writer import CommitWriter

    send_batch = CommitWriter._send

    async def send(self: CommitWriter, connection: Any, jobs: Any) -> dict[int, tuple[int, int]]:
        written = await send_batch(self, connection, jobs)
        await connection.execute("DELETE FROM messages WHERE sequence_num = 3")
        return written

    CommitWriter._send = send  # type: ignore[method-assign]


def drops_a_frame() -> None:
    """Sends the tenth entry of a log to no client."""
    real = Subscriber.receive

    def receive(self: Subscriber, together: list[Sent]) -> None:
        numbers = [number_of(sent.frame) for sent in together]
        real(self, [s for s, number in zip(together, numbers, strict=True) if number != 10])

    Subscriber.receive = receive  # type: ignore[method-assign]


def subscribes_late() -> None:
    """Sends a new client the state, and not the events right after it."""
    real = Subscriber.receive
    late: WeakSet[Subscriber] = WeakSet()

    def receive(self: Subscriber, together: list[Sent]) -> None:
        if self in late:
            real(self, together)
        late.add(self)

    Subscriber.receive = receive  # type: ignore[method-assign]


def trusts_the_bus() -> None:
    """A remote follower reads the log only after a hint of the bus."""
    RemoteFollow.compare = lambda self, version: None  # type: ignore[method-assign]


def ignores_the_epoch() -> None:
    """Accepts every cursor of a client as one of this log."""

    def trusting(last: int, epoch: str | None, tail: int | None, *, head: int, **_: str) -> Start:
        return Start(min(last, head), resumed=last > 0)

    follow.start_of = trusting  # type: ignore[attr-defined, assignment]


def forgets_who_waits() -> None:
    """A message that has to wait is acknowledged, and that is all."""
    _have_queues(lambda before, after: before)


def reverses_the_queue() -> None:
    """The newest queued message runs first."""
    _have_queues(lambda before, after: [after[-1], *after[:-1]])


def _have_queues(as_: Callable[[list[Waiting], list[Waiting]], list[Waiting]]) -> None:
    """Whenever a message comes to a queue, have it as this says."""

    def meddling(state: Conversation, happened: Input) -> tuple[Conversation, Effects]:
        after, effects = step(state, happened)
        if effects.ack is not None and len(after.queue) > len(state.queue):
            after = structs.replace(after, queue=as_(state.queue, after.queue))
        return after, effects

    steps.step = meddling  # type: ignore[attr-defined, assignment]


def forgets_the_fence() -> None:
    """Accepts commits of every owner, and appends their entries to the log."""

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

    async def renew(self: Any, owner: str, **_: object) -> bool:
        return True

    CommitJob.run = run  # type: ignore[method-assign]
    for store in _stores():
        store.renew_node = renew
    OwnedConversations._lose = lambda self, actors: []  # type: ignore[method-assign]
    _have_postgres_forget_the_fence()


def _have_postgres_forget_the_fence() -> None:
    """Sends each commit as if it were the present owner's, with the next numbers of the log."""
    from turnwire.stores.postgres import doubt
    from turnwire.stores.postgres.commit_writer import CommitWriter

    send_batch = CommitWriter._send

    async def send(self: CommitWriter, connection: Any, jobs: Any) -> dict[int, tuple[int, int]]:
        found = await doubt.read_rows(connection, [job.rows for job in jobs])
        for job in jobs:
            rows, row = job.rows, found[job.key]
            if (row.fence, row.owner, row.head) == (rows.move[1], rows.move[2], rows.move[3]):
                continue
            entries = rows.rows.get("entries", [])
            numbered = [(number, *each[1:]) for number, each in enumerate(entries, row.head + 1)]
            kept = {name: rows.rows[name] for name in ("turns", "audit") if name in rows.rows}
            rows.rows = {**kept, "entries": numbered} if numbered else kept
            moved = (row.fence, row.owner, row.head, row.head + len(entries))
            rows.move = (rows.move[0], *moved, *rows.move[5:])
            self._shared.versions.set(job.key, row.version, row.state_bytes)
        return await send_batch(self, connection, jobs)

    CommitWriter._send = send  # type: ignore[method-assign]


def lets_processes_live() -> None:
    """The guard ends without ending its processes."""
    text = Path(str(guard.__file__)).read_text(encoding="utf-8")
    weak = Path(sys.argv[1], "weak_guard.py")
    weak.write_text(text.replace("left = self._end_all()", "left = []"), encoding="utf-8")
    confine = Path(str(guard.__file__)).with_name(
        "confine.py"
    )  # which the guard loads from its own folder
    Path(sys.argv[1], "confine.py").write_bytes(confine.read_bytes())
    process.GUARD[-1] = str(weak)


def leaves_calls_open() -> None:
    """The agent gives no results, and the engine does not add them."""
    Turn.result = lambda *_, **__: None  # type: ignore[method-assign]
    turns.close_tools = lambda *_, **__: None  # type: ignore[attr-defined]


def forgets_what_was_asked() -> None:
    """Tells a client with a late answer that the question does not exist."""

    async def request(self: Any, conversation_id: str, request_id: str) -> None:
        return None

    for store in _stores():
        store.request = request


def recovers_nothing() -> None:
    """Turns of a crashed server are shown as running for ever."""
    actor.Actor.recover = lambda self: None  # type: ignore[method-assign]


def saves_nothing() -> None:
    """Growing text is only in memory. A day that is to die does so after a text was shown for long."""
    began: dict[BlockName, float] = {}

    async def save(self: Any, claim: Claim, partials: Sequence[Partial]) -> None:
        now = time.monotonic()
        longest = max(now - began.setdefault(partial.block, now) for partial in partials)
        if longest > LONG and os.environ.get(VARIABLE):
            os._exit(EXIT_CODE)

    for store in _stores():
        store.save_partials = save
    from tests.prove.helpers import lost_connections

    lost_connections.EVERY = sys.maxsize  # what is not saved meanwhile would be excused


def never_stops() -> None:
    """A stop is taken, and that is all."""
    AgentRunner._stop = lambda self, command: None  # type: ignore[method-assign]
    real = Turn.pause

    async def pause(self: Turn) -> None:
        self.stop.clear()
        await (asyncio.sleep(0.05) if "long" in self.place.scenes else real(self))

    Turn.pause = pause  # type: ignore[method-assign]


def sets_the_clock() -> None:
    """Breaks nothing, but sets the machine's clock by two hours again and again."""
    real = SystemClock.now

    def now(self: SystemClock) -> int:
        return real(self) + [0, 7_200_000, -7_200_000, 60_000][int(time.monotonic() / 0.15) % 4]

    SystemClock.now = now  # type: ignore[method-assign]


def has_another_clock_on_one_node() -> None:
    """Breaks nothing, but the clock of the first node is two hours ahead."""
    if "a" not in sys.argv:
        return
    real = SystemClock.now
    SystemClock.now = lambda self: real(self) + 7_200_000  # type: ignore[method-assign]


PARTS: dict[str, Callable[[], None]] = {
    part.__name__: part
    for part in [
        nothing,
        sets_the_clock,
        has_another_clock_on_one_node,
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
        users.PATIENCE = PATIENCE * journal.load()
    PARTS[part]()
