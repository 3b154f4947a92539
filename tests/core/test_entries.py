"""Normalized events as entries of the log: recorded streams first, then every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from tests.helpers.recorded_streams import RECORDED, events_of
from tests.helpers.sample_events import (
    RUN,
    SUB,
    WHO,
    any_event,
    call,
    completed,
    ends,
    entries_of,
    frame,
    messages_of,
    on_the_wire,
    result,
    said,
    said_by_the_frames,
    started,
    wire,
    without_stream_events,
)
from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core import finished as module
from turnwire.core.assembler import RunLedger, check_message
from turnwire.core.blocks import (
    ContentBlock,
    ErrorBlock,
    FileRefBlock,
    ImageBlock,
    ThinkingBlock,
    TodoItem,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from turnwire.core.entries import event_entry
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.grouping import contents, group
from turnwire.core.parts import part_of
from turnwire.core.usage import Usage

# --- recorded streams -------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "frames only"])
def test_the_entries_of_a_recorded_stream_group_to_the_same_messages(
    path: Path, streamed: bool
) -> None:
    lines = path.read_bytes().splitlines()
    events = events_of(lines if streamed else without_stream_events(lines))
    entries = entries_of(events)
    assert all(len(entry.parts) == 1 for entry in entries if entry.role != "user")
    assert [violation for entry in entries for violation in check_message(entry)] == []
    whole = {e.meta["messageId"]: e for e in group(entries) if e.role == "assistant"}
    assert on_the_wire(whole) == said_by_the_frames(lines)
    messages = messages_of(events)
    for name, message in whole.items():
        assert contents(message) == contents(messages[name])
        for key in ("messageId", "turnId", "schemaVersion", "parentToolUseId", "agentId"):
            assert message.meta.get(key) == messages[name].meta.get(key)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_tool_calls_of_a_recorded_stream_are_called_once_and_answered_once(path: Path) -> None:
    ledger = RunLedger(RUN)
    for entry in entries_of(events_of(path.read_bytes().splitlines())):
        ledger.add(entry)
    assert {violation.code for violation in ledger.finish()} <= {"no_tool_result"}


# --- any stream -------------------------------------------------------------------------------


@given(st.lists(any_event(), max_size=25))
def test_every_entry_of_any_events_has_one_part(events: list[NormalizedStreamEvent]) -> None:
    results = 0
    for entry in entries_of(events):
        assert check_message(entry) == []
        assert len(contents(entry)) == 1
        results += entry.role == "tool"
    assert results <= 12  # one for each call there is


# --- entries ----------------------------------------------------------------------------------


def test_a_call_whose_arguments_are_no_json_is_marked() -> None:
    (entry,) = entries_of([frame(0, call("toolu_1", text="{"))])
    assert entry.meta["argsNotJson"] == ["toolu_1"]


def test_a_block_that_was_streamed_and_then_said_is_one_entry() -> None:
    events = [started(), ends(0, said("Hello")), frame(0, said("Hello")), completed()]
    assert len(entries_of(events)) == 1


def test_user_input_is_one_entry_with_all_its_parts() -> None:
    content: list[ContentBlock] = [
        said("Look:"),
        UnknownBlock("document", {"type": "document"}),
        ImageBlock("completed", "image/png", "aGk="),
        FileRefBlock("notes.txt", "completed", "text/plain", 8),
    ]
    (entry,) = entries_of([ev.UserMessage(*WHO, content, "user", "u-1")])
    assert wire(entry) == {
        "runId": "conv:1",
        "role": "user",
        "parts": [
            {"kind": "text", "payload": {"text": "Look:"}},
            {"kind": "image", "payload": {"mimeType": "image/png", "data": "aGk="}},
            {
                "kind": "file_ref",
                "payload": {"path": "notes.txt", "mimeType": "text/plain", "size": 8},
            },
        ],
        "timestamp": "12:00",
        "meta": {
            "schemaVersion": 1,
            "turnId": 1,
            "blocks": [
                {
                    "position": 1,
                    "block": {
                        "type": "unknown",
                        "originalType": "document",
                        "data": {"type": "document"},
                    },
                }
            ],
            "provider": "claude",
            "uuid": "u-1",
            "origin": "user",
        },
    }


def test_a_result_that_the_model_repeats_is_no_second_entry() -> None:
    first = ev.UserMessage(*WHO, [result("t1")], "tool")
    again = frame(0, result("t1"), said("and"))
    assert [entry.role for entry in entries_of([first, again])] == ["tool", "assistant"]


def test_each_tool_result_is_an_entry_of_its_own() -> None:
    details = ToolResultBlock("t2", "no", True, "failed", Raw(b'{"x":1}'))
    event = ev.UserMessage(*SUB, [result("t1"), details, said("and")], "tool", "u-1")
    one, two, three = entries_of([event])
    assert wire(one.parts) == [
        {
            "kind": "tool_result",
            "payload": {"toolCallId": "t1", "isError": False, "content": "ok"},
        }
    ]
    assert one.role == "tool"
    assert one.meta == {
        "schemaVersion": 1,
        "turnId": 1,
        "provider": "claude",
        "parentToolUseId": "toolu_task",
        "agentId": "agent-7",
        "uuid": "u-1",
    }
    assert wire(two.parts)[0]["payload"]["isError"] is True
    assert wire(two.parts)[0]["payload"]["details"] == {"x": 1}
    assert three.role == "user"


def test_a_repeated_result_or_frame_gives_no_new_entry() -> None:
    events = [
        ev.UserMessage(*WHO, [said("hi")], "user", "u-1"),
        ev.UserMessage(*WHO, [said("hi")], "user", "u-1"),
        ev.UserMessage(*WHO, [result("t")], "tool", "u-2"),
        ev.UserMessage(*WHO, [result("t", "other")], "tool"),
        ev.UserMessage(*WHO, [], "user"),
    ]
    assert [entry.role for entry in entries_of(events)] == ["user", "tool"]


def test_a_finished_block_is_an_entry_with_its_index() -> None:
    (entry,) = entries_of([frame(2, said("x"), model="claude-x", uuid="u", usage=Usage(1, 2))])
    assert entry.meta == {
        "schemaVersion": 1,
        "messageId": "msg_1",
        "turnId": 1,
        "index": 2,
        "provider": "claude",
        "uuid": "u",
        "modelId": "claude-x",
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
    }


def test_a_block_that_only_streamed_is_an_entry_when_its_message_ends() -> None:
    events = [started(), ends(0, said("x")), completed(stop_reason="end_turn", usage=Usage(1, 2))]
    assert entries_of(events[:-1]) == []
    (entry,) = entries_of(events)
    assert entry.meta["finishReason"] == "end_turn"
    assert entry.meta["usage"]["totalTokens"] == 3


def test_a_block_is_one_entry_even_if_confirmed_again() -> None:
    x = said("x")
    events = [started(), frame(0, x), ends(0, x), frame(0, x, said("y")), completed(), frame(0, x)]
    assert len(entries_of(events)) == 2


def test_only_the_last_messages_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENDED", 1)
    events = [
        ev.AssistantMessage(*WHO, name, 0, [said(name)]) for name in ("a", "b", "c", "c", "b", "a")
    ]
    assert len(entries_of(events)) == 5


def test_a_frame_during_a_stream_has_no_usage() -> None:
    beside = frame(0, said("x"), stop_reason="early", usage=Usage(1, 1))
    (entry,) = entries_of([started(), beside])
    assert "usage" not in entry.meta


def test_a_result_inside_a_model_message_is_an_entry_of_role_tool() -> None:
    search = ToolUseBlock("s", "web_search", "CLAUDE_WEB_SEARCH", {}, "in_progress")
    events = [frame(0, search, result("s", [{"type": "page"}]), said("found"))]
    assert [entry.role for entry in entries_of(events)] == ["assistant", "tool", "assistant"]
    whole, answer = group(entries_of(events))
    assert [part["kind"] for part in wire(whole.parts)] == ["tool_call", "text"]
    assert answer.meta["messageId"] == "msg_1"
    assert answer.meta["index"] == 1
    assert contents(messages_of(events)["msg_1"]) == contents(whole)
    again = ev.UserMessage(*WHO, [result("s")], "tool")
    assert len(entries_of([*events, again])) == 3


def test_a_kept_block_is_an_entry_without_a_part() -> None:
    (entry,) = entries_of([frame(0, ImageBlock("completed", None, None, "https://example.com"))])
    assert entry.parts == []
    assert entry.meta["blocks"] == [
        {
            "position": 0,
            "block": {"type": "image", "status": "completed", "url": "https://example.com"},
        }
    ]


def test_an_event_is_an_entry_of_role_system() -> None:
    entry = event_entry(
        "interrupted", "Stopped by Ann", run_id=RUN, timestamp="12:00", data={"by": "ann"}
    )
    assert wire(entry) == {
        "runId": "conv:1",
        "role": "system",
        "parts": [{"kind": "text", "payload": {"text": "Stopped by Ann"}}],
        "timestamp": "12:00",
        "meta": {
            "schemaVersion": 1,
            "turnId": 1,
            "messageType": "interrupted",
            "data": {"by": "ann"},
        },
    }
    assert check_message(entry) == []


def test_events_without_content_or_notice_give_no_entry() -> None:
    events = [ev.TurnStarted(*WHO), ev.ToolProgress(*WHO, "t"), ev.RequestWithdrawn(*WHO, "r")]
    assert entries_of(events) == []


# --- news -------------------------------------------------------------------------------------


def news(*events: NormalizedStreamEvent) -> list[tuple[str, Any]]:
    """The words and the particulars of each entry, all of role system."""
    found = []
    for entry in entries_of(events):
        assert (entry.role, entry.meta["messageType"]) == ("system", "system")
        (part,) = wire(entry.parts)
        found.append((part["payload"]["text"], entry.meta["data"]))
    return found


def test_a_notice_is_an_entry_with_the_agents_own_message() -> None:
    raw = Raw(b'{"type":"system","subtype":"compact_boundary","uuid":"u-1","novel":[1]}')
    (entry,) = entries_of([ev.SystemEvent(*SUB, "compact_boundary", raw)])
    assert wire(entry) == {
        "runId": "conv:1",
        "role": "system",
        "parts": [{"kind": "text", "payload": {"text": "Compact boundary"}}],
        "timestamp": "12:00",
        "meta": {
            "schemaVersion": 1,
            "turnId": 1,
            "provider": "claude",
            "parentToolUseId": "toolu_task",
            "agentId": "agent-7",
            "uuid": "u-1",
            "messageType": "system",
            "data": {
                "subtype": "compact_boundary",
                "data": {
                    "type": "system",
                    "subtype": "compact_boundary",
                    "uuid": "u-1",
                    "novel": [1],
                },
            },
        },
    }


def test_a_notice_without_a_message_or_a_name_is_an_entry() -> None:
    assert news(ev.SystemEvent(*WHO, "")) == [("System event", {"subtype": ""})]


def test_a_notice_with_words_is_an_entry_with_these_words() -> None:
    told = ev.SystemEvent(*WHO, "warning", text="Warning: slow")
    assert news(told) == [("Warning: slow", {"subtype": "warning"})]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"decision": "none"}, "PreToolUse of Bash: no decision"),
        ({"decision": "deny", "reason": "No."}, "PreToolUse of Bash: deny (No.)"),
        ({"decision": "none", "input": {"a": 1}}, "PreToolUse of Bash: changed input"),
        ({"decision": "allow", "input": {}}, "PreToolUse of Bash: allow, with changed input"),
        ({"decision": "stop", "tool_name": None}, "PreToolUse: stop"),
        (
            {"decision": "deny", "reason": "The hook failed.", "message": "it raised"},
            "PreToolUse of Bash: failed (it raised), so deny",
        ),
        (
            {"decision": "none", "message": "it raised"},
            "PreToolUse of Bash: failed (it raised), so the agent continues",
        ),
    ],
)
def test_the_decision_of_a_hook_is_an_entry_in_words(more: dict[str, Any], said: str) -> None:
    about = {"hook": "rules", "event": "PreToolUse", "duration_ms": 1, "tool_name": "Bash"}
    [(text, _)] = news(ev.HookRan(*WHO, "hook_run", run=ev.HookRun(**{**about, **more})))
    assert text == f"Hook rules, {said}"


def test_a_transient_notice_is_no_entry() -> None:
    assert news(ev.SystemEvent(*WHO, "status", Raw(b"{}"), True)) == []


@pytest.mark.parametrize(
    ("model", "cwd", "text"),
    [
        ("claude-x", "/workspace", "Session started: claude-x in /workspace"),
        ("claude-x", None, "Session started: claude-x"),
        (None, "/workspace", "Session started in /workspace"),
        (None, None, "Session started"),
    ],
)
def test_the_start_of_a_session_has_the_known_fields(
    model: str | None, cwd: str | None, text: str
) -> None:
    init = ev.SessionInit(*WHO, model, cwd, raw=Raw(b'{"subtype":"init","apiKeySource":"none"}'))
    said = {"subtype": "init", "apiKeySource": "none"}
    assert news(init) == [(text, {"subtype": "init", "data": said})]


def test_a_start_without_the_agents_message_keeps_the_read_fields() -> None:
    init = ev.SessionInit(*WHO, "codex-1", tools=["shell"])
    ((_, data),) = news(init)
    assert data == {"subtype": "init", "data": {"model": "codex-1", "tools": ["shell"]}}


def test_an_unknown_event_is_kept_whole_with_its_name() -> None:
    novel = ev.UnknownEvent(*WHO, "novel", Raw(b'{"type":"novel"}'))
    nameless = ev.UnknownEvent(*WHO, "", Raw(b"[]"), "no type")
    assert news(novel, nameless) == [
        (
            "Unknown event: novel",
            {"subtype": "unknown", "originalType": "novel", "data": {"type": "novel"}},
        ),
        (
            "Unknown event",
            {"subtype": "unknown", "originalType": "", "reason": "no type", "data": []},
        ),
    ]


def test_the_plan_is_an_entry_with_all_its_items() -> None:
    items = [TodoItem("Do A", "completed"), TodoItem("Do B", "in_progress", "2", "Doing B")]
    assert news(ev.PlanUpdated(*WHO, items)) == [
        (
            "Plan: 1 of 2 done",
            {
                "subtype": "plan",
                "data": {
                    "items": [
                        {"content": "Do A", "status": "completed"},
                        {
                            "content": "Do B",
                            "status": "in_progress",
                            "id": "2",
                            "active_form": "Doing B",
                        },
                    ]
                },
            },
        )
    ]


def test_a_repeated_notice_gives_no_new_entry() -> None:
    def boundary(uuid: bytes) -> ev.SystemEvent:
        return ev.SystemEvent(*WHO, "compact_boundary", Raw(b'{"uuid":%b}' % uuid))

    again = [boundary(b'"u-1"'), boundary(b'"u-1"'), boundary(b'"u-2"')]
    assert len(news(*again)) == 2
    unnamed = [boundary(b"7"), boundary(b"7"), *[ev.SystemEvent(*WHO, "x")] * 2]
    assert len(news(*unnamed)) == 4


def test_a_message_that_no_value_can_hold_is_kept_as_text() -> None:
    ((_, data),) = news(ev.UnknownEvent(*WHO, "novel", Raw(b'{"n":1e999}')))
    assert data["data"] == '{"n":1e999}'


def test_the_particulars_of_an_event_may_be_anything_that_json_can_say() -> None:
    data = {"item": TodoItem("Do A", "pending"), "raw": Raw(b'{"x":1}'), "several": (1, 2)}
    entry = event_entry("rewind", "Back to turn 2", run_id=RUN, timestamp="12:00", data=data)
    assert entry.meta["data"] == {
        "item": {"content": "Do A", "status": "pending"},
        "raw": {"x": 1},
        "several": [1, 2],
    }


# --- blocks as parts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("words", "words"),
        (None, ""),
        (7, {"value": 7}),
        ({"type": "web_search_error"}, {"type": "web_search_error"}),
        ([], []),
        ([{"type": "text", "text": "a"}], [{"kind": "text", "payload": {"text": "a"}}]),
        (
            [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                }
            ],
            [{"kind": "image", "payload": {"mimeType": "image/png", "data": "aGk="}}],
        ),
        (
            [{"type": "image", "source": {"type": "url", "url": "https://example.com"}}],
            [{"kind": "image", "payload": {"mimeType": "image/*", "url": "https://example.com"}}],
        ),
        (
            [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
            [{"kind": "image", "payload": {"mimeType": "image/png", "data": "aGk="}}],
        ),
        (
            [{"type": "text", "text": "a"}, {"type": "tool_reference", "tool_name": "x"}],
            {
                "blocks": [
                    {"type": "text", "text": "a"},
                    {"type": "tool_reference", "tool_name": "x"},
                ]
            },
        ),
        (
            [{"type": "text", "text": "a", "novel": 1}],
            {"blocks": [{"type": "text", "text": "a", "novel": 1}]},
        ),
    ],
)
def test_a_result_becomes_text_parts_or_an_object(content: Any, expected: Any) -> None:
    part = part_of(result("t", content))
    assert wire(part)["payload"]["content"] == expected


def test_every_block_is_a_part_or_is_left_out() -> None:
    each: list[ContentBlock] = [
        said("x"),
        ThinkingBlock("x", "completed"),
        call("t", {}),
        result("t"),
        ImageBlock("completed", "image/png", "aGk="),
        FileRefBlock("x", "completed"),
        blocks.CommandExecutionBlock("c", "make", "completed"),
        blocks.FileChangeBlock("f", [], "completed"),
        blocks.McpToolCallBlock("m", "s", "t", {}, "completed"),
        blocks.WebSearchBlock("w", "q", "completed"),
        blocks.TodoListBlock([], "completed"),
        ErrorBlock("x", "failed"),
        UnknownBlock("x", {}),
    ]
    examples = {type(block): block for block in each}
    assert set(examples) == set(get_args(ContentBlock))
    found = {kind.__name__: part_of(block) for kind, block in examples.items()}
    fitting = {name for name, part in found.items() if part is not None}
    assert fitting == {
        "TextBlock",
        "ThinkingBlock",
        "ToolUseBlock",
        "ToolResultBlock",
        "ImageBlock",
        "FileRefBlock",
    }
    assert result("t").details is UNSET
