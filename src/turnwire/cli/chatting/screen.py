"""The chat screen: finished lines, below them changing lines, the prompt and the status bar."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import AfterInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from turnwire.cli.live.pen import Pen

__all__ = ["ChatScreen", "Person"]

_HOLD, _SHOW = "\x1b[?2026h", "\x1b[?2026l"  # synchronized output, if the terminal supports it
_TALLEST = 8  # lines of the prompt; a longer text scrolls inside of it
_QUIET = 0.7  # seconds without a key, after which the person is not typing
_ESCAPE = 0.05  # seconds after which Esc is a key of its own, and not the start of a sequence

_STYLE = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "hint": "ansimagenta",
        "faint": "dim",
        "good": "ansigreen",
        "busy": "ansiyellow",
        "bad": "ansired",
    }
)


class Person(Protocol):
    """The receiver of input, and the source of the bar's text."""

    def entered(self, text: str, *, steer: bool = False) -> None:
        """Takes a line that is not an answer to a request. `steer`: it is for the running turn."""

    def escaped(self) -> None:
        """Handles Esc."""

    def left(self) -> None:
        """Handles Ctrl-C or Ctrl-D in an empty prompt."""

    def reached_up(self) -> bool:
        """Handles the up arrow in an empty prompt. Returns False to show the input history."""

    def bar(self) -> StyleAndTextTuples:
        """Returns the text of the status bar."""

    def invitation(self) -> str:
        """Returns the placeholder of the empty prompt."""


class _Output(Vt100_Output):
    """Joins several writes into one while `is_held` is set, so that the screen does not flicker."""

    is_held = False

    def flush(self) -> None:
        if not self.is_held:
            super().flush()


