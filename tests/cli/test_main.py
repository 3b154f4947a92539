"""The command line as a whole: its imports and its errors."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.cli.conftest import TURNWIRE, Run, Start
from tests.helpers.recorded_streams import FIXTURES
from turnwire import __version__
from turnwire.cli.main import COMMANDS, main, module_of

TEXT = FIXTURES / "claude" / "01_text.jsonl"


def imported_by(code: str) -> set[str]:
    """The modules a fresh interpreter has loaded after some code."""
    shown = "\nimport sys; sys.stderr.write('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code + shown], capture_output=True, check=True)
    return set(run.stderr.decode().split())


def test_help_imports_nothing_heavy() -> None:
    call = "from turnwire.cli.main import main; main(['--help'], standalone_mode=False)"
    imported = imported_by(call) - imported_by("import click")
    ours = {name for name in imported if name.split(".")[0] == "turnwire"}
    rooms = {"cli", "cli.main", "errors", "extras", "lazy", "version"}
    assert ours == {"turnwire"} | {f"turnwire.{room}" for room in rooms}
    heavy = {"msgspec", "rich", "asyncio", "json", "importlib.metadata", "logging", "email"}
    assert not imported & heavy


def test_help_lists_every_command(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    for name, summary in COMMANDS.items():
        assert f"  {name:<{max(map(len, COMMANDS))}}  {summary}" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_the_summary_that_the_list_shows(name: str, run: Run) -> None:
    command = import_module(module_of(name)).command
    assert command.name == name
    assert command.help.splitlines()[0] == COMMANDS[name]
    assert run(name, "--help").exit_code == 0
    assert run(name, "-h").output == run(name, "--help").output


def test_every_module_of_a_command_is_listed() -> None:
    folder = Path(import_module("turnwire.cli.commands").__path__[0])
    begins = re.compile(r"^@click\.(command|group)\(\"", re.MULTILINE)
    commands = {path.stem for path in folder.glob("*.py") if begins.search(path.read_text())}
    assert {f"turnwire.cli.commands.{name}" for name in commands} == set(map(module_of, COMMANDS))


def test_the_command_tells_its_version(run: Run) -> None:
    assert run("--version").output == f"turnwire {__version__}\n"


def test_a_program_can_call_the_command_line() -> None:
    assert main(["--version"], standalone_mode=False) == 0
    assert main(["validate", str(TEXT)], standalone_mode=False) in (None, 0)
    with pytest.raises(click.ClickException, match="does not exist"):
        main(["convert", "--to", "rpc", "nowhere"], standalone_mode=False)


def test_an_unknown_command_says_where_help_is(run: Run) -> None:
    result = run("translate")
    assert result.exit_code == 2
    assert "No such command 'translate'" in result.output
    assert "--help" in result.output


@pytest.mark.parametrize("command", [["convert", "--to", "rpc"], ["inspect"], ["validate"]])
class TestAFileThatCannotBeRead:
    def test_because_it_is_not_there(self, command: list[str], run: Run) -> None:
        result = run(*command, "nowhere.jsonl")
        assert result.exit_code == 2
        assert result.stderr == (
            "turnwire: nowhere.jsonl does not exist. Check the path, or give - for standard input.\n"
        )

    def test_because_it_is_a_directory(self, command: list[str], run: Run, tmp_path: Path) -> None:
        result = run(*command, tmp_path)
        assert result.exit_code == 2
        said = f"turnwire: {tmp_path} is a directory. Name the files in it: {tmp_path}/*.jsonl\n"
        assert result.stderr == said

    def test_because_it_is_not_named(self, command: list[str], run: Run) -> None:
        result = run(*command, "")
        assert result.exit_code == 2
        assert result.stderr == (
            "turnwire: the file name is empty. Name a recording, or give - for standard input.\n"
        )

    def test_because_standard_input_is_closed(self, command: list[str]) -> None:
        ended = in_shell("<&-", *command, "-")
        assert ended.returncode == 2
        assert ended.stderr == (
            b"turnwire: standard input is closed. Name a file instead of -, or pipe a stream in.\n"
        )

    def test_because_it_is_not_allowed(
        self, command: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*args: object, **options: object) -> None:
            raise PermissionError(13, "Permission denied")  # root may read everything

        monkeypatch.setattr(Path, "open", refuse)
        result = run(*command, TEXT)
        assert result.exit_code == 2
        said = f"turnwire: no permission to read {TEXT}. Ask its owner for permission, or for a copy.\n"
        assert result.stderr == said


@pytest.mark.parametrize("option", [["--from", "gemini"], ["--to", "xml"], ["--max-line", "0"]])
def test_an_unknown_choice_is_refused_with_the_known_ones(option: list[str], run: Run) -> None:
    result = run("convert", *option, TEXT)
    assert result.exit_code == 2
    assert any(word in result.stderr for word in ("'claude'", "'events', 'ui', 'rpc'", "x>=1"))


NOT_UTF8 = "\udcff.jsonl"  # how Python writes the byte ff


@pytest.mark.parametrize("command", [["validate", "--json"], ["inspect", "--json"], ["inspect"]])
def test_a_name_that_is_not_utf8_is_printed_with_replacements(
    command: list[str], start: Start, tmp_path: Path
) -> None:
    path = tmp_path / NOT_UTF8
    try:
        path.write_bytes(TEXT.read_bytes())
    except OSError:
        return  # not every file system has such names
    ended = start(*command, path)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert f"{tmp_path}/\ufffd.jsonl" in ended.stdout.decode()


def test_a_missing_file_whose_name_is_not_utf8_is_named(start: Start) -> None:
    ended = start("validate", "--json", NOT_UTF8)
    assert (ended.returncode, ended.stderr) == (2, b"")
    assert json.loads(ended.stdout)["file"] == "\ufffd.jsonl"
    assert start("inspect", NOT_UTF8).stderr.startswith("turnwire: \ufffd.jsonl does".encode())


# --- processes --------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["convert", "--to", "events"], ["inspect"], ["validate"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(
    command: list[str], unbuffered: str, tmp_path: Path
) -> None:
    # More than a pipe holds, so that the command has to notice that its output is not read.
    turns = tmp_path / "turns.jsonl"
    turns.write_bytes(b'{"type":"result","subtype":"success"}\n' * 4000)
    files = [str(turns)] if command != ["validate"] else [str(TEXT)] * 1500
    with subprocess.Popen(
        [*TURNWIRE, *command, *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_control_c_ends_it_quietly() -> None:
    with subprocess.Popen(
        [*TURNWIRE, "convert", "--to", "events", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(TEXT.read_bytes())
        process.stdin.flush()
        process.stdout.readline()  # it is at work
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 130


# A signal that another thread gets does not disturb the sleep of the first one, and neither does one
# that comes just before it; but that moment is too short for a test.
DISTURB = """
import asyncio, os, signal, threading
from pathlib import Path

