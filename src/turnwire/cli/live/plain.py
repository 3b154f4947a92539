"""Writes the story as plain text, for pipes, files and programs."""

from __future__ import annotations

from typing import Any, TextIO

from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, head_of, input_of, plan_of, result_of
from turnwire.cli.live.story import AGENT, Kind

__all__ = ["PlainPainter"]


class _Growing:
    """A streaming text of the agent, and the part that was not written yet."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._rest: list[str] = []  # a list, because joining many pieces each time is slow
        self._is_blank = True
        self.begun = False

    @property
    def rest(self) -> str:
        """Returns the part that was not written yet."""
        return "".join(self._rest)

    def add(self, piece: str) -> str:
        """Appends a piece. Returns the complete lines that can be written now."""
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
    """Writes each line as soon as it is complete."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._growing: dict[str, _Growing] = {}
        self._last: object = None  # the last block written, to add a blank line before the next
        self._plan: list[str] = []

    # --- words --------------------------------------------------------------------------------

    def said(self, text: str) -> None:
        """Writes a person's message."""
        self._put([f"> {line}" for line in text.split("\n")], AGENT, object())

    def grow(self, block_id: str, voice: Voice, kind: Kind, piece: str) -> None:
        """Writes the agent's text line by line. The text of a sub-agent waits until it is complete."""
        if voice.depth or kind == "thinking":
            return
        lines = self._growing.setdefault(block_id, _Growing()).add(piece)
        if lines:
            self._write(block_id, lines)

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """Writes the rest of a block."""
        grown = self._growing.pop(block_id, None) or _Growing()
        if voice.depth or kind == "thinking":
            mark = "(thinking) " if kind == "thinking" else ""
            self._put([f"{mark}{line}" for line in text.strip("\n").split("\n")], voice, block_id)
            return
        said = "".join(grown.pieces)
        # If the final text differs from the streamed one, write all of it again.
        rest = grown.rest + text[len(said) :] if text.startswith(said) else text
        if rest:
            self._write(block_id, rest if rest.endswith("\n") else f"{rest}\n")

    def take_back(self, block_id: str) -> None:
        """Notes that a block was discarded, if a part of it was already written."""
        grown = self._growing.pop(block_id, None)
        if grown is not None and grown.begun:
            self._put(["(The agent discarded this text.)"], AGENT, "taken back")

    def cut(self, block_id: str, why: str) -> None:
        """Writes the received part of a block, and why it breaks off."""
        grown = self._growing.pop(block_id, None)
        if grown is not None:
            if grown.rest.strip():
                self._write(block_id, f"{grown.rest}\n")
            self._put([f"({why})"], AGENT, "cut")

    def _write(self, block_id: str, text: str) -> None:
        self._apart(block_id)
        self._file.write(text)
        self._file.flush()

    # --- calls and notes ----------------------------------------------------------------------

    def run(self, call: Call) -> None:
        """Does nothing: a call is written at its end."""

    def close(self, call: Call) -> None:
        """Writes a call with its input and result."""
        lines = [head_of(call)]
        if not call.is_shown:
            lines += [Text.assemble("  ", line) for line in input_of(call)]
        if call.is_over:
            lines += [Text.assemble("  ", line) for line in result_of(call)]
        self.note(lines, call.voice)

    def forget(self, call: Call) -> None:
        """Does nothing: no part of the call was written."""

    def note(self, lines: list[Text], voice: Voice = AGENT) -> None:
        """Writes lines without their styles."""
        self._put([line.plain for line in lines], voice, object())

    def plan(self, items: list[Any]) -> None:
        """Writes the whole plan the first time, then only changed lines."""
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
