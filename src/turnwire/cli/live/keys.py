"""Reads keys from a terminal without blocking, so that a task that waits can be cancelled."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import termios
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

__all__ = ["KeyParser", "Keyboard"]

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;?]*)[ -/]*([@-~])|O([A-Za-z])|([^\[O]))")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*|O)?\Z")
_PASTED = re.compile(r"\x1b\[200~(.*?)\x1b\[201~", re.DOTALL)
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"

_LETTERS = {"A": "up", "B": "down", "C": "right", "D": "left", "F": "end", "H": "home"}
_NUMBERS = {"1": "home", "3": "delete", "4": "end", "7": "home", "8": "end"}
_CONTROL = {
    "\n": "enter",
    "\r": "enter",
    "\x01": "home",
    "\x02": "left",
    "\x04": "ctrl-d",
    "\x05": "end",
    "\x06": "right",
    "\x08": "backspace",
    "\x0b": "ctrl-k",
    "\x15": "ctrl-u",
    "\x17": "ctrl-w",
    "\x7f": "backspace",
}


class KeyParser:
    """Parses bytes into keys: a character, a name, or `paste:` with the pasted text."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""

    def feed(self, data: bytes) -> list[str]:
        """Takes bytes. Returns the keys that are complete."""
        self._text += self._decode(data)
        keys: list[str] = []
        while self._text:
            if self._text.startswith("\x1b"):
                used = self._sequence(keys)
                if not used:
                    break
                self._text = self._text[used:]
            else:
                character, self._text = self._text[0], self._text[1:]
                if character in _CONTROL:
                    keys.append(_CONTROL[character])
                elif character >= " ":
                    keys.append(character)
        if self._text == "\x1b":  # the Esc key itself, which has no function here
            self._text = ""
        return keys

    def _sequence(self, keys: list[str]) -> int:
        """Reads the escape sequence at the start. Returns its length, or 0 if it is incomplete."""
        text = self._text
        if text.startswith("\x1b[200~"):
            pasted = _PASTED.match(text)
            if pasted is None:
                return 0
            keys.append(f"paste:{pasted[1]}")
            return pasted.end()
        if _UNFINISHED.match(text):
            return 0
        found = _SEQUENCE.match(text)
        if found is None:
            return 1
        name = _LETTERS.get(found[2] or found[3] or "")
        if found[2] == "~":
            name = _NUMBERS.get(found[1].partition(";")[0])
        if name is not None:
            keys.append(name)
        return found.end()


class Keyboard:
    """Switches a terminal to unbuffered input without echo, inside a `with` block."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._before: list[int | list[bytes | int]] | None = None

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._fd)
        self.take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def take(self) -> None:
        """Turns off echo and line buffering. Ctrl-C stays a signal."""
        mode = termios.tcgetattr(self._fd)
        mode[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)

    def forget(self) -> None:
        """Discards the keys that were typed before a question was shown."""
        termios.tcflush(self._fd, termios.TCIFLUSH)

    async def keys(self) -> AsyncGenerator[str, None]:
        """Yields the keys, and `hangup` when the terminal has hung up."""
        loop = asyncio.get_running_loop()
        parser = KeyParser()
        waiting: asyncio.Queue[str] = asyncio.Queue()

        def ready() -> None:
            try:
                data = os.read(self._fd, 4096)
            except OSError:
                data = b""
            if not data:
                loop.remove_reader(self._fd)
                waiting.put_nowait("hangup")
            for key in parser.feed(data):
                waiting.put_nowait(key)

        loop.add_reader(self._fd, ready)
        try:
            while True:
                yield await waiting.get()
        finally:
            loop.remove_reader(self._fd)