stat = Path(f"/proc/self/task/{os.getpid()}/stat")

def disturb():
    while stat.read_text().rpartition(")")[2].split()[0] != "S":
        pass
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
"""


def test_control_c_wakes_a_command_that_reads() -> None:
    reading = f"""{DISTURB}
from turnwire.cli.recordings.recording import open_recording

try:
    with open_recording("-", max_line=1) as recording:
        threading.Thread(target=disturb).start()
        list(recording.batches())
except KeyboardInterrupt:
    print("woken")
"""
    command = [sys.executable, "-c", reading]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        assert process.stdout.read() == b"woken\n"


def test_control_c_wakes_a_command_that_sleeps() -> None:
    asleep = f"""{DISTURB}
from turnwire.cli.home import run_async

async def main():
    threading.Thread(target=disturb).start()
    await asyncio.Event().wait()

try:
    run_async(main())
except KeyboardInterrupt:
    print("woken")
"""
    command = [sys.executable, "-c", asleep]
    woken = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert woken.stdout == "woken\n"


def in_shell(closed: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with a stream closed, which only a shell can do."""
    command = f"{shlex.join([*TURNWIRE, *args])} {closed}"
    return subprocess.run(command, shell=True, capture_output=True, timeout=180, check=False)


@pytest.mark.parametrize(
    "command", [["convert", "--to", "rpc"], ["inspect"], ["validate"], ["validate", "--json"]]
)
def test_a_closed_standard_output_is_reported_without_a_traceback(command: list[str]) -> None:
    ended = in_shell(">&-", *command, str(TEXT))
    assert ended.returncode == 2
    assert ended.stderr == (b"turnwire: standard output is closed. Redirect it to a file: > FILE\n")


def test_a_closed_standard_error_does_not_matter(tmp_path: Path) -> None:
    large = tmp_path / "large.jsonl"  # large enough for a bar
    large.write_bytes(b'{"type":"keep_alive"}\n' + b" " * 9_000_000)
    ended = in_shell("2>&-", "validate", str(large))
    assert ended.returncode == 0
    assert b"1 = 1 typed" in ended.stdout


def test_a_full_disk_is_reported_without_a_traceback(start: Start) -> None:
    if not Path("/dev/full").exists():
        return  # only Linux has a disk that is always full
    with Path("/dev/full").open("wb") as full:
        ended = start("convert", "--to", "events", TEXT, stdout=full)
    assert ended.returncode == 2
    assert ended.stderr == (
        b"turnwire: cannot write the output: No space left on device. Name another file or disk.\n"
    )


def test_letters_that_the_terminal_does_not_know_are_replaced(start: Start) -> None:
    tools = FIXTURES / "claude" / "05_parallel.jsonl"
    ended = start("inspect", tools, env={"PYTHONIOENCODING": "latin-1"})
    assert ended.returncode == 0
    assert b"  ? Bash  " in ended.stdout
