"""Follows the agent's plan through its tool calls: TodoWrite, or TaskCreate and TaskUpdate."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from turnwire.core.blocks import TodoItem, ToolResultBlock, ToolUseBlock

__all__ = ["Plan"]

W = TypeVar("W", str, str | None)


class Plan:
    """The current to-do list. A call changes it only after its result confirms the change."""

    def __init__(self) -> None:
        self.items: list[TodoItem] = []
        self._calls: dict[str, ToolUseBlock] = {}  # calls without a result

    def called(self, call: ToolUseBlock) -> None:
        """Notes a tool call, if it changes the plan."""
        if call.tool_name in ("TodoWrite", "TaskCreate", "TaskUpdate"):
            self._calls[call.id] = call

    def answered(self, result: ToolResultBlock) -> bool:
        """Applies the result of a call. Returns whether the plan changed."""
        call = self._calls.pop(result.tool_use_id, None)
        if call is None or result.is_error:
            return False
        arguments = _dict(call.input)
        match call.tool_name:
            case "TodoWrite":
                todos = arguments.get("todos")
                items = todos if isinstance(todos, list) else []
                self.items = [_todo(item) for item in items if isinstance(item, dict)]
            case "TaskCreate":
                task_id = _dict(_details(result).get("task")).get("id")
                self.items = [*self.items, _task(arguments, task_id)]
            case _:
                self.items = [_updated(item, arguments) for item in self.items]
                self.items = [item for item in self.items if item.status != "deleted"]
        return True


def _todo(todo: dict[str, Any]) -> TodoItem:
    return TodoItem(
        _word(todo.get("content"), ""),
        _word(todo.get("status"), "pending"),
        active_form=_word(todo.get("activeForm"), None),
    )


def _task(arguments: dict[str, Any], task_id: Any) -> TodoItem:
    return TodoItem(
        _word(arguments.get("subject"), ""),
        "pending",
        None if task_id is None else str(task_id),
        _word(arguments.get("activeForm"), None),
    )


def _updated(item: TodoItem, arguments: dict[str, Any]) -> TodoItem:
    if item.id is None or item.id != str(arguments.get("taskId")):
        return item
    return TodoItem(
        _word(arguments.get("subject"), item.content),
        _word(arguments.get("status"), item.status),
        item.id,
        _word(arguments.get("activeForm"), item.active_form),
    )


def _details(result: ToolResultBlock) -> dict[str, Any]:
    return {} if result.details is UNSET else _dict(msgspec.json.decode(result.details))


def _word(value: Any, otherwise: W) -> str | W:
    return value if isinstance(value, str) else otherwise


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
