"""The story as plain text: for pipes, files and programs. Nothing that was written is changed."""

from __future__ import annotations

from typing import Any, TextIO

from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, head_of, input_of, plan_of, result_of
from turnwire.cli.live.story import AGENT, Kind

__all__ = ["PlainPainter"]


class PlainPainter:
    """Writes whole lines, as soon as they are whole."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._growing: dict[str, str] = {}  # the agent's own words that have begun, without an end
        self._written: dict[str, int] = {}  # characters of each that were written
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
        text = self._growing.get(block_id, "") + piece
        self._growing[block_id] = text
        end = text.rfind("\n") + 1
        self._write_from(block_id, text[:end])

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """The rest of it."""
        grown = self._growing.pop(block_id, "")
        if not text.startswith(grown):
            self._written.pop(block_id, None)  # not what has grown: all of it once more
        if voice.depth or kind == "thinking":
            mark = "(thinking) " if kind == "thinking" else ""
            self._put([f"{mark}{line}" for line in text.strip("\n").split("\n")], voice, block_id)
        else:
            self._write_from(block_id, text if text.endswith("\n") else f"{text}\n")
        self._written.pop(block_id, None)

    def take_back(self, block_id: str) -> None:
        """What is written is written; so it is said."""
        self._growing.pop(block_id, None)
        if self._written.pop(block_id, 0):
            self._put(["(The agent took this back.)"], AGENT, "taken back")

    def _write_from(self, block_id: str, text: str) -> None:
        done = self._written.get(block_id, 0)
        new = text[done:]
        if new.strip("\n") or (new and done):
            self._apart(block_id)
            self._file.write(new)
            self._file.flush()
            self._written[block_id] = len(text)

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
