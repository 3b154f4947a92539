"""An unusable data directory: every command says so in one line, with advice."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sqlite3
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Tell
from tests.cli.helpers.agents import QUICK
from tests.helpers.privileges import like_everybody
from turnwire.errors import TurnwireError
from turnwire.server.service import Service
from turnwire.settings import Settings

WAY_OUT = "Choose another directory that you may write to: --data-dir DIR, or TURNWIRE_DATA_DIR.\n"
COMMANDS = [
    ("run", "--agent", QUICK, "x"),
    ("run", "--conversation", "abc", "x"),
    ("answer", "abc", "blue"),
    ("inbox",),
    ("list",),
    ("show", "abc"),
    ("search", "blue"),
    ("export", "abc", "--to", "jsonl"),
    ("backup", "copy.db"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
class TestADataDirectory:
    def test_that_is_a_file_is_an_error(
        self, command: tuple[str, ...], tell: Tell, home: Path
    ) -> None:
        home.write_text("")
        for place in (home, home / "below"):
            told = tell(*command, "--data-dir", place)
            assert told.exit_code == 2
            (line,) = told.stderr.splitlines(keepends=True)
            assert line.startswith("turnwire: ")
            assert line.endswith(WAY_OUT)

    @pytest.mark.parametrize(
        ("broken", "cause"),
        [
            (b"not a database, but long enough to look like one" * 9, "file is not a database"),
            (b"SQLite format 3\0" + b"\xff" * 4096, "file is not a database"),
        ],
    )
    def test_without_a_database_in_it_is_an_error(
        self, command: tuple[str, ...], broken: bytes, cause: str, tell: Tell, home: Path
    ) -> None:
        home.mkdir()
        (home / "turnwire.db").write_bytes(broken)
        told = tell(*command)
        assert told.exit_code == 2
        (line,) = told.stderr.splitlines(keepends=True)
        assert line.startswith(f"turnwire: {home / 'turnwire.db'}: the log cannot be used: {cause}")
        assert line.endswith(WAY_OUT)
        assert (home / "turnwire.db").read_bytes() == broken

    @pytest.mark.parametrize("what", ["CREATE TABLE notes (text)", "CREATE TABLE meta (text)"])
    def test_with_another_programs_database_is_an_error_and_unchanged(
        self, command: tuple[str, ...], what: str, tell: Tell, home: Path
    ) -> None:
        home.mkdir()
        theirs = sqlite3.connect(home / "turnwire.db")
        theirs.execute(what)
        theirs.commit()
        told = tell(*command)
        assert told.exit_code == 2
        (line,) = told.stderr.splitlines(keepends=True)
        assert "the file is a database of another program. " in line
        assert line.endswith(WAY_OUT)
        (one,) = theirs.execute("SELECT sql FROM sqlite_schema")
        assert one == (what,)
        theirs.close()

    @pytest.mark.parametrize("mode", [0o000, 0o500])
    def test_without_access_is_an_error(
        self, command: tuple[str, ...], mode: int, tell: Tell, home: Path
    ) -> None:
        home.mkdir()
        (home / "turnwire.db").touch(0o400)
        home.chmod(mode)
        with like_everybody():
            told = tell(*command)
        home.chmod(0o700)
        assert told.exit_code == 2
        (line,) = told.stderr.splitlines(keepends=True)
        assert "Permission denied" in line or "readonly database" in line
        assert line.endswith(WAY_OUT)


def spoil(home: Path, what: str) -> tuple[str, str]:
    """Gives other users access in one way. Returns the message and the command that repairs it."""
    match what:
        case "group" | "everybody":
            home.chmod(0o720 if what == "group" else 0o702)
            return f"{home} is writable for other users", f"chmod go-w {home}"
        case "above":
            home.parent.chmod(0o777)
            return f"every user may replace files in {home.parent}", f"chmod o-w {home.parent}"
        case _:
            file = home / what
            file.touch()
            file.chmod(0o606)
            home.chmod(0o711)
            return f"{file} is writable for other users", f"chmod go-w {file}"


EXPOSED = ["group", "everybody", "above", "turnwire.db", "turnwire.db-wal", "owner-token"]
WAYS_IN = [*COMMANDS, ("audit",), ("token", "list"), ("token", "create", "--name", "x")]


class TestADataDirectoryThatOthersMayWrite:
    @pytest.mark.parametrize("command", WAYS_IN, ids=" ".join)
    def test_is_used_by_no_command(self, command: tuple[str, ...], tell: Tell, home: Path) -> None:
        tell("run", "--agent", QUICK, "x")
        said, mends = spoil(home, "everybody")
        told = tell(*command)
        assert told.exit_code == 2
        (line,) = told.stderr.splitlines(keepends=True)
        assert line.startswith(f"turnwire: {said}")
        assert f"Run: {mends}. " in line
        assert line.endswith(WAY_OUT)

    @pytest.mark.parametrize("what", EXPOSED)
    def test_is_reported_with_the_command_that_repairs_it(
        self, what: str, tell: Tell, home: Path
    ) -> None:
        tell("run", "--agent", QUICK, "x")
        said, mends = spoil(home, what)
        told = tell("list")
        assert told.exit_code == 2
        assert said in told.stderr
        doctor = tell("doctor", "--data-dir", home)
        assert doctor.exit_code == 1
        assert said in " ".join(doctor.stdout.split())
        subprocess.run(shlex.split(mends), check=True)
        assert tell("list").exit_code == 0

    @pytest.mark.parametrize("what", EXPOSED)
    def test_is_served_by_no_server(self, what: str, home: Path) -> None:
        home.mkdir(mode=0o700)
        said, _ = spoil(home, what)

        with pytest.raises(TurnwireError, match=re.escape(said)):
            asyncio.run(Service.open(Settings(data_dir=str(home))))
        assert not (home / "owner-token").exists() or not (home / "owner-token").read_bytes()

    def test_is_not_asked_for_a_server_or_its_token(self, tell: Tell, home: Path) -> None:
        """A user who can write to it could name another server, which would get the token."""
        tell("run", "--agent", QUICK, "x")
        (home / "owner-token").write_text("tw_secret")
        said, _ = spoil(home, "everybody")
        for far in ((), ("--server", "http://127.0.0.1:9")):
            told = tell("chat", *far)
            assert told.exit_code == 2
            assert said in told.stderr

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
    @pytest.mark.parametrize("what", [".", "turnwire.db", "owner-token"])
    def test_of_another_user_is_an_error(self, what: str, tell: Tell, home: Path) -> None:
        tell("run", "--agent", QUICK, "x")
        (home / "owner-token").touch(0o600)
        os.chown(home / what, 12345, -1)
        told = tell("list")
        assert told.exit_code == 2
        assert f"{(home / what).resolve()} belongs to another user (number 12345)" in told.stderr
        assert f"Run: chown 0 {(home / what).resolve()}. " in told.stderr


def test_files_that_others_could_read_are_closed_to_them(tell: Tell, home: Path) -> None:
    tell("run", "--agent", QUICK, "x")
    home.chmod(0o755)
    for name in ("turnwire.db", "owner-token"):
        (home / name).touch()
        (home / name).chmod(0o644)
    assert tell("list").exit_code == 0
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()}
    assert {modes["turnwire.db"], modes["owner-token"]} == {0o600}


def test_a_directory_in_a_shared_one_with_a_sticky_bit_is_fine(tell: Tell, home: Path) -> None:
    """In /tmp, for example, no user can rename the files of another."""
    home.parent.chmod(0o1777)
    assert tell("run", "--agent", QUICK, "x").exit_code == 0


def test_a_deleted_working_directory_is_an_error(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    told = tell("run", "--agent", QUICK, "x")
    assert (told.exit_code, told.stderr) == (
        2,
        "turnwire: the current directory was deleted. Change to another one.\n",
    )
