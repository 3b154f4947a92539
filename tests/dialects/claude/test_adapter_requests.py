"""ClaudeStreamAdapter: questions, permissions and other control requests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.dialects.claude.helpers.stream_frames import one, only, said, user
from tests.helpers.recorded_streams import events_of, recorded
from turnwire.core import blocks
from turnwire.core import events as ev


def test_a_permission_request_shows_exactly_what_would_run() -> None:
    asked = only(ev.PermissionRequested, events_of(recorded("03_tools_allow")))[1]
    assert asked.tool_use_id == "toolu_bash1"
    assert asked.tool_name == "Bash"
    assert asked.input["command"] == "echo hi > made.txt; cat made.txt"
    assert asked.title == "Bash"
    assert asked.suggestions[0].type == "addRules"


def test_a_sub_agents_permission_request_is_found_under_its_tool_call() -> None:
    asked = one(ev.PermissionRequested, events_of(recorded("09_subagent")))
    assert (asked.parent_tool_use_id, asked.agent_id) == ("toolu_agent", "a583cab084e2aca75")


def test_an_unknown_agents_request_keeps_the_agents_id() -> None:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "agent_id": "a9"}
    frame = {"type": "control_request", "request_id": "r1", "request": request}
    asked = one(ev.PermissionRequested, events_of([frame]))
    assert (asked.parent_tool_use_id, asked.agent_id) == (None, "a9")
    assert asked.tool_use_id == "r1"


def test_ask_user_question_is_a_question_with_its_options() -> None:
    asked = one(ev.QuestionAsked, events_of(recorded("06_ask_user")))
    assert asked.tool_use_id == "toolu_ask"
    colour, sizes = asked.questions
    assert (colour.id, colour.header, colour.multi) == ("Which colour?", "Colour", False)
    assert [(o.label, o.description) for o in colour.options] == [
        ("Red", "warm"),
        ("Blue", "cold"),
    ]
    assert sizes.multi


@pytest.mark.parametrize("name", ["06_ask_user", "08_request_input"])
def test_each_event_of_a_question_is_marked_as_a_question(name: str) -> None:
    events = events_of(recorded(name))
    said = [
        block
        for event in events
        for block in (
            event.content
            if isinstance(event, ev.AssistantMessage)
            else [event.block]
            if isinstance(event, ev.ContentStarted | ev.ContentCompleted)
            else []
        )
        if isinstance(block, blocks.ToolUseBlock)
    ]
    assert len(said) >= 3, "as it begins, as it ends, and as it is said for good"
    assert all(block.asks is True for block in said)
    assert one(ev.QuestionAsked, events).asks is True


def test_a_call_that_is_work_does_not_say_that_it_asks() -> None:
    messages = only(ev.AssistantMessage, events_of(recorded("05_parallel")))
    calls = [
        each for said in messages for each in said.content if isinstance(each, blocks.ToolUseBlock)
    ]
    assert calls
    assert not any(call.asks or call.is_question for call in calls)


def test_the_request_input_tool_is_a_question_under_the_tools_own_id() -> None:
    asked = one(ev.QuestionAsked, events_of(recorded("08_request_input")))
    assert (asked.tool_use_id, asked.tool_name) == ("toolu_ri", "request_input")
    assert [q.question for q in asked.questions] == ["Your name?"]


@pytest.mark.parametrize(
    "message",
    [
        None,
        "tools/call",
        {"method": "tools/list"},
        {"method": "tools/call"},
        {"method": "tools/call", "params": {"name": 7}},
        {"method": "tools/call", "params": {"name": "other_tool"}},
    ],
)
def test_other_messages_to_a_hosts_tools_are_no_questions(message: Any) -> None:
    request = {"subtype": "mcp_message", "server_name": "front", "message": message}
    assert events_of([{"type": "control_request", "request_id": "r", "request": request}]) == []


def test_a_question_without_a_tool_use_id_goes_by_its_request() -> None:
    call_it = {"method": "tools/call", "params": {"name": "request_input", "arguments": {}}}
    request = {"subtype": "mcp_message", "server_name": "front", "message": call_it}
    frame = {"type": "control_request", "request_id": "r1", "request": request}
    assert one(ev.QuestionAsked, events_of([frame])).tool_use_id == "r1"


def test_a_withdrawn_request_is_said() -> None:
    events = events_of(recorded("07c_interrupt_permission"))
    asked = one(ev.PermissionRequested, events)
    assert one(ev.RequestWithdrawn, events).request_id == asked.request_id


def test_an_elicitation_of_an_mcp_server_is_a_question() -> None:
    request = {"subtype": "elicitation", "message": "Really?"}
    frame = {"type": "control_request", "request_id": "1", "request": request}
    event = one(ev.QuestionAsked, events_of([frame]))
    assert (event.request_id, event.tool_use_id, event.tool_name) == ("1", "1", "request_input")
    assert [each.question for each in event.questions] == ["Really?"]


def test_a_dialog_is_passed_on() -> None:
    request = {"subtype": "request_user_dialog"}
    frame = {"type": "control_request", "request_id": "1", "request": request}
    event = one(ev.SystemEvent, events_of([frame]))
    assert event.subtype == "request_user_dialog"
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == frame


@pytest.mark.parametrize(
    ("response", "origin"),
    [
        ({"still_queued": ["p1"]}, "interrupt"),
        ({"more": 1, "still_queued": []}, "interrupt"),
        ({"mode": "plan"}, "user"),
        ({"still_queued": [], "long": "x" * 5000}, "user"),
        (None, "user"),
    ],
)
def test_an_interrupt_is_known_by_its_receipt(response: Any, origin: str) -> None:
    outcome = {"subtype": "success", "request_id": "r", "response": response}
    if response is None:
        del outcome["response"]
    leftover = user([said("[Request interrupted by user]")])
    events = events_of([{"type": "control_response", "response": outcome}, leftover])
    assert one(ev.UserMessage, events).origin == origin


def test_hooks_and_the_hosts_own_requests_are_no_events() -> None:
    hook = {"subtype": "hook_callback", "callback_id": "h"}
    frames = [
        {"type": "control_request", "request_id": "1", "request": hook},
        {"type": "control_request", "request_id": "2", "request": {"subtype": "interrupt"}},
        {"type": "control_response", "response": {"subtype": "success", "request_id": "2"}},
        {"type": "control_response", "response": {"subtype": "error", "request_id": "3"}},
    ]
    assert events_of(frames) == []
