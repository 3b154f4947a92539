"""The search finds words of any script."""

from __future__ import annotations

import unicodedata
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.cost_growth import costs_at_most, grows_linearly
from turnwire.core.error_codes import Refused
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
from turnwire.stores.query import Query
from turnwire.stores.snippet import _FOLDED
from turnwire.stores.snippet import snippet as snippet_of
from turnwire.stores.words import RESULT_LIMIT, TEXT_LIMIT, indexed, normalized, text_of

TABLE = "CREATE VIRTUAL TABLE s USING fts5 (w, tokenize = 'unicode61 remove_diacritics 2')"


def found(text: str, words: str) -> bool:
    """Returns whether SQLite finds the words in the text."""
    expression = Query(words).expression
    if expression is None:
        return False
    connection = apsw.Connection(":memory:")
    connection.execute(TABLE)
    connection.execute("INSERT INTO s VALUES (?)", (indexed(text),))
    count = connection.execute("SELECT count(*) FROM s WHERE s MATCH ?", (expression,)).get
    connection.close()
    return bool(count)


def snippet(text: str, words: str) -> str:
    return snippet_of(text, Query(words).terms)


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
def test_a_text_is_found_by_the_search(text: str, words: str) -> None:
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
def test_a_text_is_not_found_by_another_search(text: str, words: str) -> None:
    assert not found(text, words)


@given(st.text(), st.text())
def test_any_search_text_is_read_as_words(text: str, words: str) -> None:
    found(text.encode(errors="replace").decode(), words.encode(errors="replace").decode())
    shown = snippet(text, words)
    assert shown.count("\x02") == shown.count("\x03")


@given(st.text(alphabet="会议你好世界abc ,。", min_size=1), st.data())
def test_any_piece_of_a_chinese_text_is_found(text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : data.draw(st.integers(start + 1, len(text)))]
    words = "".join(c if "\u4e00" <= c <= "\u9fff" else " " for c in piece)
    if words.strip():
        assert found(text, words)


def test_a_snippet_marks_the_words_and_shows_the_text_around_them() -> None:
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


def test_a_snippet_shows_the_longest_word_and_marks_whole_words() -> None:
    far = "of " * 100 + "deployments of foo -- bar"
    assert "\x02deployments\x03 \x02of\x03 foo" in snippet(far, "of deploy")
    assert snippet(far, "foo_bar").endswith(" of \x02foo -- bar\x03")
    assert snippet("请用API调用", "api") == "请用\x02API\x03调用"
    assert snippet("请用" * 100 + "API调用", "api").endswith("请用\x02API\x03调用")
    assert snippet("foo foo_bar", "foo_bar foo") == "\x02foo\x03 \x02foo_bar\x03"
    assert snippet("foo 会 bar", "foo.bar") == "foo 会 bar"
    assert (
        snippet("한서 하세요", "하세") == "한서 \x02하세\x03요"
    )  # other syllables, same first letters
    assert snippet("会议室", "议室 会") == "\x02会\x03\x02议室\x03"
    # A snippet may begin inside a word: the rest of it is no word of its own.
    cut = "x" * 15 + "ab" + "c" * 39 + " needle"
    assert snippet(cut, "needle cccc").startswith("…" + "c" * 39 + " \x02needle\x03")


@pytest.mark.parametrize(
    ("words", "limit"),
    [("x" * 1001, 1000), ("会" * 16_000, 1000)],
)
def test_a_search_for_too_much_is_refused(words: str, limit: int) -> None:
    with pytest.raises(Refused, match=str(limit)) as refused:
        Query(words)
    assert refused.value.code == "INVALID_PAYLOAD"
    assert limit in refused.value.data.values()


def test_only_the_first_words_of_a_long_search_count() -> None:
    sixty = [f"w{n}" for n in range(60)]
    query, first = Query(" ".join(sixty)), Query(" ".join(sixty[:50]))
    assert (query.ignored, first.ignored) == (10, 0)
    assert query.expression == first.expression
    assert len(query.terms) == 50
    assert Query("again " * 60).ignored == 0
    assert found(" ".join(sixty), " ".join(sixty))