class ChatScreen:
    """The screen. Draws lines with `show`, and passes typed lines to the person."""

    def __init__(self, pen: Pen, person: Person) -> None:
        self._pen = pen
        self._person = person
        self._lines: list[str] = []
        self._hint = ""
        self._reading: asyncio.Future[str] | None = None
        self._draft: Document | None = (
            None  # the unfinished message, while a question has the prompt
        )
        self._last_key = 0.0
        self._size = pen.size
        self.on_resize: Callable[[], None] | None = None
        self._history = InMemoryHistory()
        self._buffer = Buffer(history=self._history, multiline=True)
        self._output = _Output(
            pen.file,
            self._measure,
            term=os.environ.get("TERM"),
            default_color_depth=ColorDepth.DEPTH_1_BIT if pen.console.no_color else None,
            enable_cpr=False,
        )
        self._app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            style=_STYLE,
            output=self._output,
            erase_when_done=True,
        )
        self._app.ttimeoutlen = _ESCAPE
        self._app.timeoutlen = 2 * _ESCAPE
        self._app.key_processor.after_key_press += lambda _: self._pressed()
        self._app.before_render += lambda _: self._look_at_size()

    # --- running ------------------------------------------------------------------------------

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Shows the prompt inside the `with` block, and removes it afterwards."""
        with self._app.input.raw_mode():
            self._take_early_keys()
            async with self._running():
                yield

    def _take_early_keys(self) -> None:
        """Keeps the keys that were typed before the prompt appeared.

        The terminal had sent Enter as a newline until then.
        """
        keys = self._app.input.read_keys()
        for press in keys:
            if press.key == Keys.ControlJ:
                press.key = Keys.Enter
        store_typeahead(self._app.input, keys)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        drawn = asyncio.Event()
        self._app.after_render += lambda _: drawn.set()
        run = self._app.run_async(handle_sigint=False, set_exception_handler=False)
        running = asyncio.create_task(run)
        running.add_done_callback(lambda _: self._person.left())  # if the terminal has hung up
        ready = asyncio.create_task(drawn.wait())
        await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        try:
            yield
        finally:
            if not running.done():
                self._app.exit()
            with suppress(EOFError):  # the terminal has hung up
                await running

    def _measure(self) -> Size:
        columns, rows = self._pen.size
        return Size(rows=rows, columns=columns)

    def _look_at_size(self) -> None:
        if self._size != self._pen.size:
            self._size = self._pen.size
            if self.on_resize is not None:
                self.on_resize()

    # --- drawing ------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Returns whether the screen can draw."""
        return self._app.is_running

    @property
    def room(self) -> int:
        """Returns the number of lines for changing content."""
        typed = min(self._buffer.document.line_count + 1, _TALLEST)
        return max(self._pen.size[1] - typed - 3, 2)

    def show(self, above: list[str], lines: list[str]) -> None:
        """Appends `above` to the finished lines, and shows `lines` between them and the prompt."""
        if not above and len(lines) >= len(self._lines):
            if lines != self._lines:
                self._lines = lines
                self._app.invalidate()
            return
        self._lines = lines
        out = self._output
        out.is_held = True
        try:
            out.write_raw(_HOLD)
            self._app.renderer.erase()
            out.write_raw("".join(f"{line}\r\n" for line in above))
            self._app.render_counter += 1  # otherwise the app would reuse its last rendering
            with set_app(self._app):
                self._app.renderer.render(self._app, self._app.layout)
            out.write_raw(_SHOW)
        finally:
            out.is_held = False
            out.flush()

    def refresh(self) -> None:
        """Redraws the screen because the bar has changed."""
        self._app.invalidate()

    def _layout(self) -> Layout:
        changing = Window(
            FormattedTextControl(lambda: ANSI("\n".join(self._lines))),
            dont_extend_height=True,
            always_hide_cursor=True,
        )
        hint = Window(
            FormattedTextControl(lambda: [("class:hint", self._hint)]),
            dont_extend_height=True,
            wrap_lines=True,
        )
        prompt = Window(
            BufferControl(self._buffer, input_processors=[AfterInput(self._placeholder)]),
            height=Dimension(min=1, max=_TALLEST),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=self._prefix,
        )
        bar = Window(FormattedTextControl(self._person.bar), height=1, dont_extend_height=True)
        parts = [
            ConditionalContainer(changing, Condition(lambda: bool(self._lines))),
            ConditionalContainer(hint, Condition(lambda: bool(self._hint))),
            prompt,
            bar,
        ]
        return Layout(HSplit(parts), focused_element=prompt)

    @staticmethod
    def _prefix(line: int, wrapped: int) -> StyleAndTextTuples:
        return [("class:prompt", "› " if not line and not wrapped else "  ")]

    def _placeholder(self) -> StyleAndTextTuples:
        if self._buffer.text or self._reading is not None:
            return []
        return [("class:faint", self._person.invitation())]

    # --- typing -------------------------------------------------------------------------------

    def _pressed(self) -> None:
        self._last_key = asyncio.get_running_loop().time()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Saves the unfinished message during a question, and restores it afterwards.

        First waits until the person stops typing, so that no key of the message becomes an answer.
        """
        loop = asyncio.get_running_loop()
        while (left := self._last_key + _QUIET - loop.time()) > 0:  # noqa: ASYNC110 - waits for time to pass
            await asyncio.sleep(left)
        self._draft = self._buffer.document
        self._buffer.document = Document()
        try:
            yield
        finally:
            self._buffer.document, self._draft = self._draft, None
            self._app.invalidate()

    async def read_line(self, hint: str, text: str = "") -> str:
        """Reads a line as an answer. `text` is its initial content."""
        self._reading = asyncio.get_running_loop().create_future()
        self._hint = hint
        self._buffer.document = Document(text)
        self._app.invalidate()
        try:
            return await self._reading
        finally:
            self._reading, self._hint = None, ""
            self._buffer.document = Document()

    def give_back(self, text: str) -> None:
        """Puts a message back into the prompt, before the text that is being typed."""
        typed = self._draft if self._draft is not None else self._buffer.document
        if typed.text:
            text += "\n"
        draft = Document(text + typed.text, len(text) + typed.cursor_position)
        if self._draft is not None:
            self._draft = draft
        else:
            self._buffer.document = draft

    def _enter(self, event: KeyPressEvent) -> None:
        text = self._buffer.text
        if self._reading is not None:
            if not self._reading.done():
                self._reading.set_result(text)
            return
        self._enter_message(text)

    def _tab(self, event: KeyPressEvent) -> None:
        """Sends a message into the running turn."""
        text = self._buffer.text
        if self._reading is None and text.strip():
            self._enter_message(text, steer=True)

    def _enter_message(self, text: str, *, steer: bool = False) -> None:
        if text.strip():
            self._history.append_string(text)
        self._buffer.reset()
        self._person.entered(text, steer=steer)

    def _up(self, event: KeyPressEvent) -> None:
        is_idle = not self._buffer.text and self._reading is None
        if not (is_idle and self._person.reached_up()):
            self._buffer.auto_up()

    def _leave(self, event: KeyPressEvent) -> None:
        """Leaves if the prompt is empty. Otherwise Ctrl-C clears it, and Ctrl-D deletes a character."""
        if not self._buffer.text:
            self._person.left()
        elif event.key_sequence[0].key == "c-c":
            self._buffer.reset()
        else:
            self._buffer.delete()

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        keys.add("enter")(self._enter)
        keys.add("tab")(self._tab)
        keys.add("escape", "enter")(lambda _: self._buffer.insert_text("\n"))
        keys.add("c-j")(lambda _: self._buffer.insert_text("\n"))
        keys.add("escape")(lambda _: self._person.escaped())
        keys.add("up")(self._up)
        keys.add("c-c")(self._leave)
        keys.add("c-d")(self._leave)
        keys.add("c-z")(lambda event: event.app.suspend_to_background())
        return keys
