"""`turnwire answer`, and questions after a process was killed."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.conftest import Start, Tell, lines
from tests.cli.helpers.agents import QUICK, SCRIPTED
from tests.cli.helpers.terminal import Terminal
from tests.server.helpers.servers import process


@pytest.fixture
def killed(home: Path, tell: Tell) -> str:
    """A conversation whose process was killed while its question was open."""
    with Terminal("run", "--agent", QUICK, "ask", home=home) as terminal:
        terminal.wait_for("A number, or your own words")
        terminal.kill()
    (conversation,) = lines(tell("list", "--json"))
    assert conversation["state"] == "waiting_input"
    name: str = conversation["conversation_id"]
    return name


def parts(log: Result, kind: str) -> Iterator[Any]:
    """The parts of one kind in the log that `show --json` prints."""
    for line in lines(log):
        if line["kind"] == "entry":
            yield from (p["payload"] for p in line["message"]["parts"] if p["kind"] == kind)


class TestAfterAKill:
    def test_the_files_of_a_killed_server_are_not_taken_for_a_server(
        self, killed: str, tell: Tell, home: Path
    ) -> None:
        """Since the machine was started again, another process has its number."""
        with socket.create_server(("127.0.0.1", 0)) as gone:
            url = f"http://127.0.0.1:{gone.getsockname()[1]}"
        (home / "server.1.json").write_text(json.dumps({"url": url, "pid": os.getpid()}))
        assert "no server runs on this data directory" in tell("doctor").stdout
        assert tell("answer", killed, "3").exit_code == 0

    def test_the_answer_is_that_tools_result(self, killed: str, tell: Tell) -> None:
        answered = tell("answer", killed[:5], "3")
        assert answered.exit_code == 0
        assert "**Blue** it is. Thank you!" in answered.stdout

        log = tell("show", killed, "--json")
        (call,) = parts(log, "tool_call")
        (result,) = parts(log, "tool_result")
        assert call["toolName"] == "request_input"
        assert result["toolCallId"] == call["toolCallId"]
        assert (result["isError"], result["content"]) == (False, "The person answered: Blue")
        assert [line["turn_id"] for line in lines(log) if line["kind"] == "turn"] == [1]

    def test_a_question_is_asked_again_at_a_terminal(self, killed: str, home: Path) -> None:
        with Terminal("answer", killed, home=home) as terminal:
            terminal.wait_for("? Which colour shall it be?")
            terminal.wait_for("A number, or your own words")
            terminal.type("green\n")
            assert terminal.end() == 0
            assert "Green it is. Thank you!" in terminal.screen.lines

    def test_run_asks_the_open_question_first_and_then_sends_the_message(
        self, killed: str, home: Path
    ) -> None:
        with Terminal("run", "--conversation", killed, "tool", home=home) as terminal:
            terminal.wait_for("A number, or your own words")
            terminal.type("1\n")
            assert terminal.end() == 0
            shown = terminal.screen.text
        assert shown.index("Red it is. Thank you!") < shown.index("I will look at the files first.")

    def test_control_c_leaves_it_open(self, killed: str, home: Path, tell: Tell) -> None:
        with Terminal("answer", killed, home=home) as terminal:
            terminal.wait_for("A number, or your own words")
            terminal.control_c()
            assert terminal.end() == 130
        (item,) = lines(tell("inbox", "--json"))
        assert item["conversation_id"] == killed

    def test_without_a_terminal_run_leaves_it_open(self, killed: str, tell: Tell) -> None:
        ran = tell("run", "--conversation", killed, "go on")
        assert ran.exit_code == 3
        assert f"Answer it: turnwire answer {killed}" in ran.stdout

    def test_the_inbox_shows_a_question_with_the_command_that_answers_it(
        self, killed: str, tell: Tell
    ) -> None:
        shown = tell("inbox").stdout
        assert "? Which colour shall it be?" in shown
        assert f"Answer it: turnwire answer {killed} 1  (a number, or your own words)\n" in shown
        assert tell("answer", killed, "blue").exit_code == 0
        assert tell("inbox").stdout == "Nothing waits for an answer.\n"

    def test_a_permission_is_lost_with_its_process(self, home: Path, tell: Tell) -> None:
        with Terminal("run", "--agent", QUICK, "permission", home=home) as terminal:
            terminal.wait_for("y: allow")
            terminal.kill()
        (conversation,) = lines(tell("list", "--json"))
        name = conversation["conversation_id"]
        answered = tell("answer", name, "--allow")
        assert answered.exit_code == 2
        assert answered.stderr == (
            "turnwire: the permission is not open any more: the process that asked for it has "
            "ended, and its tool call is lost. Let the agent ask again: "
            f"turnwire run --conversation {name} 'please try again'\n"
        )


class TestWithoutATerminal:
    def test_a_question_is_left_open(self, tell: Tell) -> None:
        ran = tell("run", "--agent", SCRIPTED, "questions")
        assert ran.exit_code == 3
        said = ran.stdout
        assert "? Which size?\n   1  small\n" in said
        name = said.strip().rpartition(" ")[2]
        assert said.endswith(
            "Left open: Which size? / Which extras? Answer it: "
            f"TURNWIRE_AGENT={SCRIPTED} turnwire answer {name}\n"
        )
        assert "\x1b" not in said

        given = json.dumps({"Which size?": "2", "Which extras?": ["milk", "ice"]})
        refused = tell("answer", name, given)
        assert refused.exit_code == 2
        assert (
            "with 'scripted', which is none of Turnwire's own agents. Say where" in refused.stderr
        )
        answered = tell("answer", name, given, TURNWIRE_AGENT=SCRIPTED)
        assert answered.exit_code == 0
        assert "Answered: {'Which size?': 'large', 'Which extras?': ['milk', 'ice']}" in (
            answered.stdout
        )

    def test_a_permission_ends_the_turn(self, tell: Tell) -> None:
        ran = tell("run", "--agent", QUICK, "permission")
        assert ran.exit_code == 3
        said = ran.stdout
        assert "$ rm -r build" in said
        asks = "Command needs permission, but there is no terminal to ask at. The turn stops."
        assert f"{asks} Go on at a terminal: " in said


class TestWhatCannotBeAnswered:
    @pytest.fixture
    def waiting(self, tell: Tell) -> str:
        ran = tell("run", "--agent", SCRIPTED, "questions")
        name: str = ran.stdout.strip().rpartition(" ")[2]
        return name

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (["x"], "There are 2 questions; answer them as JSON: "),
            (['{"Which size?": "9", "Which extras?": "milk"}'], "There is no option '9'"),
            ([" "], "the answer is empty. Give words"),
            (['{"Which size?": "", "Which extras?": []}'], "this one is empty"),
            (["--allow"], "this is a question. Answer it in words"),
            (["x", "--question-id", "y"], "no open request has the id 'y'. Name one of: call-q"),
            (["x", "--deny"], "Give either an ANSWER or --allow or --deny, not both."),
            (["--allow", "--reason", "x"], "--reason needs --deny, or n as the ANSWER."),
            (["x", "--reason", "y"], "this is a question. Answer it in words"),
        ],
    )
    def test_names_the_valid_answers(
        self, args: list[str], said: str, waiting: str, tell: Tell
    ) -> None:
        answered = tell("answer", waiting, *args, TURNWIRE_AGENT=SCRIPTED)
        assert answered.exit_code == 2
        assert said in answered.stderr
        assert len(lines(tell("inbox", "--json"))) == 1

    def test_but_bytes_that_are_no_text_can(self, start: Start, home: Path, tell: Tell) -> None:
        here = {"TURNWIRE_DATA_DIR": str(home)}
        ran = start("run", "--agent", QUICK, os.fsdecode(b"ask \xff"), env=here)
        assert ran.returncode == 3
        (item,) = lines(tell("inbox", "--json"))
        answered = start("answer", item["conversation_id"], os.fsdecode(b"caf\xe9"), env=here)
        assert answered.returncode == 0
        assert "caf\N{REPLACEMENT CHARACTER} it is".encode() in answered.stdout.replace(b"*", b"")

    def test_because_nothing_waits(self, tell: Tell) -> None:
        tell("run", "--agent", QUICK, "think")
        (conversation,) = lines(tell("list", "--json"))
        name = conversation["conversation_id"]
        answered = tell("answer", name, "x")
        assert answered.exit_code == 2
        assert answered.stderr == (
            "turnwire: no request is open in this conversation. "
            f"Go on with: turnwire run --conversation {name}\n"
        )

    def test_because_another_process_works_on_it(self, home: Path, tell: Tell) -> None:
        with Terminal("run", "--agent", QUICK, "ask", home=home) as terminal:
            terminal.wait_for("A number, or your own words")
            (conversation,) = lines(tell("list", "--json"))
            answered = tell("answer", conversation["conversation_id"], "2")
            assert answered.exit_code == 2
            said = answered.stderr
            assert f"process {terminal.process.pid} on " in said
            assert "owns this conversation. Wait until that process has ended, or stop it" in said
            terminal.type("3\n")
            assert terminal.end() == 0


class TestAServerWithoutTheAgent:
    """A server uses the data directory, and does not have the agent of the conversation."""

    @pytest.fixture
    def place(self, home: Path, tmp_path: Path, start: Start) -> Iterator[Path]:
        """A directory with an agent of its own, which has asked something."""
        project = tmp_path / "ag"
        assert start("new", "agent", "ag", cwd=tmp_path).returncode == 0
        with process(home, port=0):
            yield project

    def test_the_command_that_run_prints_answers_the_question(
        self, place: Path, home: Path, start: Start
    ) -> None:
        asked = start(
            *("run", "--data-dir", home, "--agent", "ag:ag", "One soup, please"),
            cwd=place,
            stdin=subprocess.DEVNULL,
        )
        assert asked.returncode == 3
        told = asked.stdout.decode().partition("Answer it: ")[2].split("\n")[0]
        variable, _, *words = shlex.split(told)
        assert variable == "TURNWIRE_AGENT=ag:ag"
        answered = start(*words, "large", cwd=place, env={"TURNWIRE_AGENT": "ag:ag"})
        assert (answered.returncode, answered.stderr) == (0, b"")
        assert b"A large one it is." in answered.stdout

    def test_the_inbox_says_that_the_agent_has_to_be_named_and_the_refusal_what_to_do(
        self, place: Path, home: Path, start: Start
    ) -> None:
        start("run", "--data-dir", home, "--agent", "ag:ag", "One soup, please", cwd=place)
        shown = start("inbox", "--data-dir", home, cwd=place).stdout.decode()
        variable, _, *words = shlex.split(shown.partition("Answer it: ")[2].split("  ")[0])
        assert variable == "TURNWIRE_AGENT=module:attribute"
        refused = start(*words, cwd=place)
        assert refused.returncode == 2
        for said in (
            "has no agent 'ag'; it has: ",
            "Put TURNWIRE_AGENT=module:attribute, the place of the agent, before this command.",
            "stop that server, and start it with the agent: TURNWIRE_AGENTS=module:attribute,",
        ):
            assert said in refused.stderr.decode()
        # Another process of the owner reaches the server by its address only.
        (found,) = home.glob("server.*.json")
        url = json.loads(found.read_text())["url"]
        (item,) = map(json.loads, start("inbox", "--json", "--data-dir", home).stdout.splitlines())
        far = start(
            *("answer", "--server", url, item["conversation_id"], "large"),
            env={"TURNWIRE_DATA_DIR": str(home)},
        )
        assert far.returncode == 2
        said = "Start the server of this conversation with 'ag' among its agents."
        assert said in far.stderr.decode()
