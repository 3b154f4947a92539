"""A directory that cannot be used: every command says so in one line, with the way out."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.cli.agents import QUICK
from tests.cli.conftest import Tell
from tests.rights import like_everybody

WAY_OUT = "Name another directory, which you may write to: --data-dir DIR, or TURNWIRE_DATA_DIR.\n"
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
    def test_that_is_a_file_is_told(self, command: tuple[str, ...], tell: Tell, home: Path) -> None:
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
    def test_without_a_database_in_it_is_told(
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
    def test_with_another_programs_database_is_told_and_left_alone(
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
    def test_that_may_not_be_used_is_told(
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


def test_a_working_directory_that_is_gone_is_told(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    told = tell("run", "--agent", QUICK, "x")
    assert (told.exit_code, told.stderr) == (
        2,
        "turnwire: this directory is gone. Go to another one.\n",
    )
