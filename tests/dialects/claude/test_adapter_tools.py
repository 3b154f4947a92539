"""ClaudeStreamAdapter: tools, sub-agents, background work and the plan."""

from __future__ import annotations

import msgspec

from tests.dialects.claude.helpers.stream_frames import (
    Frame,
    assistant,
    kinds,
    message_stop,
    one,
    only,
    said,
    start,
    text,
    text_start,
    tool_result,
    user,
)
from tests.helpers.recorded_streams import events_of, line, recorded
from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.claude import ClaudeStreamAdapter

# --- tools, sub-agents, background --------------------------------------------------------------


def test_parallel_tools_keep_their_ids_indexes_and_results() -> None:
    events = events_of(recorded("05_parallel"))
    calls = {
        block.id: message.index
        for message in only(ev.AssistantMessage, events)
        for block in message.content
        if isinstance(block, blocks.ToolUseBlock)
    }
    assert calls == {"toolu_a": 1, "toolu_b": 2, "toolu_c": 3}
    results = {
        block.tool_use_id: (block.content, block.is_error)
        for message in only(ev.UserMessage, events)
        for block in message.content
        if isinstance(block, blocks.ToolResultBlock)
    }
    assert results == {
        "toolu_a": ("A", False),
        "toolu_b": ("1\tthe secret is 7\n2\tline two\n3\t", False),
        "toolu_c": ("C", False),
    }


def test_a_tool_result_in_a_user_frame_is_the_tools_word_with_its_details() -> None:
    frame = user([tool_result("t1", "boom", is_error=True)], tool_use_result={"stderr": "boom"})
    message = one(ev.UserMessage, events_of([frame]))
    (block,) = message.content
    assert isinstance(block, blocks.ToolResultBlock)
    assert (message.origin, block.is_error, block.status) == ("tool", True, "failed")
    assert msgspec.json.decode(msgspec.json.encode(block))["details"] == {"stderr": "boom"}


def test_details_are_left_out_where_it_is_not_clear_whose_they_are() -> None:
    frame = user([tool_result("t1"), tool_result("t2")], tool_use_result={"x": 1})
    for block in one(ev.UserMessage, events_of([frame])).content:
        assert isinstance(block, blocks.ToolResultBlock)
        assert block.details is msgspec.UNSET


def test_sub_agents_speak_under_their_tool_call_even_interleaved() -> None:
    sub: Frame = {"parent_tool_use_id": "agent_tool", "agent_id": "a1"}
    other: Frame = {"parent_tool_use_id": "other_tool", "agent_id": "a2"}
    events = events_of(
        [
            start("main"),
            text_start(0),
            start("sub", **sub),
            text_start(0, **sub),
            text(0, "sub ", **sub),
            text(0, "main ", parent_tool_use_id=None),
            start("other", **other),
            text_start(0, **other),
            text(0, "other", **other),
            text(0, "words", **sub),
            message_stop(**sub),
            message_stop(**other),
            message_stop(),
        ]
    )
    pieces = [(d.message_id, d.parent_tool_use_id, d.agent_id, d.text) for d in _deltas(events)]
    assert pieces == [
        ("sub", "agent_tool", "a1", "sub "),
        ("main", None, None, "main "),
        ("other", "other_tool", "a2", "other"),
        ("sub", "agent_tool", "a1", "words"),
    ]
    completed = {c.message_id: c.block for c in only(ev.ContentCompleted, events)}
    assert completed["sub"] == blocks.TextBlock("sub words", "completed")
    assert not only(ev.MessageDiscarded, events)


def _deltas(events: list[NormalizedStreamEvent]) -> list[ev.ContentDelta]:
    return only(ev.ContentDelta, events)


def test_a_sub_agents_id_may_become_known_later() -> None:
    parent: Frame = {"parent_tool_use_id": "t1"}
    events = events_of([user([said("go")], **parent), user([said("on")], **parent, agent_id="a1")])
    assert [m.agent_id for m in only(ev.UserMessage, events)] == [None, "a1"]


