"""Tool calls of an ACP agent: each update replaces fields; the log has one call and one result."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.dialects.acp.helpers.stream import Stream, prompted
from turnwire.core import events as ev
from turnwire.core.blocks import TodoItem, TodoListBlock, ToolUseBlock


def said(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def call_of(stream: Stream) -> ToolUseBlock:
    (block,) = stream.only(ev.AssistantMessage).content
    assert isinstance(block, ToolUseBlock)
    return block


def test_a_call_is_announced_when_its_arguments_are_known() -> None:
    stream = prompted()
    stream.tool("t", title="bash", kind="execute", status="pending", rawInput={})
    assert stream.all(ev.AssistantMessage) == []
    stream.change("t", title="ls -l", status="in_progress", rawInput={"command": "ls -l"})
    assert call_of(stream) == ToolUseBlock(
        "t", "bash", "ACP_EXECUTE", {"command": "ls -l"}, "in_progress", None, False
    )


def test_content_replaces_and_its_growth_is_progress() -> None:
    stream = prompted()
    stream.tool("t", title="bash", status="in_progress")
    stream.change("t", content=[said("one\n")])
    stream.change("t", content=[said("one\ntwo\n")])
    stream.change("t", content=[said("three\n")])
    stream.change("t", status="completed")
    assert [event.output for event in stream.all(ev.ToolProgress)] == ["one\n", "two\n"]
    (result,) = stream.results()
    assert (result.content, result.is_error, result.status) == ("three\n", False, "completed")
    assert isinstance(result.details, msgspec.Raw)
    assert msgspec.json.decode(result.details)["content"] == [said("three\n")]


def test_content_of_a_call_that_waits_is_no_output() -> None:
    stream = prompted()
    stream.tool("t", title="bash")
    stream.change("t", content=[said("Counts")])
    assert stream.all(ev.ToolProgress) == []


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"title": "bash", "kind": "execute"}, "bash"),
        ({"title": "Editing files", "kind": "edit"}, "edit"),
        ({"title": "Run it", "name": "exec_command"}, "exec_command"),
        ({"title": "Run it", "_meta": {"n": 1, "o": {}, "maker": {"toolName": "Bash"}}}, "Bash"),
        ({"title": "bash", "_meta": {"n": 1}}, "bash"),
        ({"kind": "read"}, "read"),
        ({"title": "Two words"}, "other"),
    ],
)
def test_the_name_of_a_tool_is_found(fields: dict[str, Any], name: str) -> None:
    stream = prompted()
    stream.tool("t", status="in_progress", **fields)
    stream.change("t", title="another", name="another")
    assert call_of(stream).tool_name == name


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"rawInput": {"a": 1}}, {"a": 1}),
        ({"rawInput": "ls"}, {"input": "ls"}),
        ({"title": "Edit", "locations": [{"path": "/a"}]}, None),
    ],
)
def test_a_call_without_arguments_shows_what_people_are_shown(
    fields: dict[str, Any], given: Any
) -> None:
    stream = prompted()
    stream.tool("t", status="in_progress", **fields)
    assert call_of(stream).input == (given or fields)


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"rawOutput": "done"}, "done"),
        ({"rawOutput": {"output": "done", "more": 1}}, "done"),
        ({"rawOutput": {"error": "no"}}, "no"),
        ({"rawOutput": [1]}, "[1]"),
        ({}, ""),
        ({"content": [said("a"), said("b")], "rawOutput": "x"}, "a\nb"),
        (
            {
                "content": [
                    said("a"),
                    {"type": "diff", "path": "/f", "oldText": None, "newText": "x"},
                ]
            },
            [
                {"type": "text", "text": "a"},
                {"type": "diff", "path": "/f", "newText": "x", "oldText": None},
            ],
        ),
        ({"content": [{"type": "graph", "n": 1}]}, None),
    ],
)
def test_a_result_is_the_content_or_else_the_output(fields: dict[str, Any], content: Any) -> None:
    stream = prompted()
    stream.tool("t", title="x", status="completed", **fields)
    (result,) = stream.results()
    if content is None:
        content = [{"type": "unknown", "originalType": "graph", "data": {"type": "graph", "n": 1}}]
    assert result.content == content


def test_a_call_that_fails_has_a_failed_result_and_gets_no_second_one() -> None:
    stream = prompted()
    stream.tool("t", title="x", status="failed", content=[said("broken")])
    assert stream.change("t", status="completed") == []
    assert [(each.content, each.is_error) for each in stream.results()] == [("broken", True)]


def test_a_call_with_the_id_of_an_earlier_turn_is_another_call() -> None:
    """Some models use an id again, and their agents pass it on."""
    stream = prompted()
    for number, text in enumerate(["grass", "trees"], 1):
        stream.tool("call_0", title="look", rawInput={"at": text})
        stream.change("call_0", status="completed", content=[said(text)])
        assert stream.tool("call_0", title="look", status="completed") == [], "it has its result"
        stream.ends(number=8 + number)
        stream.prompt(9 + number)
    assert stream.change("call_0", status="completed") == [], "it is of a turn that has ended"
    call = {"toolCallId": "call_0", "title": "look"}
    params = {"sessionId": "s", "toolCall": call, "options": []}
    stream.agent({"id": 5, "method": "session/request_permission", "params": params})
    stream.change("call_0", status="completed", content=[said("fence")])
    ids = [each.tool_use_id for each in stream.results()]
    assert ids == ["call_0", "call_0.k-1", "call_0.k-2"]
    assert [each.content for each in stream.results()] == ["grass", "trees", "fence"]
    [asked] = stream.all(ev.PermissionRequested)
    assert asked.tool_use_id == ids[2]


def test_calls_that_run_together_are_blocks_of_one_message() -> None:
    stream = prompted()
    stream.tool("a", title="read")
    stream.tool("b", title="read")
    stream.change("b", status="completed")
    stream.change("a", status="completed")
    stream.ends()
    places = [(event.message_id, event.index) for event in stream.all(ev.AssistantMessage)]
    assert places == [("k-1", 1), ("k-1", 0)]
    assert [each.tool_use_id for each in stream.results()] == ["b", "a"]


def test_a_call_that_never_ran_is_in_the_log_when_the_turn_ends() -> None:
    stream = prompted()
    stream.tool("t", title="bash", rawInput={"command": "ls"})
    stream.ends("cancelled")
    assert call_of(stream).input == {"command": "ls"}
    assert stream.change("t", status="completed") == stream.events[-1:]  # it comes too late


def test_output_of_a_terminal_is_progress_and_the_result() -> None:
    stream = prompted()
    terminal = [{"type": "terminal", "terminalId": "term"}]
    stream.tool("t", title="bash", status="in_progress", content=terminal)
    stream.tool("other", title="bash", status="in_progress")
    stream.events += stream.adapter.printed("term", "one\n")
    piece = {"terminal_output_delta": {"data": "two\n", "terminal_id": "term"}}
    stream.change("t", _meta=piece)
    stream.change("t", status="completed", _meta={"terminal_exit": {"exit_code": 0}})
    assert [event.output for event in stream.all(ev.ToolProgress)] == ["one\n", "two\n"]
    assert stream.results()[0].content == "one\ntwo\n"


def test_plans_replace_each_other() -> None:
    stream = prompted()
    entry = {"content": "Look", "status": "completed", "priority": "high"}
    stream.update("plan", entries=[entry, {"content": "Do"}])
    assert stream.only(ev.PlanUpdated).items == [
        TodoItem("Look", "completed"),
        TodoItem("Do", "pending"),
    ]
    other = {"type": "items", "planId": "p", "entries": [{"content": "Rest"}]}
    stream.update("plan_update", plan=other)
    assert len(stream.all(ev.PlanUpdated)[-1].items) == 3
    shown = [event.content for event in stream.all(ev.AssistantMessage)]
    assert [len(block.items) for (block,) in shown if isinstance(block, TodoListBlock)] == [2, 3]
    stream.update("plan_removed", planId="p")
    assert len(stream.all(ev.PlanUpdated)[-1].items) == 2
    stream.update("plan_update", plan={"type": "markdown", "planId": "q", "content": "# All"})
    assert stream.only(ev.SystemEvent).subtype == "plan_update"


def test_a_to_do_tool_that_succeeds_is_a_plan() -> None:
    stream = prompted()
    todos = [{"content": "Look", "status": "in_progress"}, {"content": 5}, "nothing"]
    stream.tool("t", title="todowrite", status="in_progress", rawInput={"todos": todos})
    assert stream.all(ev.PlanUpdated) == []
    stream.change("t", status="completed")
    assert stream.only(ev.PlanUpdated).items == [TodoItem("Look", "in_progress")]
