"""The output check finds content that a broken translation loses or changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.helpers.recorded_streams import line, recorded
from turnwire.cli.recordings.output_check import OUTPUT_RULES, OutputCheck
from turnwire.core.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.events import (
    AssistantMessage,
    ContentDelta,
    MessageDiscarded,
    NormalizedStreamEvent,
    UserMessage,
)
from turnwire.dialects.claude import ClaudeStreamAdapter, Line, read
from turnwire.errors import BadLine

Events = list[NormalizedStreamEvent]
Tamper = Callable[[NormalizedStreamEvent], Events]


def keep(event: NormalizedStreamEvent) -> Events:
    return [event]


def lines_of(name: str) -> list[Line]:
    lines = [line for line in read(recorded(name)) if not isinstance(line, BadLine)]
    assert lines
    return lines


def found(lines: list[Line], tamper: Tamper = keep) -> set[str]:
    """The rules that are broken when the adapter's events are tampered with."""
    adapter, check = ClaudeStreamAdapter(), OutputCheck()
    violations = []
    for each in lines:
        violations += check.feed(each, [e for event in adapter.feed(each) for e in tamper(event)])
    violations += check.finish(adapter.finish(), len(lines))
    assert all(violation.code in OUTPUT_RULES for violation in violations)
    return {violation.code for violation in violations}


def said(*blocks: dict[str, Any], number: int = 1, **more: Any) -> Line:
    frame = {"type": "assistant", "message": {"id": "m1", "content": list(blocks)}, **more}
    return line(frame, number)


TEXT = {"type": "text", "text": "x"}


@pytest.mark.parametrize("name", ["02_thinking", "05_parallel", "09b_subagent_forward_text"])
def test_an_honest_translation_passes(name: str) -> None:
    assert found(lines_of(name)) == set()


def test_lost_deltas_do_not_matter_since_finished_blocks_replace_them() -> None:
    def lose_deltas(event: NormalizedStreamEvent) -> Events:
        return [] if isinstance(event, ContentDelta) else [event]

    assert found(lines_of("05_parallel"), lose_deltas) == set()


def test_a_lost_message_is_found() -> None:
    def lose(event: NormalizedStreamEvent) -> Events:
        return [] if isinstance(event, AssistantMessage) else [event]

    assert "assistant_changed" in found(lines_of("09b_subagent_forward_text"), lose)


def test_blocks_on_top_of_each_other_are_found() -> None:
    def misplace(event: NormalizedStreamEvent) -> Events:
        return [replace(event, index=0) if isinstance(event, AssistantMessage) else event]

    assert found(lines_of("05_parallel"), misplace) == {"assistant_changed"}


@pytest.mark.parametrize("kind", [TextBlock, ToolUseBlock])
def test_a_changed_block_is_found(kind: type) -> None:
    def change(event: NormalizedStreamEvent) -> Events:
        if isinstance(event, AssistantMessage):
            (block,) = event.content
            if isinstance(block, TextBlock) and kind is TextBlock:
                event = replace(event, content=[replace(block, text="other")])
            if isinstance(block, ToolUseBlock) and kind is ToolUseBlock:
                event = replace(event, content=[replace(block, input={})])
        return [event]

    assert found(lines_of("05_parallel"), change) == {"assistant_changed"}


def test_finished_blocks_stay_even_where_they_are_dropped_without_need() -> None:
    def discard(event: NormalizedStreamEvent) -> Events:
        if isinstance(event, AssistantMessage) and event.parent_tool_use_id is None:
            whose = event.provider, event.session_id, None, None
            return [event, MessageDiscarded(*whose, event.message_id, 0, "abandoned")]
        return [event]

    assert found(lines_of("01_text"), discard) == set()


def test_invented_blocks_are_found() -> None:
    frames = [each for each in lines_of("01_text") if b'"type":"assistant"' not in each.raw[:20]]
    assert found(frames) == {"assistant_changed"}


def test_changed_results_are_found() -> None:
    def change(event: NormalizedStreamEvent) -> Events:
        if isinstance(event, UserMessage):
            event = replace(event, content=[_with(block, content="?") for block in event.content])
        return [event]

    def fail(event: NormalizedStreamEvent) -> Events:
        if isinstance(event, UserMessage):
            event = replace(event, content=[_with(block, is_error=True) for block in event.content])
        return [event]

    def lose(event: NormalizedStreamEvent) -> Events:
        return [] if isinstance(event, UserMessage) else [event]

    for tamper in (change, fail, lose):
        assert found(lines_of("05_parallel"), tamper) == {"tool_result_changed"}


def _with(block: Any, **changes: Any) -> Any:
    return replace(block, **changes) if isinstance(block, ToolResultBlock) else block


def test_changed_and_lost_user_messages_are_found() -> None:
    def change(event: NormalizedStreamEvent) -> Events:
        if isinstance(event, UserMessage):
            event = replace(event, content=[TextBlock("?", "completed")])
        return [event]

    def lose(event: NormalizedStreamEvent) -> Events:
        return [] if isinstance(event, UserMessage) else [event]

    prompt = line({"type": "user", "message": {"role": "user", "content": "Hello"}})
    assert found([prompt]) == set()
    assert found([prompt], change) == {"user_changed"}
    assert found([prompt], lose) == {"user_changed"}


def test_every_kind_of_block_is_compared() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "x"},
        {"type": "thinking", "thinking": "y"},
        {"type": "redacted_thinking", "data": "z"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"a": 1}},
        {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "t2", "content": []},
        {"type": "mcp_tool_use", "id": "t3", "name": "ask", "input": None},
        {"type": "image", "source": {"type": "base64", "data": "AAAA", "media_type": "image/png"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "file"}},
        {"type": "document", "title": "d"},
        {"type": "novel"},
    ]
    assert found([said(*blocks)]) == set()
    assert found([said(block, number=n) for n, block in enumerate(blocks, 1)]) == set()


def test_the_providers_own_failures_are_failures() -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    search = {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "t2", "content": failed}
    assert found([said(search, answer)]) == set()


def test_frames_said_again_are_said_once() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    assert found([said(TEXT, uuid="u"), said(TEXT, uuid="u")]) == set()
    assert found([said(TEXT), said(TEXT)]) == set()  # two blocks that say the same
    assert found([said(call), said(call)]) == set()
    assert found([said(TEXT), said(TEXT, call)]) == set()  # the whole message again


def test_a_frame_without_content_or_id_has_no_findings() -> None:
    frames = [
        line({"type": "assistant"}),
        line({"type": "assistant", "message": {"content": "words"}}),
        line({"type": "user", "message": {"content": None}}),
    ]
    assert found(frames) == set()


def test_an_empty_message_is_no_loss() -> None:
    start = {"type": "message_start", "message": {"id": "m1", "content": []}}
    events = [start, {"type": "message_stop"}]
    assert found([line({"type": "stream_event", "event": event}) for event in events]) == set()


def test_an_unfinished_sub_agent_is_compared_when_it_is_done() -> None:
    start = {"type": "message_start", "message": {"id": "m1", "content": []}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    theirs = {"parent_tool_use_id": "t1"}
    frames: list[dict[str, Any]] = [
        {"type": "stream_event", "event": start, **theirs},
        {"type": "stream_event", "event": block, **theirs},
        {"type": "result", "subtype": "success"},
        {"type": "assistant", "message": {"id": "m1", "content": [TEXT]}, **theirs},
        {"type": "stream_event", "event": {"type": "message_stop"}, **theirs},
    ]
    assert found([line(frame, number) for number, frame in enumerate(frames, 1)]) == set()
