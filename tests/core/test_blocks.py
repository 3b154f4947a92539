"""Content blocks and usage: their shapes on the wire, and their required fields."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from msgspec import UNSET, Raw, ValidationError

from turnwire.core.blocks import (
    CommandExecutionBlock,
    ContentBlock,
    ErrorBlock,
    FileChange,
    FileChangeBlock,
    FileRefBlock,
    ImageBlock,
    McpToolCallBlock,
    Status,
    TextBlock,
    ThinkingBlock,
    TodoItem,
    TodoListBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    WebSearchBlock,
)
from turnwire.core.lenient import salvage
from turnwire.core.usage import ModelUsage, Usage

KINDS = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "tool_use": ToolUseBlock,
    "tool_result": ToolResultBlock,
    "image": ImageBlock,
    "file_ref": FileRefBlock,
    "command_execution": CommandExecutionBlock,
    "file_change": FileChangeBlock,
    "mcp_tool_call": McpToolCallBlock,
    "web_search": WebSearchBlock,
    "todo_list": TodoListBlock,
    "error": ErrorBlock,
    "unknown": UnknownBlock,
}

# Each kind twice if possible: with the required fields only, and with all fields.
PAIRS: list[tuple[ContentBlock, dict[str, Any]]] = [
    (
        TextBlock("Hello", "in_progress"),
        {"type": "text", "text": "Hello", "status": "in_progress"},
    ),
    (
        TextBlock("Hello", "completed", [{"url": "https://example.com"}]),
        {
            "type": "text",
            "text": "Hello",
            "status": "completed",
            "citations": [{"url": "https://example.com"}],
        },
    ),
    (
        ThinkingBlock("Hm", "completed"),
        {"type": "thinking", "thinking": "Hm", "status": "completed"},
    ),
    (
        ThinkingBlock("", "completed", "sig", "sealed"),
        {
            "type": "thinking",
            "thinking": "",
            "status": "completed",
            "signature": "sig",
            "redacted": "sealed",
        },
    ),
    (
        ToolUseBlock("toolu_1", "Read", "CLAUDE_READ", None, "in_progress"),
        {
            "type": "tool_use",
            "id": "toolu_1",
            "tool_name": "Read",
            "tool_type": "CLAUDE_READ",
            "input": None,
            "status": "in_progress",
        },
    ),
    (
        ToolUseBlock("toolu_1", "Read", "CLAUDE_READ", None, "failed", '{"file_path": '),
        {
            "type": "tool_use",
            "id": "toolu_1",
            "tool_name": "Read",
            "tool_type": "CLAUDE_READ",
            "input": None,
            "status": "failed",
            "input_text": '{"file_path": ',
        },
    ),
    (
        ToolResultBlock("toolu_1", [{"type": "text", "text": "no"}], True, "failed"),
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [{"type": "text", "text": "no"}],
            "is_error": True,
            "status": "failed",
        },
    ),
    (
        ImageBlock("completed"),
        {"type": "image", "status": "completed"},
    ),
    (
        ImageBlock("completed", "image/png", "aGk=", "https://example.com/a.png"),
        {
            "type": "image",
            "status": "completed",
            "mime_type": "image/png",
            "data": "aGk=",
            "url": "https://example.com/a.png",
        },
    ),
    (
        FileRefBlock("notes.txt", "completed"),
        {"type": "file_ref", "path": "notes.txt", "status": "completed"},
    ),
    (
        FileRefBlock("notes.txt", "completed", "text/plain", 12),
        {
            "type": "file_ref",
            "path": "notes.txt",
            "status": "completed",
            "mime_type": "text/plain",
            "size": 12,
        },
    ),
    (
        CommandExecutionBlock("cmd_1", "make", "in_progress"),
        {"type": "command_execution", "id": "cmd_1", "command": "make", "status": "in_progress"},
    ),
    (
        CommandExecutionBlock("cmd_1", "make", "failed", "src", "no rule\n", 2, 40),
        {
            "type": "command_execution",
            "id": "cmd_1",
            "command": "make",
            "status": "failed",
            "cwd": "src",
            "output": "no rule\n",
            "exit_code": 2,
            "duration_ms": 40,
        },
    ),
    (
        FileChangeBlock(
            "edit_1", [FileChange("a.txt", "add"), FileChange("b.txt", "update", "-b")], "completed"
        ),
        {
            "type": "file_change",
            "id": "edit_1",
            "changes": [
                {"path": "a.txt", "kind": "add"},
                {"path": "b.txt", "kind": "update", "diff": "-b"},
            ],
            "status": "completed",
        },
    ),
    (
        McpToolCallBlock("call_1", "files", "read", {"path": "a"}, "in_progress"),
        {
            "type": "mcp_tool_call",
            "id": "call_1",
            "server": "files",
            "tool_name": "read",
            "arguments": {"path": "a"},
            "status": "in_progress",
        },
    ),
    (
        McpToolCallBlock("call_1", "files", "read", None, "failed", {"n": 1}, "no such file"),
        {
            "type": "mcp_tool_call",
            "id": "call_1",
            "server": "files",
            "tool_name": "read",
            "arguments": None,
            "status": "failed",
            "result": {"n": 1},
            "error": "no such file",
        },
    ),
    (
        WebSearchBlock("ws_1", "weather", "completed", [{"title": "Sunny"}]),
        {
            "type": "web_search",
            "id": "ws_1",
            "query": "weather",
            "status": "completed",
            "results": [{"title": "Sunny"}],
        },
    ),
    (
        TodoListBlock(
            [
                TodoItem("Write", "pending"),
                TodoItem("Test", "in_progress", "2", "Testing"),
            ],
            "in_progress",
        ),
        {
            "type": "todo_list",
            "items": [
                {"content": "Write", "status": "pending"},
                {
                    "content": "Test",
                    "status": "in_progress",
                    "id": "2",
                    "active_form": "Testing",
                },
            ],
            "status": "in_progress",
        },
    ),
    (
        ErrorBlock("it broke", "failed"),
        {"type": "error", "message": "it broke", "status": "failed"},
    ),
    (
        ErrorBlock("it broke", "failed", "E1"),
        {"type": "error", "message": "it broke", "status": "failed", "code": "E1"},
    ),
    (
        UnknownBlock("hologram", {"type": "hologram", "beams": 3}),
        {
            "type": "unknown",
            "originalType": "hologram",
            "data": {"type": "hologram", "beams": 3},
        },
    ),
]


def to_json(value: Any) -> Any:
    """The value as a reader of the wire sees it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def from_json(value: Any) -> ContentBlock:
    """The block that this JSON value is."""
    block: ContentBlock = msgspec.json.decode(msgspec.json.encode(value), type=ContentBlock)
    return block


