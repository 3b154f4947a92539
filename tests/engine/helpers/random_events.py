"""The kinds of random events of a simulation, and the options of its conversations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.engine.helpers.simulation import World
from turnwire.core.conversation.state import Options

OPTIONS = [
    Options(max_queue=2),
    Options(max_queue=2, on_disconnect="continue"),
    Options(question_seconds=60, permission_seconds=60),
    Options(question_seconds=60, question_policy="default", question_default="blue"),
]
Thing = Callable[[World], Awaitable[None] | None]
THINGS: list[Thing] = [
    World.someone_speaks,
    World.someone_repeats,
    World.someone_answers,
    World.someone_decides,
    World.someone_stops,
    World.someone_changes_the_queue,
    World.someone_comes,
    World.someone_loses_the_connection,
    World.someone_comes_again,
    World.agent_is_done,
    World.agent_fails,
    World.agent_dies,
    World.agent_changes,
    World.time_passes,
    World.server_stops,
    World.server_falls,
]
ALWAYS: list[Thing] = [World.someone_speaks, World.agent_works]  # else there is no story
