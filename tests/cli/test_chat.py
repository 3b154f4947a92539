"""`turnwire chat` at a real terminal with a real server, which is killed meanwhile."""

from __future__ import annotations

import asyncio
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import TURNWIRE, Start, Tell, lines
from tests.cli.helpers.agents import QUICK, SCRIPTED, SLOW
from tests.cli.helpers.terminal import Terminal
from tests.engine.helpers.watcher import engine_on
from tests.server.helpers.servers import Process, process
from turnwire.agents.demo import DemoAgent
from turnwire.client import Client
from turnwire.crash_points import EXIT_CODE, VARIABLE
from turnwire.dialects.v2.frames import SessionState

ENTER, ESCAPE, UP, CONTROL_D = "\r", "\x1b", "\x1b[A", "\x04"
READY = "› Type a message"


@contextmanager
def server(home: Path, agent: str = QUICK, crash_at: str = "") -> Iterator[Process]:
    name = "scripted" if agent == SCRIPTED else "demo"
    crash = {VARIABLE: crash_at}
    with process(home, port=0, TURNWIRE_AGENT=name, TURNWIRE_AGENTS=agent, **crash) as running:
        yield running


@contextmanager
def chat(home: Path, *args: str) -> Iterator[Terminal]:
    """A person whose chat shows its prompt."""
    with Terminal("chat", *args, home=home) as terminal:
        terminal.wait_for("● live")
        yield terminal


