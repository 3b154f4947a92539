"""The story as a Markdown document, complete: nothing is trimmed here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, plan_of, words_of
from turnwire.cli.live.story import AGENT, Kind
from turnwire.cli.visible import printed
from turnwire.cli.words import plain
from turnwire.ports import ConversationRow

__all__ = ["MarkdownPainter"]

_TICKS = re.compile("`+")


class MarkdownPainter:
    """Writes headings for who speaks, the words as they are, calls as code."""

    def __init__(self, write: Callable[[str], object], row: ConversationRow) -> None:
        self._write = write
        self._agent = row.agent
        self._speaker = ""
        title = plain(row.title or row.conversation_id)
        write(f"# {title}\n\n")
        write(f"Conversation {row.conversation_id} with {row.agent}, {row.created_at[:10]}\n")

    # --- words --------------------------------------------------------------------------------

    def said(self, text: str) -> None:
        """A person's words."""
        self._under("You")
        self._put(text, AGENT)

    def grow(self, block_id: str, voice: Voice, kind: Kind, piece: str) -> None:
        """Only what is whole is written."""

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """A block."""
        self._under(self._agent)
        if kind == "thinking":
            text = "\n".join(f"> {line}".rstrip() for line in f"*Thinking:* {text}".split("\n"))
        self._put(text, voice)

    def take_back(self, block_id: str) -> None:
        """It was never written."""

    def cut(self, block_id: str, why: str) -> None:
        """The same."""

    # --- around them --------------------------------------------------------------------------

    def run(self, call: Call) -> None:
        """Only what is over is written."""

    def close(self, call: Call) -> None:
        """A call with all of its input and all of its result."""
        self._under(self._agent)
        about = f": {call.about}" if call.about else ""
        parts = []
        if not call.is_shown:
            given = call.input_text or msgspec.json.format(msgspec.json.encode(call.input)).decode()
            parts = [f"**{plain(call.name)}**{about}", _fenced(given, "json")]
        if call.is_over:
            word = "failed" if call.is_error else "ok"
            name = f"**{plain(call.name)}**{about} " if call.is_shown else ""
            result = printed(words_of(call.result)).strip("\n")
            parts.append(f"{name}*{word}*")
            parts += [_fenced(result)] if result else []
        self._put("\n\n".join(parts), call.voice)

    def forget(self, call: Call) -> None:
        """Nothing of it was written."""

    def note(self, lines: list[Text], voice: Voice = AGENT) -> None:
        """Lines as they are, each on its own."""
        self._put("  \n".join(line.plain.strip() for line in lines), voice)

    def plan(self, items: list[Any]) -> None:
        """As a list with boxes."""
        steps = [line.plain.strip() for line in plan_of(items)[1:]]
        self._put("\n".join(f"- [{'x' if s[0] == '✓' else ' '}] {s[2:]}" for s in steps), AGENT)

    def _under(self, speaker: str) -> None:
        if self._speaker != speaker:
            self._speaker = speaker
            self._write(f"\n## {speaker}\n")

    def _put(self, text: str, voice: Voice) -> None:
        margin = "> " * voice.depth
        # Two spaces at the end of a line mean something here: only empty lines lose theirs.
        lines = [f"{margin}{line}" if line else margin.rstrip() for line in _lines(text)]
        self._write("\n" + "\n".join(lines) + "\n")


def _lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def _fenced(text: str, language: str = "") -> str:
    """As code, whatever backticks are in it."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