def test_a_word_that_is_said_again_counts_once() -> None:
    assert Query("a " * 400).expression == '"a"*'
    assert Query("x" * 1000).expression == f'"{"x" * 1000}"*'
    assert found(" ".join(f"w{n}" for n in range(99)), " ".join(f"w{n}" for n in range(50)))


# Searches that are as long as they may be.
LONG = {
    "one word of many pieces": "a." * 499 + "b",
    "many words": " ".join(f"w{n}" for n in range(50)),
    "many words of many pieces": " ".join(f"{'a.' * 8}b{n}" for n in range(50))[:1000],
    "Chinese": "会议" * 500,
    "many Chinese words": " ".join(chr(0x4E00 + n) * 9 for n in range(50)),
}


@pytest.mark.parametrize("words", LONG.values(), ids=LONG.keys())
@pytest.mark.parametrize("piece", ["a.", "ab cd ", "会议", "用a", "a  "])
def test_a_snippet_costs_about_the_same_for_a_long_search_as_for_a_short_one(
    words: str, piece: str
) -> None:
    text = piece * (TEXT_LIMIT // len(piece)) + "é"
    short, long = Query("needle").terms, Query(words).terms
    assert costs_at_most(6, lambda: snippet_of(text, short), lambda: snippet_of(text, long))


# --- normal form ----------------------------------------------------------------------------------


@given(st.text())
def test_ordinary_text_is_indexed_in_nfkc(text: str) -> None:
    assert normalized(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("piece", ["e\u0301", "\u1112\u1161\u11ab", "ﬁ ", "会，", "हिन्दी ", "ｶﾞ"])
def test_long_text_is_indexed_in_nfkc_as_well(piece: str) -> None:
    """Text is normalized in slices, and a sequence may span a cut."""
    for before in range(4):
        text = "x" * before + "".join(f"{piece * 20} " for _ in range(2000 // len(piece)))
        assert len(text) > 20_000
        assert normalized(text) == unicodedata.normalize("NFKC", text)


MARKS = {  # each combines with the character before it, and some change places in NFKC
    "accents": "\u0301\u0316",
    "voiced sound marks": "\uff9e\u0301",
    "Tibetan": "\u0f73\u0301",
    "of one kind": "\u0301",
}


@pytest.mark.parametrize("marks", MARKS.values(), ids=MARKS.keys())
def test_indexing_costs_as_much_as_the_text_is_long(marks: str) -> None:
    assert grows_linearly(indexed, lambda size: ("a" + marks * size)[:size], 16_000)
    assert grows_linearly(Query, lambda size: ("a" + marks * size)[:size], 250)


@pytest.mark.parametrize("one", ["\ufdfa", "\u3316", "…"])
def test_a_text_that_grows_in_normal_form_is_cut(one: str) -> None:
    assert len(normalized(one * TEXT_LIMIT)) <= TEXT_LIMIT * 1.25


def test_a_run_of_marks_is_cut_after_thirty() -> None:
    assert normalized("a" + "\u0316" * 30 + "b") == "a" + "\u0316" * 30 + "b"
    assert normalized("a" + "\u0316" * 3000 + "b") == "a" + "\u0316" * 30 + "b"
    assert found("cafe" + "\u0316" * 3000 + " there", "cafe" + "\u0316" * 900)


def test_the_character_cache_is_bounded() -> None:
    every = "".join(map(chr, [*range(0x3400, 0xD000), *range(0x20000, 0x2A000)]))
    assert snippet(every, chr(0x29000)).count("\x02") <= 1
    assert len(_FOLDED) <= 20_000


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
def test_text_of_people_agents_and_tools_can_be_found(entry: Message, text: str) -> None:
    assert text_of(entry) == text
