"""Parts of a chat that need no terminal: the status bar, a tool in one line."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from prompt_toolkit.formatted_text import StyleAndTextTuples

from turnwire.cli.chatting.bar import bar_of
from turnwire.cli.chatting.screen import ChatScreen
from turnwire.cli.home import Home, program
from turnwire.cli.live.cards import Call, Voice, brief_of
from turnwire.cli.live.pen import Pen
from turnwire.client import Line
from turnwire.core.content import TextContent
from turnwire.core.status import BackgroundTask, OpenRequest, QueueItem, Status

LIVE = Line("live")
ITEM = QueueItem("q-1", [TextContent("then this")])
REQUEST = OpenRequest("r-1", "question", "t-1", "request_input")


def bar(
    line: Line, status: Status | None = None, *, stopping: bool = False, start: str | None = None
) -> str:
    said = bar_of(
        line,
        status,
        agent="demo",
        now=100.0,
        since=88.0,
        is_asking=True,
        is_stopping=stopping,
        start=start,
    )
    return "".join(part[1] for part in said)


class NoInput:
    """An input handler that expects no input."""

    def entered(self, text: str, *, steer: bool = False) -> None:
        raise AssertionError(text)

    def escaped(self) -> None:
        raise AssertionError

    def left(self) -> None:
        raise AssertionError

    def reached_up(self) -> bool:
        return False

    def bar(self) -> StyleAndTextTuples:
        return []

    def invitation(self) -> str:
        return ""


class TestTheBar:
    def test_says_how_the_line_is(self) -> None:
        assert bar(LIVE) == "● live"
        assert bar(Line("catching_up")) == "◌ catching up"
        assert bar(Line("connecting")) == "◌ connecting"
        assert bar(Line("offline", 102.4)) == "○ offline: reconnecting in 3 s"
        assert bar(Line("offline", 99.0)) == "○ offline: reconnecting now"

    def test_says_how_to_start_a_server_where_none_runs(self) -> None:
        said = bar(Line("offline", 101.0), start="turnwire serve")
        assert said == "○ offline: reconnecting in 1 s · no server runs: turnwire serve"

    def test_shows_the_state_and_the_possible_keys(self) -> None:
        idle = Status("active", False, [], [])
        assert bar(LIVE, idle) == "● live · demo · Ctrl-D leaves"
        running = Status("streaming", True, [ITEM], [], turn_id=1)
        assert bar(LIVE, running) == (
            "● live · ⠋ demo is working 12 s · 1 queued · Esc stops it · Ctrl-D leaves"
        )
        assert (
            bar(LIVE, running, stopping=True)
            == "● live · demo is being stopped · 1 queued · Ctrl-D leaves"
        )
        waiting = Status("waiting_input", True, [], [REQUEST], turn_id=1)
        assert (
            bar(LIVE, waiting)
            == "● live · demo waits for your answer · Esc stops it · Ctrl-D leaves"
        )
        held = Status("interrupted", False, [ITEM], [], queue_held=True)
        assert bar(LIVE, held) == "● live · demo · 1 held · Ctrl-D leaves"
        behind = Status("active", False, [], [], background_tasks=[BackgroundTask("b-1")])
        assert bar(LIVE, behind) == "● live · demo has 1 task in the background · Ctrl-D leaves"


class TestWhatIsGivenBack:
    def test_goes_to_the_draft_and_not_into_an_answer(self) -> None:
        async def run() -> None:
            screen = ChatScreen(Pen(io.StringIO()), NoInput())
            screen.give_back("one")
            shown = [screen._buffer.text]
            async with screen.aside():
                screen.give_back("zero")
                shown.append(screen._buffer.text)
            shown.append(screen._buffer.text)
            assert shown == ["one", "", "zero\none"]

        asyncio.run(run())


class TestAToolInOneLine:
    def test_while_it_runs_shows_the_last_line_it_printed(self) -> None:
        call = Call("t", "Bash", Voice(), {"command": "make"}, printed="one\ntwo\n")
        assert brief_of(call).plain == "● Command  $ make  two"

    @pytest.mark.parametrize(
        ("result", "said"), [("", ""), ("done\n", "  done"), ("one\ntwo\n", "  2 lines")]
    )
    def test_shows_the_result_at_the_end(self, result: str, said: str) -> None:
        call = Call("t", "Bash", Voice(), {"command": "make"}, result=result, is_over=True)
        call.elapsed = 1.5
        assert brief_of(call).plain == f"✓ Command  $ make  1.5 s{said}"

    def test_that_failed_says_why(self) -> None:
        call = Call("t", "Read", Voice(), {"path": "x\u202ey"}, is_over=True, is_error=True)
        assert brief_of(call).plain == "✗ Read  path: x<U+202E>y  failed"
        call.result = "No such file.\nTry another."
        assert brief_of(call).plain == "✗ Read  path: x<U+202E>y  No such file."


class TestTheCommandToType:
    def test_is_where_the_program_is_if_the_shell_would_not_find_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = tmp_path / "bin" / "turnwire"
        here.parent.mkdir()
        here.touch(mode=0o755)
        monkeypatch.setattr("sys.argv", [str(here)])
        monkeypatch.setenv("PATH", "")
        monkeypatch.chdir(tmp_path)
        assert program() == "bin/turnwire"
        assert (
            Home(Path("x")).command("token link")
            == f"bin/turnwire token link --data-dir {tmp_path / 'x'}"
        )
        monkeypatch.chdir(here.parent.parent.parent)
        monkeypatch.chdir("/")
        assert program() == str(here).removeprefix("/")
        monkeypatch.setenv("PATH", str(here.parent))
        assert program() == "turnwire"
