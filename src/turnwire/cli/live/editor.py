"""A line editor: applies keys to a text, and lays it out on the screen."""

from __future__ import annotations

from typing import Literal

from rich.cells import cell_len

from turnwire.cli.terminal.visible import visible

__all__ = ["Editor"]

_PROMPT = "> "


class Editor:
    """The text that a person types, and the cursor. Pasted text keeps its line breaks."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._at = len(text)

    def press(self, key: str) -> Literal["enter", "leave"] | None:
        """Applies a key. Returns `enter` if the text is complete, `leave` if the person declines."""
        text, at = self.text, self._at
        match key:
            case "enter":
                return "enter"
            case "hangup":
                return "leave"
            case "ctrl-d" if not text:
                return "leave"
            case "ctrl-d" | "delete":
                self._set(text[:at], text[at + 1 :])
            case "backspace":
                self._set(text[: max(at - 1, 0)], text[at:])
            case "left":
                self._at = max(at - 1, 0)
            case "right":
                self._at = min(at + 1, len(text))
            case "home":
                self._at = 0
            case "end":
                self._at = len(text)
            case "ctrl-u":
                self._set("", text[at:])
            case "ctrl-k":
                self._set(text[:at], "")
            case "ctrl-w":
                words = text[:at].rstrip()
                self._set(words[: words.rfind(" ") + 1], text[at:])
            case _ if key.startswith("paste:"):
                pasted = key.removeprefix("paste:").replace("\r\n", "\n").replace("\r", "\n")
                self._set(text[:at] + pasted, text[at:])
            case _ if len(key) == 1:
                self._set(text[:at] + key, text[at:])
            case _:
                pass
        return None

    def _set(self, before: str, after: str) -> None:
        self.text, self._at = before + after, len(before)

    def rows(self, width: int) -> tuple[list[str], tuple[int, int]]:
        """Returns the text in lines of at most `width` columns, and the row and column of the cursor."""
        rows, cursor = [_PROMPT], (0, len(_PROMPT))
        used = len(_PROMPT)
        for at, character in enumerate(self.text):
            if at == self._at:
                cursor = (len(rows) - 1, used)
            if character == "\n":
                rows.append("  ")
                used = 2
                continue
            shown = visible(character) if character != "\u200d" else ""
            if used + cell_len(shown) > width:
                rows.append("  ")
                used = 2
            rows[-1] += shown
            used += cell_len(shown)
        if self._at == len(self.text):
            cursor = (len(rows) - 1, used)
        return rows, cursor
