"""Input at a terminal: keys, the line editor, and the answer in the line."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwire.cli.live.editor import Editor
from turnwire.cli.live.keys import KeyParser
from turnwire.cli.live.requests import (
    NotUnderstood,
    answer_of,
    read_answer,
    read_given,
    resolved_line,
    rules_of,
)
from turnwire.cli.terminal.visible import printed, safe, visible
from turnwire.core.events import Question, QuestionOption
from turnwire.dialects.v2.payloads import RequestResolved

COLOURS = [QuestionOption("Red"), QuestionOption("Green"), QuestionOption("2")]


class TestKeys:
    TYPED = "aé中\x1b[D\x1b[1;5C\x1bOH\x1b[3~\x1b[200~two\nlines\x1b[201~\x7f\x1b[99~\x1bx\r"
    KEYS = ("a", "é", "中", "left", "right", "home", "delete", "paste:two\nlines", "backspace")

    @given(st.sets(st.integers(1, 60), max_size=20))
    def test_are_the_same_for_any_cuts_of_their_bytes(self, cuts: set[int]) -> None:
        data = self.TYPED.encode()
        places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
        parser, keys = KeyParser(), list[str]()
        for start, end in pairwise(places):
            if data[end - 1 : end] == b"\x1b":  # there it would be the escape key itself
                continue
            keys += parser.feed(data[start:end])
        if not any(data[cut - 1 : cut] == b"\x1b" for cut in cuts):
            assert tuple(keys) == (*self.KEYS, "enter")

    def test_the_escape_key_does_not_swallow_the_next_one(self) -> None:
        parser = KeyParser()
        assert parser.feed(b"\x1b") == []
        assert parser.feed(b"y\n") == ["y", "enter"]

    def test_unknown_sequences_are_ignored(self) -> None:
        assert KeyParser().feed(b"\x1b[5~\x07\x00a") == ["a"]


class TestTheEditor:
    @pytest.mark.parametrize(
        ("keys", "text"),
        [
            (["a", "b", "backspace"], "a"),
            (["a", "b", "left", "c"], "acb"),
            (["a", "b", "home", "delete", "end", "c"], "bc"),
            (["o", "n", "e", " ", "t", "w", "o", "ctrl-w"], "one "),
            (["a", "b", "left", "ctrl-u"], "b"),
            (["a", "b", "home", "right", "ctrl-k"], "a"),
            (["a", "ctrl-d", "home", "ctrl-d"], ""),
            (["paste:x\r\ny", "up", "down"], "x\ny"),
            (["left", "backspace", "right"], ""),
        ],
    )
    def test_has_the_keys_of_a_shell(self, keys: list[str], text: str) -> None:
        editor = Editor()
        for key in keys:
            assert editor.press(key) is None
        assert editor.text == text

    def test_says_when_it_is_done(self) -> None:
        assert Editor().press("enter") == "enter"
        assert Editor().press("ctrl-d") == "leave"
        assert Editor("text").press("hangup") == "leave"

    def test_folds_a_long_line_and_knows_where_the_cursor_is(self) -> None:
        editor = Editor("中文字母")
        assert editor.rows(7) == (["> 中文", "  字母"], (1, 6))
        editor.press("left")
        assert editor.rows(7)[1] == (1, 4)
        editor.press("home")
        assert editor.rows(7)[1] == (0, 2)

    def test_shows_invisible_characters(self) -> None:
        assert Editor("a\u202eb\nc").rows(40)[0] == ["> a<U+202E>b", "  c"]


class TestAnAnswer:
    @pytest.mark.parametrize(
        ("text", "answer"),
        [("1", "Red"), ("green", "Green"), (" 2 ", "2"), ("purple", "purple"), ("", "")],
    )
    def test_is_an_option_or_own_words(self, text: str, answer: str) -> None:
        assert read_answer(Question("q", "?", COLOURS), text) == answer

    def test_is_only_an_option_where_free_text_is_not_allowed(self) -> None:
        question = Question("q", "?", COLOURS, free_text=False)
        with pytest.raises(NotUnderstood, match="There is no option 'purple': choose 1 to 3"):
            read_answer(question, "purple")

    def test_may_be_several_options(self) -> None:
        question = Question("q", "?", COLOURS, multi=True)
        assert read_answer(question, "1, green，purple") == ["Red", "Green", "purple"]
        assert read_answer(question, "all, please") == ["all, please"]
        assert read_answer(question, " ") == []

    def test_goes_back_under_the_ids_of_its_questions(self) -> None:
        one, several = Question("a", "?"), Question("b", "?", COLOURS, multi=True)
        assert answer_of([one], ["words"]) == "words"
        assert answer_of([several], [["Red"]]) == {"b": ["Red"]}
        assert read_given([one, several], '{"a": "x", "b": ["1", "3"]}') == {
            "a": "x",
            "b": ["Red", "2"],
        }
        assert read_given([], "words") == "words"

    def test_with_a_comma_in_it_stays_one(self) -> None:
        shades = [QuestionOption("Red, dark"), QuestionOption("Blue")]
        one, several = Question("a", "Which?", shades), Question("b", "?", shades, multi=True)
        assert read_answer(several, "red, dark") == ["Red, dark"]
        assert read_given([several], '["Red, dark", "2"]') == {"b": ["Red, dark", "Blue"]}
        given = '{"a": ["Red, dark"], "b": ["Red, dark", "Blue", "own, words"]}'
        assert read_given([one, several], given) == {
            "a": "Red, dark",
            "b": ["Red, dark", "Blue", "own, words"],
        }
        assert read_given([one, several], '{"a": [], "b": []}') == {"a": "", "b": []}
        with pytest.raises(NotUnderstood, match="Give one answer, not 2: Which"):
            read_given([one, several], '{"a": ["1", "2"], "b": []}')


def test_a_rule_is_described_in_few_words() -> None:
    rules = [{"toolName": "Bash", "ruleContent": "ls"}, {"toolName": "Read"}, {"x": 1}]
    suggestions = [{"rules": rules}, {"type": "setMode", "mode": "acceptEdits"}, {"y": 2}]
    assert rules_of(suggestions) == 'Bash(ls), Read, {"x":1}, mode acceptEdits, {"y":2}'
    own = {"optionId": "ever", "name": "Always delete", "kind": "allow_always"}
    assert rules_of([own]) == "Always delete", "the agent's own words"
    placed = [
        {"rules": rules[:2], "destination": "session"},
        {"type": "setMode", "mode": "plan", "destination": "session"},
        {"rules": rules[1:2], "destination": "localSettings"},
    ]
    said = "Bash(ls), Read, mode plan in this conversation; Read in this directory"
    assert rules_of(placed) == said


@pytest.mark.parametrize(
    ("place", "words"), [("session", "in this conversation"), ("localSettings", "for good")]
)
def test_the_end_of_a_permission_says_how_long_it_holds(place: str, words: str) -> None:
    rule = {"type": "addRules", "rules": [], "destination": place}
    ended = RequestResolved("p", "answered", 1, decision="allow", remembered=[rule])
    assert str(resolved_line(ended)) == f"→ allowed {words}"


def test_the_end_of_a_permission_names_the_rights_of_the_owner() -> None:
    kept = {"type": "addRules", "rules": [{"toolName": "Bash"}], "destination": "session"}
    wanted = [{**kept, "destination": "userSettings"}]
    ended = RequestResolved(
        "p", "answered", 1, decision="allow", remembered=[kept], narrowed=wanted
    )
    assert str(resolved_line(ended)) == (
        "→ allowed in this conversation"
        " (only the owner may keep rules for longer: Bash in all conversations on this machine)"
    )


class TestForeignText:
    def test_cannot_act_on_the_terminal(self) -> None:
        assert safe("a\x1b[2Jb\x9bc\r\nd\u202ee\tf") == ("a<U+001B>[2Jb<U+009B>c\nd<U+202E>e\tf")

    def test_cannot_hide_anything_that_is_decided_on(self) -> None:
        assert visible("rm\u200b -rf\u00a0/\u2066\u3164\tx\n中文é") == (
            "rm<U+200B> -rf<U+00A0>/<U+2066><U+3164><U+0009>x\n中文é"
        )

    def test_that_a_program_printed_has_no_colours_and_no_overwritten_words(self) -> None:
        assert printed("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07") == "red link"
        assert printed("10%\r50%\r100%\r\ndone\n") == "100%\ndone\n"
        assert printed("bell\x07") == "bell<U+0007>"
