"""`turnwire run` at a terminal: a turn, questions, permissions, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.conftest import TURNWIRE, Tell, lines
from tests.cli.helpers.agents import QUICK, SCRIPTED, SLOW, STUBBORN
from tests.cli.helpers.terminal import Terminal, environment
from tests.helpers.recorded_streams import FIXTURES


def test_a_turn_is_streamed_with_its_tools_its_plan_and_its_sub_agents(home: Path) -> None:
    with Terminal("run", "--agent", QUICK, "think tool plan subagent", home=home) as terminal:
        assert terminal.end() == 0
        shown = terminal.screen.text
        last = terminal.screen.lines[-1]
    for words in (
        "The person wants to see me think.",
        "I have thought about it: 42 is still a good answer.",
        "✓ Command  List the files",
        "  $ ls -l",
        "  -rw-r--r--  1 demo   310 notes.txt",
        "Plan  3 of 3 done",
        "  ✓ See that it works",
        "● Sub-agent  Count the words of the notes",
        "│ I count them.",
        "│   $ wc -w notes.txt",
        "✓ Sub-agent  Count the words of the notes",
        "My helper counted 48 words.",
        "tokens in",
    ):
        assert shown.count(words) == 1, words
    assert last.startswith("Go on: turnwire run --conversation ")
    assert "Working" not in shown
    assert terminal.screen.cursor_shown


def test_run_asks_for_the_message(home: Path) -> None:
    with Terminal("run", "--agent", QUICK, home=home) as terminal:
        terminal.wait_for("Your message")
        terminal.type("think\n")
        assert terminal.end() == 0
        assert "> think" in terminal.screen.text
        assert "42 is still a good answer" in terminal.screen.text


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_run_with_the_demo_in_a_pipe_names_the_missing_parts_of_claude(
    options: list[str], home: Path, tmp_path: Path
) -> None:
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TURNWIRE_DATA_DIR": str(home)}
    asked = [*TURNWIRE, "run", *options, "hello"]
    told = subprocess.run(asked, env=bare, capture_output=True, text=True, check=False)
    assert told.returncode == 0
    assert "This is the demo agent. There is no credential for Claude." in told.stderr
    assert "credential" not in told.stdout


@pytest.mark.parametrize("keys", ["\x04", "\x03"])
def test_a_run_without_a_message_leaves_no_conversation(keys: str, home: Path, tell: Tell) -> None:
    with Terminal("run", "--agent", QUICK, home=home) as terminal:
        terminal.wait_for("Your message")
        terminal.type(keys)
        assert terminal.end() == (1 if keys == "\x04" else 130)
    assert lines(tell("list", "--json")) == []


class TestAQuestion:
    def test_is_answered_by_a_number(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "ask", home=home) as terminal:
            terminal.wait_for("3  Blue   like the sky")
            terminal.wait_for("A number, or your own words")
            terminal.type("2\n")
            assert terminal.end() == 0
            assert "→ Green" in terminal.screen.lines
            assert "Green it is. Thank you!" in terminal.screen.lines

    def test_is_answered_in_own_words_and_again_if_they_fit_nothing(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "问", home=home) as terminal:
            terminal.wait_for("要什么颜色？")
            terminal.type("9\n")
            terminal.wait_for("There is no option '9': choose 1 to 3.")
            terminal.type("\n")
            terminal.wait_for("An answer is required. Ctrl-D leaves the question open.")
            terminal.type("紫色的\x7f\n")
            assert terminal.end() == 0
            assert "那就紫色。谢谢！" in terminal.screen.lines

    def test_may_be_several_and_have_several_answers(self, home: Path) -> None:
        with Terminal("run", "--agent", SCRIPTED, "questions", home=home) as terminal:
            terminal.wait_for("? Which size?")
            terminal.wait_for("A number")
            terminal.type("large\n")
            terminal.wait_for("? Which extras?")
            terminal.wait_for("Numbers, separated by commas")
            terminal.type("1, ice\n")
            assert terminal.end() == 0
            shown = " ".join(terminal.screen.lines)
        assert "{'Which size?': 'large', 'Which extras?': ['milk', 'ice']}" in shown

    def test_is_left_open_with_control_d(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "ask", home=home) as terminal:
            terminal.wait_for("A number, or your own words")
            terminal.type("\x04")
            assert terminal.end() == 3
            said = " ".join(terminal.screen.lines)
        assert "Left open: Which colour shall it be? Answer it: turnwire answer" in said

    def test_says_what_control_d_does(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "ask", home=home) as terminal:
            terminal.wait_for("A number, or your own words; Ctrl-D leaves it open")

    def test_cannot_be_answered_by_text_typed_before_it_was_asked(self, home: Path) -> None:
        with Terminal("run", "--agent", SLOW, "think permission", home=home) as terminal:
            terminal.wait_for("The person wants")
            terminal.type("y\n")
            terminal.wait_for("y: allow")
            terminal.type("n\n")
            terminal.wait_for("Why?")
            terminal.type("no\n")
            terminal.end()
            assert "→ denied: no" in terminal.screen.lines


class TestAPermission:
    def test_is_not_decided_by_control_d(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "permission", home=home) as terminal:
            terminal.wait_for("Ctrl-D: stop")
            terminal.type("\x04")
            assert terminal.end() == 3
            said = " ".join(terminal.screen.lines)
        assert (
            "You did not decide, so Command does not run and the turn stops. Go on: turnwire"
            in said
        )

    def test_shows_exactly_what_would_run(self, home: Path) -> None:
        with Terminal("run", "--agent", SCRIPTED, "sly", home=home) as terminal:
            terminal.wait_for("y: allow  n: deny  e: edit")
            shown = terminal.screen.text
            terminal.type("n\n")
            terminal.wait_for("Why?")
            terminal.type("looks odd\n")
            assert terminal.end() == 0
            assert "Decided: deny looks odd None" in terminal.screen.text
        assert "$ echo <U+202E>txt.exe<U+001B>[2K" in shown
        assert "      line two" in shown

    def test_runs_something_else_if_the_input_is_changed(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "permission", home=home) as terminal:
            terminal.wait_for("a: always (Bash(rm -r build) in this conversation)")
            terminal.type("e\n")
            terminal.wait_for('> {"command":"rm -r build"')
            terminal.type('\x15{"command": "rmdir build"\n')
            terminal.wait_for("This is not JSON")
            terminal.type("}\n")
            terminal.wait_for("With your change it would run with")
            terminal.wait_for("y: allow  n: deny  e: edit")
            terminal.type("y\n")
            assert terminal.end() == 0
            shown = terminal.screen.text
        assert "→ allowed, as changed" in shown
        assert "  $ rmdir build" in shown
        assert "I ran rmdir build" in shown

    def test_can_be_changed_also_where_it_is_longer_than_the_screen(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "permission", home=home, rows=6) as terminal:
            terminal.wait_for("e: edit")
            terminal.type("e\n")
            terminal.wait_for('"Delete the folder build"}')
            terminal.type("\x15" + '{"command": "' + "a" * 700 + "END")
            terminal.wait_for("aEND")
            terminal.type("\x01")  # to its beginning
            terminal.wait_for('> {"command": "aaa')
            terminal.type("\x05" + '"}\n')
            terminal.wait_for("y: allow  n: deny  e: edit")
            terminal.type("y\n")
            assert terminal.end() == 0

    def test_may_hold_for_good(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "permission", home=home) as terminal:
            terminal.wait_for("a: always")
            terminal.type("maybe\n")
            terminal.wait_for("Please answer with one of the letters.")
            terminal.type("a\n")
            assert terminal.end() == 0
            assert "→ always allowed: Bash(rm -r build)" in terminal.screen.text


class TestControlC:
    def test_stops_the_turn_and_shows_the_receipt(self, home: Path, tell: Tell) -> None:
        with Terminal("run", "--agent", SLOW, "long", home=home) as terminal:
            terminal.wait_for("Streams are rivers")
            terminal.control_c()
            assert terminal.end() == 130
            shown = " ".join(terminal.screen.lines)
        receipt = (
            "■ Interrupted: you stopped it; the agent acknowledged it; no process had to be ended."
        )
        assert receipt in shown
        assert "■ interrupted · " in shown
        (conversation,) = lines(tell("list", "--json"))
        assert conversation["state"] == "interrupted"

    def test_while_a_question_is_asked_stops_the_turn_too(self, home: Path) -> None:
        with Terminal("run", "--agent", QUICK, "ask", home=home) as terminal:
            terminal.wait_for("A number, or your own words")
            terminal.control_c()
            assert terminal.end() == 130
            assert "■ Interrupted" in terminal.screen.text

    def test_twice_leaves_at_once(self, home: Path) -> None:
        with Terminal("run", "--agent", STUBBORN, "long", home=home) as terminal:
            terminal.wait_for("Streams are rivers")
            terminal.control_c()
            terminal.wait_for("Ctrl-C again leaves at once")
            terminal.control_c()
            assert terminal.end() == 130
            assert terminal.screen.cursor_shown


def test_background_work_is_waited_for_and_reported(home: Path) -> None:
    with Terminal("run", "--agent", QUICK, "background", home=home) as terminal:
        assert terminal.end() == 0
        shown = terminal.screen.text
    assert "◆ In the background: Search the whole archive" in shown
    assert "│ Found 3 places in 1,024 files." in shown
    assert "The background work is done: 3 places in 1,024 files." in shown


def test_background_work_that_is_over_with_its_turn_is_reported_as_well(home: Path) -> None:
    with Terminal("run", "--agent", SCRIPTED, "background Found it.", home=home) as terminal:
        assert terminal.end() == 0
        shown = terminal.screen.text
    assert "Found it." in shown
    assert shown.count("$0.25") == 2, "the report has its own figures"


def test_a_failure_says_what_to_do_next(home: Path) -> None:
    with Terminal("run", "--agent", QUICK, "error", home=home) as terminal:
        assert terminal.end() == 1
        shown = terminal.screen.text
    assert "✗ The demo failed, as it was asked to.  (demo_error)" in shown
    assert "Send a message to try again." in shown


def test_text_that_the_agent_takes_back_is_removed_or_marked(home: Path) -> None:
    with Terminal("run", "--agent", SCRIPTED, "retract One thing.", home=home) as terminal:
        assert terminal.end() == 0
        assert "and more" not in terminal.screen.text


def test_the_first_letters_of_an_id_go_on_with_a_conversation(home: Path, tell: Tell) -> None:
    with Terminal("run", "--agent", QUICK, "think", home=home) as terminal:
        assert terminal.end() == 0
    (conversation,) = lines(tell("list", "--json"))
    name = str(conversation["conversation_id"])
    with Terminal("run", "--conversation", name[:4], "tool", home=home) as terminal:
        assert terminal.end() == 0
        assert "✓ Command  List the files" in terminal.screen.text
    (conversation,) = lines(tell("list", "--json"))
    assert (conversation["conversation_id"], conversation["turns"]) == (name, 2)


@pytest.mark.parametrize(
    ("prompt", "begin"),
    [("long", "Streams are rivers of small pieces."), ("很长", "流是由小块组成的河。")],
)
def test_a_long_answer_on_a_small_screen_is_complete_and_in_order(
    prompt: str, begin: str, home: Path
) -> None:
    with Terminal("run", "--agent", QUICK, prompt, home=home, columns=60, rows=10) as terminal:
        assert terminal.end() == 0
        lines = terminal.screen.lines
    parts = [line.partition(" ")[0] for line in lines if begin[:6] in line]
    assert parts == [f"{number}." for number in range(1, 31)]
    heights = {b - a for a, b in pairwise(n for n, line in enumerate(lines) if begin[:6] in line)}
    assert len(heights) == 1  # each of them whole


def test_code_that_is_longer_than_the_screen_is_complete(home: Path) -> None:
    code = "\n".join(f"line_{number} = {number}" for number in range(40))
    prompt = f"say ```python\n{code}\n```\n\nDone."
    with Terminal("run", "--agent", SCRIPTED, prompt, home=home, columns=50, rows=8) as terminal:
        assert terminal.end() == 0
        lines = terminal.screen.lines
    first = lines.index("  line_0 = 0")
    assert lines[first : first + 40] == [f"  line_{number} = {number}" for number in range(40)]
    assert lines[first + 40 : first + 42] == ["", "Done."]


def test_a_simple_terminal_gets_plain_text(home: Path) -> None:
    with Terminal("run", "--agent", QUICK, "think tool", home=home, NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        assert "✓ Command  List the files" in terminal.screen.text
    with Terminal("run", "--agent", QUICK, "think tool", home=home, TERM="dumb") as terminal:
        assert terminal.end() == 0
        assert "(thinking) The person wants to see me think." in terminal.screen.text.replace(
            "\n", ""
        )


class TestAReaderThatGoesAway:
    def test_ends_the_turn_and_leaves_the_log_true(self, home: Path, tell: Tell) -> None:
        with subprocess.Popen(
            [*TURNWIRE, "run", "--agent", SLOW, "think tool long"],
            cwd=FIXTURES.parent,
            env=environment(TURNWIRE_DATA_DIR=str(home)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout
            assert process.stderr
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141
        (conversation,) = lines(tell("list", "--json"))
        assert conversation["state"] == "interrupted"

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
    def test_so_does_a_signal(
        self, number: signal.Signals, code: int, home: Path, tell: Tell
    ) -> None:
        with Terminal("run", "--agent", SLOW, "long", home=home) as terminal:
            terminal.wait_for("Streams are rivers")
            terminal.process.send_signal(number)
            assert terminal.end() == code
            assert terminal.screen.cursor_shown
        (conversation,) = lines(tell("list", "--json"))
        assert conversation["state"] == "interrupted"


def test_an_agent_of_the_settings_is_run_by_its_name(tell: Tell, tmp_path: Path) -> None:
    program = Path(__file__).parent.parent / "agents" / "acp" / "helpers" / "scripted_agent.py"
    config = tmp_path / "turnwire.toml"
    config.write_text(
        f"[agents.mine]\ncommand = [{json.dumps(sys.executable)}, '-I', {json.dumps(str(program))}]\n"
        f"env = {{SCRIPTED_STATE = {json.dumps(str(tmp_path / 'sessions.json'))}}}\n"
    )
    given = {"TURNWIRE_CONFIG": str(config)}
    first = tell("run", "--agent", "mine", "--cwd", tmp_path, "think", **given)
    assert first.exit_code == 0, first.output
    [row] = lines(tell("list", "--json", **given))
    assert row["agent"] == "mine"
    again = tell("run", "--conversation", row["conversation_id"], "hello", **given)
    assert again.exit_code == 0, again.output
    begun = tell("run", "--agent", QUICK, "hello", **given)
    assert begun.exit_code == 0, begun.output
    talk = lines(tell("list", "--json", **given))[0]["conversation_id"]
    over = tell("run", "--conversation", talk, "--agent", "mine", "hello", **given)
    assert "mine speaks from here on" in over.output


def test_the_options_of_an_agent_in_the_settings_hold_for_a_run(tell: Tell) -> None:
    given = {"TURNWIRE_AGENT_OPTIONS": '{"demo": {"die": true}}'}
    told = tell("run", "--agent", "demo", "use a tool", **given)
    assert told.exit_code == 1, told.output
