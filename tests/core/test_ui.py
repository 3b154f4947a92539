"""UI events: their types, and their translation from normalized events."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from turnwire.core import events as ev
from turnwire.core import ui
from turnwire.core.blocks import (
    ContentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    TodoItem,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.ui import UiStreamAdapter, UiStreamEvent
from turnwire.core.usage import ModelUsage, Usage

WHO = ("claude", "sess-xyz", None, None)
SUB = ("claude", "sess-xyz", "toolu_task", "agent-7")  # a sub-agent under its tool call


def feed(*events: NormalizedStreamEvent) -> list[UiStreamEvent]:
    """Returns the UI events of a new adapter."""
    adapter = UiStreamAdapter()
    return [out for event in events for out in adapter.feed(event)]


def said(text: str) -> TextBlock:
    return TextBlock(text, "completed")


def call(tool_id: str, arguments: Any = None) -> ToolUseBlock:
    return ToolUseBlock(tool_id, "Read", "CLAUDE_READ", arguments, "in_progress")


def result(tool_id: str, content: Any = "ok", *, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_id, content, is_error, "failed" if is_error else "completed")


# --- the vocabularies -------------------------------------------------------------------------


def test_these_are_all_the_ui_events_and_each_is_tagged_with_its_name() -> None:
    names = [
        "UiMessageStart",
        "UiTextDelta",
        "UiThinkingDelta",
        "UiToolStart",
        "UiToolProgress",
        "UiToolComplete",
        "UiMessageComplete",
        "UiAssistantMessage",
        "UiUserMessage",
        "UiResultMessage",
        "UiError",
        # Without these three the full order of stream events would be unknown.
        "UiBlockStart",
        "UiToolInputDelta",
        "UiBlockStop",
        "UiSystemMessage",
    ]
    kinds = get_args(UiStreamEvent)
    assert sorted(kind.__name__ for kind in kinds) == sorted(names)
    assert [kind.__struct_config__.tag for kind in kinds] == [kind.__name__ for kind in kinds]


@pytest.mark.parametrize("kind", get_args(UiStreamEvent) + get_args(NormalizedStreamEvent))
def test_every_event_begins_with_its_provider_and_sub_agent(kind: Any) -> None:
    common = ("provider", "session_id", "parent_tool_use_id", "agent_id")
    assert kind.__struct_fields__[:4] == common
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    assert required.issuperset(common)


def test_these_are_all_the_normalized_events_and_their_tags() -> None:
    tags = [kind.__struct_config__.tag for kind in get_args(NormalizedStreamEvent)]
    assert sorted(tags) == [
        "agent_idle",
        "answer_delivered",
        "assistant_message",
        "choice_refused",
        "content_completed",
        "content_delta",
        "content_started",
        "hook_ran",
        "message_completed",
        "message_discarded",
        "message_started",
        "model_changed",
        "permission_mode_changed",
        "permission_requested",
        "plan_updated",
        "question_asked",
        "request_withdrawn",
        "result_summary",
        "session_init",
        "session_offered",
        "system_event",
        "task_changed",
        "task_ended",
        "tasks_listed",
        "title_proposed",
        "tool_progress",
        "turn_completed",
        "turn_failed",
        "turn_started",
        "unknown_event",
        "usage_updated",
        "user_message",
    ]


def test_four_things_grow() -> None:
    assert get_args(ev.DeltaKind) == ("text", "thinking", "tool_input", "tool_output")


def test_an_event_that_is_equal_to_its_defaults_is_short_on_the_wire() -> None:
    event = ui.UiMessageComplete(*WHO, "msg_1")
    assert msgspec.to_builtins(event) == {
        "type": "UiMessageComplete",
        "provider": "claude",
        "session_id": "sess-xyz",
        "parent_tool_use_id": None,
        "agent_id": None,
        "message_id": "msg_1",
    }


# --- a message as it grows --------------------------------------------------------------------


def test_a_message_begins() -> None:
    assert feed(ev.MessageStarted(*WHO, "msg_1", "claude-sonnet-4-5")) == [
        ui.UiMessageStart(*WHO, "msg_1", "claude-sonnet-4-5")
    ]


@pytest.mark.parametrize(
    "block",
    [
        TextBlock("", "in_progress"),
        ThinkingBlock("", "in_progress"),
        ImageBlock("in_progress", "image/png", "aGk="),
        UnknownBlock("hologram", {"type": "hologram"}),
    ],
)
def test_a_block_that_is_no_tool_call_begins(block: ContentBlock) -> None:
    assert feed(ev.ContentStarted(*WHO, "msg_1", 3, block)) == [
        ui.UiBlockStart(*WHO, "msg_1", 3, block)
    ]


@pytest.mark.parametrize("arguments", [None, {"file_path": "notes.txt"}])
def test_a_tool_call_begins(arguments: Any) -> None:
    assert feed(ev.ContentStarted(*WHO, "msg_1", 1, call("toolu_1", arguments))) == [
        ui.UiToolStart(*WHO, "msg_1", 1, "toolu_1", "Read", "CLAUDE_READ", arguments)
    ]


def test_the_start_of_a_tool_result_is_not_sent() -> None:
    started = ToolResultBlock("srvtoolu_1", None, False, "in_progress")
    assert feed(ev.ContentStarted(*WHO, "msg_1", 1, started)) == []


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (
            ev.ContentDelta(*WHO, "msg_1", 0, "text", "Hel"),
            ui.UiTextDelta(*WHO, "msg_1", 0, "Hel"),
        ),
        (
            ev.ContentDelta(*WHO, "msg_1", 1, "thinking", "Hm"),
            ui.UiThinkingDelta(*WHO, "msg_1", 1, "Hm"),
        ),
        (
            ev.ContentDelta(*WHO, "msg_1", 2, "tool_input", '{"a', "toolu_1"),
            ui.UiToolInputDelta(*WHO, "msg_1", 2, "toolu_1", '{"a'),
        ),
        (
            ev.ContentDelta(*WHO, "msg_1", 2, "tool_input", '{"a'),
            ui.UiToolInputDelta(*WHO, "msg_1", 2, "", '{"a'),
        ),
        (
            ev.ContentDelta(*WHO, "msg_1", 2, "tool_output", "3 passed", "toolu_1"),
            ui.UiToolProgress(*WHO, "msg_1", 2, "toolu_1", "3 passed"),
        ),
    ],
)
def test_a_delta_becomes_the_ui_event_of_its_kind(
    delta: ev.ContentDelta, expected: UiStreamEvent
) -> None:
    assert feed(delta) == [expected]


@pytest.mark.parametrize("block", [said("Hello"), call("toolu_1", {})])
def test_a_block_ends(block: ContentBlock) -> None:
    assert feed(ev.ContentCompleted(*WHO, "msg_1", 4, block)) == [ui.UiBlockStop(*WHO, "msg_1", 4)]


def test_a_message_ends() -> None:
    assert feed(ev.MessageCompleted(*WHO, "msg_1", "end_turn", Usage(output_tokens=150))) == [
        ui.UiMessageComplete(*WHO, "msg_1", "end_turn", Usage(output_tokens=150))
    ]


def test_an_abandoned_message_ends_and_says_from_where_on_it_is_void() -> None:
    assert feed(ev.MessageDiscarded(*WHO, "msg_1", 0, "restarted")) == [
        ui.UiMessageComplete(*WHO, "msg_1", None, None, 0)
    ]


def test_events_of_a_sub_agent_keep_its_call() -> None:
    events = feed(
        ev.MessageStarted(*SUB, "msg_2"),
        ev.ContentStarted(*SUB, "msg_2", 0, TextBlock("", "in_progress")),
        ev.ContentDelta(*SUB, "msg_2", 0, "text", "Hi"),
        ev.ContentDelta(*SUB, "msg_2", 0, "thinking", "Hi"),
        ev.ContentDelta(*SUB, "msg_2", 0, "tool_input", "Hi"),
        ev.ContentDelta(*SUB, "msg_2", 0, "tool_output", "Hi"),
        ev.ContentCompleted(*SUB, "msg_2", 0, said("Hi")),
        ev.ContentStarted(*SUB, "msg_2", 1, call("toolu_1")),
        ev.ToolProgress(*SUB, "toolu_1"),
        ev.AssistantMessage(*SUB, "msg_2", 0, [said("Hi")]),
        ev.MessageCompleted(*SUB, "msg_2"),
        ev.UserMessage(*SUB, [result("toolu_1")], "tool"),
        ev.UserMessage(*SUB, [said("Go on")], "agent"),
        ev.MessageDiscarded(*SUB, "msg_3", 0, "abandoned"),
        ev.TurnFailed(*SUB, "api_error", "no"),
        ev.ResultSummary(*SUB, "success", False),
        ev.SessionInit(*SUB),
        ev.SystemEvent(*SUB, "status"),
        ev.UnknownEvent(*SUB, "hologram"),
    )
    assert {type(event) for event in events} == set(get_args(UiStreamEvent))
    whose = {(e.provider, e.session_id, e.parent_tool_use_id, e.agent_id) for e in events}
    assert whose == {SUB}


# --- finished assistant messages --------------------------------------------------------------


def test_a_finished_message_has_its_blocks_with_their_index() -> None:
    blocks: list[ContentBlock] = [said("Hello"), call("toolu_1", {})]
    message = ev.AssistantMessage(
        *WHO, "msg_1", 2, blocks, "claude-sonnet-4-5", "end_turn", Usage(1), "rate_limit", True
    )
    assert feed(message) == [
        ui.UiAssistantMessage(*WHO, "msg_1", 2, blocks, "claude-sonnet-4-5", "rate_limit", True)
    ]


def test_a_finished_message_without_blocks_is_sent_too() -> None:
    assert feed(ev.AssistantMessage(*WHO, "msg_1", 0, [])) == [
        ui.UiAssistantMessage(*WHO, "msg_1", 0, [])
    ]


def test_tool_results_in_the_middle_split_a_message_into_runs_with_the_right_index() -> None:
    message = ev.AssistantMessage(
        *WHO,
        "msg_1",
        3,
        [
            said("Let me search."),
            call("srvtoolu_1", {"query": "x"}),
            result("srvtoolu_1", ["found"]),
            result("toolu_lost", "?", is_error=True),
            said("I found it."),
        ],
        "claude-sonnet-4-5",
        error="overloaded",
        aborted=True,
    )
    extra = ("claude-sonnet-4-5", "overloaded", True)
    assert feed(message) == [
        ui.UiAssistantMessage(
            *WHO,
            "msg_1",
            3,
            [said("Let me search."), call("srvtoolu_1", {"query": "x"})],
            *extra,
        ),
        ui.UiToolComplete(*WHO, "msg_1", 4, "srvtoolu_1", ["found"], False),
        ui.UiToolComplete(*WHO, None, None, "toolu_lost", "?", True),
        ui.UiAssistantMessage(*WHO, "msg_1", 7, [said("I found it.")], *extra),
    ]


def test_a_finished_message_of_tool_results_only_leaves_no_empty_message() -> None:
    assert feed(ev.AssistantMessage(*WHO, "msg_1", 1, [result("srvtoolu_1")])) == [
        ui.UiToolComplete(*WHO, None, None, "srvtoolu_1", "ok", False)
    ]


def test_a_finished_message_that_begins_or_ends_with_a_tool_result_has_one_run() -> None:
    first = ev.AssistantMessage(*WHO, "msg_1", 1, [result("srvtoolu_1"), said("Done.")])
    last = ev.AssistantMessage(*WHO, "msg_1", 0, [call("srvtoolu_1"), result("srvtoolu_1")])
    assert feed(first)[1:] == [ui.UiAssistantMessage(*WHO, "msg_1", 2, [said("Done.")])]
    assert feed(last) == [
        ui.UiAssistantMessage(*WHO, "msg_1", 0, [call("srvtoolu_1")]),
        ui.UiToolComplete(*WHO, "msg_1", 0, "srvtoolu_1", "ok", False),
    ]


MIXED = st.lists(st.booleans(), max_size=12)  # true: a tool result


@given(MIXED, st.integers(0, 5))
def test_every_block_of_a_split_message_keeps_its_index(results: list[bool], first: int) -> None:
    content: list[ContentBlock] = [
        result(f"toolu_{place}") if is_result else said(f"{place}")
        for place, is_result in enumerate(results, first)
    ]
    placed: dict[int, str] = {}
    for event in feed(ev.AssistantMessage(*WHO, "msg_1", first, content)):
        if isinstance(event, ui.UiAssistantMessage):
            for offset, block in enumerate(event.content):
                assert isinstance(block, TextBlock)
                placed[event.index + offset] = block.text
    assert placed == {
        place: f"{place}" for place, is_result in enumerate(results, first) if not is_result
    }


# --- user messages ----------------------------------------------------------------------------


@pytest.mark.parametrize("origin", get_args(ev.UserOrigin))
def test_a_user_message_is_passed_on_with_its_origin(origin: ev.UserOrigin) -> None:
    assert feed(ev.UserMessage(*WHO, [said("Hi")], origin, "uuid-1", "2025-01-01T00:00:00Z")) == [
        ui.UiUserMessage(*WHO, [said("Hi")], origin, "uuid-1")
    ]


def test_a_user_message_without_blocks_is_passed_on_too() -> None:
    assert feed(ev.UserMessage(*WHO, [], "user")) == [ui.UiUserMessage(*WHO, [], "user")]


def test_a_tool_result_leaves_as_tool_complete_and_never_in_a_user_message() -> None:
    assert feed(ev.UserMessage(*WHO, [result("toolu_1", "hi", is_error=True)], "tool")) == [
        ui.UiToolComplete(*WHO, None, None, "toolu_1", "hi", True)
    ]


def test_the_rest_of_a_user_message_follows_its_tool_results() -> None:
    content: list[ContentBlock] = [said("one"), result("toolu_1"), said("two"), result("toolu_2")]
    assert feed(ev.UserMessage(*WHO, content, "tool", "uuid-1")) == [
        ui.UiToolComplete(*WHO, None, None, "toolu_1", "ok", False),
        ui.UiToolComplete(*WHO, None, None, "toolu_2", "ok", False),
        ui.UiUserMessage(*WHO, [said("one"), said("two")], "tool", "uuid-1"),
    ]


def test_a_tools_structured_result_is_sent_with_the_result() -> None:
    details = Raw(b'{"stdout": "hi"}')
    block = ToolResultBlock("toolu_1", "hi", False, "completed", details)
    (complete,) = feed(ev.UserMessage(*WHO, [block], "tool"))
    assert isinstance(complete, ui.UiToolComplete)
    assert complete.details == details


# --- where a tool's block is ------------------------------------------------------------------


def test_progress_and_result_name_the_tools_own_block() -> None:
    assert feed(
        ev.ContentStarted(*WHO, "msg_1", 1, call("toolu_1")),
        ev.ContentStarted(*WHO, "msg_1", 2, call("toolu_2")),
        ev.ToolProgress(*WHO, "toolu_2", "Bash", 1.5, "3 passed"),
        ev.ToolProgress(*WHO, "toolu_1", heartbeat=True),
        ev.UserMessage(*WHO, [result("toolu_2"), result("toolu_1")], "tool"),
    )[2:] == [
        ui.UiToolProgress(*WHO, "msg_1", 2, "toolu_2", "3 passed", 1.5),
        ui.UiToolProgress(*WHO, "msg_1", 1, "toolu_1", None, None),
        ui.UiToolComplete(*WHO, "msg_1", 2, "toolu_2", "ok", False),
        ui.UiToolComplete(*WHO, "msg_1", 1, "toolu_1", "ok", False),
    ]


def test_a_tool_of_an_unstreamed_message_has_its_index_too() -> None:
    assert feed(
        ev.AssistantMessage(*WHO, "msg_1", 1, [said("Hm"), call("toolu_1", {})]),
        ev.ToolProgress(*WHO, "toolu_1", output="x"),
        ev.UserMessage(*WHO, [result("toolu_1")], "tool"),
    )[1:] == [
        ui.UiToolProgress(*WHO, "msg_1", 2, "toolu_1", "x"),
        ui.UiToolComplete(*WHO, "msg_1", 2, "toolu_1", "ok", False),
    ]


def test_an_event_of_an_unknown_tool_has_no_index() -> None:
    assert feed(
        ev.ToolProgress(*WHO, "toolu_1", output="x"),
        ev.UserMessage(*WHO, [result("toolu_1")], "tool"),
    ) == [
        ui.UiToolProgress(*WHO, None, None, "toolu_1", "x"),
        ui.UiToolComplete(*WHO, None, None, "toolu_1", "ok", False),
    ]


def test_a_tool_is_forgotten_with_its_result() -> None:
    assert feed(
        ev.ContentStarted(*WHO, "msg_1", 1, call("toolu_1")),
        ev.UserMessage(*WHO, [result("toolu_1")], "tool"),
        ev.ToolProgress(*WHO, "toolu_1", output="late"),
    )[-1] == ui.UiToolProgress(*WHO, None, None, "toolu_1", "late")


def test_the_end_of_a_message_forgets_no_tool() -> None:
    assert feed(
        ev.ContentStarted(*WHO, "msg_1", 1, call("toolu_1")),
        ev.ContentCompleted(*WHO, "msg_1", 1, call("toolu_1", {})),
        ev.MessageCompleted(*WHO, "msg_1", "tool_use"),
        ev.ToolProgress(*WHO, "toolu_1", output="x"),
    )[-1] == ui.UiToolProgress(*WHO, "msg_1", 1, "toolu_1", "x")


def test_an_abandoned_message_forgets_only_its_discarded_tools() -> None:
    progress = feed(
        ev.ContentStarted(*WHO, "msg_0", 2, call("toolu_other")),
        ev.ContentStarted(*WHO, "msg_1", 0, call("toolu_kept")),
        ev.ContentStarted(*WHO, "msg_1", 1, call("toolu_void")),
        ev.ContentStarted(*WHO, "msg_1", 2, call("toolu_void_too")),
        ev.MessageDiscarded(*WHO, "msg_1", 1, "abandoned"),
        ev.ToolProgress(*WHO, "toolu_other"),
        ev.ToolProgress(*WHO, "toolu_kept"),
        ev.ToolProgress(*WHO, "toolu_void"),
        ev.ToolProgress(*WHO, "toolu_void_too"),
    )[-4:]
    assert progress == [
        ui.UiToolProgress(*WHO, "msg_0", 2, "toolu_other"),
        ui.UiToolProgress(*WHO, "msg_1", 0, "toolu_kept"),
        ui.UiToolProgress(*WHO, None, None, "toolu_void"),
        ui.UiToolProgress(*WHO, None, None, "toolu_void_too"),
    ]


def completions(*events: NormalizedStreamEvent) -> list[ui.UiToolComplete]:
    return [event for event in feed(*events) if isinstance(event, ui.UiToolComplete)]


def streamed_search() -> list[NormalizedStreamEvent]:
    """A tool that the model's provider runs: call and result are blocks of one message."""
    return [
        ev.MessageStarted(*WHO, "msg_1"),
        ev.ContentStarted(*WHO, "msg_1", 0, call("srvtoolu_1")),
        ev.ContentCompleted(*WHO, "msg_1", 0, call("srvtoolu_1", {})),
        ev.ContentStarted(*WHO, "msg_1", 1, result("srvtoolu_1", ["found"])),
        ev.ContentCompleted(*WHO, "msg_1", 1, result("srvtoolu_1", ["found"])),
    ]


