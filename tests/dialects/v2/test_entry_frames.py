"""Each kind of log entry and its frame."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from tests.helpers.recorded_streams import RECORDED, events_of
from tests.helpers.sample_events import any_event, without_stream_events
from turnwire.core import message as m
from turnwire.core.entries import EntryStream, event_entry
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import BlobRef, Message
from turnwire.core.message_codec import decode_message, encode
from turnwire.dialects.v2 import codec
from turnwire.dialects.v2.entry_frames import frame_of

NOW = "2026-01-01T12:00:00.000Z"
TRACE = "0af7651916cd43dd8448eb211c80319c"
META = {"schemaVersion": 1, "turnId": 3}
BLOB = {"blob_id": "b-1", "mime_type": "text/plain", "size": 70000}
REF = BlobRef("b-1", "text/plain", 70_000)


def told(entry: Message) -> dict[str, Any]:
    """The frame of an entry that was written and read again, as entry 7."""
    read = decode_message(encode(entry))
    frame: dict[str, Any] = json.loads(codec.encode(frame_of(read, 7, "conv-1", TRACE)).replayed())
    return frame


def entry(role: m.Role, *parts: m.MessagePart, **meta: Any) -> Message:
    return Message("conv-1:3", role, list(parts), NOW, {**META, **meta})


def block(part: m.MessagePart, **meta: Any) -> dict[str, Any]:
    """Returns the payload of a model's block, without the common fields."""
    payload = told(entry("assistant", part, messageId="msg_1", index=2, **meta))["payload"]
    assert payload.pop("message_id") == "msg_1"
    assert payload.pop("index") == 2
    assert payload.pop("message_sequence") == 7
    assert payload.pop("partial") is False
    found: dict[str, Any] = payload
    return found


# --- messages -------------------------------------------------------------------------------


def test_a_frame_says_where_it_belongs() -> None:
    assert told(entry("user", m.TextPart(m.TextPayload("Hello")))) == {
        "type": "user.message",
        "conversation_id": "conv-1",
        "turn_id": 3,
        "sequence": None,
        "timestamp": NOW,
        "trace_id": TRACE,
        "payload": {"content": [{"type": "text", "text": "Hello"}], "message_sequence": 7},
    }


def test_an_entry_outside_of_turns() -> None:
    frame = frame_of(Message("conv-1:", "user", [], NOW), 1, "conv-1", None)
    assert (frame.turn_id, frame.trace_id) == (None, None)


def test_user_input_has_all_known_fields() -> None:
    words = entry(
        "user",
        m.TextPart(m.TextPayload("See")),
        m.ImagePart(m.ImagePayload("image/png", "aGk=")),
        blocks=[{"position": 1, "block": {"type": "unknown", "originalType": "x", "data": 1}}],
        clientMessageId="m-1",
        by="ann",
        origin="user",
    )
    assert told(words)["payload"] == {
        "content": [
            {"type": "text", "text": "See"},
            {"type": "unknown", "originalType": "x", "data": 1},
            {"type": "image", "mime_type": "image/png", "data": "aGk="},
        ],
        "message_sequence": 7,
        "client_message_id": "m-1",
        "by": "ann",
    }


def test_a_prompt_of_a_sub_agent_names_its_call() -> None:
    words = entry(
        "user",
        m.TextPart(m.TextPayload("Look")),
        origin="agent",
        parentToolUseId="toolu_task",
        agentId="agent-7",
    )
    assert told(words)["payload"] == {
        "content": [{"type": "text", "text": "Look"}],
        "message_sequence": 7,
        "origin": "agent",
        "parent_tool_use_id": "toolu_task",
        "agent_id": "agent-7",
    }


def test_an_unknown_origin_counts_as_a_person() -> None:
    assert "origin" not in told(entry("user", origin="oracle"))["payload"]


def test_a_text_entry_is_a_frame_of_finished_text() -> None:
    part = m.TextPart(m.TextPayload("Hi", [{"url": "x"}], REF))
    frame = told(entry("assistant", part, messageId="msg_1", index=2))
    assert frame["type"] == "assistant.chunk"
    known = {"modelId": "claude-x", "error": "rate_limit", "aborted": True}
    assert block(part, **known) == {
        "block_id": "msg_1:2",
        "text": "Hi",
        "citations": [{"url": "x"}],
        "blob": BLOB,
        "model": "claude-x",
        "error": "rate_limit",
        "aborted": True,
    }


