"""Claude's blocks translated to unified blocks."""

from __future__ import annotations

from typing import get_args

import pytest

from turnwire.core import blocks as unified
from turnwire.dialects.claude import blocks as claude
from turnwire.dialects.claude.translate import _TRANSLATIONS, tool_type, unify, unify_all


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Read", "CLAUDE_READ"),
        ("TodoWrite", "CLAUDE_TODO_WRITE"),
        ("AskUserQuestion", "CLAUDE_ASK_USER_QUESTION"),
        ("web_search", "CLAUDE_WEB_SEARCH"),
        ("BashV2Output", "CLAUDE_BASH_V2_OUTPUT"),
        ("HTTPFetch", "CLAUDE_HTTP_FETCH"),
        ("mcp__github__create_issue", "MCP"),
    ],
)
def test_a_tools_family_is_made_from_its_name(name: str, family: str) -> None:
    assert tool_type(name) == family


def test_every_block_of_claudes_has_a_translation() -> None:
    assert set(_TRANSLATIONS) == set(get_args(claude.ClaudeBlock))


def test_a_tool_of_the_front_end_has_its_own_name() -> None:
    called = unify(claude.ToolUseBlock("t1", "mcp__turnwire__paint", {"colour": "blue"}))
    assert called == unified.ToolUseBlock(
        "t1", "paint", "TOOL", {"colour": "blue"}, "in_progress", asks=False
    )
    asked = unify(claude.ToolUseBlock("t2", "mcp__turnwire__request_input", {}))
    assert isinstance(asked, unified.ToolUseBlock)
    assert asked.is_question


def test_server_tools_are_tools() -> None:
    called = unify(claude.ServerToolUseBlock("t1", "web_search", {"query": "x"}))
    assert called == unified.ToolUseBlock(
        "t1", "web_search", "CLAUDE_WEB_SEARCH", {"query": "x"}, "in_progress"
    )
    remote = unify(claude.McpToolUseBlock("t2", "find", {}, "library"))
    assert remote == unified.ToolUseBlock("t2", "find", "MCP", {}, "in_progress")


@pytest.mark.parametrize(
    ("content", "is_error", "failed"),
    [
        ([{"type": "web_search_result"}], None, False),
        ({"type": "web_search_tool_result_error", "error_code": "unavailable"}, None, True),
        ({"type": 7}, None, False),
        ("said", True, True),
    ],
)
def test_a_server_tool_may_say_its_failure_inside(
    content: object, is_error: bool | None, failed: bool
) -> None:
    block = unify(claude.WebSearchToolResultBlock("t1", content, is_error))
    status: unified.Status = "failed" if failed else "completed"
    assert block == unified.ToolResultBlock("t1", content, failed, status)


def test_pictures_keep_their_source() -> None:
    inline = claude.ImageSource("base64", "image/png", "AAAA")
    assert unify(claude.ImageBlock(inline)) == unified.ImageBlock("completed", "image/png", "AAAA")
    linked = claude.ImageSource("url", url="https://example.org/a.png")
    assert unify(claude.ImageBlock(linked)) == unified.ImageBlock(
        "completed", url="https://example.org/a.png"
    )
    stored = unify(claude.ImageBlock(claude.ImageSource("file")))
    assert stored == unified.UnknownBlock("image", {"type": "image", "source": {"type": "file"}})


def test_a_document_is_kept_as_it_came() -> None:
    block = unify(claude.DocumentBlock({"type": "text", "data": "x"}, "Title"))
    data = {"type": "document", "source": {"type": "text", "data": "x"}, "title": "Title"}
    assert block == unified.UnknownBlock("document", data)


def test_no_content_is_no_blocks() -> None:
    assert unify_all(None) == []
    assert unify_all([]) == []
