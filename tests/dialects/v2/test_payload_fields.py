"""Payloads are built by position for speed: here every value differs from every other one.

Two swapped fields of any types are found. So is a new field that is not filled.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw, Struct, structs

from tests.dialects.v2.helpers.partial_frames import Partials
from turnwire.core import events as ev
from turnwire.core import message as m
from turnwire.core.blocks import ErrorBlock, TextBlock, ThinkingBlock, ToolUseBlock
from turnwire.core.content import Blob, TextContent
from turnwire.core.events import Question, QuestionOption
from turnwire.core.message import BlobRef, KeptBlock, Message
from turnwire.core.status import OpenRequest
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2 import view_blocks
from turnwire.dialects.v2.entry_frames import frame_of
from turnwire.dialects.v2.requests import open_permission, open_question


def fields(value: Any) -> dict[str, Any]:
    assert isinstance(value, Struct)
    return structs.asdict(value)


def payload_of(frame: f.Frame) -> dict[str, Any]:
    """Returns the payload of a frame after checking its envelope."""
    envelope = fields(frame)
    payload = envelope.pop("payload")
    assert envelope == {
        "conversation_id": "conv-1",
        "turn_id": 3,
        "sequence": None,
        "timestamp": "the time",
        "trace_id": "the trace",
    }
    return fields(payload)


# --- entries of the log -------------------------------------------------------------------------

META = {
    "schemaVersion": 1,
    "turnId": 3,
    "messageId": "msg_1",
    "index": 5,
    "parentToolUseId": "the parent",
    "agentId": "the agent",
    "modelId": "the model",
    "aborted": True,
    "provider": "the provider",
}
VOICE = {"parent_tool_use_id": "the parent", "agent_id": "the agent"}
FINISHED = {
    **VOICE,
    "message_id": "msg_1",
    "index": 5,
    "partial": False,
    "chunk_seq": None,
    "snapshot": False,
    "message_sequence": 7,
    "aborted": True,
    "model": "the model",
}
REF = BlobRef("b-1", "text/x-one", 70_001)
BLOB = Blob("b-1", "text/x-one", 70_001)


def told(role: m.Role, *parts: m.MessagePart, **meta: Any) -> dict[str, Any]:
    entry = Message("conv-1:3", role, list(parts), "the time", {**META, **meta})
    return payload_of(frame_of(entry, 7, "conv-1", "the trace"))


def test_a_user_message_has_every_field() -> None:
    words = m.TextPart(m.TextPayload("the text", [{"n": 1}], REF))
    sender = {"clientMessageId": "the client's id", "by": "the user", "origin": "synthetic"}
    assert told("user", words, **sender, steeredAs="q-1") == {
        **VOICE,
        "content": [TextContent("the text", [{"n": 1}], BLOB)],
        "message_sequence": 7,
        "client_message_id": "the client's id",
        "by": "the user",
        "origin": "synthetic",
        "steered_as": "q-1",
    }


def test_finished_text_has_every_field() -> None:
    part = m.TextPart(m.TextPayload("the text", [{"n": 1}], REF))
    assert told("assistant", part, error="the error") == {
        **FINISHED,
        "block_id": "msg_1:5",
        "text": "the text",
        "citations": [{"n": 1}],
        "error": "the error",
        "blob": BLOB,
    }


def test_finished_thinking_has_every_field() -> None:
    part = m.ThinkingPart(m.ThinkingPayload("the text", "the signature", "redacted", REF))
    assert told("assistant", part) == {
        **FINISHED,
        "block_id": "msg_1:5",
        "text": "the text",
        "signature": "the signature",
        "redacted": "redacted",
        "blob": BLOB,
    }


def test_a_finished_tool_call() -> None:
    call = m.ToolCallPayload("toolu_1", "Read", {"path": "a"}, None, "CLAUDE_READ")
    assert told("assistant", m.ToolCallPart(call)) == {
        **FINISHED,
        "block_id": "toolu_1",
        "tool_use_id": "toolu_1",
        "tool_name": "Read",
        "tool_type": "CLAUDE_READ",
        "input": {"path": "a"},
        "input_text": None,
        "blob": None,
    }


def test_a_finished_tool_call_whose_arguments_are_in_a_blob() -> None:
    call = m.ToolCallPayload("toolu_1", "Read", {}, None, "CLAUDE_READ", "the preview", REF)
    payload = told("assistant", m.ToolCallPart(call))
    assert (payload["input"], payload["input_text"]) == (None, "the preview")
    assert payload["blob"] == BLOB


def test_any_other_finished_block_has_every_field() -> None:
    assert told("assistant", blocks=[KeptBlock(0, {"type": "novel"}, REF)]) == {
        **FINISHED,
        "block_id": "msg_1:5",
        "block": {"type": "novel"},
        "blob": BLOB,
    }


def test_a_tool_result_has_every_field() -> None:
    other = BlobRef("b-2", "text/x-two", 70_002)
    result = m.ToolResultPayload("toolu_1", True, "the content", Raw(b"{}"), REF, other)
    assert told("tool", m.ToolResultPart(result)) == {
        **VOICE,
        "tool_use_id": "toolu_1",
        "is_error": True,
        "content": "the content",
        "message_sequence": 7,
        "details": Raw(b"{}"),
        "blob": BLOB,
        "details_blob": Blob("b-2", "text/x-two", 70_002),
    }


def test_a_notice_has_every_field() -> None:
    words = m.TextPart(m.TextPayload("the text"))
    news = {"messageType": "system", "data": {"subtype": "novel", "data": {"n": 1}}}
    assert told("system", words, **news) == {
        **VOICE,
        "subtype": "novel",
        "message_sequence": 7,
        "text": "the text",
        "data": {"n": 1},
        "provider": "the provider",
    }


# --- questions and permissions ------------------------------------------------------------------

ASKED = {
    "required": False,
    "metadata": {"n": 1},
    "inbox_item_id": "the inbox item",
    "deadline_at": "the deadline",
}
QUESTION = {"question": "the question", "options": [{"label": "one", "description": "first"}]}


def a_question() -> f.Frame:
    call = m.ToolCallPayload("toolu_1", "AskUserQuestion", {"questions": [QUESTION]}, None, "ASK")
    meta = {**META, "data": ASKED}
    entry = Message("conv-1:3", "assistant", [m.ToolCallPart(call)], "the time", meta)
    return frame_of(entry, 7, "conv-1", "the trace")


def test_a_question_has_every_field() -> None:
    payload = payload_of(a_question())
    (asked,) = payload.pop("questions")
    assert isinstance(asked, Question)
    assert asked.question == "the question"
    assert payload == {
        **VOICE,
        **ASKED,
        "question_id": "toolu_1",
        "question": "the question",
        "options": [QuestionOption("one", "first")],
        "block_id": "toolu_1",
        "message_id": "msg_1",
        "index": 5,
        "message_sequence": 7,
        "tool_name": "AskUserQuestion",
        "tool_type": "ASK",
        "input": {"questions": [QUESTION]},
        "model": "the model",
        "announced": False,
    }


def test_an_open_question() -> None:
    frame = a_question()
    assert isinstance(frame, f.AssistantRequestInput)
    assert fields(open_question(frame.payload, 3)) == {
        **fields(OpenRequest("toolu_1", "question", "toolu_1", "AskUserQuestion")),
        **VOICE,
        **ASKED,
        "input": {"questions": [QUESTION]},
        "turn_id": 3,
        "message_sequence": 7,
        "questions": frame.payload.questions,
    }


def test_an_open_permission() -> None:
    asked = p.PermissionAsked(
        request_id="the request",
        tool_use_id="toolu_1",
        tool_name="Bash",
        input={"command": "ls"},
        message_sequence=7,
        inbox_item_id="the inbox item",
        deadline_at="the deadline",
        title="the title",
        description="the description",
        suggestions=[{"n": 1}],
        blocked_path="the path",
        reason="the reason",
        parent_tool_use_id="the parent",
        agent_id="the agent",
    )
    assert fields(open_permission(asked, 3)) == {
        **fields(asked),
        "kind": "permission",
        "turn_id": 3,
        "questions": [],
        "required": True,
        "metadata": None,
    }


# --- partials -----------------------------------------------------------------------------------

WHO = ("the provider", "the session", "the parent", "the agent")
GROWING = {
    **VOICE,
    "message_id": "msg_1",
    "index": 5,
    "partial": True,
    "message_sequence": None,
    "aborted": False,
    "model": None,
    "blob": None,
}
TEXT = {"block_id": "msg_1:5", "citations": None, "error": None}
THINKING = {"block_id": "msg_1:5", "signature": None, "redacted": None}
ERROR = ErrorBlock("the message", "failed")
TOOL = {
    "block_id": "toolu_1",
    "tool_use_id": "toolu_1",
    "tool_name": "Read",
    "tool_type": "CLAUDE_READ",
    "input": None,
}


def feed(partials: Partials, event: Any) -> list[f.Frame]:
    return partials.feed(event, 3, "the trace", "the time")


@pytest.mark.parametrize(
    ("block", "kind", "field", "rest"),
    [
        (TextBlock("one ", "in_progress"), "text", "text", TEXT),
        (ThinkingBlock("one ", "in_progress"), "thinking", "text", THINKING),
    ],
)
def test_a_partial_text_has_every_field(
    block: Any, kind: ev.DeltaKind, field: str, rest: dict[str, Any]
) -> None:
    partials = Partials("conv-1")
    (first,) = feed(partials, ev.ContentStarted(*WHO, "msg_1", 5, block))
    (second,) = feed(partials, ev.ContentDelta(*WHO, "msg_1", 5, kind, "two"))
    (whole,) = partials.snapshots("the time")
    common = {**GROWING, **rest}
    assert payload_of(first) == {**common, field: "one ", "chunk_seq": 1, "snapshot": False}
    assert payload_of(second) == {**common, field: "two", "chunk_seq": 2, "snapshot": False}
    assert payload_of(whole) == {**common, field: "one two", "chunk_seq": 2, "snapshot": True}


def test_a_tool_call_that_grows() -> None:
    partials = Partials("conv-1")
    block = ToolUseBlock("toolu_1", "Read", "CLAUDE_READ", None, "in_progress")
    (first,) = feed(partials, ev.ContentStarted(*WHO, "msg_1", 5, block))
    (second,) = feed(partials, ev.ContentDelta(*WHO, "msg_1", 5, "tool_input", "{}", "toolu_1"))
    (whole,) = partials.snapshots("the time")
    common = {**GROWING, **TOOL}
    assert payload_of(first) == {**common, "input_text": "", "chunk_seq": 1, "snapshot": False}
    assert payload_of(second) == {**common, "input_text": "{}", "chunk_seq": 2, "snapshot": False}
    assert payload_of(whole) == {**common, "input_text": "{}", "chunk_seq": 2, "snapshot": True}


def test_any_other_block_that_grows() -> None:
    partials = Partials("conv-1")
    (first,) = feed(partials, ev.ContentStarted(*WHO, "msg_1", 5, ERROR))
    (whole,) = partials.snapshots("the time")
    common = {**GROWING, "block_id": "msg_1:5", "block": ERROR, "chunk_seq": 1}
    assert payload_of(first) == {**common, "snapshot": False}
    assert payload_of(whole) == {**common, "snapshot": True}


def test_blocks_that_will_never_be_finished() -> None:
    partials = Partials("conv-1")
    feed(partials, ev.ContentStarted(*WHO, "msg_1", 5, ERROR))
    (frame,) = feed(partials, ev.MessageDiscarded(*WHO, "msg_1", 0, "restarted"))
    assert payload_of(frame) == {**VOICE, "block_ids": ["msg_1:5"], "reason": "restarted"}


def test_a_tool_that_runs() -> None:
    progress = ev.ToolProgress(
        *WHO, tool_use_id="toolu_1", tool_name="Bash", elapsed_seconds=2.5, output="the output"
    )
    (frame,) = feed(Partials("conv-1"), progress)
    assert payload_of(frame) == {
        **VOICE,
        "tool_use_id": "toolu_1",
        "output": "the output",
        "elapsed_seconds": 2.5,
        "tool_name": "Bash",
    }


def test_a_transient_notice_has_every_field() -> None:
    news = ev.SystemEvent(*WHO, subtype="the subtype", data=Raw(b"{}"), ephemeral=True)
    (frame,) = feed(Partials("conv-1"), news)
    assert payload_of(frame) == {
        **VOICE,
        "subtype": "the subtype",
        "message_sequence": None,
        "text": None,
        "data": Raw(b"{}"),
        "provider": "the provider",
    }


# --- the view of a client -----------------------------------------------------------------------


def test_the_fields_that_a_block_has_of_its_message() -> None:
    part = m.TextPart(m.TextPayload("the text"))
    entry = Message("conv-1:3", "assistant", [part], "the time", {**META, "error": "the error"})
    frame = frame_of(entry, 7, "conv-1", "the trace")
    assert isinstance(frame, f.AssistantChunk)
    assert fields(view_blocks.about(frame, frame.payload, 7, frame.payload.error)) == {
        **VOICE,
        "id": "msg_1",
        "role": "assistant",
        "blocks": [],
        "streaming": False,
        "turn_id": 3,
        "sequence": 7,
        "timestamp": "the time",
        "model": "the model",
        "error": "the error",
        "origin": None,
        "by": None,
        "client_message_id": None,
        "steered": False,
    }