def test_text_of_a_sub_agent_names_its_call() -> None:
    whose = {"parentToolUseId": "toolu_task", "agentId": "agent-7"}
    assert block(m.TextPart(m.TextPayload("Hi")), **whose) == {
        "block_id": "msg_1:2",
        "text": "Hi",
        "parent_tool_use_id": "toolu_task",
        "agent_id": "agent-7",
    }


def test_a_thinking_entry_is_a_frame_of_finished_thinking() -> None:
    part = m.ThinkingPart(m.ThinkingPayload("hm", "sig", "xyz", REF))
    assert told(entry("assistant", part))["type"] == "assistant.thinking"
    assert block(part, modelId="claude-x", aborted=True) == {
        "block_id": "msg_1:2",
        "text": "hm",
        "signature": "sig",
        "redacted": "xyz",
        "blob": BLOB,
        "model": "claude-x",
        "aborted": True,
    }


CALL = m.ToolCallPayload("toolu_1", "Read", {"path": "a"}, None, "CLAUDE_READ")


def test_a_tool_call() -> None:
    assert told(entry("assistant", m.ToolCallPart(CALL)))["type"] == "assistant.tool_call"
    assert block(m.ToolCallPart(CALL), modelId="claude-x") == {
        "block_id": "toolu_1",
        "tool_use_id": "toolu_1",
        "tool_name": "Read",
        "tool_type": "CLAUDE_READ",
        "input": {"path": "a"},
        "model": "claude-x",
    }


def test_a_tool_call_without_arguments_has_an_empty_input() -> None:
    assert block(m.ToolCallPart(m.ToolCallPayload("toolu_1", "Ls", {})))["input"] == {}


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (m.ToolCallPayload("toolu_1", "Ls", {}, "[1, 2]"), {"input_text": "[1, 2]"}),
        (m.ToolCallPayload("toolu_1", "Ls", {}, "oops", blob=REF), {"input_text": "oops"}),
        (m.ToolCallPayload("toolu_1", "Ls", {}, preview='{"a', blob=REF), {"input_text": '{"a'}),
    ],
)
def test_arguments_that_are_not_here_are_not_empty(
    call: m.ToolCallPayload, shown: dict[str, Any]
) -> None:
    if call.blob is not None:
        shown = {**shown, "blob": BLOB}
    assert block(m.ToolCallPart(call)) == {
        "block_id": "toolu_1",
        "tool_use_id": "toolu_1",
        "tool_name": "Ls",
        **shown,
    }


def test_a_block_of_another_kind_is_sent_as_such() -> None:
    kept = {"type": "error", "message": "no", "status": "failed"}
    frame = told(
        entry("assistant", messageId="msg_1", index=2, blocks=[{"position": 0, "block": kept}])
    )
    assert frame["type"] == "assistant.block"
    assert frame["payload"] == {
        "block_id": "msg_1:2",
        "message_id": "msg_1",
        "index": 2,
        "partial": False,
        "block": kept,
        "message_sequence": 7,
    }


def test_a_large_block_of_another_kind_is_sent_with_its_blob() -> None:
    ref = {"blobId": "b-1", "mimeType": "text/plain", "size": 70000}
    payload = told(entry("assistant", blocks=[{"position": 0, "blob": ref}]))["payload"]
    assert payload["blob"] == BLOB
    assert "block" not in payload


def test_a_part_of_a_newer_version_is_sent_unchanged() -> None:
    part = m.UnknownPart("hologram", {"kind": "hologram", "beams": 3})
    for role in ("assistant", "tool"):
        frame = told(entry(role, part))
        assert frame["type"] == "assistant.block"
        assert frame["payload"]["block"] == {
            "type": "unknown",
            "originalType": "hologram",
            "data": {"kind": "hologram", "beams": 3},
        }


def test_an_entry_that_is_a_whole_message_is_kept_whole() -> None:
    parts = [m.TextPart(m.TextPayload("a")), m.TextPart(m.TextPayload("b"))]
    payload = told(entry("assistant", *parts))["payload"]
    assert payload["block_id"] == "entry-7:0"
    assert payload["block"] == {
        "type": "unknown",
        "originalType": "message",
        "data": [
            {"kind": "text", "payload": {"text": "a"}},
            {"kind": "text", "payload": {"text": "b"}},
        ],
    }


