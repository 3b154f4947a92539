"""Translates system messages with a meaning for the conversation into typed events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from turnwire.core import events as ev
from turnwire.dialects.claude import system

__all__ = ["MEANINGS"]

# A type of event, and its additional fields.
_Meaning: TypeAlias = tuple[type[ev.SystemEvent], dict[str, Any]]

_PLAIN: _Meaning = (ev.SystemEvent, {})


def _status(message: system.StatusChanged) -> _Meaning:
    mode = message.permissionMode
    return _PLAIN if mode is None else (ev.PermissionModeChanged, {"permission_mode": mode})


def _state(message: system.SessionStateChanged) -> _Meaning:
    return (ev.AgentIdle, {}) if message.state == "idle" else _PLAIN


def _title(message: system.SessionTitleChanged) -> _Meaning:
    return _PLAIN if message.title is None else (ev.TitleProposed, {"title": message.title})


def _tasks(message: system.BackgroundTasksChanged) -> _Meaning:
    tasks = [
        ev.Task(task.task_id, None, task.task_type, task.description)
        for task in message.tasks
        if task.task_id is not None
    ]
    if len(tasks) < len(message.tasks):  # an incomplete list must not replace the list
        return _PLAIN
    return ev.TasksListed, {"tasks": tasks}


def _started(message: system.TaskStarted) -> _Meaning:
    if message.task_id is None:
        return _PLAIN
    about = (message.tool_use_id, message.task_type, message.description)
    task = ev.Task(message.task_id, *about)
    return ev.TaskChanged, {"task": task, "in_background": message.is_backgrounded is True}


def _updated(message: system.TaskUpdated) -> _Meaning:
    if message.task_id is None:
        return _PLAIN
    return ev.TaskChanged, {"task": ev.Task(message.task_id)}


def _ended(message: system.TaskNotification) -> _Meaning:
    if message.task_id is None:
        return _PLAIN
    return ev.TaskEnded, {"task": ev.Task(message.task_id, message.tool_use_id)}


# For each type of message that has a meaning.
MEANINGS: dict[type, Callable[[Any], _Meaning]] = {
    system.StatusChanged: _status,
    system.SessionStateChanged: _state,
    system.SessionTitleChanged: _title,
    system.BackgroundTasksChanged: _tasks,
    system.TaskStarted: _started,
    system.TaskUpdated: _updated,
    system.TaskNotification: _ended,
}
