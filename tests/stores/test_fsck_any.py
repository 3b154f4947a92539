"""Whatever has happened in a conversation, and whatever is then lost of it: it can be repaired.

A run tries a part of what there is to try. To try more of it:

    TURNWIRE_EXAMPLES=500 pytest tests/stores/test_fsck_any.py
"""

from __future__ import annotations

import asyncio
import inspect
import os
import tempfile
from pathlib import Path

from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from tests.engine import watching
from tests.engine.test_promises import ALWAYS, OPTIONS, THINGS, Thing
from tests.engine.world import World
from tests.stores.files import rows_of
from tests.stores.logs import broken_rules_of_replay
from turnwire.core.conversation.state import Options
from turnwire.stores.sqlite.fsck import check

# An engine does not keep these in every case, and a repair ends what it finds as an engine does.
NOT_KEPT_YET: frozenset[str] = getattr(watching, "NOT_KEPT_YET", frozenset())

_STATE = "UPDATE conversations SET state_json = "
# {0} and {1}: which of them, {1} of {0}.
_WITHOUT_TOOLS = f"{_STATE} json_remove(state_json, '$.tools') WHERE json_valid(state_json)"
_ASKING = ("someone_speaks", "someone_repeats", "someone_answers")
DAMAGE = [
    "DELETE FROM messages WHERE sequence_num % {0} = {1}",
    "DELETE FROM messages WHERE sequence_num > {1}",
    "UPDATE messages SET message_json = 'x' WHERE sequence_num % {0} = {1}",
    "UPDATE messages SET message_json = (SELECT message_json FROM messages ORDER BY number LIMIT 1"
    " OFFSET {1}) WHERE sequence_num = {0}",
    "DELETE FROM turns WHERE turn_id % {0} = {1}",
    "UPDATE turns SET ended_at = NULL, end_json = NULL, after_sequence = NULL"
    " WHERE turn_id % {0} = {1}",
    "UPDATE turns SET after_sequence = {0} WHERE ended_at IS NOT NULL",
    "UPDATE turns SET end_json = 'x' WHERE ended_at IS NOT NULL",
    "DELETE FROM requests WHERE rowid % {0} = {1}",
    "DELETE FROM inbox_items WHERE rowid % {0} = {1}",
    "UPDATE requests SET outcome = NULL WHERE rowid % {0} = {1}",
    "UPDATE requests SET outcome = 'cancelled' WHERE rowid % {0} = {1}",
    "UPDATE inbox_items SET closed_at = NULL WHERE rowid % {0} = {1}",
    "DELETE FROM receipts WHERE rowid % {0} = {1}".replace("rowid", "length(client_message_id)"),
    f"{_STATE} 'x'",
    f"{_STATE} json_remove(state_json, '$.requests') WHERE json_valid(state_json)",
    _WITHOUT_TOOLS,
    f"{_STATE} json_remove(state_json, '$.queue') WHERE json_valid(state_json)",
    f"{_STATE} json_remove(state_json, '$.turn') WHERE json_valid(state_json)",
    f"{_STATE} json_remove(state_json, '$.turns') WHERE json_valid(state_json)",
    f"{_STATE} json_set(state_json, '$.head', {{0}}) WHERE json_valid(state_json)",
    "UPDATE conversations SET head = {0}",
    "UPDATE conversations SET unsettled = NOT unsettled",
    "DELETE FROM conversations",
]


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


@settings(max_examples=int(os.environ.get("TURNWIRE_EXAMPLES", "60")), deadline=None)
@given(
    st.sampled_from(OPTIONS),
    st.booleans(),
    st.lists(st.sampled_from(THINGS), min_size=3, max_size=10, unique=True),
    st.binary(min_size=3 * 8, max_size=3 * 30),
    st.lists(st.tuples(st.sampled_from(DAMAGE), st.integers(1, 6), st.integers(0, 5)), max_size=4),
)
@example(  # a permission waits, and nobody remembers the call that it is about
    OPTIONS[0],
    False,
    [thing for thing in THINGS if thing.__name__ in _ASKING],
    bytes(21) + b"\x87\x8e\x90",
    [(_WITHOUT_TOOLS, 1, 0)],
)
@example(  # a request for permission is in the log twice
    OPTIONS[0],
    False,
    THINGS[:9],
    bytes(21) + b">[i",
    [(next(each for each in DAMAGE if "message_json = (SELECT" in each), 4, 2)],
)
def test_whatever_is_lost_the_rest_can_be_repaired(
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
        now = world.clock.now()
        assert {finding.kind for finding in check(copy, now=now).findings} <= {"stale_owner"}
        for statement, every, which in damage:
            harm = statement.format(every, which % every)
            note(harm)
            rows_of(copy, harm)
        for finding in check(copy, now=now).findings:
            note(str(finding))
        left = check(copy, now=now, repair=True).left
        assert not left, left
        again = check(copy, now=now).findings
        assert not again, again
        assert rows_of(copy, "PRAGMA foreign_key_check") == []
        for (name,) in rows_of(copy, "SELECT conversation_id FROM conversations"):
            broken = broken_rules_of_replay(copy, name)
            assert not [each for each in broken if each.split()[0] not in NOT_KEPT_YET], broken