TOLD = ui.UiToolComplete(*WHO, "msg_1", 0, "srvtoolu_1", ["found"], False)


def test_a_streamed_tool_result_is_sent_when_it_is_complete() -> None:
    assert completions(*streamed_search()) == [TOLD]


def test_a_streamed_tool_result_has_no_block_stop_as_it_had_no_block_start() -> None:
    events = feed(*streamed_search())
    assert [type(event) for event in events] == [
        ui.UiMessageStart,
        ui.UiToolStart,
        ui.UiBlockStop,
        ui.UiToolComplete,
    ]


def test_a_tool_result_is_sent_once_if_the_finished_message_comes_before_its_blocks_end() -> None:
    *before, ended = streamed_search()
    finished = ev.AssistantMessage(*WHO, "msg_1", 1, [result("srvtoolu_1", ["found"])])
    assert completions(*before, finished, ended) == [TOLD]


@pytest.mark.parametrize(
    "finished",
    [
        ev.AssistantMessage(*WHO, "msg_1", 1, [result("srvtoolu_1", ["found"])]),
        ev.AssistantMessage(
            *WHO, "msg_1", 0, [call("srvtoolu_1"), result("srvtoolu_1", ["found"])]
        ),
    ],
)
def test_a_tool_result_is_sent_once_if_the_finished_message_comes_after_its_blocks_end(
    finished: ev.AssistantMessage,
) -> None:
    assert completions(*streamed_search(), finished) == [TOLD]