def test_a_sub_agent_starts_no_turn() -> None:
    frame = assistant(said("sub"), parent_tool_use_id="t1", agent_id="a1")
    assert kinds(events_of([frame])) == ["AssistantMessage"]


def test_the_number_of_remembered_sub_agents_is_limited() -> None:
    adapter = ClaudeStreamAdapter()
    for number in range(3000):
        adapter.feed(line(user([said("go")], parent_tool_use_id=f"t{number}")))
    assert len(adapter._lanes) < 1100
    assert None in adapter._lanes


def test_the_forgotten_sub_agent_is_one_without_recent_events() -> None:
    sub: Frame = {"parent_tool_use_id": "t", "agent_id": "a"}
    busy: Frame = {"parent_tool_use_id": "busy"}
    frames = [start("b", **busy), text_start(0, **busy), assistant(said("one"), **sub)]
    for number in range(3000):
        frames.append(assistant(said("x"), parent_tool_use_id=f"t{number}", message_id="x"))
        if number % 500 == 0:
            frames.append(user([said("go on")], **sub))
    frames += [assistant(said("two"), **sub), text(0, "still here", **busy, api_message_id="b")]
    events = events_of(frames)
    mine = [m for m in only(ev.AssistantMessage, events) if m.parent_tool_use_id == "t"]
    assert [m.index for m in mine] == [0, 1]
    assert len(only(ev.MessageStarted, events)) == 1


def test_the_oldest_sub_agent_is_forgotten_if_all_have_open_messages() -> None:
    adapter = ClaudeStreamAdapter()
    for number in range(1100):
        adapter.feed(line(start(f"m{number}", parent_tool_use_id=f"t{number}")))
    assert "t0" not in adapter._lanes
    assert "t1099" in adapter._lanes


def test_a_background_agent_goes_on_after_the_result_and_an_unprompted_turn_follows() -> None:
    events = events_of(recorded("09c_subagent_background"))
    turns = [
        kind
        for kind in kinds(events)
        if kind in ("TurnStarted", "TurnCompleted", "AssistantMessage", "UserMessage")
    ]
    ended = turns.index("TurnCompleted")
    assert turns[ended + 1 : ended + 4] == ["UserMessage", "AssistantMessage", "TurnStarted"]
    assert [t.origin for t in only(ev.TurnCompleted, events)] == [None, "task-notification"]
    late = [e for e in only(ev.AssistantMessage, events) if e.parent_tool_use_id]
    assert {e.parent_tool_use_id for e in late} == {"toolu_agent"}


def test_a_heartbeat_is_its_tools_own_and_no_sub_agents() -> None:
    progress = one(ev.ToolProgress, events_of(recorded("26_long_tool")))
    assert (progress.tool_use_id, progress.parent_tool_use_id) == ("toolu_b", None)
    assert (progress.elapsed_seconds, progress.heartbeat) == (30, True)


def test_progress_of_a_sub_agents_tool_stays_under_the_sub_agent() -> None:
    frame = {"type": "tool_progress", "tool_use_id": "t2", "parent_tool_use_id": "t1"}
    progress = one(ev.ToolProgress, events_of([frame]))
    assert (progress.tool_use_id, progress.parent_tool_use_id) == ("t2", "t1")


# --- the plan -----------------------------------------------------------------------------------


def test_the_plan_follows_the_task_tools_and_ignores_a_refused_todo_list() -> None:
    plans = [p.items for p in only(ev.PlanUpdated, events_of(recorded("15_todo")))]
    assert plans == [
        [blocks.TodoItem("Do A", "pending", "1", "Doing A")],
        [blocks.TodoItem("Do A", "in_progress", "1", "Doing A")],
    ]


def test_a_todo_list_is_a_plan_once_it_is_written() -> None:
    plan = one(ev.PlanUpdated, events_of(recorded("15b_todowrite_enabled")))
    assert [(i.content, i.status, i.active_form) for i in plan.items] == [
        ("Do A", "in_progress", "Doing A"),
        ("Do B", "pending", "Doing B"),
    ]