# --- results ----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["buy milk", {"rows": 3}, {"blocks": [1]}])
def test_a_tool_result_has_the_tools_content(content: Any) -> None:
    part = m.ToolResultPart(m.ToolResultPayload("toolu_1", False, content))
    frame = told(entry("tool", part))
    assert frame["type"] == "assistant.tool_result"
    assert frame["payload"] == {
        "tool_use_id": "toolu_1",
        "is_error": False,
        "content": content,
        "message_sequence": 7,
    }


def test_a_tool_result_has_all_fields() -> None:
    parts: list[m.MessagePart] = [
        m.TextPart(m.TextPayload("one")),
        m.ImagePart(m.ImagePayload("image/png", "aGk=")),
        m.UnknownPart("hologram", {"kind": "hologram"}),
    ]
    result = m.ToolResultPayload("toolu_1", True, parts, Raw(b'{"code":1}'), REF, REF)
    whose = {"parentToolUseId": "toolu_task", "agentId": "agent-7"}
    assert told(entry("tool", m.ToolResultPart(result), **whose))["payload"] == {
        "tool_use_id": "toolu_1",
        "is_error": True,
        "content": [
            {"type": "text", "text": "one"},
            {"type": "image", "mime_type": "image/png", "data": "aGk="},
            {"type": "unknown", "originalType": "hologram", "data": {"kind": "hologram"}},
        ],
        "message_sequence": 7,
        "details": {"code": 1},
        "blob": BLOB,
        "details_blob": BLOB,
        "parent_tool_use_id": "toolu_task",
        "agent_id": "agent-7",
    }


# --- questions --------------------------------------------------------------------------------

ASKED = {
    "questions": [
        {"question": "Which color?", "header": "Color", "options": ["Red", {"label": "Blue"}]},
        {"question": "Which size?", "multiSelect": True},
    ]
}


def question(arguments: dict[str, Any], **meta: Any) -> dict[str, Any]:
    call = m.ToolCallPayload("toolu_1", "AskUserQuestion", arguments, None, "CLAUDE_ASK")
    frame = told(entry("assistant", m.ToolCallPart(call), messageId="msg_1", index=2, **meta))
    assert frame["type"] == "assistant.request_input"
    payload: dict[str, Any] = frame["payload"]
    return payload


@pytest.mark.parametrize(
    ("tool", "asks", "type_"),
    [
        ("poll", True, "assistant.request_input"),
        ("AskUserQuestion", False, "assistant.tool_call"),
    ],
)
def test_a_call_that_is_marked_as_a_question_is_one(tool: str, asks: bool, type_: str) -> None:
    call = m.ToolCallPayload("toolu_1", tool, ASKED, asks=asks)
    assert told(entry("assistant", m.ToolCallPart(call)))["type"] == type_


def test_a_call_that_asks_a_person_is_a_question() -> None:
    assert question(ASKED, modelId="claude-x") == {
        "question_id": "toolu_1",
        "question": "Which color?",
        "options": [{"label": "Red"}, {"label": "Blue"}],
        "required": True,
        "metadata": None,
        "inbox_item_id": None,
        "deadline_at": None,
        "questions": [
            {
                "id": "Which color?",
                "question": "Which color?",
                "options": [{"label": "Red"}, {"label": "Blue"}],
                "header": "Color",
            },
            {"id": "Which size?", "question": "Which size?", "multi": True},
        ],
        "block_id": "toolu_1",
        "message_id": "msg_1",
        "index": 2,
        "message_sequence": 7,
        "tool_name": "AskUserQuestion",
        "tool_type": "CLAUDE_ASK",
        "input": ASKED,
        "model": "claude-x",
    }


def test_the_details_of_a_question_are_in_its_entry() -> None:
    known = {
        "required": False,
        "metadata": {"urgent": True},
        "inbox_item_id": "i-1",
        "deadline_at": "2026-01-02T12:00:00.000Z",
    }
    payload = question(ASKED, data=known)
    assert {name: payload[name] for name in known} == known
    assert question(ASKED, data={"required": "maybe"})["required"] is True
    assert question(ASKED, data="odd")["required"] is True


def test_a_question_without_its_text_is_sent() -> None:
    payload = question({"questions": []})
    assert (payload["question"], payload["options"], payload["questions"]) == ("", [], [])


# --- events -----------------------------------------------------------------------------------


def event(name: m.EventName, text: str, data: Any, **known: Any) -> dict[str, Any]:
    return told(event_entry(name, text, run_id="conv-1:3", timestamp=NOW, data=data, **known))