def test_the_state_of_one_turn_is_forgotten_in_the_next() -> None:
    blocks: list[ContentBlock] = [call("srvtoolu_1"), result("srvtoolu_1", ["found"])]
    ended = ev.ResultSummary(*WHO, "success", False)
    again = ev.AssistantMessage(*WHO, "msg_1", 0, blocks)
    assert completions(*streamed_search(), ended, again) == [TOLD, TOLD]


def test_a_tool_that_has_given_its_result_is_not_remembered_again() -> None:
    finished = ev.AssistantMessage(*WHO, "msg_1", 0, [call("srvtoolu_1", {})])
    late = ev.ToolProgress(*WHO, "srvtoolu_1", output="late")
    assert feed(*streamed_search(), finished, late)[-1] == ui.UiToolProgress(
        *WHO, None, None, "srvtoolu_1", "late"
    )


# --- around it --------------------------------------------------------------------------------


def test_a_failed_turn_is_an_error() -> None:
    assert feed(ev.TurnFailed(*WHO, "budget_exhausted", "Reached maximum budget", "user")) == [
        ui.UiError(*WHO, "Reached maximum budget", "budget_exhausted")
    ]


def test_the_figures_of_a_turn_are_passed_on() -> None:
    summary = ev.ResultSummary(
        *WHO,
        "success",
        False,
        duration_ms=1234,
        duration_api_ms=456,
        num_turns=2,
        cost_usd=0.005,
        total_cost_usd=0.015,
        usage=Usage(200, 40),
        result="Done.",
        stop_reason="end_turn",
        terminal_reason="completed",
        structured_output={"answer": 42},
        errors=["one", "two"],
        model_usage={"claude-sonnet-4-5": ModelUsage(200, 40)},
    )
    assert feed(summary) == [
        ui.UiResultMessage(
            *WHO,
            "success",
            False,
            1234,
            456,
            2,
            cost_usd=0.005,
            total_cost_usd=0.015,
            usage=Usage(200, 40),
            result="Done.",
            stop_reason="end_turn",
            terminal_reason="completed",
            structured_output={"answer": 42},
            errors=["one", "two"],
            model_usage={"claude-sonnet-4-5": ModelUsage(200, 40)},
        )
    ]


