"""Words of any script are found, whatever a person types."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.core.message import (
    ImagePart,
    ImagePayload,
    Message,
    MessagePart,
    TextPart,
    TextPayload,
    ThinkingPart,
    ThinkingPayload,
    ToolCallPart,
    ToolCallPayload,
    ToolResultPart,
    ToolResultPayload,
    UnknownPart,
)
from turnwire.stores.words import (
    RESULT_LIMIT,
    TEXT_LIMIT,
    indexed,
    match_expression,
    snippet,
    text_of,
)

TABLE = "CREATE VIRTUAL TABLE s USING fts5 (w, tokenize = 'unicode61 remove_diacritics 2')"


def found(text: str, words: str) -> bool:
    """Whether SQLite finds the words in the text."""
    expression = match_expression(words)
    if expression is None:
        return False
    connection = apsw.Connection(":memory:")
    connection.execute(TABLE)
    connection.execute("INSERT INTO s VALUES (?)", (indexed(text),))
    count = connection.execute("SELECT count(*) FROM s WHERE s MATCH ?", (expression,)).get
    connection.close()
    return bool(count)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("明天下午三点开会议，请准时参加。", "会议"),
        ("明天下午三点开会议，请准时参加。", "参加"),
        ("明天下午三点开会议，请准时参加。", "议"),
        ("明天下午三点开会议，请准时参加。", "加"),
        ("明天下午三点开会议，请准时参加。", "三点开会议"),
        ("你好", "你好"),
        ("请用API调用，谢谢", "API"),
        ("请用API调用，谢谢", "用api"),
        ("請用ＡＰＩ", "api"),
        ("東京タワーへ行きました", "タワー"),
        ("안녕하세요 세계", "하세"),
        ("\U00020000\U00020001\U00020002", "\U00020001\U00020002"),
        ("The deployment failed", "deploy"),
        ("The deployment failed", "FAILED the"),
        ("Le café est là", "cafe la"),
        ("naive", "naïve"),
        ("see foo_bar.py:12", "foo_bar.py:12"),
        ("don't", "don't"),
        ("version 3.14", "3.14"),
        ("Привет, мир", "мир"),
        ("nul\0inside", "inside"),
        ("a AND b", "AND"),
        ("हिन्दी में", "हिन्दी"),
    ],
)
def test_it_is_found(text: str, words: str) -> None:
    assert found(text, words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("会场议程", "会议"),  # both characters, but not together
        ("你们好", "你好"),
        ("开会，议论", "会议"),  # a comma between them
        ("deployment", "ployment"),
        ("foo bar", "bar foo.bar baz"),
        ("anything", ""),
        ("anything", "*"),
        ("anything", '"'),
        ("anything", "()"),
    ],
)
def test_it_is_not_found(text: str, words: str) -> None:
    assert not found(text, words)


@given(st.text(), st.text())
def test_whatever_is_typed_is_only_words(text: str, words: str) -> None:
    found(text.encode(errors="replace").decode(), words.encode(errors="replace").decode())
    snippet(text, words)


@given(st.text(alphabet="会议你好世界abc ,。", min_size=1), st.data())
def test_any_piece_of_a_chinese_text_is_found(text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : data.draw(st.integers(start + 1, len(text)))]
    words = "".join(c if "\u4e00" <= c <= "\u9fff" else " " for c in piece)
    if words.strip():
        assert found(text, words)


def test_a_snippet_marks_the_words_and_shows_what_is_around_them() -> None:
    assert snippet("Le café est là", "cafe") == "Le \x02café\x03 est là"
    assert snippet("开会议，会议", "会议") == "开\x02会议\x03，\x02会议\x03"
    assert snippet("Deployment  of\n\tfoo", "deploy FOO") == "\x02Deployment\x03 of \x02foo\x03"
    assert snippet("see foo_bar.py", "foo_bar") == "see \x02foo_bar\x03.py"
    assert snippet("its \x02own\x03 marks", "own") == "its \x02own\x03 marks"
    assert snippet("nothing here", "?") == "nothing here"
    long = snippet("a " * 500 + "needle" + " b" * 500, "needle")
    assert long.startswith("…")
    assert long.endswith("…")
    assert "\x02needle\x03" in long
    assert len(long) < 170


def _entry(role: Any, *parts: MessagePart) -> Message:
    return Message("c:1", role, [*parts], "")


def _text(text: str) -> TextPart:
    return TextPart(TextPayload(text))


def _result(content: Any) -> ToolResultPart:
    return ToolResultPart(ToolResultPayload("t", False, content))


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (_entry("user", _text("a"), ImagePart(ImagePayload("image/png")), _text("b")), "a\nb"),
        (_entry("assistant", _text("a")), "a"),
        (_entry("assistant", ThinkingPart(ThinkingPayload("a"))), ""),
        (_entry("assistant", ToolCallPart(ToolCallPayload("t", "Bash", {"a": "b"}))), ""),
        (_entry("assistant", UnknownPart("new", {})), ""),
        (_entry("tool", _result("a")), "a"),
        (_entry("tool", _result([_text("a"), _text("b")])), "a\nb"),
        (_entry("tool", _result({"stdout": "a", "code": 0, "stderr": "b"})), "a\nb"),
        (_entry("system", _text("Session started")), ""),
        (_entry("assistant", _text("x" * TEXT_LIMIT + "y")), "x" * TEXT_LIMIT),
        (_entry("tool", _result("x" * RESULT_LIMIT + "y")), "x" * RESULT_LIMIT),
    ],
)
def test_what_people_agents_and_tools_said_can_be_found(entry: Message, text: str) -> None:
    assert text_of(entry) == text
