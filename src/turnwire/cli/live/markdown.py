"""Draws Markdown for a chat, and splits streaming Markdown into blocks."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown as rich
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.syntax import Syntax
from rich.theme import Theme

from turnwire.cli.live.fold import folded

__all__ = ["LONG", "THEME", "Markdown", "blocks_of", "cut"]

# Without background colors: they look wrong with many terminal themes.
THEME = Theme(
    {
        "markdown.block_quote": "dim",
        "markdown.code": "cyan",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.hr": "dim",
        "markdown.link": "underline",
        "markdown.link_url": "blue",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)

# With HTML switched on, `List<String>` would be shown as `List`.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


class Markdown(rich.Markdown):
    """A Markdown text that rich can draw. Loses no text, and centers no heading."""

    def __init__(self, text: str, style: str = "none") -> None:
        super().__init__("", style=style, hyperlinks=False)
        self.markup = text
        self.parsed = _PARSER.parse(text)
        for token in self.parsed:
            if token.children:
                token.children = list(_mended(token.children))


class _Paragraph(rich.Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from folded(self.text, options.max_width)


class _Heading(rich.Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from folded(self.text, options.max_width)


class _Code(rich.CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        syntax = Syntax(
            code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True
        )
        yield Padding(syntax, (0, 0, 0, 2))


Markdown.elements = {
    **rich.Markdown.elements,
    "paragraph_open": _Paragraph,
    "heading_open": _Heading,
    "fence": _Code,
    "code_block": _Code,
}


def _mended(tokens: list[Token]) -> Iterator[Token]:
    """Removes the space of a line break between wide characters, and the link of a bare address."""
    skip = 0
    for at, token in enumerate(tokens):
        if skip:
            skip -= 1
        elif (
            token.type == "softbreak"
            and _is_wide(tokens, at - 1, -1)
            and _is_wide(tokens, at + 1, 0)
        ):
            continue
        elif token.type == "link_open" and _is_bare(tokens[at : at + 3]):
            yield tokens[at + 1]
            skip = 2
        else:
            yield token


def _is_wide(tokens: list[Token], at: int, character: int) -> bool:
    if not 0 <= at < len(tokens) or not tokens[at].content:
        return False
    return unicodedata.east_asian_width(tokens[at].content[character]) in "WF"


def _is_bare(tokens: list[Token]) -> bool:
    kinds = [token.type for token in tokens]
    return kinds == ["link_open", "text", "link_close"] and (
        tokens[1].content == tokens[0].attrs.get("href")
    )


# --- streaming ----------------------------------------------------------------------------------

LONG = 4000  # characters of a block; a longer one is cut, so that redrawing stays cheap


def blocks_of(text: str) -> list[str]:
    """Returns the Markdown source of each block. Only the last block can still change."""
    lines = text.splitlines(keepends=True)
    begins = [_line(token) for token in _PARSER.parse(text) if token.level == 0 and token.map]
    places = [0, *begins[1:], len(lines)]
    return ["".join(lines[begin:end]) for begin, end in pairwise(places)]


def cut(block: str) -> tuple[str, str]:
    """Splits a streaming block into a finished part and the rest, a block of the same kind.

    Cuts code between lines, a list between items, a long paragraph between words. Other blocks cannot
    be cut: then the first part is empty.
    """
    tokens = [token for token in _PARSER.parse(block) if token.map]
    if not tokens:
        return "", block
    top, lines = tokens[0], block.splitlines(keepends=True)
    match top.type:
        case "fence":
            opening, body = lines[_line(top)], lines[_line(top) + 1 :]
            if len(body) > 1:
                return f"{opening}{''.join(body[:-1])}{top.markup}\n", f"{opening}{body[-1]}"
        case "bullet_list_open" | "ordered_list_open":
            items = [t for t in tokens if t.type == "list_item_open" and t.level == 1]
            if len(items) > 1:
                last = _line(items[-1])
                return "".join(lines[:last]), "".join(lines[last:])
        case "paragraph_open" if len(block) > LONG:
            at = block.rfind(" ", 0, LONG - 200) + 1 or LONG - 200
            return block[:at], block[at:]
        case _:
            pass
    return "", block


def _line(token: Token) -> int:
    assert token.map is not None
    return token.map[0]
