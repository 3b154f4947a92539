"""Work in the background, as far as an agent's news tell of it."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct

from turnwire.core.events import SystemEvent
from turnwire.core.status import BackgroundTask

__all__ = ["background_tasks"]


class _Task(Struct, gc=False):
    task_id: str
    task_type: str | None = None
    description: str | None = None


class _Changed(Struct, gc=False):
    tasks: list[_Task]


_read = msgspec.json.Decoder(_Changed).decode


def background_tasks(
    news: SystemEvent, known: list[BackgroundTask], turn_id: int | None
) -> list[BackgroundTask]:
    """All tasks that run now. Each keeps the turn in which it was first heard of."""
    if news.data is UNSET:
        return known
    try:
        changed = _read(news.data)
    except msgspec.DecodeError:  # in other words than we know
        return known
    turns = {task.task_id: task.turn_id for task in known}
    return [
        BackgroundTask(
            task.task_id,
            turns.get(task.task_id, turn_id),
            None,
            task.task_type,
            task.description,
            "running",
        )
        for task in changed.tasks
    ]
