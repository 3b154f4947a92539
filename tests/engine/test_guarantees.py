"""The guarantees hold for a whole engine on a real file, for random events in random order.

A run tries a part of what there is to try. To try all of it:

    TURNWIRE_EXAMPLES=5000 pytest tests/engine/test_guarantees.py
"""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from tests.engine.helpers.guarantees import check_again, check_end, check_stopped
from tests.engine.helpers.random_events import ALWAYS, OPTIONS, THINGS, Thing
from tests.engine.helpers.simulation import World
from turnwire.core.conversation.state import Options

pytestmark = pytest.mark.needs_sqlite(reason="looks into the file")


async def play(world: World, things: list[Thing], steps: bytes) -> None:
    await world.begin()
    for place in range(0, len(steps), 3):
        world.number = int.from_bytes(steps[place : place + 3], "big")
        if not world.number:  # zero is nothing, so that a long story can shrink
            continue
        thing = world.choose([*ALWAYS, *things])
        waits = world.choose([True, True, False])
        world.note(f"{thing.__name__}{'' if waits else ', and at the same time'}")
        happening = thing(world)
        if inspect.isawaitable(happening):
            await happening
        if waits:
            await world.settle()
    await world.settle()
    world.clock.forward(20)  # more than any stop may take
    await world.settle()
    await world.stop()
    await check_stopped(world)
    await world.start_again()
    await check_again(world)
    await check_end(world)
    await world.stop()
    for client in world.clients:
        client.check()
    assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing is left behind"


@pytest.mark.parametrize("options", OPTIONS)  # one after the other, so that they run in parallel
@settings(max_examples=math.ceil(int(os.environ.get("TURNWIRE_EXAMPLES", "500")) / len(OPTIONS)))
@given(
    st.booleans(),
    # A few things often lead further than all of them seldom do.
    st.lists(st.sampled_from(THINGS), min_size=3, max_size=10, unique=True),
    st.binary(min_size=3 * 8, max_size=3 * 30),  # three bytes for each thing that happens
)
@example(  # the agent has spoken by itself before it gets the next prompt, and dies with that one
    False,
    [
        *(World.someone_speaks, World.someone_repeats, World.someone_answers),
        *(World.someone_decides, World.agent_changes, World.someone_stops),
        *(World.someone_changes_the_queue, World.agent_dies),
    ],
    bytes(10) + b"i\x00 fa\x01\x01\x12 (1\x00\x00\x00 du\x01\x01m",
)
def test_every_guarantee_holds_in_random_stories(
    options: Options, survive: bool, things: list[Thing], steps: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder, "log.db"), options, survive=survive)
        world.note = note  # it writes it down only if that is needed
        asyncio.run(play(world, things, steps))
