"""The story as plain text: for pipes, files and programs. Nothing that was written is changed."""

from __future__ import annotations

from typing import Any, TextIO

from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, head_of, input_of, plan_of, result_of
from turnwire.cli.live.story import AGENT, Kind

__all__ = ["PlainPainter"]


class _Growing:
    """The agent's own words that have begun: all of them, and those that were not written yet."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._rest: list[str] = []  # in pieces: they may be very many
        self._is_blank = True
        self.begun = False

    @property
    def rest(self) -> str:
        """What was not written yet."""
        return "".join(self._rest)

    def add(self, piece: str) -> str:
        """More of it. Returns the whole lines that can be written now, if there are any."""
        self.pieces.append(piece)
        self._rest.append(piece)
        self._is_blank = self._is_blank and not piece.strip()
        if "\n" not in piece or self._is_blank:
            return ""
        lines, _, rest = self.rest.rpartition("\n")
        if not (lines.strip() or self.begun):
            return ""
        self.begun, self._rest = True, [rest]
        return f"{lines}\n"


class PlainPainter:
    """Writes whole lines, as soon as they are whole."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._growing: dict[str, _Growing] = {}
        self._last: object = None  # what was written last, to keep things apart
        self._plan: list[str] = []

    # --- words --------------------------------------------------------------------------------

    def said(self, text: str) -> None:
        """A person's words."""
        self._put([f"> {line}" for line in text.split("\n")], AGENT, object())

    def grow(self, block_id: str, voice: Voice, kind: Kind, piece: str) -> None:
        """The agent's own words come line by line; those of a sub-agent when they are whole."""
        if voice.depth or kind == "thinking":
            return
        lines = self._growing.setdefault(block_id, _Growing()).add(piece)
        if lines:
            self._write(block_id, lines)

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """The rest of it."""
        grown = self._growing.pop(block_id, None) or _Growing()
        if voice.depth or kind == "thinking":
            mark = "(thinking) " if kind == "thinking" else ""
            self._put([f"{mark}{line}" for line in text.strip("\n").split("\n")], voice, block_id)
            return
        said = "".join(grown.pieces)
        # Where it is not what has grown, all of it once more.
        rest = grown.rest + text[len(said) :] if text.startswith(said) else text
        if rest:
            self._write(block_id, rest if rest.endswith("\n") else f"{rest}\n")

    def take_back(self, block_id: str) -> None:
        """What is written is written; so it is said."""
        grown = self._growing.pop(block_id, None)
        if grown is not None and grown.begun:
            self._put(["(The agent took this back.)"], AGENT, "taken back")

    def cut(self, block_id: str, why: str) -> None:
        """What came of it is written, and that it breaks off."""
        grown = self._growing.pop(block_id, None)
        if grown is not None:
            if grown.rest.strip():
                self._write(block_id, f"{grown.rest}\n")
            self._put([f"({why})"], AGENT, "cut")

    def _write(self, block_id: str, text: str) -> None:
        self._apart(block_id)
        self._file.write(text)
        self._file.flush()

    # --- around them --------------------------------------------------------------------------

    def run(self, call: Call) -> None:
        """It is told when it is over."""

    def close(self, call: Call) -> None:
        """The call, what it was called with, what it gave back."""
        lines = [head_of(call)]
        if not call.is_shown:
            lines += [Text.assemble("  ", line) for line in input_of(call)]
        if call.is_over:
            lines += [Text.assemble("  ", line) for line in result_of(call)]
        self.note(lines, call.voice)

    def forget(self, call: Call) -> None:
        """Nothing of it was written."""

    def note(self, lines: list[Text], voice: Voice = AGENT) -> None:
        """Lines as they are."""
        self._put([line.plain for line in lines], voice, object())

    def plan(self, items: list[Any]) -> None:
        """The first time whole, then what has changed."""
        lines = [line.plain for line in plan_of(items)]
        new = [line for line in lines[1:] if line not in self._plan]
        if new:
            self._put(new if self._plan else lines, AGENT, "plan")
        self._plan = lines

    def _put(self, lines: list[str], voice: Voice, what: object) -> None:
        self._apart(what)
        margin = "| " * voice.depth
        self._file.writelines(f"{margin}{line}".rstrip() + "\n" for line in lines)
        self._file.flush()

    def _apart(self, what: object) -> None:
        if self._last is not None and self._last != what:
            self._file.write("\n")
        self._last = what
