"""The plan changes with the result of a tool, not with its call."""

from __future__ import annotations

from typing import Any

import msgspec

from turnwire.core.blocks import TodoItem, ToolResultBlock, ToolUseBlock
from turnwire.dialects.claude.plan import Plan


def ask(plan: Plan, name: str, arguments: Any, details: Any = None, is_error: bool = False) -> bool:
    plan.called(ToolUseBlock("t", name, "CLAUDE", arguments, "in_progress"))
    raw = msgspec.UNSET if details is None else msgspec.Raw(msgspec.json.encode(details))
    return plan.answered(ToolResultBlock("t", "done", is_error, "completed", raw))


def test_other_tools_are_no_plan() -> None:
    assert not ask(Plan(), "Bash", {"command": "ls"})


def test_a_refused_change_changes_nothing() -> None:
    plan = Plan()
    assert not ask(plan, "TodoWrite", {"todos": [{"content": "A"}]}, is_error=True)
    assert plan.items == []


def test_a_todo_list_replaces_the_one_before() -> None:
    plan = Plan()
    assert ask(plan, "TodoWrite", {"todos": [{"content": "A", "status": "completed"}, "odd"]})
    assert plan.items == [TodoItem("A", "completed")]
    assert ask(plan, "TodoWrite", {"todos": None})
    assert plan.items == []


def test_tasks_are_created_updated_and_deleted_by_their_number() -> None:
    plan = Plan()
    assert ask(plan, "TaskCreate", {"subject": "A"}, {"task": {"id": 1}})
    assert ask(plan, "TaskCreate", {"subject": "B", "activeForm": "Doing B"}, {"task": {"id": "2"}})
    assert ask(plan, "TaskCreate", None)
    assert ask(plan, "TaskUpdate", {"taskId": "1", "status": "in_progress", "subject": "A!"})
    assert plan.items == [
        TodoItem("A!", "in_progress", "1"),
        TodoItem("B", "pending", "2", "Doing B"),
        TodoItem("", "pending"),
    ]
    assert ask(plan, "TaskUpdate", {"taskId": 1, "status": "deleted"})
    assert [item.content for item in plan.items] == ["B", ""]
