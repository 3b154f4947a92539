"""System messages of Claude: typed events where they have an effect, otherwise notices."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from tests.helpers.recorded_streams import events_of
from turnwire.core import events as ev


def news(subtype: str, **data: Any) -> ev.SystemEvent:
    """Returns the event of one system message, which contains the message unchanged."""
    [event] = events_of([{"type": "system", "subtype": subtype, **data}])
    assert isinstance(event, ev.SystemEvent)
    assert event.subtype == subtype
    assert event.data is not UNSET
    return event


def test_a_change_of_the_permission_mode_is_typed() -> None:
    event = news("status", status=None, permissionMode="default")
    assert isinstance(event, ev.PermissionModeChanged)
    assert (event.permission_mode, event.ephemeral) == ("default", True)


def test_an_agent_that_has_nothing_left_to_do() -> None:
    assert isinstance(news("session_state_changed", state="idle"), ev.AgentIdle)


def test_a_title_is_typed() -> None:
    event = news("session_title_changed", title="Plans")
    assert isinstance(event, ev.TitleProposed)
    assert (event.title, event.ephemeral) == ("Plans", True)


def test_the_list_of_background_tasks_is_typed() -> None:
    task = {"task_id": "t1", "task_type": "local_agent", "description": "look around"}
    event = news("background_tasks_changed", tasks=[task])
    assert isinstance(event, ev.TasksListed)
    assert event.tasks == [ev.Task("t1", None, "local_agent", "look around")]


@pytest.mark.parametrize("in_background", [True, False])
def test_a_task_that_begins(in_background: bool) -> None:
    about = {"task_id": "t1", "tool_use_id": "call", "task_type": "x", "description": "y"}
    event = news("task_started", **about, is_backgrounded=in_background)
    assert isinstance(event, ev.TaskChanged)
    assert (event.task, event.in_background) == (ev.Task("t1", "call", "x", "y"), in_background)


def test_a_task_that_changes() -> None:
    event = news("task_updated", task_id="t1", patch={"status": "completed"})
    assert isinstance(event, ev.TaskChanged)
    assert (event.task, event.in_background) == (ev.Task("t1"), False)


def test_a_task_that_ends() -> None:
    event = news("task_notification", task_id="t1", tool_use_id="call", status="completed")
    assert isinstance(event, ev.TaskEnded)
    assert (event.task, event.ephemeral) == (ev.Task("t1", "call"), False)


@pytest.mark.parametrize(
    ("subtype", "data"),
    [
        ("status", {"status": "requesting"}),
        ("session_state_changed", {"state": "running"}),
        ("session_title_changed", {"title": 5}),
        ("background_tasks_changed", {"tasks": [{"task_id": "t1"}, {"description": "y"}]}),
        ("task_started", {"is_backgrounded": True}),
        ("task_updated", {"patch": {}}),
        ("task_notification", {"status": "completed"}),
        ("task_progress", {"task_id": "t1"}),
        ("hologram", {"beams": 3}),
    ],
)
def test_all_other_notices_are_passed_on_unchanged(subtype: str, data: dict[str, Any]) -> None:
    assert type(news(subtype, **data)) is ev.SystemEvent


INIT = {"type": "system", "subtype": "init", "session_id": "s"}
ENDED = {"type": "system", "subtype": "task_notification", "task_id": "t1"}


def result(uuid: str, **more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "uuid": uuid, **more}


def starts(*frames: dict[str, Any]) -> list[bool]:
    return [each.by_itself for each in events_of(frames) if isinstance(each, ev.TurnStarted)]


def test_a_turn_begins_by_itself_when_a_task_has_ended() -> None:
    said = {"type": "user", "message": {"role": "user", "content": "Go on."}}
    assert starts(INIT, result("1"), ENDED, INIT, result("2"), INIT) == [False, True, False]
    assert starts(INIT, ENDED, result("1"), INIT) == [False, False], "it ended inside a turn"
    assert starts(INIT, result("1"), ENDED, said, INIT) == [False, False], "a person spoke first"


@pytest.mark.parametrize(
    ("kind", "origin"),
    [("human", None), ("user", None), ("task-notification", "task-notification")],
)
def test_the_end_of_a_turn_names_its_origin_unless_that_was_a_person(
    kind: str, origin: str | None
) -> None:
    events = events_of([INIT, result("1", origin={"kind": kind})])
    assert [each.origin for each in events if isinstance(each, ev.TurnCompleted)] == [origin]
