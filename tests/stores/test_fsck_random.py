"""Random conversations with random lost rows can be repaired.

A run tries a part of what there is to try. To try more of it:

    TURNWIRE_EXAMPLES=500 pytest tests/stores/test_fsck_random.py
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from tests.engine.helpers import watcher as watching
from tests.engine.helpers.random_events import ALWAYS, OPTIONS, THINGS, Thing
from tests.engine.helpers.simulation import World
from tests.stores.helpers.fsck_runs import Place, kinds, look
from tests.stores.helpers.sample_logs import broken_rules_of_replay
from tests.stores.helpers.sql import rows_of
from tests.stores.postgres.server import Server
from turnwire.core.conversation.state import Options
from turnwire.stores.copying import copy_store
from turnwire.stores.postgres import PostgresStore
from turnwire.stores.postgres.tables import PostgresTables
from turnwire.stores.sqlite.tables import SqliteTables

CopyInto: TypeAlias = Callable[[Path], Coroutine[None, None, str]]
EXAMPLES = int(os.environ.get("TURNWIRE_EXAMPLES", "60"))

# An engine does not keep these rules in every case, and a repair ends open items as an engine does.
NOT_KEPT_YET: frozenset[str] = getattr(watching, "NOT_KEPT_YET", frozenset())

_STATE = "state without "  # and the field that is lost
# {0} and {1}: which of them, {1} of {0}. {row}: a number of the row.
_ASKING = ("someone_speaks", "someone_repeats", "someone_answers")
DAMAGE = [
    "DELETE FROM messages WHERE sequence_num % {0} = {1}",
    "DELETE FROM messages WHERE sequence_num > {1}",
    "UPDATE messages SET message_json = 'x' WHERE sequence_num % {0} = {1}",
    "UPDATE messages SET message_json = (SELECT message_json FROM messages ORDER BY number LIMIT 1"
    " OFFSET {1}) WHERE sequence_num = {0} AND (SELECT count(*) FROM messages) > {1}",
    "DELETE FROM turns WHERE turn_id % {0} = {1}",
    "UPDATE turns SET ended_at = NULL, end_json = NULL, after_sequence = NULL"
    " WHERE turn_id % {0} = {1}",
    "UPDATE turns SET after_sequence = {0} WHERE ended_at IS NOT NULL",
    "UPDATE turns SET end_json = 'x' WHERE ended_at IS NOT NULL",
    "DELETE FROM requests WHERE {row} % {0} = {1}",
    "DELETE FROM inbox_items WHERE {row} % {0} = {1}",
    "UPDATE requests SET outcome = NULL WHERE {row} % {0} = {1}",
    "UPDATE requests SET outcome = 'cancelled' WHERE {row} % {0} = {1}",
    "UPDATE inbox_items SET closed_at = NULL WHERE {row} % {0} = {1}",
    "DELETE FROM receipts WHERE length(client_message_id) % {0} = {1}",
    "UPDATE conversations SET state_json = 'x'",
    *(_STATE + field for field in ("requests", "tools", "queue", "turn", "turns", "head")),
    "UPDATE conversations SET head = {0}",
    "UPDATE conversations SET unsettled = NOT unsettled",
    "UPDATE conversations SET activity = 'interrupted'",
    "DELETE FROM conversations",
]


def damaged(place: Place, what: str, every: int, which: int) -> None:
    """Does one damage to a store."""
    row = "rowid" if isinstance(place, Path) else "abs(hashtext(request_id))"
    statement = what.format(every, which % every, row=row)
    note(statement)
    if not what.startswith(_STATE):
        rows_of(place, statement)
        return
    for name, text in rows_of(place, "SELECT conversation_id, state_json FROM conversations"):
        with suppress(ValueError):  # the state is lost already
            fields = json.loads(text)
            fields.pop(what.removeprefix(_STATE), None)
            change = "UPDATE conversations SET state_json = $1 WHERE conversation_id = $2"
            rows_of(place, change, json.dumps(fields), name)


async def live(world: World, things: list[Thing], steps: bytes, copy: Path) -> None:
    """A story, and a copy of the log from the middle of it."""
    await world.begin()
    for place in range(0, len(steps), 3):
        world.number = int.from_bytes(steps[place : place + 3], "big")
        happening = world.choose([*ALWAYS, *things])(world)
        if inspect.isawaitable(happening):
            await happening
        await world.settle()
    await world.store.backup(str(copy))
    await world.stop()


def check_repair(place: Place, damage: list[tuple[str, int, int]], now: int) -> None:
    """Damages a store at random; a repair leaves nothing to be found."""
    assert kinds(look(place, now=now)) <= {"stale_owner"}
    for each in damage:
        damaged(place, *each)
    for finding in look(place, now=now).findings:
        note(str(finding))
    left = look(place, now=now, repair=True).left
    assert not left, left
    again = look(place, now=now).findings
    assert not again, again
    if isinstance(place, Path):
        assert rows_of(place, "PRAGMA foreign_key_check") == []
    for (name,) in rows_of(place, "SELECT conversation_id FROM conversations"):
        broken = broken_rules_of_replay(place, name)
        assert not [each for each in broken if each.split()[0] not in NOT_KEPT_YET], broken


STORIES = (
    st.sampled_from(OPTIONS),
    st.booleans(),
    st.lists(st.sampled_from(THINGS), min_size=3, max_size=10, unique=True),
    st.binary(min_size=3 * 8, max_size=3 * 30),
    st.lists(st.tuples(st.sampled_from(DAMAGE), st.integers(1, 6), st.integers(0, 5)), max_size=4),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(*STORIES)
@example(  # all entries are lost, and with them the turn of an open question
    OPTIONS[0],
    False,
    [thing for thing in THINGS if thing.__name__ in _ASKING],
    bytes(21) + b"FPe",
    [(DAMAGE[0], 1, 0), (f"{_STATE}turn", 1, 0)],
)
@example(  # a permission waits whose call is lost
    OPTIONS[0],
    False,
    [thing for thing in THINGS if thing.__name__ in _ASKING],
    bytes(21) + b"\x87\x8e\x90",
    [(f"{_STATE}tools", 1, 0)],
)
@example(  # a request for permission is in the log twice
    OPTIONS[0],
    False,
    THINGS[:9],
    bytes(21) + b">[i",
    [(next(each for each in DAMAGE if "message_json = (SELECT" in each), 4, 2)],
)
def test_a_log_with_any_lost_rows_can_be_repaired(
    options: Options,
    survive: bool,
    things: list[Thing],
    steps: bytes,
    damage: list[tuple[str, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world, copy = World(Path(folder, "log.db"), options, survive=survive), Path(folder, "copy")
        world.note = note
        asyncio.run(live(world, things, steps, copy))
        check_repair(copy, damage, world.clock.now())


@pytest.fixture(scope="module")
def copied(postgres_server: Server, postgres_template: str) -> Iterator[CopyInto]:
    """Copies a file into a new database, and returns its address."""
    names: list[str] = []

    async def copy(path: Path) -> str:
        names.append(await postgres_server.create(postgres_template))
        address = postgres_server.store_address(names[-1])
        source = await SqliteTables.open(str(path), writes=False)
        target = await PostgresTables.open(address, writes=True)
        await copy_store(source, target)
        await target.close()
        await source.close()
        async with PostgresStore.open(address):
            """Indexes the words."""
        return address

    yield copy
    for name in names:
        asyncio.run(postgres_server.drop(name))


@settings(max_examples=max(1, EXAMPLES // 5), deadline=None)
@given(*STORIES)
def test_a_database_with_any_lost_rows_can_be_repaired(
    copied: CopyInto,
    options: Options,
    survive: bool,
    things: list[Thing],
    steps: bytes,
    damage: list[tuple[str, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world, copy = World(Path(folder, "log.db"), options, survive=survive), Path(folder, "copy")
        world.note = note
        asyncio.run(live(world, things, steps, copy))
        check_repair(asyncio.run(copied(copy)), damage, world.clock.now())
