"""Drawing on a terminal: every line once, in order, for any cuts of the text."""

from __future__ import annotations

import io
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from tests.cli.helpers.screen import Screen
from turnwire.cli.live.fold import folded
from turnwire.cli.live.growing import GrowingText
from turnwire.cli.live.markdown import Markdown, blocks_of, cut
from turnwire.cli.live.pen import Pen
from turnwire.cli.live.region import Region

ANSWER = """\
# A title

Some words with **weight**, `code` and a [link](https://example.org/x).
A generic `List<String>` and a bare List<String> stay whole.

1. first
2. second
   - inside
3. third

```python
def add(a: int, b: int) -> int:
    return a + b
```

| name | what it is |
|---|---|
| one | 第一个 |
| two | the second |

> quoted words

中文的一段话，没有空格，
分成两行。

The end.
"""


def drawn(text: str, width: int = 60) -> list[str]:
    """A whole text at once, as plain lines."""
    return GrowingText(pen()).finish(text, width)


def pen() -> Pen:
    return Pen(io.StringIO())


def pieces_of(text: str, cuts: set[int]) -> list[str]:
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


class TestAGrowingText:
    @given(st.sets(st.integers(1, len(ANSWER)), max_size=40))
    def test_comes_out_the_same_for_any_cuts(self, cuts: set[int]) -> None:
        growing, out = GrowingText(pen()), list[str]()
        for piece in pieces_of(ANSWER, cuts):
            growing.add(piece)
            out += growing.settle(60, 100)
            growing.live(60)
        out += growing.finish(ANSWER, 60)
        assert out == drawn(ANSWER)

    @pytest.mark.parametrize(("room", "size"), [(1, 1), (3, 7), (8, 30), (20, 100)])
    def test_never_needs_more_lines_than_the_screen_has(self, room: int, size: int) -> None:
        code = "```\n" + "".join(f"line {n}\n" for n in range(60)) + "```\n"
        growing, out = GrowingText(pen()), list[str]()
        for at in range(0, len(code), size):
            growing.add(code[at : at + size])
            out += growing.settle(60, room)
            assert len(growing.live(60)) <= max(room, 2)
        out += growing.finish(code, 60)
        assert out == [f"  line {n}" for n in range(60)]

    def test_a_long_list_is_handed_out_item_by_item(self) -> None:
        text = "".join(f"- item {n}\n" for n in range(40))
        growing, out = GrowingText(pen()), list[str]()
        for line in text.splitlines(keepends=True):
            growing.add(line)
            out += growing.settle(60, 5)
        assert len(out) >= 30
        assert [*out, *growing.finish(text, 60)] == [f" • item {n}" for n in range(40)]

    def test_an_endless_paragraph_is_cut_between_words(self) -> None:
        text = "word " * 5000
        growing, out = GrowingText(pen()), list[str]()
        for at in range(0, len(text), 500):
            growing.add(text[at : at + 500])
            out += growing.settle(60, 20)
            assert len(growing.live(60)) <= 80
        out += growing.finish(text, 60)
        assert sum(line.count("word") for line in out) == 5000

    def test_that_ends_differently_is_printed_again(self) -> None:
        growing = GrowingText(pen())
        growing.add("One.\n\nTwo.\n\nThr")
        assert growing.settle(60, 20) == ["One.", "", "Two."]
        assert growing.finish("Another.", 60) == ["", "Another."]

    def test_text_that_may_still_change_is_not_settled(self) -> None:
        assert blocks_of("a paragraph") == ["a paragraph"]
        assert blocks_of("one\n\ntwo") == ["one\n\n", "two"]
        assert blocks_of("") == [""]
        assert cut("| a |\n|---|\n| 1 |\n")[0] == ""
        assert cut("")[0] == ""

    def test_a_flood_is_passed_on_as_it_is(self) -> None:
        growing = GrowingText(pen())
        growing.add("word " * 100_000)
        out = growing.settle(60, 20)
        out += growing.finish("word " * 100_000, 60)
        assert sum(line.count("word") for line in out) >= 99_000  # some are cut in two


class TestMarkdown:
    def test_loses_nothing_that_looks_like_html(self) -> None:
        assert drawn("a List<String> and <b>bold</b>") == ["a List<String> and <b>bold</b>"]
        assert drawn("<div>\nblock\n</div>") == ["<div> block </div>"]

    def test_shows_where_a_link_leads_once(self) -> None:
        assert drawn("[here](https://example.org)") == ["here (https://example.org)"]
        assert drawn("<https://example.org>") == ["https://example.org"]

    def test_has_no_space_where_a_chinese_line_was_broken(self) -> None:
        assert drawn("第一行，\n第二行") == ["第一行，第二行"]
        assert drawn("one\ntwo") == ["one two"]

    def test_is_never_wider_than_it_may_be(self) -> None:
        for width in (20, 33, 60):
            for line in pen().lines(Markdown(ANSWER), width):
                assert cell_len(line) <= width


class TestFolding:
    @given(st.text(alphabet="ab ，。中文字（）\n", max_size=60), st.integers(4, 20))
    def test_keeps_every_letter_and_every_width(self, text: str, width: int) -> None:
        lines = [line.plain for line in folded(Text(text), width)]
        assert "".join("".join(lines).split()) == "".join(text.split())
        for line in lines:
            assert cell_len(line.rstrip()) <= width

    def test_no_line_begins_with_a_comma(self) -> None:
        lines = [line.plain for line in folded(Text("中文字，中文字。中文（字）"), 7)]
        assert not any(unicodedata.category(line[0]) == "Po" for line in lines)

    def test_a_word_that_is_too_long_is_cut(self) -> None:
        assert [line.plain for line in folded(Text("a " + "b" * 12), 5)] == [
            "a",
            "bbbbb",
            "bbbbb",
            "bb",
        ]


class TestTheRegion:
    @given(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(["above", "more"]), max_size=6),
                st.lists(st.sampled_from(["one", "two", "three"]), max_size=5),
                st.booleans(),
            ),
            max_size=12,
        )
    )
    def test_keeps_the_lines_above_it(
        self, drawings: list[tuple[list[str], list[str], bool]]
    ) -> None:
        screen = Screen(20, 8)
        region = Region(screen.feed)
        kept: list[str] = []
        for above, lines, asks in drawings:
            kept += above
            region.draw(above, lines, (0, 2) if asks and lines else None)
            assert screen.lines == [*kept, *lines]
            if asks and lines:
                assert screen.cursor == (len(kept), 2)

    def test_writes_nothing_where_nothing_changed_and_little_where_little_did(self) -> None:
        written: list[str] = []
        region = Region(written.append)
        region.draw([], ["one", "two", "three"])
        region.draw([], ["one", "two", "three"])
        assert len(written) == 1
        region.draw([], ["one", "two", "four"])
        assert "one" not in written[1]
        assert "four" in written[1]

    @pytest.mark.parametrize("columns", [7, 20])
    def test_finds_its_place_again_in_another_width(self, columns: int) -> None:
        written: list[str] = []
        region = Region(written.append)
        region.draw([], ["a line of words", "short"])
        region.resized(columns)
        rows = 4 if columns == 7 else 2
        assert written[-1] == f"\x1b[{rows}A\r\x1b[J"
