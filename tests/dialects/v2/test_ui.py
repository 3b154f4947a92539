"""Durable frames as UI events: what other front ends show is what a v2 client shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from tests.flow.test_views import PAUSES, new_session, sent, v2_view
from tests.said import shown_in
from tests.streams import RECORDED, events_of
from turnwire.core import blocks as b
from turnwire.core import ui
from turnwire.core.content import (
    Blob,
    Content,
    FileContent,
    ImageContent,
    OtherContent,
    TextContent,
)
from turnwire.core.status import TurnEnd, TurnError
from turnwire.core.usage import Usage
from turnwire.dialects import rpc
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.ui import end_of_turn, shown

ENVELOPE = ("conv-1", 1, None, "2026-01-01T12:00:00.000Z", "0" * 32)


def told(frame: f.Frame) -> Any:
    return shown(frame, "demo", "s-1")


def as_read(message: rpc.RpcMessage) -> rpc.RpcMessage:
    return rpc.decode(rpc.encode(message))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_finished_frames_alone_show_everything(path: Path) -> None:
    session, bridge, transcript = new_session(), rpc.RpcBridge(), rpc.Transcript()
    frames = session.connect()
    frames += session.feed_all(events_of(path.read_bytes().splitlines()))
    frames += session.finish()
    for frame in frames:
        if isinstance(frame, f.AssistantComplete):
            for message in bridge.feed_all(end_of_turn(frame.payload, "claude", "s-1")):
                transcript.apply(as_read(message), None, frame.turn_id)
        elif (event := shown(frame, "claude", "s-1")) is not None:
            number = getattr(frame.payload, "message_sequence", None)  # type: ignore[attr-defined]
            for message in bridge.feed(event):
                transcript.apply(as_read(message), number)
    view, expected = transcript.view(), v2_view(sent(frames))
    assert shown_in(view) == shown_in(expected)
    ends = [(t.turn_id, t.end.error, t.end.interrupted, t.end.usage) for t in view.turns]
    assert ends == [
        (t.turn_id, t.end.error, t.end.interrupted, t.end.usage) for t in expected.turns
    ]
    assert ends or path.stem == PAUSES


def test_what_grows_is_not_told_here() -> None:
    piece = p.Chunk("m:0", "m", 0, True, "He", 1)
    assert told(f.AssistantChunk(*ENVELOPE, piece)) is None
    assert told(f.TurnStarted(*ENVELOPE, p.TurnStart(1, "user"))) is None


def test_words_pictures_and_files_of_a_person() -> None:
    content: list[Content] = [
        TextContent("Look"),
        ImageContent("image/png", "aGk="),
        ImageContent("image/png", blob=Blob("b-1", "image/png", 3)),
        ImageContent(url="https://example.com/a.png"),
        FileContent("notes.txt", "text/plain", 3),
        OtherContent("hologram", {"type": "hologram"}),
    ]
    said = told(f.UserMessage(*ENVELOPE, p.UserWords(content, 1, origin="synthetic")))
    assert said.origin == "synthetic"
    assert said.content == [
        b.TextBlock("Look", "completed"),
        b.ImageBlock("completed", "image/png", "aGk="),
        b.ImageBlock("completed", "image/png", url="/api/blobs/b-1"),
        b.ImageBlock("completed", url="https://example.com/a.png"),
        b.FileRefBlock("notes.txt", "completed", "text/plain", 3),
        b.UnknownBlock("hologram", {"type": "hologram"}),
    ]


@pytest.mark.parametrize(
    "block",
    [{"type": "todo_list", "items": [], "status": "completed"}, b.TodoListBlock([], "completed")],
)
def test_a_block_without_a_name_in_v2_is_the_same_block(block: Any) -> None:
    other = p.OtherBlock("m:0", "m", 0, False, block, message_sequence=3, aborted=True)
    said = told(f.AssistantBlock(*ENVELOPE, other))
    assert (said.content, said.index, said.aborted) == ([b.TodoListBlock([], "completed")], 0, True)


def test_tool_calls_and_questions_wait_for_their_result() -> None:
    call = p.ToolCall(
        "t-1", "m", 1, False, "t-1", "Bash", None, {"command": "ls"}, message_sequence=2
    )
    [block] = told(f.AssistantToolCall(*ENVELOPE, call)).content
    assert block == b.ToolUseBlock("t-1", "Bash", "UNKNOWN", {"command": "ls"}, "in_progress")
    ids = ("q-1", "m", 2, 3, "request_input")
    asked = p.RequestInput("q-1", "Well?", [], True, None, None, None, [], *ids)
    [block] = told(f.AssistantRequestInput(*ENVELOPE, asked)).content
    shown = b.ToolUseBlock("q-1", "request_input", "UNKNOWN", None, "in_progress", asks=True)
    assert block == shown
    again = msgspec.structs.replace(asked, announced=True)  # its call was shown already
    assert told(f.AssistantRequestInput(*ENVELOPE, again)).subtype == "input_request"
    result = p.ToolResult("t-1", True, "no", 4, parent_tool_use_id="t-0", agent_id="a")
    said = told(f.AssistantToolResult(*ENVELOPE, result))
    assert (said.tool_id, said.result, said.is_error) == ("t-1", "no", True)
    assert (said.parent_tool_use_id, said.agent_id) == ("t-0", "a")


@pytest.mark.parametrize(
    ("frame", "subtype", "data"),
    [
        (
            f.SessionSystemEvent(*ENVELOPE, p.SystemNews("status", data=Raw(b'{"a":1}'))),
            "status",
            {"a": 1},
        ),
        (f.SessionSystemEvent(*ENVELOPE, p.SystemNews("status", 3)), "status", UNSET),
        (
            f.ConversationInterrupted(*ENVELOPE, p.Interrupted("user", 4)),
            "interrupted",
            {"reason": "user", "message_sequence": 4},
        ),
        (
            f.ConversationUpdated(*ENVELOPE, p.ConversationNews("Mine")),
            "conversation_updated",
            {"title": "Mine"},
        ),
    ],
)
def test_what_happened_is_news(frame: f.Frame, subtype: str, data: Any) -> None:
    news = told(frame)
    assert isinstance(news, ui.UiSystemMessage)
    assert news.subtype == subtype
    assert (UNSET if news.data is UNSET else json.loads(msgspec.json.encode(news.data))) == data


# --- the end of a turn ------------------------------------------------------------------------------

WHO = ("claude", "s-2", None, None)
FIGURES = ui.UiResultMessage(*WHO, "success", False, 5, 4, 3, 0.5, 0.7, Usage(9), "Done.")


def test_the_agents_figures_are_told_with_what_is_kept() -> None:
    [result] = end_of_turn(
        TurnEnd(False, False, "end_turn", usage=Usage(1), duration_ms=7), "demo", "s-1", FIGURES
    )
    assert isinstance(result, ui.UiResultMessage)
    assert (result.provider, result.session_id, result.num_turns) == ("demo", "s-2", 3)
    assert (result.usage, result.duration_ms, result.duration_api_ms) == (Usage(1), 7, 4)
    assert (result.result, result.total_cost_usd) == ("Done.", 0.7)


def test_without_figures_what_is_kept_is_told() -> None:
    [result] = end_of_turn(TurnEnd(False, False), "demo", "s-1")
    assert result == ui.UiResultMessage("demo", "s-1", None, None, "success", False, 0, 0, 0)
    [result] = end_of_turn(TurnEnd(False, False, structured_output={"n": 3}), "demo", "s-1")
    assert isinstance(result, ui.UiResultMessage)
    assert result.structured_output == {"n": 3}


def test_a_turn_that_failed_says_why_first() -> None:
    end = TurnEnd(True, False, error=TurnError("agent_lost", "It is gone."))
    error, result = end_of_turn(end, "demo", "s-1")
    assert isinstance(error, ui.UiError)
    assert isinstance(result, ui.UiResultMessage)
    assert (error.code, error.message) == ("agent_lost", "It is gone.")
    assert (result.subtype, result.is_error) == ("error_during_execution", True)
    assert result.errors == ["It is gone."]


@pytest.mark.parametrize(
    ("reason", "expected"), [(None, "aborted"), ("aborted_streaming", "aborted_streaming")]
)
def test_a_turn_that_was_stopped_says_so(reason: str | None, expected: str) -> None:
    figures = msgspec.structs.replace(FIGURES, terminal_reason=reason, errors=["stopped"])
    [result] = end_of_turn(TurnEnd(False, True), "demo", "s-1", figures)
    assert isinstance(result, ui.UiResultMessage)
    assert (result.terminal_reason, result.errors) == (expected, ["stopped"])