def test_notices_about_the_session_keep_the_agents_own_message() -> None:
    raw = Raw(b'{"type": "system"}')
    assert feed(
        ev.SessionInit(*WHO, raw=raw),
        ev.SystemEvent(*WHO, "compact_boundary", raw),
        ev.UnknownEvent(*WHO, "hologram", raw),
        ev.SystemEvent(*WHO, "status"),
    ) == [
        ui.UiSystemMessage(*WHO, "init", raw),
        ui.UiSystemMessage(*WHO, "compact_boundary", raw),
        ui.UiSystemMessage(*WHO, "unknown", raw),
        ui.UiSystemMessage(*WHO, "status", UNSET),
    ]


@pytest.mark.parametrize(
    "event",
    [
        ev.TurnStarted(*WHO),
        ev.TurnCompleted(*WHO, "end_turn"),
        ev.UsageUpdated(*WHO, Usage(1, 2), "msg_1"),
        ev.PlanUpdated(*WHO, [TodoItem("Write", "pending")]),
        ev.QuestionAsked(*WHO, "r-1", "toolu_1", "AskUserQuestion", [ev.Question("q", "Which?")]),
        ev.PermissionRequested(*WHO, "r-2", "toolu_2", "Bash", {"command": "ls"}),
        ev.RequestWithdrawn(*WHO, "r-2"),
    ],
)
def test_turns_plans_usage_and_requests_have_their_own_events(
    event: NormalizedStreamEvent,
) -> None:
    assert feed(event) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("UiMessageStart", ev.MessageStarted(*WHO, "m")),
        ("UiTextDelta", ev.ContentDelta(*WHO, "m", 0, "text", "x")),
        ("UiThinkingDelta", ev.ContentDelta(*WHO, "m", 0, "thinking", "x")),
        ("UiToolStart", ev.ContentStarted(*WHO, "m", 0, call("t"))),
        ("UiToolInputDelta", ev.ContentDelta(*WHO, "m", 0, "tool_input", "x")),
        ("UiToolProgress", ev.ToolProgress(*WHO, "t")),
        ("UiToolComplete", ev.UserMessage(*WHO, [result("t")], "tool")),
        ("UiMessageComplete", ev.MessageCompleted(*WHO, "m")),
        ("UiAssistantMessage", ev.AssistantMessage(*WHO, "m", 0, [])),
        ("UiUserMessage", ev.UserMessage(*WHO, [], "user")),
        ("UiResultMessage", ev.ResultSummary(*WHO, "success", False)),
        ("UiError", ev.TurnFailed(*WHO, "c", "m")),
        ("UiBlockStart", ev.ContentStarted(*WHO, "m", 0, said(""))),
        ("UiBlockStop", ev.ContentCompleted(*WHO, "m", 0, said(""))),
        ("UiSystemMessage", ev.SystemEvent(*WHO, "status")),
    ],
)
def test_ui_events_are_written_and_read_back_unchanged(
    name: str, source: NormalizedStreamEvent
) -> None:
    (event,) = feed(source)
    wire = msgspec.json.encode(event)
    assert msgspec.json.decode(wire)["type"] == name
    assert msgspec.json.decode(wire, type=UiStreamEvent) == event