def test_a_permission_is_asked_for() -> None:
    data = {
        "request_id": "r-1",
        "tool_use_id": "toolu_1",
        "tool_name": "Bash",
        "input": {"command": "ls"},
        "suggestions": [{"type": "addRules"}],
        "title": "Run a command",
        "deadline_at": "2026-01-02T12:00:00.000Z",
    }
    frame = event(
        "permission_request", "Run a command", data, parent_tool_use_id="toolu_task", agent_id="a"
    )
    assert frame["type"] == "assistant.permission_request"
    assert frame["payload"] == {
        **data,
        "message_sequence": 7,
        "parent_tool_use_id": "toolu_task",
        "agent_id": "a",
    }


def test_a_request_has_ended() -> None:
    data = {"request_id": "r-1", "outcome": "answered", "by": "ann", "decision": "allow"}
    frame = event("request_resolved", "Allowed by Ann", data)
    assert frame["type"] == "assistant.request_resolved"
    assert frame["payload"] == {**data, "message_sequence": 7}


def test_a_turn_was_stopped() -> None:
    data = {"reason": "user", "by": "ann", "acknowledged": True, "processes": [{"pid": 7}]}
    frame = event("interrupted", "Stopped by Ann", data)
    assert frame["type"] == "conversation.interrupted"
    assert frame["payload"] == {**data, "message_sequence": 7}


def test_restored_files_are_listed() -> None:
    frame = event("rewind", "Two files put back", {"files": ["a", "b"]})
    assert frame["type"] == "session.system_event"
    assert frame["payload"] == {
        "subtype": "rewind",
        "message_sequence": 7,
        "text": "Two files put back",
        "data": {"files": ["a", "b"]},
    }


def test_a_notice_about_the_session_is_sent_with_its_data() -> None:
    data = {"subtype": "compact_boundary", "data": {"uuid": "u-1"}}
    frame = event("system", "Compact boundary", data, provider="claude")
    assert frame["type"] == "session.system_event"
    assert frame["payload"] == {
        "subtype": "compact_boundary",
        "message_sequence": 7,
        "text": "Compact boundary",
        "data": {"uuid": "u-1"},
        "provider": "claude",
    }


def test_a_notice_with_more_fields_keeps_all_of_them() -> None:
    data = {"subtype": "unknown", "originalType": "hologram", "data": {"beams": 3}}
    assert event("system", "Unknown event", data)["payload"]["data"] == data


def test_a_notice_without_data_is_sent() -> None:
    payload = event("system", "", {"subtype": "status"})["payload"]
    assert payload == {"subtype": "status", "message_sequence": 7}


def test_a_system_entry_of_another_program_is_a_notice() -> None:
    part = m.TextPart(m.TextPayload("Be kind."))
    thought = m.ThinkingPart(m.ThinkingPayload("hm"))
    assert told(entry("system", part, thought))["payload"] == {
        "subtype": "system",
        "message_sequence": 7,
        "text": "Be kind.",
    }


@pytest.mark.parametrize("data", [{"reason_missing": 1}, "odd"])
def test_an_event_without_its_required_fields_is_a_notice_and_keeps_its_data(data: Any) -> None:
    frame = event("interrupted", "Stopped", data)
    assert frame["type"] == "session.system_event"
    assert frame["payload"]["subtype"] == "interrupted"
    assert frame["payload"]["data"] == data


# --- with and without the log ---------------------------------------------------------------


def assert_the_log_changes_nothing(events: Iterable[NormalizedStreamEvent]) -> None:
    """Checks that the live frame equals the frame of the stored and reread entry."""
    stream = EntryStream()
    entries = [
        entry for event in events for entry in stream.feed(event, run_id="conv-1:3", now=NOW)
    ]
    for number, entry in enumerate(entries, 1):
        at_once = codec.encode(frame_of(entry, number, "conv-1", TRACE)).replayed()
        kept = decode_message(encode(entry))
        later = codec.encode(frame_of(kept, number, "conv-1", TRACE)).replayed()
        assert at_once == later
        assert json.loads(later)["payload"]["message_sequence"] == number


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "frames only"])
def test_the_frames_of_a_recorded_stream_are_the_same(path: Path, streamed: bool) -> None:
    lines = path.read_bytes().splitlines()
    assert_the_log_changes_nothing(events_of(lines if streamed else without_stream_events(lines)))


@given(st.lists(any_event(), max_size=25))
def test_the_frames_of_any_events_are_the_same(events: list[NormalizedStreamEvent]) -> None:
    assert_the_log_changes_nothing(events)