def test_these_are_all_the_blocks_and_their_tags() -> None:
    members = get_args(ContentBlock)
    assert {kind.__struct_config__.tag: kind for kind in members} == KINDS
    assert {kind.__struct_config__.tag_field for kind in members} == {"type"}
    assert {type(block) for block, _ in PAIRS} == set(KINDS.values())


@pytest.mark.parametrize(("block", "wire"), PAIRS)
def test_a_block_is_written_and_read_like_this(block: ContentBlock, wire: dict[str, Any]) -> None:
    assert to_json(block) == wire
    assert from_json(wire) == block


def test_a_status_is_one_of_three() -> None:
    assert get_args(Status) == ("in_progress", "completed", "failed")
    with pytest.raises(ValidationError):
        from_json({"type": "text", "text": "Hello", "status": "nearly"})


@pytest.mark.parametrize("wire", [wire for _, wire in PAIRS if wire["type"] != "unknown"])
def test_every_known_block_has_a_status(wire: dict[str, Any]) -> None:
    without = {key: value for key, value in wire.items() if key != "status"}
    with pytest.raises(ValidationError, match="status"):
        from_json(without)


@pytest.mark.parametrize(("block", "wire"), PAIRS)
def test_a_block_is_read_the_same_with_unknown_fields(
    block: ContentBlock, wire: dict[str, Any]
) -> None:
    assert from_json({**wire, "from_the_future": {"a": 1}}) == block


