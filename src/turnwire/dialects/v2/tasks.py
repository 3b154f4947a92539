"""Work in the background, as far as an agent's news tell of it."""

from __future__ import annotations

from turnwire.core.events import Task
from turnwire.core.status import BackgroundTask

__all__ = ["background_tasks"]


def background_tasks(
    listed: list[Task], known: list[BackgroundTask], turn_id: int | None
) -> list[BackgroundTask]:
    """All tasks that run now. Each keeps the turn in which it was first heard of."""
    turns = {task.task_id: task.turn_id for task in known}
    return [
        BackgroundTask(
            task.task_id,
            turns.get(task.task_id, turn_id),
            None,
            task.kind,
            task.description,
            "running",
        )
        for task in listed
    ]