class Piped:
    """`turnwire chat` without a terminal."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.popen = popen
        self.stdin, self.stdout, self.stderr = popen.stdin, popen.stdout, popen.stderr

    def say(self, words: str) -> None:
        self.stdin.write(f"{words}\n".encode())
        self.stdin.flush()

    def wait_for(self, words: str) -> None:
        assert any(words.encode() in line for line in self.stdout)

    def rest(self) -> tuple[str, int]:
        """Closes the input. Returns the remaining output and the exit code."""
        said, _ = self.popen.communicate(timeout=60)
        return said.decode(), self.popen.returncode


@contextmanager
def piped_chat(home: Path) -> Iterator[Piped]:
    command = [*TURNWIRE, "chat", "--data-dir", str(home)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as popen:
        try:
            yield Piped(popen)
        finally:
            popen.kill()


def say(terminal: Terminal, words: str) -> None:
    terminal.type(words)
    terminal.type(ENTER)


def left(terminal: Terminal) -> str:
    """Leaves the chat. Returns the printed conversation id."""
    terminal.type(CONTROL_D)
    assert terminal.end() == 0
    return terminal.screen.lines[-1].rpartition(" ")[2]


def test_the_answer_grows_above_the_prompt(home: Path) -> None:
    with server(home), chat(home) as person:
        person.wait_for(READY)
        say(person, "think and use a tool")
        person.wait_for("tokens in")
        person.wait_for(READY)
        shown = person.screen.lines
        assert shown[0] == "> think and use a tool"
        assert "I have thought about it: 42 is still a good answer." in shown
        (tool,) = (line for line in shown if "Command" in line)
        assert tool.startswith("✓ Command  List the files  $ ls -l")
        assert tool.endswith("4 lines")
        assert shown[-2:] == [READY, "● live · demo · Ctrl-D leaves"]


def test_text_typed_before_the_prompt_appears_is_sent(home: Path) -> None:
    with server(home), Terminal("chat", home=home) as person:
        say(person, "think and use a tool")
        person.wait_for("tokens in")
        person.wait_for(READY)
        assert "> think and use a tool" in person.screen.lines


def test_another_agent_takes_over_with_a_command(home: Path) -> None:
    with server(home, f"{QUICK},replay"), chat(home) as person:
        person.wait_for(READY)
        say(person, "/agent missing")
        person.wait_for("There is no agent 'missing'; there is: demo, replay.")
        say(person, "/agent replay")
        person.wait_for("◆ replay speaks from here on")
        person.wait_for("● live · replay · Ctrl-D leaves")
        say(person, "and you?")
        person.wait_for("The answer is 42.")
        name = left(person)
        with chat(home, "--conversation", name, "--agent", "demo") as again:
            again.wait_for("● live · demo")


def test_without_a_terminal_the_same_line_is_a_command(home: Path) -> None:
    with server(home, f"{QUICK},replay"), piped_chat(home) as chatting:
        chatting.say("hello")
        chatting.wait_for("tokens in")
        chatting.say("/agent replay")
        chatting.say("and you?")
        chatting.wait_for("The answer is 42.")
        chatting.say("/agent missing")
        said, code = chatting.rest()
        assert "There is no agent 'missing'" in said
        assert code == 2


class TestAsking:
    def test_a_question_is_answered_by_number(self, home: Path) -> None:
        with server(home), chat(home) as person:
            say(person, "ask")
            person.wait_for("A number, or your own words")
            person.wait_for("  2  Green  like a meadow")
            person.wait_for("demo waits for your answer · Esc stops it")
            say(person, "7")
            person.wait_for("There is no option '7': choose 1 to 3.")
            say(person, "")
            person.wait_for("An answer is required.")
            say(person, "2")
            person.wait_for("Green it is. Thank you!")
            assert person.screen.text.count("→ Green") == 1

    def test_text_being_typed_is_no_answer_and_comes_back(self, home: Path) -> None:
        with server(home), chat(home) as person:
            say(person, "ask")
            person.type("y and more")
            person.wait_for("A number, or your own words")
            person.wait_until(
                lambda: person.screen.lines[-2:-1] == ["›"], "an empty line to type in"
            )
            say(person, "blue")
            person.wait_for("Blue it is. Thank you!")
            person.wait_for("› y and more")

    def test_several_questions_one_after_the_other(self, home: Path) -> None:
        with server(home, SCRIPTED), chat(home) as person:
            say(person, "questions")
            person.wait_for("1 of 2: Which size?")
            say(person, "2")
            person.wait_for("2 of 2: Which extras?")
            say(person, "1, 3")
            person.wait_for("→ large, milk, ice")

    def test_a_permission_shows_exactly_what_would_run(self, home: Path) -> None:
        with server(home, SCRIPTED), chat(home) as person:
            say(person, "sly")
            person.wait_for("y: allow  n: deny")
            person.wait_for("$ echo <U+202E>txt.exe<U+001B>[2K")
            say(person, "n not today")
            person.wait_for("→ denied: not today")
            person.wait_for("Decided: deny not today None")

    def test_a_permission_is_given_for_good(self, home: Path) -> None:
        with server(home), chat(home) as person:
            say(person, "permission")
            person.wait_for("a: always (Bash(rm -r build) in this conversation)")
            say(person, "a")
            person.wait_for("→ allowed in this conversation")
            person.wait_for("Done. I ran rm -r build")

    def test_another_client_answers(self, home: Path) -> None:
        with server(home), chat(home) as person:
            say(person, "ask")
            person.wait_for("A number, or your own words")
            with Terminal("answer", _only(home), "red", home=home) as other:
                assert other.end() == 0
            person.wait_for("→ Red  answered by another client")
            person.wait_for("Red it is. Thank you!")
            person.wait_for(READY)

    def test_leaving_leaves_it_open(self, home: Path, tell: Tell) -> None:
        with server(home):
            with chat(home) as person:
                say(person, "ask")
                person.wait_for("A number, or your own words")
                name = left(person)
                assert "A request waits for an answer: turnwire inbox" in person.screen.text
            (item,) = lines(tell("inbox", "--json"))
            assert item["conversation_id"] == name
            with chat(home, "--conversation", name[:8]) as person:
                person.wait_for("A number, or your own words")
                assert person.screen.text.count("? Which colour shall it be?") == 1
                say(person, "1")
                person.wait_for("Red it is. Thank you!")


class TestStopping:
    def test_escape_stops_the_turn_and_shows_the_receipt(self, home: Path) -> None:
        with server(home, SLOW), chat(home) as person:
            say(person, "long")
            person.wait_for("1. Streams are rivers")
            person.type(ESCAPE)
            person.wait_for("■ Interrupted: you stopped it; the agent acknowledged it")
            person.wait_for("■ interrupted")
            person.wait_for(READY)

    def test_another_client_stops_the_turn(self, home: Path) -> None:
        with server(home, SLOW), chat(home) as person:
            say(person, "long")
            person.wait_for("1. Streams are rivers")
            with chat(home, "--conversation", _only(home)) as other:
                other.wait_for("demo is working")
                other.type(ESCAPE)
                other.wait_for("■ Interrupted: you stopped it")
                person.wait_for("■ Interrupted: another person stopped it")
                assert left(other)


class TestTheQueue:
    def test_a_message_during_a_turn_waits_and_is_shown(self, home: Path) -> None:
        with server(home, SLOW), chat(home) as person:
            say(person, "long")
            person.wait_for("1. Streams are rivers")
            say(person, "use a tool")
            person.wait_for("queued: use a tool")
            say(person, "think")
            person.wait_for("2 queued")
            person.type(UP)
            person.wait_for("1 queued")
            person.wait_for("› think")
            person.control_c()  # empties the line, and no more
            person.type(ESCAPE)
            person.wait_for("held: use a tool")
            person.wait_for("Enter resumes the queue")
            say(person, "")
            person.wait_for("> use a tool")
            person.wait_for("There are three of them")
            person.wait_for(READY)
            assert "think" not in person.screen.text

    def test_a_returned_message_joins_the_text_typed_meanwhile(self, home: Path) -> None:
        with server(home, SLOW) as running, chat(home) as person:
            say(person, "long")
            person.wait_for("1. Streams are rivers")
            say(person, "think")
            person.wait_for("queued: think")
            running.popen.send_signal(signal.SIGSTOP)
            try:
                person.type(UP)
                person.type("hard")
                person.wait_for("› hard")
            finally:
                running.popen.send_signal(signal.SIGCONT)
            person.wait_for("› think\n  hard")

    def test_a_queued_message_of_another_client_stays(self, home: Path, tell: Tell) -> None:
        token = tell("token", "create", "--name", "phone", "--user", "ann").stdout.strip()

        async def talk_as_ann(url: str) -> str:
            client = Client(url, token)
            name = await client.create()
            async with client.conversation(name) as talk:
                await talk.send("long")
                await talk.send("think")
            return name

        with server(home, SLOW) as running:
            name = asyncio.run(talk_as_ann(running.url))
            with chat(home, "--conversation", name) as person:
                person.wait_for("queued: think")
                assert "Up edits" not in person.screen.text
                say(person, "use a tool")
                person.wait_for("queued: use a tool")
                person.type(UP + UP)
                person.wait_for("› use a tool")
                person.wait_for("1 queued")
                person.wait_for("queued: think")

    def test_a_user_with_a_token_takes_back_their_own_messages(
        self, home: Path, tell: Tell, tmp_path: Path
    ) -> None:
        token = tmp_path / "token"
        token.write_text(tell("token", "create", "--name", "phone", "--user", "ann").stdout)

        async def talk_first(running: Process) -> str:
            """Ann begins it, and the owner says something in it."""
            anns = Client(running.url, token.read_text().strip())
            name = await anns.create()
            async with anns.conversation(name) as talk:
                await talk.send("long")
            async with Client(running.url, running.token).conversation(name) as talk:
                await talk.send("the owner's")
            return name

        with server(home, SLOW) as running:
            name = asyncio.run(talk_first(running))
            place = ("--server", running.url, "--token-file", str(token))
            with chat(home, "--conversation", name, *place) as person:
                person.wait_for("queued: the owner's")
                assert "Up edits" not in person.screen.text
                say(person, "think")
                person.wait_for("Up edits")
                person.type(UP + UP)
                person.wait_for("› think")
                person.wait_for("1 queued")
                person.wait_for("queued: the owner's")


class TestAServerThatDies:
    def test_a_chat_goes_on_after_a_kill_and_a_restart_at_another_port(self, home: Path) -> None:
        with Terminal("chat", home=home) as none:
            assert none.end() == 2
            assert "Start one: turnwire serve" in none.screen.text
        with server(home, SLOW) as first, Terminal("chat", home=home) as person:
            person.wait_for("● live")
            say(person, "long")
            person.wait_for("1. Streams are rivers")
            say(person, "use a tool")
            person.wait_for("queued: use a tool")
            first.kill()
            person.wait_for("○ offline: reconnecting")
            person.wait_for("no server runs: turnwire serve")
            say(person, "think")
            person.wait_for("sending: think")
            with server(home, SLOW) as second:
                assert second.url != first.url
                person.wait_for("The text ends here: the server died.")
                person.wait_for("■ Interrupted: the process that ran it was killed.")
                person.wait_for("There are three of them")
                person.wait_for("42 is still a good answer")
                person.wait_for(READY)
                text = person.screen.text
                for once in ("> long", "> use a tool", "> think", "A long answer"):
                    assert text.count(once) == 1, once
                name = left(person)
                with chat(home, "--conversation", name) as again:
                    again.wait_for("42 is still a good answer")
                    assert left(again) == name

    def test_a_user_who_leaves_meanwhile_is_told_which_messages_were_not_sent(
        self, home: Path
    ) -> None:
        with server(home) as first, chat(home) as person:
            say(person, "hello")
            person.wait_for("You said: hello")
            first.kill()
            person.wait_for("○ offline: reconnecting")
            say(person, "are you there?")
            person.wait_for("sending: are you there?")
            person.type(CONTROL_D)
            assert person.end() == 0
            assert "The server has not acknowledged: are you there?" in person.screen.lines
            assert "Come back: turnwire chat --conversation" in person.screen.lines[-1]

    def test_a_pipe_waits_for_the_next_one(self, home: Path) -> None:
        with server(home, SLOW) as first, piped_chat(home) as piped:
            piped.say("long")
            piped.say("think")
            piped.wait_for("Streams are rivers")
            first.kill()
            assert b"the connection is lost. Waiting for the server." in piped.stderr.readline()
            with server(home, SLOW):
                said, code = piped.rest()
        assert "The text ends here: the server died." in said
        assert "I have thought about it: **42** is still a good answer." in said
        assert code == 0


class TestAPipeWhoseMessageHasToWait:
    """Another client keeps the agent busy."""

    def test_is_told_that_another_client_removed_it(self, home: Path, tell: Tell) -> None:
        async def remove(running: Process, name: str, piped: Piped) -> None:
            async with Client(running.url, running.token).conversation(name) as talk:
                await talk.send("long")
                piped.say("think")
                async for frame in talk:
                    if isinstance(frame, SessionState) and frame.payload.queue:
                        await talk.change_queue("remove", frame.payload.queue[0].queue_id)
                        return

        with server(home, SLOW) as running, piped_chat(home) as piped:
            asyncio.run(remove(running, begun(piped, tell), piped))
            said, code = piped.rest()
        assert "your message was removed from the queue" in said
        assert "is still a good answer" not in said
        assert code == 2

    def test_sees_a_turn_that_ran_while_the_connection_was_lost(
        self, home: Path, tell: Tell
    ) -> None:
        async def keep_busy(running: Process, name: str) -> None:
            async with Client(running.url, running.token).conversation(name) as talk:
                await talk.send("long")

        async def go_on(name: str) -> None:
            async with (
                engine_on(home / "turnwire.db", agent=DemoAgent(delay=0)) as engine,
                aclosing((await engine.open(name)).follow()) as frames,
            ):
                async for frame in frames:
                    if isinstance(frame, SessionState) and frame.payload.state == "active":
                        return

        # The queued message is committed, but not published.
        with server(home, SLOW, crash_at="ask_written:3") as running, piped_chat(home) as piped:
            name = begun(piped, tell)
            asyncio.run(keep_busy(running, name))
            piped.say("think")
            assert running.popen.wait() == EXIT_CODE
            asyncio.run(go_on(name))
            with server(home):
                said, code = piped.rest()
        assert "is still a good answer" in said
        assert code == 0


def begun(piped: Piped, tell: Tell) -> str:
    """Returns the conversation after a first turn."""
    piped.say("hello")
    piped.wait_for("tokens in")
    [conversation] = lines(tell("list", "--json"))
    return str(conversation["conversation_id"])


class TestComingAndGoing:
    def test_an_empty_conversation_is_deleted(self, home: Path, tell: Tell) -> None:
        with server(home):
            with chat(home) as person:
                person.type("not sent")
                person.wait_for("not sent")
                person.control_c()
                person.wait_for(READY)
                person.control_c()
                assert person.end() == 0
                assert person.screen.text.endswith(
                    "You sent no message, so the conversation is not kept."
                )
            assert lines(tell("list", "--json")) == []

    def test_an_empty_conversation_that_existed_before_stays(self, home: Path, tell: Tell) -> None:
        with server(home) as running:
            name = asyncio.run(Client(running.url, running.token).create())
            with chat(home, "--conversation", name) as person:
                person.wait_for(READY)
                assert left(person) == name
            assert [row["conversation_id"] for row in lines(tell("list", "--json"))] == [name]

    @pytest.mark.parametrize("is_new", [False, True])
    def test_leaving_before_the_connection_exists_deletes_nothing(
        self, home: Path, tell: Tell, is_new: bool
    ) -> None:
        async def hold(running: Process) -> None:
            """The only connection that this user may have."""
            client = Client(running.url, running.token)
            name = await client.create()
            async with client.conversation(name) as talk:
                await talk.connected.wait()
                await asyncio.to_thread(come_and_go, [] if is_new else ["--conversation", name])

        def come_and_go(words: list[str]) -> None:
            with Terminal("chat", *words, home=home) as person:
                person.wait_for("○ offline")
                left(person)
                assert "Come back: turnwire chat --conversation" in person.screen.text

        with process(home, TURNWIRE_AGENT="demo", TURNWIRE_MAX_CONNECTIONS_PER_USER="1") as running:
            asyncio.run(hold(running))
            assert len(lines(tell("list", "--json"))) == (2 if is_new else 1)

    def test_without_colours(self, home: Path) -> None:
        with server(home), Terminal("chat", home=home, NO_COLOR="1") as person:
            person.wait_for(READY)
            say(person, "think and use a tool")
            person.wait_for("4 lines")
            assert not person.drew_colours()

    def test_a_message_of_several_lines(self, home: Path) -> None:
        with server(home), chat(home) as person:
            person.type("\x1b[200~one\ntwo\x1b[201~")
            person.wait_for("  two")
            person.type(ENTER)
            person.wait_for("> one\n> two")

    def test_a_chat_ends_when_its_terminal_is_closed(self, home: Path) -> None:
        with server(home), chat(home) as person:
            person.process.send_signal(signal.SIGTERM)
            assert person.end() == 128 + signal.SIGTERM
            assert person.screen.cursor_shown

    def test_an_unknown_agent_is_refused(self, home: Path, tell: Tell) -> None:
        with server(home):
            refused = tell("chat", "--agent", "missing")
            assert refused.exit_code == 2
            assert "There is no agent 'missing'" in refused.stderr


class TestWithoutATerminal:
    @pytest.mark.parametrize(("words", "code"), [("tool\nthink", 0), ("error\n", 1), ("ask", 3)])
    def test_each_line_is_a_message(self, home: Path, start: Start, words: str, code: int) -> None:
        with server(home):
            ran = start("chat", "--data-dir", home, input=words.encode())
        assert ran.returncode == code, ran.stderr
        if not code:
            said = ran.stdout.decode()
            assert said.index("There are **three** of them") < said.index("I have thought about it")
            assert "Go on: turnwire chat --data-dir" in said

    def test_a_permission_stays_open_on_the_server(
        self, home: Path, start: Start, tell: Tell
    ) -> None:
        with server(home):
            ran = start("chat", "--data-dir", home, input=b"permission\n")
            assert ran.returncode == 3
            assert b"Left open: the permission for Command." in ran.stdout
            (item,) = lines(tell("inbox", "--json"))
            answered = start(
                "inbox", "--data-dir", home, "answer", item["inbox_item_id"][:8], "--allow"
            )
            assert answered.returncode == 0, answered.stderr
            assert b"Done. I ran `rm -r build`" in answered.stdout
            assert tell("inbox").stdout == "Nothing waits for an answer.\n"

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            ("y", b"Done. I ran `rm -r build`"),
            ("Always", b"Done. I ran `rm -r build`"),
            ("no not today", b"I leave it as it is"),
            ("n --reason 'not today'", b"I leave it as it is"),
        ],
    )
    def test_a_permission_is_answered_with_the_same_words_as_in_a_chat(
        self, home: Path, start: Start, tell: Tell, answer: str, said: bytes
    ) -> None:
        with server(home):
            start("chat", "--data-dir", home, input=b"permission\n")
            (item,) = lines(tell("inbox", "--json"))
            name = item["conversation_id"]
            wrong = tell("answer", name, "perhaps")
            assert "Answer it with y (allow), n (deny), a (always)" in wrong.stderr
            words = shlex.split(answer) if "--" in answer else [answer]
            answered = start("answer", "--data-dir", home, name, *words)
            assert answered.returncode == 0, answered.stderr
            assert said in answered.stdout
            assert ("not today" in tell("show", name, "--json").stdout) is (answer[0] == "n")
            assert tell("inbox").stdout == "Nothing waits for an answer.\n"

    def test_the_command_of_the_inbox_works_in_another_directory(
        self, home: Path, start: Start, tmp_path: Path
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        with server(home):
            start("chat", "--data-dir", home, input=b"permission\n")
            nearby = ("--data-dir", home.name)
            shown = start("inbox", *nearby, cwd=home.parent, env={"COLUMNS": "400"})
            hints = [
                line.strip().partition(": ")
                for line in shown.stdout.decode().splitlines()
                if "turnwire answer" in line
            ]
            assert [name for name, _, _ in hints] == ["Allow it", "Deny it", "Always"]
            assert [line[-1] for _, _, line in hints] == ["y", "n", "a"]  # as in a chat
            program, *words = shlex.split(hints[1][2])
            assert program == "turnwire"
            denied = start(*words, cwd=elsewhere)
            assert denied.returncode == 0, denied.stderr
            assert b"I leave it as it is" in denied.stdout


def test_tail_prints_all_frames_and_finds_the_server_again(home: Path, start: Start) -> None:
    with server(home, SLOW) as first:
        assert start("chat", "--data-dir", home, input=b"tool").returncode == 0
        with Terminal("tail", _only(home), home=home) as watcher:
            watcher.wait_for("> tool")
            watcher.wait_for("There are three of them")
            first.kill()
            watcher.wait_for("the connection is lost. Waiting for the server.")
            with server(home, SLOW):
                name = _only(home)
                said = start("chat", "--data-dir", home, "--conversation", name, input=b"think")
                assert said.returncode == 0
                watcher.wait_for("42 is still a good answer")
                assert watcher.screen.text.count("> tool") == 1
                watcher.control_c()
                assert watcher.end() == 130


def test_run_says_where_a_conversation_of_the_server_is(
    home: Path, start: Start, tell: Tell
) -> None:
    with server(home) as running:
        told = " ".join(tell("doctor").stdout.split())
        assert (
            f"those of a server that you would start here; the one at {running.url} may differ"
            in told
        )
        assert start("chat", "--data-dir", home, input=b"ask").returncode == 3
        name = _only(home)
        refused = tell("run", "--conversation", name, "go on")
        assert refused.exit_code == 2
        assert (
            f"Talk to the agent through it: turnwire chat --conversation {name}" in refused.stderr
        )


def _only(home: Path) -> str:
    """Returns the id of the only conversation."""
    from click.testing import CliRunner

    from turnwire.cli.main import main

    (row,) = lines(CliRunner().invoke(main, ["list", "--json", "--data-dir", str(home)]))
    return str(row["conversation_id"])