@pytest.mark.parametrize(("block", "wire"), PAIRS)
def test_a_block_cannot_be_changed(block: ContentBlock, wire: dict[str, Any]) -> None:
    field = block.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(block, field, getattr(block, field))


def test_the_details_of_a_tool_result_are_the_agents_own_bytes() -> None:
    wire = (
        b'{"type":"tool_result","tool_use_id":"toolu_1","content":"hi","is_error":false,'
        b'"status":"completed","details":{ "stdout" : "hi", "n": 1.0 }}'
    )
    block = msgspec.json.decode(wire, type=ContentBlock)
    assert isinstance(block, ToolResultBlock)
    assert isinstance(block.details, Raw)
    assert bytes(block.details) == b'{ "stdout" : "hi", "n": 1.0 }'
    assert msgspec.json.encode(block) == wire


def test_a_tool_result_without_details_does_not_mention_them() -> None:
    block = ToolResultBlock("toolu_1", "hi", False, "completed")
    assert block.details is UNSET
    assert "details" not in to_json(block)


# --- unknown blocks ---------------------------------------------------------------------------


def test_a_block_of_an_unknown_kind_keeps_its_name_and_all_it_was() -> None:
    hologram = {"type": "hologram", "beams": 3, "status": "completed"}
    issues: list[str] = []
    block = salvage(ContentBlock, hologram, issues)
    assert block == UnknownBlock("hologram", hologram)
    assert issues == ["hologram"]
    assert to_json(block) == {"type": "unknown", "originalType": "hologram", "data": hologram}


def test_an_unknown_block_goes_through_any_number_of_hands_unchanged() -> None:
    block: Any = UnknownBlock("hologram", {"type": "hologram", "beams": 3})
    issues: list[str] = []
    for _ in range(3):
        block = salvage(ContentBlock, to_json(block), issues)
    assert block == UnknownBlock("hologram", {"type": "hologram", "beams": 3})
    assert issues == []


@pytest.mark.parametrize(
    "foreign",
    [
        {"type": "unknown"},
        {"type": "unknown", "data": "theirs"},
        {"type": "unknown", "originalType": "theirs"},
        {"type": "unknown", "payload": {"a": 1}},
    ],
)
def test_a_foreign_block_that_is_called_unknown_keeps_its_content(foreign: dict[str, Any]) -> None:
    assert salvage(ContentBlock, foreign, []) == UnknownBlock("unknown", foreign)


# --- usage ------------------------------------------------------------------------------------


def test_usage_is_written_in_snake_case_and_a_missing_figure_is_absent() -> None:
    assert to_json(Usage(output_tokens=150)) == {"output_tokens": 150}
    assert to_json(Usage(0, 1, 2, 3)) == {
        "input_tokens": 0,
        "output_tokens": 1,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 3,
    }
    assert to_json(Usage()) == {}


def test_no_figure_is_not_the_same_as_zero() -> None:
    assert msgspec.json.decode(b"{}", type=Usage) == Usage(None, None, None, None)
    assert msgspec.json.decode(b'{"input_tokens":0}', type=Usage) == Usage(0)


def test_a_models_share_starts_at_zero() -> None:
    assert to_json(ModelUsage()) == {}
    assert msgspec.json.decode(b"{}", type=ModelUsage) == ModelUsage(0, 0, 0, 0, 0, 0.0)
    assert to_json(ModelUsage(1, 2, 3, 4, 5, 0.5)) == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 4,
        "web_search_requests": 5,
        "cost_usd": 0.5,
    }
