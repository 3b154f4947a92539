"""The story: frames as plain text."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.helpers.cost_growth import grows_linearly
from turnwire.cli.live.ending import figures, next_step, receipt
from turnwire.cli.live.plain import PlainPainter
from turnwire.cli.live.story import AGENT, Story
from turnwire.core.status import Status, TurnEnd, TurnError
from turnwire.core.usage import Usage
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

IDS: tuple[str, int, None, str, None] = ("conv", 1, None, "2026-01-01T12:00:00.000Z", None)
LATER: tuple[str, int, None, str, None] = ("conv", 1, None, "2026-01-01T12:00:01.500Z", None)

INFO = p.SessionInfo(
    "connection", "client", "epoch", 1, 0, p.Capabilities("demo", []), p.Limits(1, 1, 1)
)


def told(*frames: f.Frame, past: bool = False) -> str:
    file = io.StringIO()
    story = Story(PlainPainter(file), past=past)
    for frame in frames:
        story.feed(frame)
    return file.getvalue()


def piece(text: str, *, snapshot: bool = False, parent: str | None = None) -> f.Frame:
    return f.AssistantChunk(*IDS, p.Chunk("b", "m", 0, True, text, 1, parent, snapshot=snapshot))


def whole(text: str, *, parent: str | None = None, aborted: bool = False) -> f.Frame:
    block = p.Chunk("b", "m", 0, False, text, parent_tool_use_id=parent, aborted=aborted)
    return f.AssistantChunk(*IDS, block)


def call(name: str, given: Any, *, id: str = "t", parent: str | None = None) -> f.Frame:  # noqa: A002
    payload = p.ToolCall(id, "m", 0, False, id, name, input=given, parent_tool_use_id=parent)
    return f.AssistantToolCall(*IDS, payload)


def result(content: Any, *, failed: bool = False, id: str = "t") -> f.Frame:  # noqa: A002
    return f.AssistantToolResult(*LATER, p.ToolResult(id, failed, content, 9))


class TestWords:
    def test_come_line_by_line(self) -> None:
        assert told(piece("one\ntw")) == "one\n"
        assert told(piece("one\ntw"), piece("o"), whole("one\ntwo")) == "one\ntwo\n"

    def test_a_snapshot_repeats_nothing(self) -> None:
        frames = [piece("one\ntw"), piece("one\ntwo\nth", snapshot=True), whole("one\ntwo\nthree")]
        assert told(*frames) == "one\ntwo\nthree\n"

    def test_that_end_differently_are_printed_again(self) -> None:
        assert told(piece("one\n"), whole("another")) == "one\nanother\n"

    def test_that_a_dead_server_did_not_write_down_break_off(self) -> None:
        again = f.SessionResumed(*IDS, INFO)
        idle = f.SessionState(*IDS, Status("active", False, [], []))
        said = told(piece("one\ntw"), again, idle, whole("another"))
        assert said == (
            "one\ntw\n\n"
            "(The text ends here: the server died. This text is not in the log.)\n\n"
            "another\n"
        )

    def test_that_a_dead_server_had_saved_are_printed_once_and_break_off(self) -> None:
        again = f.SessionResumed(*IDS, INFO)
        idle = f.SessionState(*IDS, Status("interrupted", False, [], []))

        def saved(text: str) -> str:
            return told(piece("one\ntw"), again, whole(text, aborted=True), idle)

        assert saved("one\ntwo") == "one\ntwo\n\n(The text ends here: the server died.)\n"
        assert saved("one") == (
            "one\ntw\n\n"
            "(The text ends here: the server died. The last part of this text is not in the log.)\n"
        )

    def test_that_were_stopped_are_printed_as_they_are(self) -> None:
        assert told(piece("one\ntw"), whole("one\ntw", aborted=True)) == "one\ntw\n"

    def test_that_go_on_over_a_new_connection_do_not(self) -> None:
        again = f.SessionResumed(*IDS, INFO)
        running = f.SessionState(*IDS, Status("streaming", True, [], [], turn_id=1))
        frames = [piece("one\ntw"), again, running, piece("one\ntwo", snapshot=True)]
        assert told(*frames, whole("one\ntwo")) == "one\ntwo\n"

    def test_of_another_log_are_shown_after_a_remark(self) -> None:
        other = f.SessionReset(*IDS, p.Reset("epoch_changed", "other", 1))
        assert told(piece("one\n"), other, whole("new")) == (
            "one\n\n"
            "(The text ends here: the server died. This text is not in the log.)\n\n"
            "◆ The server has another log now. Its content follows.\n\n"
            "new\n"
        )

    def test_that_are_discarded_are_marked(self) -> None:
        back = f.AssistantDiscarded(*IDS, p.Discarded(["b"]))
        assert told(piece("one\ntw"), back) == "one\n\n(The agent discarded this text.)\n"
        assert told(piece("tw"), back) == ""

    def test_cannot_act_on_the_terminal(self) -> None:
        assert told(whole("a\x1b[2Jb")) == "a<U+001B>[2Jb\n"


class TestTools:
    def test_show_the_exact_input_and_how_long_they_took(self) -> None:
        given = {"path": "a\u202eb", "lines": [1, 2], "text": "one\ntwo", "description": "Why"}
        assert told(call("Edit", given), result("done")) == (
            "✓ Edit  Why  1.5 s\n"
            "  path: a<U+202E>b\n"
            "  lines: [1,2]\n"
            "  text:\n"
            "    one\n"
            "    two\n"
            "  done\n"
        )

    def test_show_how_many_lines_were_left_out(self) -> None:
        long = "\n".join(["x" * 500] + ["y"] * 19)
        shown = told(call("Read", {"path": long}), result(long, failed=True))
        assert shown.count("… 14 more lines") == 1
        assert shown.count("… 8 more lines") == 1
        assert "x … 100 more characters" in shown
        assert shown.startswith("✗ Read")

    @pytest.mark.parametrize(
        ("content", "shown"),
        [
            (None, ""),
            (
                [{"type": "text", "text": "a"}, {"type": "image", "url": "u"}],
                '  a\n  {"type":"image","url":"u"}\n',
            ),
            ({"a": 1}, '  {"a":1}\n'),
            ("\x1b[31mred\x1b[0m", "  red\n"),
        ],
    )
    def test_give_back_anything(self, content: Any, shown: str) -> None:
        assert told(call("Tool", {}), result(content)) == f"✓ Tool  1.5 s\n{shown}"

    def test_have_one_result(self) -> None:
        assert told(call("Tool", {}), result("a"), result("b")).count("✓ Tool") == 1
        assert told(result("not called")) == ""

    def test_a_sub_agent_is_shown_below_its_call_at_every_depth(self) -> None:
        shown = told(
            call("Agent", {"description": "Look"}),
            call("Agent", {"description": "Look closer"}, id="u", parent="t"),
            whole("deep", parent="u"),
            result("found", id="u"),
            result("done"),
        )
        assert shown == (
            "● Sub-agent  Look\n\n| ● Sub-agent  Look closer\n\n| | deep\n\n"
            "| ✓ Sub-agent  Look closer  1.5 s\n|   found\n\n✓ Sub-agent  Look  1.5 s\n  done\n"
        )

    def test_plans_are_shown_by_their_steps(self) -> None:
        def plan(status: str) -> f.Frame:
            item = {"content": "Write", "status": status, "activeForm": "Writing"}
            return f.SessionSystemEvent(*IDS, p.SystemNews("plan", 3, None, {"items": [item]}))

        shown = told(call("TodoWrite", {}), result("ok"), plan("in_progress"), plan("completed"))
        assert shown == "Plan  0 of 1 done\n  ▸ Writing\n  ✓ Write\n"


class TestNews:
    @pytest.mark.parametrize(
        ("subtype", "data", "line"),
        [
            (
                "api_retry",
                {"attempt": 2, "max_retries": 10, "retry_delay_ms": 1200, "error": "unknown"},
                "◆ The model's API failed (no answer): retry 2 of 10, in 1.2 s",
            ),
            (
                "api_retry",
                {"attempt": 1, "max_retries": 3, "error_status": 529, "error": "overloaded"},
                "◆ The model's API failed (HTTP 529, overloaded): retry 1 of 3",
            ),
            (
                "model_fallback",
                {"content": "Switched to Sonnet"},
                "◆ Another model continues: Switched to Sonnet",
            ),
            ("model_refusal_no_fallback", {"content": ""}, "◆ The model refused"),
            (
                "informational",
                {"content": "It goes on \x1b[31monce"},
                "◆ It goes on <U+001B>[31monce",
            ),
            ("session_lost", {"message": "Gone."}, "◆ The agent starts a new session: Gone."),
            ("choice_refused", {"message": "No."}, "◆ The agent keeps its setting: No."),
        ],
    )
    def test_of_interest_are_shown(self, subtype: str, data: dict[str, Any], line: str) -> None:
        assert told(f.SessionSystemEvent(*IDS, p.SystemNews(subtype, 3, None, data))) == f"{line}\n"

    def test_that_say_it_themselves_are_shown_in_their_words(self) -> None:
        for subtype in ("warning", "model_rerouted", "error_retry"):
            said = p.SystemNews(subtype, None, "Warning: slow", {"params": {}})
            assert told(f.SessionSystemEvent(*IDS, said)) == "◆ Warning: slow\n"
        assert told(f.SessionSystemEvent(*IDS, p.SystemNews("warning", 3, None, {}))) == ""

    @pytest.mark.parametrize(
        ("subtype", "data"),
        [("api_retry", {"error_status": 401}), ("informational", {}), ("status", {"x": 1})],
    )
    def test_without_interest_are_not_shown(self, subtype: str, data: dict[str, Any]) -> None:
        assert told(f.SessionSystemEvent(*IDS, p.SystemNews(subtype, 3, None, data))) == ""


class TestTheEnd:
    def test_has_its_figures(self) -> None:
        end = TurnEnd(False, False, usage=Usage(1000, 200, 30, 4), cost_usd=0.5, duration_ms=3210)
        (line,) = figures(end)
        assert line.plain == "✓ 3.2 s · 1,034 tokens in, 200 out · $0.5000"
        assert next_step(end) is None

    def test_does_not_mention_zero_cost(self) -> None:
        end = TurnEnd(False, False, usage=Usage(0, 0, 0, 0), cost_usd=0.0, duration_ms=3210)
        assert [line.plain for line in figures(end)] == ["✓ 3.2 s"]

    @pytest.mark.parametrize(
        ("code", "step"),
        [("api_error", "Try again later"), ("x", "Send a message to try again")],
    )
    def test_gives_advice_about_a_failure(self, code: str, step: str) -> None:
        end = TurnEnd(True, False, error=TurnError(code, "It broke."))
        error, line = figures(end)
        assert (error.plain, line.plain) == (f"✗ It broke.  ({code})", "✗ failed")
        assert step in (next_step(end) or "")

    def test_gives_no_advice_where_the_agent_has_given_it(self) -> None:
        said = "The API refuses Claude. Give it another key."
        end = TurnEnd(True, False, error=TurnError("authentication_failed", said))
        assert next_step(end) is None

    def test_a_receipt_shows_the_result_of_a_stop(self) -> None:
        processes = [p.Process(7, "sleep"), p.Process(8), p.Process(9, "dd", left=True)]
        forced = p.Interrupted("user", 1, forced=True, processes=processes)
        assert receipt(forced).plain == (
            "■ Interrupted: you stopped it; the agent did not stop and was ended by force; "
            "2 processes ended: sleep 7, process 8; 1 process could not be ended: dd 9."
        )
        gone = p.Interrupted("agent_lost", 1)
        assert receipt(gone).plain == ("■ Interrupted: the agent process has ended.")
        killed = p.Interrupted("user", 1, lost=True)
        assert receipt(killed).plain == (
            "■ Interrupted: you stopped it; "
            "the agent was killed, or ended by itself, before it acknowledged the stop."
        )
        assert receipt(p.Interrupted("agent_lost", 1, lost=True)).plain == receipt(gone).plain
        closed = p.Interrupted("archived", 1)
        assert receipt(closed).plain == "■ Interrupted: the conversation was archived."
        newer = p.Interrupted("eclipse", 1)
        assert receipt(newer).plain == "■ Interrupted: eclipse."


@pytest.mark.parametrize("piece", ["word ", "\n"])
def test_a_line_that_never_ends_costs_as_much_as_it_is_long(piece: str) -> None:
    def grow(pieces: int) -> None:
        painter = PlainPainter(io.StringIO())
        for _ in range(pieces):
            painter.grow("b", AGENT, "text", piece)
        painter.finish("b", AGENT, "text", piece * pieces)

    assert grows_linearly(grow, int, 10_000)
